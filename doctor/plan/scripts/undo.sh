#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# Restore what apply.sh changed, from any point.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$here/common.sh"

restore_affinities() {
	changed all | while IFS=$tab read -r thread list name cgroup _; do
		if [ "$list" = several ]; then
			printf "undo.sh: restart %s: its threads '%s' were pinned, and may run anywhere now\n" "$cgroup" "$name"
		elif ! "$taskset" -p -c "$list" "$thread" >/dev/null 2>&1 && [ -d "$root/proc/$thread" ]; then
			printf 'undo.sh: %s: taskset cannot pin its thread %s (%s) to %s again\n' "$cgroup" "$thread" "$name" "$list"
		fi
	done
	wrote affinities
}

# back KIND: print the records of this kind, last first, without their first field.
back() {
	printf '%s\n' "$backwards" | sed -n "s/^$1$tab//p"
}

# busy: the cgroups that have to be removed, but in which processes still run.
busy() {
	planned partition | while IFS=$tab read -r path _ _ state _; do
		if [ "$state" = new ] && populated "$cgroups$path"; then
			echo "$path"
		fi
	done
}

# made FILE: whether a file belongs to a cgroup that apply.sh made. Such a cgroup is removed, so that its
# files keep their values. cgroup v1 refuses an empty list of CPUs while it contains threads.
made() {
	back made | while IFS=$tab read -r path _; do
		case $1 in
		"$path/"*) echo yes ;;
		esac
	done | grep -q .
}

# ours FILE: whether a file belongs to a cgroup that the plan made, by apply.sh or by a unit.
ours() {
	made "$1" || planned partition | while IFS=$tab read -r path _ _ state _; do
		case $state,$root$1 in
		"new,$cgroups$path/"*) echo yes ;;
		esac
	done | grep -q .
}

# give_back PATTERN: restore the files of one kind; those of cgroups that the plan made come later. The
# order does not matter: more CPUs for a sibling, or one partition less, harm no thread.
give_back() {
	back value | while IFS=$tab read -r file value; do
		# shellcheck disable=SC2254 # a pattern
		case $file in
		$1)
			if [ -e "$root$file" ] && { [ "$1" = '*.partition' ] || ! ours "$file"; }; then
				printf '%s\n' "$value" >"$root$file" || fail "$file: the kernel refuses '$value'"
				wrote "$root$file"
			fi
			;;
		esac
	done
}

# return_threads: move threads back to their cgroups, if their numbers still mean the same threads.
return_threads() {
	file=cgroup.procs
	[ "$version" = 2 ] || file=tasks
	known=$(threads)
	back moved | while IFS=$tab read -r number start cgroup; do
		now=$(printf '%s\n' "$known" | awk -F '\t' -v number="$number" '$1 == number { print $2 }')
		[ "$now" = "$start" ] || continue
		if echo "$number" 2>/dev/null >"$cgroups${cgroup%/}/$file"; then
			wrote "$cgroups${cgroup%/}/$file" "$number"
		else
			printf 'undo.sh: thread %s cannot be moved back to %s\n' "$number" "$cgroup" >&2
		fi
	done
}

# empty DIR: move all threads of a cpuset of cgroup v1 to the one above. Do so twice, because they may
# start others meanwhile.
empty() {
	for _ in 1 2; do
		sort -u "$1/tasks" | while IFS= read -r number; do
			echo "$number" 2>/dev/null >"${1%/*}/tasks" || continue
			wrote "${1%/*}/tasks" "$number"
		done
	done
}

# Undo the last change first, in phases: partitions end, siblings get their CPUs, threads return, and
# cgroups are removed. A process that leaves a partition may ask for its CPUs. While the partition is in
# force, recent kernels refuse that, and a service with CPUAffinity= does not start.
do_undo() {
	if [ ! -e "$journal" ]; then
		echo "nothing to undo: apply.sh has changed nothing"
		exit 0
	fi
	# The last line first. tac would do so, but is not always installed.
	backwards=$(sed -n '1!G;h;$p' "$journal")
	if [ "$manager" = systemd ]; then
		planned service | while IFS= read -r service; do
			if [ -e "$units/$service" ]; then
				"$systemctl" disable --now -- "$service"
			fi
		done
	fi
	give_back '*sched_load_balance'
	give_back '*.partition'
	# Linux 6.1 lets pinned threads run anywhere when a partition comes or goes.
	restore_affinities >/dev/null
	if [ "$manager" = systemd ]; then
		back file | while IFS=$tab read -r file _; do
			rm -f -- "$root$file"
		done
		back directory | while IFS=$tab read -r directory _; do
			rmdir -- "$root$directory" 2>/dev/null || :
		done
		"$systemctl" daemon-reload
	fi
	give_back '*cpus'
	give_back '*exclusive'
	back restarted | sort -u | while IFS=$tab read -r service _; do
		"$systemctl" restart -- "$service" || echo "undo.sh: $service did not start again" >&2
		wrote "$service"
	done
	return_threads
	restore_affinities >/dev/null
	still=$(busy)
	if [ -n "$still" ]; then
		echo "undo.sh: processes still run in $(echo "$still" | tr '\n' ' ')" >&2
		planned hand | while IFS=$tab read -r unit _; do
			printf 'undo.sh: stop it, or start it as before the plan: %s\n' "$unit" >&2
		done
		fail "then run undo.sh again"
	fi
	printf '%s\n' "$backwards" | while IFS=$tab read -r kind file value; do
		case $kind,$file in
		value,*.partition | value,*sched_load_balance) ;;
		value,*)
			# give_back() restored the others.
			if [ -e "$root$file" ] && ours "$file" && ! made "$file"; then
				printf '%s\n' "$value" >"$root$file" || fail "$file: the kernel refuses '$value'"
				wrote "$root$file"
			fi
			;;
		made,*)
			if [ -d "$root$file" ]; then
				[ "$version" = 2 ] || empty "$root$file"
				rmdir -- "$root$file"
			fi
			;;
		slice,*)
			"$systemctl" stop -- "$file"
			# systemd 252 may keep the cgroup of a unit whose file was removed.
			rmdir -- "$cgroups/$file" 2>/dev/null || :
			;;
		cpusets,*) echo -cpuset >"$root$file" || fail "$file: the kernel keeps cpusets" ;;
		esac
	done
	unsettled=$(
		restore_affinities | sort -u
		refused | sed 's/.*/undo.sh: a partition kept it from starting: systemctl start &/'
	)
	rm -f -- "$journal" "$affinities"
	if [ -n "$unsettled" ]; then
		printf '%s\n' "$unsettled" >&2
		echo "everything else is as apply.sh found it"
	else
		echo "everything is as apply.sh found it"
	fi
}

do_undo
