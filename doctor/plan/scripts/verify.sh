#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# Show the state of this plan in the kernel. Status 0: every partition is in force; 1: one is not.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$here/common.sh"

judge() {
	path=$1
	cpus=$2
	cgroup=$cgroups$path
	if [ ! -d "$cgroup" ]; then
		echo "wrong: $path does not exist"
		return 0
	fi
	if [ "$version" = 1 ]; then
		if [ "$(content "$cgroup/${prefix}cpus")" != "$cpus" ]; then
			echo "wrong: $path: its CPUs are '$(content "$cgroup/${prefix}cpus")', not '$cpus'"
		elif [ "$(content "$cgroup/${prefix}sched_load_balance")" != 1 ] ||
			[ "$(content "$cgroups/${prefix}sched_load_balance")" != 0 ]; then
			echo "wrong: $path: sched_load_balance has to be 1 here and 0 in the root cpuset"
		else
			echo "right: $path: a root domain of its own, CPUs $cpus"
		fi
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

do_verify() {
	said=$(
		planned partition | while IFS=$tab read -r path cpus mems _; do
			judge "$path" "$cpus" "$mems"
		done
		if [ "$version" = 2 ]; then
			rest=$(content "$cgroups/cpuset.cpus.effective")
			if [ "$rest" = "$(planned rest)" ]; then
				echo "right: all other tasks: CPUs $rest"
			else
				echo "wrong: all other tasks: CPUs '$rest', not '$(planned rest)'"
			fi
		fi
	)
	printf '%s\n' "$said"
	refused | while read -r unit; do
		printf 'note: %s did not start: let its CPUAffinity= name some of CPUs %s\n' "$unit" "$(planned rest)"
	done
	case $said in
	*wrong:*) exit 1 ;;
	esac
}

do_verify
