#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# redis SECONDS: repeats the benchmark of a Redis server over loopback until the time is over.
set -u
end=$(($(date +%s) + $1))
socket=/tmp/redis.sock
rounds=0

/bin/redis-server --port 6379 --bind 127.0.0.1 --unixsocket "$socket" --save '' --appendonly no \
	--io-threads 2 --daemonize no --loglevel warning &
tries=0
until /bin/redis-cli -s "$socket" ping 2>/dev/null | grep -q PONG; do
	tries=$((tries + 1))
	[ "$tries" -lt 100 ] || exit 1
	sleep 0.2
done
while :; do
	/bin/redis-benchmark -h 127.0.0.1 -c 16 -n 400 -t set,get,lpush -q >/dev/null || exit 1
	rounds=$((rounds + 1))
	[ "$(date +%s)" -lt "$end" ] || break
done
echo "$rounds rounds"
/bin/redis-cli -s "$socket" shutdown nosave
