#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# scx.sh SCHEDULER COMMAND [ARGUMENT...]: runs a command while a BPF scheduler (sched_ext) is loaded. It writes the
# addresses of the scheduler's code to the kernel's log first. Exit status 1: the scheduler could not be loaded, or it
# was unloaded before the command had ended.
set -u
state=/sys/kernel/sched_ext/state
said=/tmp/scheduler.log

loaded() {
	[ "$(cat "$state" 2>/dev/null)" = enabled ]
}

failed() {
	cat "$said"
	echo "$1: $2"
	exit 1
}

scheduler=$1
shift
LD_PRELOAD=/lib/scx-no-net.so "/bin/$scheduler" >"$said" 2>&1 &
pid=$!
until loaded; do
	kill -0 "$pid" 2>/dev/null || failed "$scheduler" "not loaded"
	sleep 0.1
done
grep '\[bpf\]$' /proc/kallsyms | while read -r address _ name _; do
	echo "# bpf $address $name"
done >/dev/kmsg
"$@"
status=$?
loaded || failed "$scheduler" "unloaded before the command had ended"
kill "$pid"
wait "$pid"
exit "$status"
