#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# Make, judge or undo the cpuset partitions of this plan; apply.sh, verify.sh and undo.sh call it.
# The file 'partitions' beside it says what is planned, a line a fact, with tabs between the fields.
# The file 'found' keeps what 'apply' changed, in order, for 'undo'; the file 'affinities' has the CPUs
# that each thread could use before.
#
#   sh partitions.sh apply|verify|undo [-r ROOT]
#
#   -r ROOT   work below ROOT instead of /, for tests; SYSTEMCTL and TASKSET name other programs
set -eu
LC_ALL=C
export LC_ALL

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
plan=$here/partitions
journal=$here/found
affinities=$here/affinities
systemctl=${SYSTEMCTL:-systemctl}
taskset=${TASKSET:-taskset}
tab=$(printf '\t')
root=

fail() {
	echo "$action.sh: $*" >&2
	exit 1
}

usage() {
	echo "usage: sh partitions.sh apply|verify|undo [-r ROOT]" >&2
	exit 2
}

action=${1-}
case $action in
apply | verify | undo) shift ;;
*) usage ;;
esac
while getopts r: option; do
	case $option in
	r) root=$OPTARG ;;
	*) usage ;;
	esac
done
[ -r "$plan" ] || fail "$plan is missing: make the plan again"

# planned KIND: the lines of one kind, without the kind.
planned() {
	sed -n "s/^$1$tab//p" "$plan"
}

cgroups=$root$(planned place)
units=$root/etc/systemd/system
manager=$(planned manager)

# content FILE: its first line, empty if it cannot be read.
content() {
	line=
	# shellcheck disable=SC2162 # a cgroup file has no backslashes that would matter
	IFS= read line 2>/dev/null <"$1" || :
	printf '%s\n' "$line"
}

# populated CGROUP: whether processes are in it or below it.
populated() {
	if [ -r "$1/cgroup.events" ]; then
		grep -q '^populated 1' "$1/cgroup.events"
	else
		[ -n "$(content "$1/cgroup.procs")" ]
	fi
}

remember() {
	printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$journal"
}

# put FILE VALUE: write a cgroup file, and remember what it held. A partition that is not in force
# reads back with a reason, which cannot be written.
put() {
	[ -e "$1" ] || fail "$1 does not exist: the kernel or the cgroup above has no cpusets"
	old=$(content "$1")
	if [ "$old" = "$2" ]; then
		return 0
	fi
	remember value "${1#"$root"}" "${old%% invalid*}"
	printf '%s\n' "$2" >"$1" || fail "$1: the kernel refuses '$2'; run undo.sh"
}

# threads: a line for each thread that may be moved: number, start, name, CPUs, cgroup.
threads() {
	(
		cd "$root/proc"
		printf '%s\n' [0-9]*/task/[0-9]*/stat | xargs grep -s -H '' || :
		printf '%s\n' [0-9]*/task/[0-9]*/cgroup | xargs grep -s -H '^0::' || :
		printf '%s\n' [0-9]*/task/[0-9]*/status | xargs grep -s -H '^Cpus_allowed_list:' || :
	) | awk -v OFS='\t' '
		!match($0, "/task/[0-9]+/") { next }
		{
			thread = substr($0, RSTART + 6, RLENGTH - 7)
			file = substr($0, RSTART + RLENGTH)
			sub(/:.*/, "", file)
		}
		file == "stat" {
			comm = fields = $0
			sub(/^[^(]*\(/, "", comm)
			sub(/\) [A-Za-z] [-0-9 ]*$/, "", comm)
			gsub(/\t/, " ", comm)
			sub(/.*\) /, "", fields)
			split(fields, field, " ")
			# PF_NO_SETAFFINITY: the kernel gives these their CPUs itself.
			if (int(field[7] / 67108864) % 2)
				next
			start[thread] = field[20]
			name[thread] = comm
		}
		file == "cgroup" {
			sub(/^[^:]*:0::/, "")
			gsub(/\t/, " ")
			cgroup[thread] = $0
		}
		file == "status" && thread in start {
			print thread, start[thread], name[thread], $NF, cgroup[thread]
		}'
}

boot_id() {
	content "$root/proc/sys/kernel/random/boot_id"
}

