#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# isolation MODE SLEEP_NS CPUS...: rt-groups on groups of CPUs that are isolated in one of these ways.
#
#   none, isolcpus    no partition; the threads only have an affinity (isolcpus is a boot option)
#   isolated, root    a cpuset partition of that type for each group
#
# isolation plan CPUS... -- COMMAND: a cgroup /group-CPUS for each group, and the partitions of doctor's plan in /plan;
# then the command.
set -eu
mode=$1
shift
top=/sys/fs/cgroup

# cgroup CPUS: a cgroup for a group, its path in $group.
cgroup() {
	group=$top/group-$1
	mkdir "$group"
	echo "$1" >"$group/cpuset.cpus"
}

[ "$mode" = none ] || [ "$mode" = isolcpus ] || echo +cpuset >$top/cgroup.subtree_control
case $mode in
none | isolcpus) exec /bin/rt-groups "$@" ;;
plan)
	while [ "$1" != -- ]; do
		cgroup "$1"
		shift
	done
	shift
	# The threads start afterwards.
	EMPTY=yes sh /plan/apply.sh
	sh /plan/verify.sh
	exec "$@"
	;;
esac

sleep_ns=$1
shift
groups=
for cpus in "$@"; do
	cgroup "$cpus"
	echo "$mode" >"$group/cpuset.cpus.partition"
	read -r state <"$group/cpuset.cpus.partition"
	if [ "$state" != "$mode" ]; then
		echo "isolation: $group is '$state', not '$mode'" >&2
		exit 1
	fi
	groups="$groups $cpus:$group"
done
# shellcheck disable=SC2086 # words
exec /bin/rt-groups "$sleep_ns" $groups
