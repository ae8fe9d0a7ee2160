#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# push-ipi.sh AFTER COMMAND [ARGUMENT...]: runs a command. AFTER seconds later CPUs that become free
# start push walks (RT_PUSH_IPI), which Linux 7.3 does by default only with PREEMPT_RT. Without them
# such a CPU locks each overloaded queue. The setting is restored at the end.
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