# Partitions take their CPUs from all other threads, and the kernel does not restore the CPUs of
# every one of them. In Linux 6.1 threads that were pinned, and kswapd, may run anywhere afterwards.
remember_affinities() {
	if [ -e "$affinities" ] && { [ "$manager" = systemd ] ||
		[ "$(sed -n "s/^boot$tab//p" "$affinities")" = "$(boot_id)" ]; }; then
		# Where systemd makes partitions at boot, threads have lost their CPUs already.
		return 0
	fi
	{
		printf 'boot\t%s\n' "$(boot_id)"
		threads
	} >"$affinities.new"
	mv -- "$affinities.new" "$affinities"
}

# Threads that have other CPUs than before get theirs again. After another boot the name and the
# cgroup identify a thread. It gets its CPUs only if it may run anywhere now; otherwise it has
# chosen new ones.
restore_affinities() {
	[ -e "$affinities" ] || return 0
	threads | awk -F '\t' -v OFS='\t' -v boot="$(boot_id)" \
		-v all="$(content "$cgroups/cpuset.cpus.effective")" '
		NR == 1 { same = $2 == boot; next }
		{ key = same ? $1 FS $2 : $3 FS $5 }
		NR == FNR {
			if (key in cpus && cpus[key] != $4)
				cpus[key] = "several"
			else
				cpus[key] = $4
			next
		}
		key in cpus && cpus[key] != $4 && (same || $4 == all) {
			print $1, cpus[key], $3, $5
		}' "$affinities" - | while IFS=$tab read -r thread list name cgroup; do
		if [ "$list" = several ]; then
			echo "undo.sh: $cgroup: restart it: its threads '$name' were pinned, and may run anywhere"
		elif ! "$taskset" -p -c "$list" "$thread" >/dev/null 2>&1 && [ -d "$root/proc/$thread" ]; then
			echo "undo.sh: $cgroup: taskset cannot pin its thread $thread ($name) to $list again"
		fi
	done
}

check() {
	[ -d "$cgroups" ] || fail "$cgroups is missing: cgroup v2 has to be mounted there"
	command -v "$taskset" >/dev/null || fail "taskset is missing, and undo.sh needs it: see util-linux"
	planned boot | while IFS= read -r word; do
		case " $(content "$root/proc/cmdline") " in
		*" $word "*) fail "the kernel was booted with $word: change that first (README.txt)" ;;
		esac
	done
	planned partition | while IFS=$tab read -r path _ _ state type; do
		if [ "$state" = found ]; then
			now=$(content "$cgroups$path/cpuset.cpus.partition")
			now=${now%% invalid*}
			if [ "$now" != "$type" ] && [ "$now" != root ]; then
				fail "$cgroups$path is a partition of type '$now', not '$type': make the plan again"
			fi
		fi
	done
	planned unit | while IFS= read -r file; do
		if [ -e "$units/$file" ] && ! cmp -s "$here/units/$file" "$units/$file"; then
			fail "$units/$file exists and differs: nothing was changed"
		fi
	done
}

install_units() {
	planned unit | while IFS= read -r file; do
		[ ! -e "$units/$file" ] || continue
		directory=$(dirname -- "$units/$file")
		if [ ! -d "$directory" ]; then
			mkdir -p -- "$directory"
			remember directory "${directory#"$root"}" -
		fi
		remember file "${units#"$root"}/$file" -
		cp -- "$here/units/$file" "$units/$file"
	done
	"$systemctl" daemon-reload
	planned slice | while IFS= read -r slice; do
		"$systemctl" start "$slice"
	done
	planned service | while IFS= read -r service; do
		"$systemctl" enable "$service"
	done
}

# The root cgroup hands cpusets down only when its cgroup.subtree_control says so.
enable_cpusets() {
	case " $(content "$cgroups/cgroup.subtree_control") " in
	*' cpuset '*) ;;
	*)
		remember cpusets "${cgroups#"$root"}/cgroup.subtree_control" -
		echo +cpuset >"$cgroups/cgroup.subtree_control" ||
			fail "$cgroups: the kernel does not hand cpusets down"
		;;
	esac
}

make_partitions() {
	planned narrow | while IFS=$tab read -r path cpus; do
		put "$cgroups$path/cpuset.cpus" "$cpus"
	done
	planned partition | while IFS=$tab read -r path cpus mems state _; do
		cgroup=$cgroups$path
		if [ ! -d "$cgroup" ]; then
			[ "$manager" = none ] || fail "$cgroup is missing: systemctl start ${path##*/}"
			mkdir -- "$cgroup"
			remember made "${cgroup#"$root"}" -
		fi
		if [ "$state" = new ]; then
			[ "$mems" = - ] || put "$cgroup/cpuset.mems" "$mems"
			put "$cgroup/cpuset.cpus" "$cpus"
		fi
		put "$cgroup/cpuset.cpus.partition" root
	done
}

judge() {
	path=$1
	cpus=$2
	cgroup=$cgroups$path
	if [ ! -d "$cgroup" ]; then
		echo "wrong: $path does not exist"
		return 0
	fi
	state=$(content "$cgroup/cpuset.cpus.partition")
	effective=$(content "$cgroup/cpuset.cpus.effective")
	if [ "$state" != root ]; then
		echo "wrong: $path: partition reads '$state', not 'root'"
	elif [ "$effective" != "$cpus" ]; then
		echo "wrong: $path: its CPUs are '$effective', not '$cpus'"
	elif [ "$3" != - ] && [ "$(content "$cgroup/cpuset.mems.effective")" != "$3" ]; then
		echo "wrong: $path: its memory nodes are not '$3'"
	elif populated "$cgroup"; then
		echo "right: $path: a root domain of its own, CPUs $effective"
	else
		echo "right: $path: a root domain of its own, CPUs $effective; nothing runs in it yet"
	fi
}

