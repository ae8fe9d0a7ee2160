#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# host SETUP LOAD [GROUP...]: makes the guest a host of some kind, runs doctor's collector on
# it, and prints the tar file, coded by base64, between "begin" and "end".
#
#   SETUP   a function below whose name begins with host_; its groups of CPUs are 4-7, 8-11, ...
#   LOAD    no, or how rt-groups runs on the groups: cpus (affinity alone), cgroups (in /GROUP)
#
# "ready" says that the root domains are those of the setup; they stay so until "end".
set -eu
setup=$1
load=$2
shift 2
top=/sys/fs/cgroup
cpu=/sys/devices/system/cpu
collector="exec /bin/sh /bin/collect.sh -s 1 -o /tmp/host.tar.gz"
container=

# The tree as it was before the last setup.
clean() {
	for each in "$cpu"/cpu[0-9]*/online; do
		read -r online <"$each"
		[ "$online" = 1 ] || echo 1 >"$each"
	done
	for tree in /tmp/v1 $top; do
		[ ! -d "$tree" ] || find "$tree" -mindepth 1 -depth -type d -exec rmdir {} \;
	done
	umount /tmp/v1 2>/dev/null || :
	echo -cpuset >$top/cgroup.subtree_control 2>/dev/null || :
	rm -f /tmp/host.tar.gz
}

# cpuset PATH [CPUS [TYPE]]: a cgroup with CPUs, as a partition.
cpuset() {
	parent=${1%/*}
	echo +cpuset >"$top$parent/cgroup.subtree_control"
	mkdir "$top$1"
	[ -z "${2-}" ] || echo "$2" >"$top$1/cpuset.cpus"
	# An invalid one is among what is wanted.
	[ -z "${3-}" ] || echo "$3" >"$top$1/cpuset.cpus.partition" || :
}

# v1 NAME CPUS BALANCE: a cpuset of cgroup version 1.
v1() {
	mkdir -p "/tmp/v1/$1"
	echo "$2" >"/tmp/v1/$1/cpuset.cpus"
	echo 0 >"/tmp/v1/$1/cpuset.mems"
	echo "$3" >"/tmp/v1/$1/cpuset.sched_load_balance"
}

v1_tree() {
	mkdir -p /tmp/v1
	# Cgroups that are gone keep the controller for a while.
	tries=0
	until mount -t cgroup -o cpuset none /tmp/v1 2>/dev/null; do
		tries=$((tries + 1))
		[ $tries -lt 100 ]
		sleep 0.1
	done
	echo "$1" >/tmp/v1/cpuset.sched_load_balance
}

# remote TYPE: a partition below a cgroup that is none.
remote() {
	cpuset /m 4-11
	echo 4-7 >$top/m/cpuset.cpus.exclusive
	cpuset /m/p 4-7
	echo 4-7 >$top/m/p/cpuset.cpus.exclusive
	echo "$1" >$top/m/p/cpuset.cpus.partition
}

host_plain() { :; }

host_members() {
	for cpus in "$@"; do
		cpuset "/group-$cpus" "$cpus"
	done
}

host_root() {
	for cpus in "$@"; do
		cpuset "/group-$cpus" "$cpus" root
	done
}

host_isolated() {
	for cpus in "$@"; do
		cpuset "/group-$cpus" "$cpus" isolated
	done
}

host_mixed() {
	cpuset /a 4-7 root
	cpuset /b 8-11 isolated
}

host_nested() {
	cpuset /a 4-11 root
	cpuset /a/b 4-7 root
}

host_nested_isolated() {
	cpuset /a 4-11 root
	cpuset /a/b 4-7 isolated
}

# All CPUs of the outer one are in the inner ones.
host_nested_all() {
	cpuset /a 4-11 root
	cpuset /a/b 4-7 root
	cpuset /a/c 8-11 root
}

host_invalid() {
	cpuset /m 4-11
	cpuset /m/p 4-7 root
}

# A sibling asks for the same CPUs.
host_overlap() {
	cpuset /a 4-7
	cpuset /b 6-9 root
}

host_remote() { remote root; }
host_remote_isolated() { remote isolated; }

host_offline() {
	cpuset /a 4-7 root
	echo 0 >$cpu/cpu5/online
	echo 0 >$cpu/cpu9/online
}

host_online_again() {
	cpuset /a 4-7 root
	cpuset /b 8-9 isolated
	for each in 5 8 12; do
		echo 0 >$cpu/cpu$each/online
	done
	for each in 5 8 12; do
		echo 1 >$cpu/cpu$each/online
	done
}

# A partition that loses all of its CPUs.
host_offline_all() {
	cpuset /a 4-5 root
	echo 0 >$cpu/cpu4/online
	echo 0 >$cpu/cpu5/online
}

host_v1() { v1_tree 1; }

host_v1_two() {
	v1_tree 0
	v1 a 4-7 1
	v1 b 8-11 1
	v1 c 12-13 0
}

host_v1_overlap() {
	v1_tree 0
	v1 a 4-8 1
	v1 b 8-11 1
}

# The threads are another's; the collector is in a container, which has a cgroup of its own, the
# host's processes (the lab's kernel has no namespace for these), and no right to make partitions.
host_container() {
	host_members "$@"
	container=/container
	mkdir $top$container
}

collect() {
	if [ -z "$container" ]; then
		/bin/sh -c "$collector"
		return
	fi
	echo 0 >"$top$container/cgroup.procs"
	/bin/unshare -C -m /bin/sh -c "umount $top; mount -t cgroup2 -o ro cgroup2 $top; $collector"
}

clean
"host_$setup" "$@"
if [ "$load" != no ]; then
	groups=
	for cpus in "$@"; do
		case $load in
		cgroups) groups="$groups $cpus:$top/group-$cpus" ;;
		*) groups="$groups $cpus" ;;
		esac
	done
	# shellcheck disable=SC2086 # words
	/bin/rt-groups 0 $groups &
fi
sleep 1
echo ready
(collect)
echo begin
base64 -w 300 /tmp/host.tar.gz
echo end
