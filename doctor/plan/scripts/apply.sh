#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# Carry out this plan step by step, as root. undo.sh restores the old state, from any point.
#
#   sh apply.sh [--dry-run] [-r ROOT]
#
#   --dry-run   print each step, and the state that is expected after it; change nothing
#
# EMPTY=yes accepts groups without threads, for tests. PATIENCE is how many seconds threads may take to
# move.
#
# Status 0: all partitions are in force. 3: the administrator has to do something; the next call goes on
# from there. 1: apply.sh met an unexpected state, and stopped. 2: bad usage.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$here/common.sh"

patience=${PATIENCE:-30} # seconds for threads to come

surprise() {
	fail "$*; apply.sh stopped here; sh undo.sh puts everything back"
}

# A partition takes its CPUs from all other threads, and the kernel does not restore all of these
# threads' CPUs. In Linux 6.1 threads that were pinned, and kswapd, may run anywhere afterwards.
remember_affinities() {
	if [ -e "$affinities" ] && { [ "$manager" = systemd ] ||
		[ "$(sed -n "s/^boot$tab//p" "$affinities")" = "$(boot_id)" ]; }; then
		# With systemd the partitions may exist since boot, so that threads have lost their CPUs already.
		return 0
	fi
	{
		printf 'boot\t%s\n' "$(boot_id)"
		threads
	} >"$affinities.new"
	mv -- "$affinities.new" "$affinities"
}

# pin_again: pin threads again that lost their affinity by a move, a new cpuset or a partition. Linux
# 6.1 lets all pinned threads outside of a new partition run anywhere.
pin_again() {
	changed all | loosened | while IFS=$tab read -r thread list; do
		"$taskset" -p -c "$list" "$thread" >/dev/null 2>&1 || :
	done
	wrote affinities
}

# partitioned: the CPUs of all partitions of this plan that are in force.
partitioned() {
	list=
	while IFS=$tab read -r path cpus _; do
		if [ "$(content "$cgroups$path/cpuset.cpus.partition")" = root ]; then
			list=$(cpus plus "$list" "$cpus")
		fi
	done <<-END
		$(planned partition)
	END
	printf '%s\n' "$list"
}

# lost: real-time threads that lost CPUs, although they are in a group or use no CPU of a partition.
lost() {
	all=$(partitioned)
	changed real-time | while IFS=$tab read -r thread before name cgroup now; do
		! cpus within "$before" "$now" || continue
		if cpus within "$before" "$all" || ! cpus meets "$before" "$all"; then
			printf '%s (%s in %s) had CPUs %s, and has %s\n' "$thread" "$name" "$cgroup" "$before" "$now"
		fi
	done
}

check() {
	[ -d "$cgroups" ] || fail "$cgroups is missing: cgroup v$version has to be mounted there"
	command -v "$taskset" >/dev/null || fail "taskset is missing, and undo.sh needs it: see util-linux"
	planned boot | while IFS= read -r word; do
		case " $(content "$root/proc/cmdline") " in
		*" $word "*) fail "the kernel was booted with $word: change that first (README.txt)" ;;
		esac
	done
	planned partition | while IFS=$tab read -r path _ _ state type; do
		if [ "$state" = found ] && [ "$version" = 2 ]; then
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
	runtime=$(content "$root/proc/sys/kernel/sched_rt_runtime_us")
	period=$(content "$root/proc/sys/kernel/sched_rt_period_us")
	if [ "$(planned throttled)" = yes ] && { [ "$runtime" = -1 ] ||
		[ "${runtime:-0}" -ge "${period:-1000000}" ]; }; then
		fail "throttling is off (sched_rt_runtime_us is $runtime), and was not when this was planned: make the plan again"
	fi
}

reload=
reloaded() {
	[ -z "$reload" ] || "$systemctl" daemon-reload
	reload=
}

# place FILE: prepare to write a file below systemd's directory: make its directory, and remember both.
place() {
	directory=$(dirname -- "$units/$1")
	if [ ! -d "$directory" ]; then
		mkdir -p -- "$directory"
		remember directory "${directory#"$root"}" -
	fi
	remember file "${units#"$root"}/$1" -
	reload=yes
}

step_group() {
	skip=
	found=$(of_group "$1" "$2")
	expected=$(printf '%s\n' "$found" | grep -c . || :)
	[ "$expected" -gt 0 ] || [ -n "${EMPTY-}" ] ||
		surprise "no real-time thread runs on CPUs $2 only: start the workload first, or make the plan again"
}

step_install() {
	if [ ! -e "$units/$1" ]; then
		place "$1"
		cp -- "$here/units/$1" "$units/$1"
	fi
}

step_start() {
	# Before the reload, because systemd 252 makes a slice's cgroup when it reads a drop-in that names it.
	if [ ! -d "$cgroups$2" ]; then
		remember slice "$1" -
	fi
	reloaded
	"$systemctl" start -- "$1"
	wrote "$2"
	[ -d "$cgroups$2" ] || surprise "systemd started $1, but $cgroups$2 does not exist"
}

step_make() {
	if [ ! -d "$cgroups$1" ]; then
		mkdir -- "$cgroups$1"
		remember made "${cgroups#"$root"}$1" -
		wrote "$1"
	fi
}

step_put() {
	put "$cgroups$1" "$2"
}

# step_enable PATH: cgroups below a cgroup have cpusets only if its cgroup.subtree_control says so. In
# some kernels pinned threads lose their affinity when they enter a new cpuset.
step_enable() {
	control=$cgroups${1%/}/cgroup.subtree_control
	case " $(content "$control") " in
	*' cpuset '*) ;;
	*)
		remember cpusets "${control#"$root"}" -
		echo +cpuset >"$control" || surprise "$control: the kernel refuses '+cpuset'"
		wrote "$control"
		pin_again
		;;
	esac
}

