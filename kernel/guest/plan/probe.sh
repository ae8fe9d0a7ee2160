#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# apply.sh calls this after each of its changes: how long do a program of real-time priority 1 and an
# ordinary one take, from their start to their end? A line each time: what was changed, and hundredths
# of a second by the guest's clock. Above a second it says "late".
now() {
	read -r seconds rest </proc/uptime
	echo "${seconds%.*}${seconds#*.}"
}

began=$(now)
chrt -f 1 /bin/true
between=$(now)
/bin/true
ended=$(now)
word=in
if [ $((between - began)) -gt 100 ] || [ $((ended - between)) -gt 100 ]; then
	word=late
fi
echo "$word time: real-time $((between - began)), ordinary $((ended - between)): $1" >>/var/lib/trial/probes
