#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# The first process of the guest without systemd. It mounts file systems, starts the groups of
# real-time threads in the root cgroup, runs one phase of the trial, and powers off.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH
mountpoint -q /proc || mount -t proc proc /proc
mountpoint -q /sys || mount -t sysfs sysfs /sys
mountpoint -q /dev || mount -t devtmpfs devtmpfs /dev
mountpoint -q /run || mount -t tmpfs tmpfs /run
mkdir -p /dev/shm
mountpoint -q /dev/shm || mount -t tmpfs tmpfs /dev/shm
mount -t cgroup2 cgroup2 /sys/fs/cgroup
exec </dev/null >/dev/console 2>&1

home=/var/lib/trial
mkdir -p $home
rm -f $home/cpus-*
for cpus in 0-3 4-7 8-11; do
	taskset -c $cpus cyclictest --quiet --threads=4 --priority=50 --interval=20000 >/dev/null &
	echo $cpus >$home/cpus-$!
done
taskset -c 2-5,9 sleep infinity &

read -r line </proc/cmdline
phase=${line##*trial=}
sh /usr/local/share/trial/trial.sh "${phase%% *}"
sync
echo o >/proc/sysrq-trigger
sleep infinity
