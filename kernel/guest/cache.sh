#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# cache SECONDS SEED: cache-aware scheduling. Processes come and go while CPUs go offline and partitions are made. Then
# redis and hackbench run with scans of visited CPUs and with full scans, and the trace shows how many CPUs the scans
# read. The kernel compares every scan with a full one.
set -u
seconds=$1
dir=/sys/kernel/debug/sched/cache
trace=/tmp/tracing
event=$trace/events/sched_cache/sched_cache_scan/enable
failed=0

if [ ! -d "$dir" ]; then
	echo "no cache-aware scheduling in this kernel, or one last-level cache"
	exit 4
fi
mkdir -p $trace
mount -t tracefs tracefs $trace || exit 1
echo 256 >$trace/buffer_size_kb
[ ! -e "$dir/check" ] || echo 1 >"$dir/check"
# Emulated CPUs share the host's: in 10 ms one of many runs as much as a real one in a fraction of a millisecond.
# Threads that never sleep then look as if they had not run within the timeout.
echo 50 >"$dir/epoch_ms" || exit 1

# look WAY FEATURES COMM COMMAND...: runs the command, and prints what the scans of COMM read meanwhile.
look() {
	way=$1
	for feature in $2; do
		echo "$feature" >/sys/kernel/debug/sched/features || failed=1
	done
	comm=$3
	shift 3
	echo >$trace/trace
	echo 1 >$event
	"$@" >/dev/null || failed=1
	echo 0 >$event
	cat $trace/trace >/tmp/trace
	said=$(/bin/cache-scans /tmp/trace "$comm") || failed=1
	echo "$way: $said"
}

# median WORD...: the number after the word "median", 0 without one.
median() {
	while [ $# -gt 1 ] && [ "$1" != median ]; do
		shift
	done
	[ $# -gt 1 ] && echo "$2" || echo 0
}

# Every process may prefer a cache, so that placement has most work.
echo 100 >"$dir/tolerance"
echo 1 >$event
/bin/churn "$seconds" cache-storm &
churn=$!
/bin/cache-storm "$seconds" "$2" || failed=1
wait "$churn" || failed=1
echo 0 >$event
cat $trace/trace >/tmp/trace
echo "storm: $(/bin/cache-scans /tmp/trace)"
[ ! -e "$dir/check" ] || cat "$dir/check"

for load in redis-server hackbench; do
	for way in visited node full; do
		case $way in
		visited) features="CACHE_VISITED NO_CACHE_NODE" ;;
		node) features=CACHE_NODE ;;
		full) features="NO_CACHE_VISITED NO_CACHE_NODE" ;;
		esac
		if [ $load = redis-server ]; then
			look $way "$features" $load /bin/redis.sh 3
		else
			look $way "$features" $load /bin/hackbench -T -g 1 -f 2 -l 6000
		fi
		# shellcheck disable=SC2086 # words are meant
		found=$(median $said)
		case $way in
		visited) visited=$found ;;
		node) node=$found ;;
		full) full=$found ;;
		esac
	done
	echo "$load: median $visited of $full CPUs, with CACHE_NODE $node"
	# Each kind scanned; scans of visited CPUs read fewer, and those of a few nodes not more than all.
	[ "$visited" -gt 0 ] && [ "$visited" -lt "$full" ] && [ "$node" -gt 0 ] &&
		[ "$node" -le "$full" ] || failed=1
done
echo CACHE_VISITED >/sys/kernel/debug/sched/features

if [ -e "$dir/check" ]; then
	cat "$dir/check"
	read -r _ errors _ checks <"$dir/check"
	[ "$errors" -eq 0 ] && [ "$checks" -gt 0 ] || failed=1
fi
exit $failed
