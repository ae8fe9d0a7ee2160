#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# host SETUP LOAD [GROUP...]: makes the guest a host of some kind, and runs doctor's collector on
# it. It prints the tar file, encoded in base64, between "begin" and "end".
#
#   SETUP   a function below whose name begins with host_; its groups of CPUs are 4-7, 8-11, ...
#   LOAD    no, or how rt-groups runs on the groups: cpus (affinity alone), cgroups (in /group-CPUS)
#
# It prints "ready" when the root domains are those of the setup. They stay so until "end".
set -eu
setup=$1
load=$2
shift 2
top=/sys/fs/cgroup
cpu=/sys/devices/system/cpu
collector="exec /bin/sh /bin/collect.sh -s 1 -o /tmp/host.tar.gz"
container=
inside=
of_threads=
load_groups=$*

# Restore the tree as it was before the last setup.
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
	# Some cases want an invalid partition, so a failure is ignored.
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
	# A removed cgroup keeps the controller for a while.
	tries=0
	until mount -t cgroup -o cpuset none /tmp/v1 2>/dev/null; do
		tries=$((tries + 1))
		[ $tries -lt 100 ]
		sleep 0.1
	done
	echo "$1" >/tmp/v1/cpuset.sched_load_balance
}

# remote TYPE: a partition below a cgroup that is not a partition.
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

# A sibling requests the same CPUs.
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

# A partition that loses all of its CPUs. Linux 6.12 refuses to take its last CPU offline (EBUSY).
host_offline_all() {
	cpuset /a 4-5 root
	echo 0 >$cpu/cpu4/online
	echo 0 >$cpu/cpu5/online || :
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

# The threads belong to another cgroup. The collector is in a container, which has its own cgroup,
# sees the host's processes and must not make partitions.
host_container() {
	host_members "$@"
	container=/container
	mkdir $top$container
}

# The threads are in the container with the collector, which sees no process outside of it. The lab's
# kernel has no such namespace.
host_container_of_threads() {
	container=/container
	cpuset $container
	inside="mount -t proc proc /proc; /bin/rt-groups 0 $* & sleep 1;"
	of_threads="-p -f --kill-child"
}

# A pressure trigger in each group's cgroup, for each of which the kernel makes a thread psimon. On
# the first group's CPUs real-time threads wait, so a CPU that leaves the real-time class looks for
# them.
host_monitors() {
	host_members "$@"
	echo RT_PUSH_IPI >/sys/kernel/debug/sched/features
	for cpus in "$@"; do
		(
			exec 3<>"$top/group-$cpus/cpu.pressure"
			echo "some 50000 500000" >&3
			exec sleep 1000
		) &
	done
	/bin/rt-groups spin "$1:$top/group-$1" "$1:$top/group-$1" &
	shift
	load_groups=$*
}

collect() {
	if [ -z "$container" ]; then
		/bin/sh -c "$collector"
		return
	fi
	echo 0 >"$top$container/cgroup.procs"
	# shellcheck disable=SC2086 # words
	/bin/unshare -C -m $of_threads /bin/sh -c \
		"umount $top; mount -t cgroup2 -o ro cgroup2 $top; $inside $collector"
}

clean
"host_$setup" "$@"
if [ "$load" != no ]; then
	groups=
	for cpus in $load_groups; do
		case $load in
		cgroups) groups="$groups $cpus:$top/group-$cpus" ;;
		*) groups="$groups $cpus" ;;
		esac
	done
	# shellcheck disable=SC2086 # words
	/bin/rt-groups 0 $groups &
fi
sleep 0.3
echo ready
# The reader of this guest's memory may be late on a busy host. Under a load, time is expensive here.
[ "$load" != no ] || sleep 4
(collect)
echo begin
base64 -w 300 /tmp/host.tar.gz
echo end
