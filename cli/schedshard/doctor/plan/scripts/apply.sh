#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# Carry out this plan step by step, as root. undo.sh puts everything back, from any point.
#
#   sh apply.sh [--dry-run] [-r ROOT]
#
#   --dry-run   print each step, and the state that is expected after it; change nothing
#
# EMPTY=yes takes groups without threads, for tests; PATIENCE is how many seconds threads may take.
#
# Status 0: all partitions are in force; 3: something waits for the administrator, and apply.sh goes on
# from there when it is called again; 1: a surprise, which ended it; 2: bad usage.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$here/common.sh"

patience=${PATIENCE:-30} # seconds for threads to come

surprise() {
	fail "$*; nothing more was done; sh undo.sh puts everything back"
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

# pin_again: threads that a move, a new cpuset or a partition has let loose get their own CPUs again.
# Linux 6.1 lets all pinned threads outside of a new partition run anywhere.
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

# lost: a real-time thread that has lost CPUs: one of a group, or one that no partition concerns.
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
	throttling=$(content "$root/proc/sys/kernel/sched_rt_runtime_us")
	if [ "$throttling" = -1 ] && [ "$(planned throttled)" = yes ]; then
		fail "sched_rt_runtime_us is -1 now, and was not when this was planned: make the plan again"
	fi
}

reload=
reloaded() {
	[ -z "$reload" ] || "$systemctl" daemon-reload
	reload=
}

# place FILE: the name below systemd's directory of a file to be written, with its directory.
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
	# First, since systemd 252 makes the cgroup of a slice when it reads a drop-in that names it.
	if [ ! -d "$cgroups$2" ]; then
		remember slice "$1" -
	fi
	reloaded
	"$systemctl" start -- "$1"
	wrote "$2"
	[ -d "$cgroups$2" ] || surprise "systemd started $1, and $cgroups$2 is not there"
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

# A cgroup hands cpusets down only when its cgroup.subtree_control says so. Some kernels let pinned
# threads loose when they come into a new cpuset.
step_enable() {
	control=$cgroups${1%/}/cgroup.subtree_control
	case " $(content "$control") " in
	*' cpuset '*) ;;
	*)
		remember cpusets "${control#"$root"}" -
		echo +cpuset >"$control" || surprise "$control: the kernel does not hand cpusets down"
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

# step_move PATH CPUS: processes come into a cgroup; with cgroup v1, threads.
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

# step_threads PATH CPUS: the threads are there, as many as before, and none is elsewhere.
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

# step_narrow PATH CPUS: a sibling of partitions loses CPUs; systemd learns it for the next boot.
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

# step_partition PATH CPUS: on any surprise the cgroup is what it was at once.
step_partition() {
	file=$cgroups$1/cpuset.cpus.partition
	old=$(content "$file")
	[ "$old" != root ] || return 0
	expected_rest=$(cpus minus "$(content "$cgroups/cpuset.cpus.effective")" "$2")
	cpus within "$(planned rest)" "$expected_rest" ||
		surprise "CPUs $expected_rest would be left for all others, and $(planned rest) were planned"
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
		surprise "$1 is no good partition, and is one no longer: $why"
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

# step_others PATH CPUS: with cgroup v1, threads of the root cpuset that may run on these CPUs and on
# others are moved there, real-time threads of groups are none of them.
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
	# Not in a pipe: the steps share variables, and a failure ends the script.
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
			echo "    is in force already"
			skip=$group
			continue
		fi
		"step_$kind" "$a" "$b" "$c" </dev/null 3<&-
	done 3<"$here/steps"
	[ -z "$dry" ] || return 0
	reloaded
	if [ -n "$waiting" ]; then
		echo "apply.sh: do what stands under 'to do', and call apply.sh again: it goes on from there"
		exit 3
	fi
	exec sh "$here/verify.sh" -r "$root"
}

do_apply
