#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# Try a plan of doctor on one kind of host; `schedshard kernel plans` starts it, in two boots.
#
#   case HOST collect   make the guest this host, and hand over what collect.sh found
#   case HOST try       make it the same host again; apply the plan in /plans/HOST, verify and
#                       collect; undo, and compare
#
# HOST is the name of a function below: host_HOST. The guest has 16 CPUs in two packages. Groups of
# real-time threads have CPUs from 4 on, and sleep for 50 ms at a time.
set -u
host=$1
share=/bin
plan=/plans/$host
top=/sys/fs/cgroup
cgroups=$top
workload=rt-groups
asleep=50000000
# shellcheck source-path=SCRIPTDIR source=shared.sh
. $share/shared.sh

# group PATH CPUS [PRIORITY]: a process in a cgroup with a FIFO thread for each of these CPUs.
group() {
	mkdir -p "$cgroups$1"
	/bin/rt-groups $asleep "$2:$cgroups$1:${3:-50}" &
}

# cpuset PATH CPUS: a cgroup that lists CPUs; its ancestors enable the cpuset controller.
cpuset() {
	above=
	rest=${1#/}
	while :; do
		echo +cpuset >"$top$above/cgroup.subtree_control"
		above=$above/${rest%%/*}
		mkdir -p "$top$above"
		case $rest in
		*/*) rest=${rest#*/} ;;
		*) break ;;
		esac
	done
	echo "$2" >"$top$1/cpuset.cpus"
}

# Three encoders, each with its own CPUs by affinity alone.
host_throttled() {
	for number in 1 2 3; do
		group "/encoder$number" "$((number * 4))-$((number * 4 + 3))" 99
	done
}

host_unthrottled() {
	echo -1 >/proc/sys/kernel/sched_rt_runtime_us
	host_throttled
}

# An invalid partition: a sibling, in which ordinary programs run, lists two of its CPUs.
host_sibling() {
	cpuset /encoder 4-7
	echo isolated >$top/encoder/cpuset.cpus.partition
	cpuset /other 6-11
	cpuset /radio 12-15
	echo isolated >$top/radio/cpuset.cpus.partition
	group /encoder 4-7
	group /radio 12-15
	sh -c "echo \$\$ >$top/other/cgroup.procs; exec sleep 10000" &
}

# Two pods with CPUs of their own, as the kubelet's static policy makes them, and one without.
host_pods() {
	cpuset /kubepods 0-15
	cpuset /kubepods/pod1/container 4-7
	cpuset /kubepods/pod2/container 8-11
	cpuset /kubepods/besteffort/pod3 0-3,12-15
	group /kubepods/pod1/container 4-7
	group /kubepods/pod2/container 8-11
	sh -c "echo \$\$ >$top/kubepods/besteffort/pod3/cgroup.procs; exec sleep 10000" &
}

# guest NUMBER CGROUP: a process like a guest's, three FIFO virtual CPUs and an emulator's thread.
guest() {
	first=$((4 + $1 * 4))
	mkdir -p "$top$2"
	/bin/rt-groups $asleep "$first-$((first + 2)):$top$2:1" &
	echo $! >"$home/guest-$1"
	sleep 1
	# Virtual CPUs run on any of the first three CPUs, the emulator's thread on the fourth.
	main=$(grep -l "^PPid:.$!\$" /proc/[0-9]*/status)
	main=${main#/proc/}
	taskset -p -c "$((first + 3))" "${main%%/*}" >/dev/null || wrong "guest $1 has no process"
}

# end_guest NUMBER: ends the guest's process, by the process that made it.
end_guest() {
	kill "$(cat "$home/guest-$1")"
	sleep 1
}

# CPUs 4-7 have a program each that polls. Two guests have CPUs 8-10 and 12-14, and CPUs 11 and 15
# for their emulators. All of these are isolated at boot.
host_guests() {
	for cpu in 4 5 6 7; do
		/bin/rt-groups spin "$cpu:$top:0" &
	done
	cpuset /machine.slice/machine-qemu-1.scope 8-11
	cpuset /machine.slice/machine-qemu-2.scope 12-15
	guest 1 /machine.slice/machine-qemu-1.scope/libvirt
	guest 2 /machine.slice/machine-qemu-2.scope/libvirt
}

# Two services with pinned threads in the root cpuset, and one in a cpuset of its own.
host_v1() {
	cgroups=/tmp/v1
	mkdir -p $cgroups
	# A removed cgroup keeps the controller for a while.
	tries=0
	until mount -t cgroup -o cpuset none $cgroups 2>/dev/null; do
		tries=$((tries + 1))
		[ $tries -lt 100 ] || wrong "no tree of cgroup version 1"
		[ $tries -lt 100 ] || exit 1
		sleep 0.1
	done
	/bin/rt-groups $asleep 4-7:$cgroups:50 &
	/bin/rt-groups $asleep 8-11:$cgroups:50 &
	mkdir $cgroups/radio
	echo 12-15 >$cgroups/radio/cpuset.cpus
	echo 0-1 >$cgroups/radio/cpuset.mems
	group /radio 12-15
}

# ask_owners: do what apply.sh asks an administrator to do. Each guest in the plan's steps starts
# again, in a cgroup below its future partition.
ask_owners() {
	while IFS="$(printf '\t')" read -r kind _ path cpus _; do
		[ "$kind" = hand ] || continue
		number=$((${cpus%%-*} / 4 - 1))
		end_guest $number
		guest $number "$path/machine-qemu-$number.scope"
	done <"$plan/steps"
}

# Restart the guests as they were, without cgroups below a partition.
ask_back() {
	for number in 1 2; do
		end_guest $number
		rmdir $top/schedshard*/machine-qemu-$number.scope 2>/dev/null
		guest $number /machine.slice/machine-qemu-$number.scope/libvirt
	done
}

hand_over() {
	sh /bin/collect.sh -s 2 -o $home/host.tar.gz >$home/said 2>&1 || wrong "$(tail -n 1 $home/said)"
	echo begin
	base64 -w 300 $home/host.tar.gz
	echo end
}

try() {
	remember
	domains
	expect 0 'apply.sh --dry-run' sh "$plan/apply.sh" --dry-run
	if grep -q '^hand' "$plan/steps"; then
		probed 3 apply.sh
		ask_owners
	fi
	probed 0 apply.sh
	expect 0 verify.sh sh "$plan/verify.sh"
	places
	domains
	hand_over
	if grep -q '^hand' "$plan/steps"; then
		probed 1 undo.sh
		ask_back
	fi
	probed 0 undo.sh
	settle
	domains
	compare
}

# Restore the tree as it was before the guest's last host.
clean() {
	for tree in /tmp/v1 $top; do
		[ ! -d "$tree" ] || find "$tree" -mindepth 1 -depth -type d -exec rmdir {} \;
	done
	umount /tmp/v1 2>/dev/null
	echo -cpuset >$top/cgroup.subtree_control 2>/dev/null
	echo 950000 >/proc/sys/kernel/sched_rt_runtime_us
}

rm -rf "$home"
mkdir -p $home
chmod +x $share/probe.sh
clean
"host_$host"
settle
if [ "$2" = collect ]; then
	hand_over
else
	try
fi
say "end of phase $2"
