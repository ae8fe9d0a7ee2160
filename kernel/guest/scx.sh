#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# scx.sh SCHEDULER COMMAND [ARGUMENT...]: runs a command while a BPF scheduler (sched_ext) is loaded. Exit status 1:
# the scheduler could not be loaded, or it was unloaded before the command had ended.
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
"/bin/$scheduler" >"$said" 2>&1 &
pid=$!
until loaded; do
	kill -0 "$pid" 2>/dev/null || failed "$scheduler" "not loaded"
	sleep 0.1
done
"$@"
status=$?
loaded || failed "$scheduler" "unloaded before the command had ended"
kill "$pid"
wait "$pid"
exit "$status"
