#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# isolation MODE SLEEP_NS CPUS...: rt-groups on groups of CPUs that are isolated in one of these ways.
#
#   none, isolcpus    no partition; the threads have their affinity (isolcpus is a boot option)
#   isolated, root    a cpuset partition of that type for each group
set -eu
mode=$1
sleep_ns=$2
shift 2
top=/sys/fs/cgroup

case $mode in
none | isolcpus) exec /bin/rt-groups "$sleep_ns" "$@" ;;
esac

echo +cpuset >$top/cgroup.subtree_control
groups=
for cpus in "$@"; do
	group=$top/group-$cpus
	mkdir "$group"
	echo "$cpus" >"$group/cpuset.cpus"
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
