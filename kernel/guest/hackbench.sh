#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# hackbench SECONDS: runs hackbench with normal and with FIFO tasks in turn, until the time is over.
set -u
end=$(($(date +%s) + $1))
rounds=0

while :; do
	/bin/hackbench -g 2 -f 8 -l 40 || exit 1
	/bin/chrt -f 50 /bin/hackbench -T -g 2 -f 8 -l 40 || exit 1
	rounds=$((rounds + 1))
	[ "$(date +%s)" -lt "$end" ] || break
done >/dev/null
echo "$rounds rounds"