step_restart() {
	reloaded
	remember restarted "$1" -
	"$systemctl" restart -- "$1" || surprise "$1 did not start again: systemctl status $1"
	wrote "$1"
}

# step_move PATH CPUS: move processes into a cgroup; with cgroup v1, threads.
step_move() {
	file=$cgroups$1/cgroup.procs
	column=3
	if [ "$version" = 1 ]; then
		file=$cgroups$1/tasks
		column=2
	fi
	known=$(threads)
	of_group "$1" "$2" | grep '^out' | cut -f $column | sort -u -n | while read -r number; do
		before=$(printf '%s\n' "$known" | awk -F '\t' -v number="$number" '$1 == number { print $2 "\t" $5 }')
		[ -n "$before" ] || continue
		remember moved "$number" "$before"
		echo "$number" >"$file" || surprise "$1: the kernel does not take $number"
		wrote "$file" "$number"
	done
	pin_again
}

step_hand() {
	if of_group "$1" "$2" | grep -q '^out'; then
		printf 'to do: %s\n' "$says"
		waiting=yes
		skip=$group
	fi
}

# step_threads PATH CPUS: wait until as many threads as before are in the cgroup, and none is elsewhere.
step_threads() {
	tries=0
	while :; do
		found=$(of_group "$1" "$2")
		inside=$(printf '%s\n' "$found" | grep -c '^in' || :)
		outside=$(printf '%s\n' "$found" | grep -c '^out' || :)
		if [ "$outside" -eq 0 ] && [ "$inside" -ge "$expected" ]; then
			return 0
		fi
		[ $tries -lt "$patience" ] || break
		tries=$((tries + 1))
		sleep 1
	done
	surprise "$1: $inside of $expected real-time threads came, $outside are elsewhere on CPUs $2"
}

# step_narrow PATH CPUS: take CPUs from a sibling of partitions, now and in systemd's units for the next
# boot.
step_narrow() {
	file=$cgroups$1/cpuset.cpus
	old=$(content "$file")
	new=$(cpus minus "$old" "$2")
	[ -n "$old" ] && [ "$new" != "$old" ] || return 0
	[ -n "$new" ] || surprise "$1 has only CPUs $old: make the plan again"
	put "$file" "$new"
	name=${1#/}
	case $manager,$name in
	systemd,*.slice) section=Slice ;;
	systemd,*.scope) section=Scope ;;
	*) return 0 ;;
	esac
	limit=$name.d/50-schedshard.conf
	[ -e "$units/$limit" ] || place "$limit"
	printf '[%s]\nAllowedCPUs=\nAllowedCPUs=%s\n' "$section" "$new" >"$units/$limit"
	reload=yes
}

step_exclusive() {
	file=$cgroups$1/cpuset.cpus.exclusive
	[ -e "$file" ] || surprise "$file is missing: this kernel has no partitions here"
	put "$file" "$(cpus plus "$(content "$file")" "$2")"
}

