#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# cache-group SECONDS SEED: visited CPUs in the cache groups of Linux 7.3. Processes come and go
# while CPUs go offline and partitions are made. Then two processes with three threads each run
# undisturbed. The kernel compares every scan with the preference that Linux would have computed.
set -u
knobs=/sys/kernel/debug/sched/llc_balancing
check=/sys/kernel/debug/sched_cache_check
failed=0

if [ ! -e "$check" ]; then
	echo "this kernel has no check of cache groups"
	exit 4
fi
# Emulated CPUs share the host's: in 10 ms one of many runs as much as a real one in a fraction of a millisecond.
# Threads that never sleep then look as if they had not run within the timeout. So an epoch is 50 ms (HZ is 100).
echo 5 >"$knobs/epoch_period" || exit 1
# Let every process prefer a cache, which makes the most work.
echo 100 >"$knobs/aggr_tolerance" || exit 1
echo 1 >"$check"
/bin/churn "$1" cache-storm &
churn=$!
/bin/cache-storm "$1" "$2" || failed=1
wait "$churn" || failed=1
echo "after the storm:"
cat "$check"
/bin/cache-work threads 2 3 "$1" || failed=1
echo 0 >"$check"
cat "$check"
read -r _ errors _ checks <"$check"
[ "$errors" -eq 0 ] && [ "$checks" -gt 0 ] || failed=1
exit $failed