# Status 0: every partition is in force; 1: one is not.
# refused: services that did not start, since their CPUAffinity= names CPUs of partitions only. Linux
# 7.2 and 7.3 refuse those to tasks outside; systemd then ends with status 215.
refused() {
	[ "$manager" = systemd ] || return 0
	"$systemctl" --plain --no-legend --state=failed list-units | while read -r unit _; do
		case $("$systemctl" show -p ExecMainStatus "$unit") in
		ExecMainStatus=215) echo "$unit" ;;
		esac
	done
}

do_verify() {
	said=$(
		planned partition | while IFS=$tab read -r path cpus mems _; do
			judge "$path" "$cpus" "$mems"
		done
		rest=$(content "$cgroups/cpuset.cpus.effective")
		if [ "$rest" = "$(planned rest)" ]; then
			echo "right: all other tasks: CPUs $rest"
		else
			echo "wrong: all other tasks: CPUs '$rest', not '$(planned rest)'"
		fi
	)
	printf '%s\n' "$said"
	refused | while read -r unit; do
		echo "note: $unit did not start: let its CPUAffinity= name some of CPUs $(planned rest)"
	done
	case $said in
	*wrong:*) exit 1 ;;
	esac
}

# back KIND: the lines of one kind, FILE and VALUE, last first.
back() {
	printf '%s\n' "$backwards" | sed -n "s/^$1$tab//p"
}

# busy: what still runs in cgroups that have to go.
busy() {
	planned partition | while IFS=$tab read -r path _ _ state _; do
		if [ "$state" = new ] && populated "$cgroups$path"; then
			echo "$path"
		fi
	done
}

# give_back: partitions that have to go stop being some, and their CPUs are everybody's. A process
# that leaves one may ask for its CPUs. While the partition is in force a later kernel refuses that,
# and a service with CPUAffinity= does not start.
give_back() {
	planned partition | while IFS=$tab read -r path _ _ state _; do
		partition=$cgroups$path/cpuset.cpus.partition
		if [ "$state" = new ] && [ -e "$partition" ]; then
			echo member >"$partition" || fail "$partition: the kernel refuses 'member'"
		fi
	done
}

do_apply() {
	# A pipe ends in a shell of its own, whose failure 'set -e' sees as that of the function.
	check
	remember_affinities
	if [ "$manager" = systemd ]; then
		install_units
	fi
	enable_cpusets
	make_partitions
	planned service | while IFS= read -r service; do
		"$systemctl" start "$service"
	done
	planned move | while IFS=$tab read -r what path; do
		echo "to do: $what" "-> $path"
	done
	do_verify
}

# The last change first. Processes that were started in a partition have to leave it before: nothing
# that runs is moved or stopped here.
do_undo() {
	if [ ! -e "$journal" ]; then
		echo "nothing to undo: apply.sh has changed nothing"
		exit 0
	fi
	# The last line first, without tac, which is not everywhere.
	backwards=$(sed -n '1!G;h;$p' "$journal")
	if [ "$manager" = systemd ]; then
		planned service | while IFS= read -r service; do
			if [ -e "$units/$service" ]; then
				"$systemctl" disable --now "$service"
			fi
		done
		back file | while IFS=$tab read -r file _; do
			rm -f -- "$root$file"
		done
		back directory | while IFS=$tab read -r directory _; do
			rmdir -- "$root$directory" 2>/dev/null || :
		done
		"$systemctl" daemon-reload
	fi
	give_back
	still=$(busy)
	if [ -n "$still" ]; then
		echo "undo.sh: processes still run in $(echo "$still" | tr '\n' ' ')" >&2
		planned move | while IFS=$tab read -r what _; do
			echo "undo.sh: restart or stop: $what" >&2
		done
		fail "then run undo.sh again"
	fi
	printf '%s\n' "$backwards" | while IFS=$tab read -r kind file value; do
		case $kind in
		value)
			[ ! -e "$root$file" ] || printf '%s\n' "$value" >"$root$file" ||
				fail "$file: the kernel refuses '$value'"
			;;
		made) [ ! -d "$root$file" ] || rmdir -- "$root$file" ;;
		cpusets) echo -cpuset >"$root$file" || fail "$file: the kernel keeps cpusets" ;;
		esac
	done
	if [ "$manager" = systemd ]; then
		planned slice | while IFS= read -r slice; do
			"$systemctl" stop "$slice"
		done
	fi
	unsettled=$(
		restore_affinities | sort -u
		refused | sed 's/.*/undo.sh: it did not start while its CPUs were apart: systemctl start &/'
	)
	rm -f -- "$journal" "$affinities"
	if [ -n "$unsettled" ]; then
		printf '%s\n' "$unsettled" >&2
		echo "everything else is as apply.sh found it"
	else
		echo "everything is as apply.sh found it"
	fi
}

"do_$action"
