#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# apply.sh and undo.sh call this after each of their changes. It measures how long a program of
# real-time priority 1 and an ordinary one take from start to end. Each call adds a line: what was
# changed, and hundredths of a second by the guest's clock. If one took more than a second the line
# begins with "late". A line "lost" names a real-time thread, not of the kernel, that has lost CPUs
# since the script began.
home=/var/lib/trial

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
{
	echo "$word time: real-time $((between - began)), ordinary $((ended - between)): $*"
	# Threads that are gone, and the kernel's own, lose nothing.
	{
		cat $home/allowed
		grep -s -H '^Cpus_allowed_list:' /proc/[0-9]*/task/[0-9]*/status
		echo policies
		grep -s -H '' /proc/[0-9]*/task/[0-9]*/stat
	} | awk '
		function expand(list, set,   count, parts, i, ends, cpu) {
			count = split(list, parts, ",")
			for (i = 1; i <= count; i++) {
				if (split(parts[i], ends, "-") == 1)
					ends[2] = ends[1]
				for (cpu = ends[1] + 0; cpu <= ends[2] + 0; cpu++)
					set[cpu] = 1
			}
		}
		$0 == "policies" { policies = 1; next }
		!policies {
			thread = $1
			sub(/\/status:.*/, "", thread)
			if (thread in before)
				after[thread] = $NF
			else
				before[thread] = $NF
			next
		}
		{
			thread = $0
			sub(/\/stat:.*/, "", thread)
			if (!(thread in after) || after[thread] == before[thread])
				next
			sub(/.*\) /, "")
			split($0, field, " ")
			if (field[39] + 0 != 1 && field[39] + 0 != 2 || int(field[7] / 2097152) % 2)
				next
			split("", had)
			split("", has)
			expand(before[thread], had)
			expand(after[thread], has)
			for (cpu in had)
				if (!(cpu in has)) {
					print "lost: " thread ": had " before[thread] ", has " after[thread]
					break
				}
		}'
} >>$home/probes