# step_partition PATH CPUS: make a cgroup a partition. In any unexpected state it is undone at once.
step_partition() {
	file=$cgroups$1/cpuset.cpus.partition
	old=$(content "$file")
	[ "$old" != root ] || return 0
	expected_rest=$(cpus minus "$(content "$cgroups/cpuset.cpus.effective")" "$2")
	cpus within "$(planned rest)" "$expected_rest" ||
		surprise "CPUs $expected_rest would be left for all others, but $(planned rest) were planned"
	[ -e "$file" ] || surprise "$file does not exist: the kernel has no partitions, or no cpusets here"
	remember value "${file#"$root"}" "${old%% invalid*}"
	printf 'root\n' >"$file" || surprise "$file: the kernel refuses 'root'"
	wrote "$file"
	pin_again
	why=
	state=$(content "$file")
	if [ "$state" != root ]; then
		why="it reads '$state', not 'root'"
	elif [ "$(content "$cgroups$1/cpuset.cpus.effective")" != "$2" ]; then
		why="its CPUs are '$(content "$cgroups$1/cpuset.cpus.effective")', not '$2'"
	elif [ "$(content "$cgroups/cpuset.cpus.effective")" != "$expected_rest" ]; then
		why="CPUs $(content "$cgroups/cpuset.cpus.effective") are left, not $expected_rest"
	else
		why=$(lost | sed -n 1p)
	fi
	if [ -n "$why" ]; then
		printf '%s\n' "${old%% invalid*}" >"$file" || :
		wrote "$file"
		pin_again
		surprise "$1 did not become the planned partition, and was changed back: $why"
	fi
}

step_keep() {
	step_install "$1"
	reloaded
	case $1 in
	*.service)
		"$systemctl" enable -- "$1"
		"$systemctl" start -- "$1"
		;;
	esac
}

step_balance() {
	put "$cgroups$1" "$2"
}

# step_others PATH CPUS: with cgroup v1, move the threads of the root cpuset that may run on these CPUs
# and on others. Real-time threads of groups are not among them.
step_others() {
	threads | awk -F '\t' '$5 == "/" && $6 != "-" { print $1 "\t" $2 "\t" $4 }' |
		while IFS=$tab read -r number start list; do
			if cpus meets "$list" "$2" && ! cpus within "$list" "$2"; then
				remember moved "$number" "$start$tab/"
				# A thread that has ended meanwhile is not a surprise.
				if echo "$number" 2>/dev/null >"$cgroups$1/tasks"; then
					wrote "$cgroups$1/tasks" "$number"
				elif [ -d "$root/proc/$number" ]; then
					surprise "$1: the kernel does not take thread $number"
				fi
			fi
		done
}

# in_force: whether this plan's partition of a group is in force, with its threads in it.
in_force() {
	[ "$version" = 2 ] && [ "$(content "$cgroups$1/cpuset.cpus.partition")" = root ] &&
		! of_group "$1" "$2" | grep -q '^out'
}

do_apply() {
	if [ -z "$dry" ]; then
		check
		remember_affinities
	fi
	number=0
	total=$(grep -c . "$here/steps")
	waiting=
	skip=
	# Not in a pipe, because the steps share variables and a failure must end the script.
	while IFS=$tab read -r kind group a b c says after <&3; do
		number=$((number + 1))
		[ "$kind" != group ] || skip=
		if [ -n "$dry" ]; then
			printf '%s of %s: %s\n    then: %s\n' "$number" "$total" "$says" "$after"
			continue
		fi
		if [ "$group" = -1 ] && [ -n "$waiting" ]; then
			printf '%s of %s: waits: %s\n' "$number" "$total" "$says"
			continue
		fi
		if [ -n "$skip" ] && [ "$skip" = "$group" ] && [ "$kind" != hand ]; then
			continue
		fi
		printf '%s of %s: %s\n' "$number" "$total" "$says"
		if [ "$kind" = group ] && in_force "$a" "$b"; then
			echo "    already in force"
			skip=$group
			continue
		fi
		"step_$kind" "$a" "$b" "$c" </dev/null 3<&-
	done 3<"$here/steps"
	[ -z "$dry" ] || return 0
	reloaded
	if [ -n "$waiting" ]; then
		echo "apply.sh: do what is listed as 'to do', and call apply.sh again: it goes on from there"
		exit 3
	fi
	exec sh "$here/verify.sh" -r "$root"
}

do_apply
