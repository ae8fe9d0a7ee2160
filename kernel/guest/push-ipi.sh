#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# push-ipi.sh AFTER COMMAND [ARGUMENT...]: runs a command, switches RT_PUSH_IPI on AFTER seconds
# later, and restores it at the end. With RT_PUSH_IPI a CPU that becomes free starts a push walk;
# otherwise the CPU locks each overloaded queue. Linux 7.3 enables it only with PREEMPT_RT.
set -u
features=/sys/kernel/debug/sched/features
# Empty: the kernel has no push walks, for example without SMP.
before=$(grep -o '\(NO_\)\?RT_PUSH_IPI' "$features" 2>/dev/null)

change() {
	[ -z "$before" ] || echo "$1" >"$features"
}

after=$1
shift
if [ "$after" -gt 0 ]; then
	(sleep "$after" && change RT_PUSH_IPI) &
else
	change RT_PUSH_IPI
fi
"$@"
status=$?
wait
change "$before"
exit "$status"
