# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# shellcheck shell=sh
# What trial.sh and case.sh share. They set: share, the folder of the scripts; plan, the folder of
# doctor's plan; cgroups, the mount point of the tree with cpusets; workload, the name of the
# groups' program.
#
# Lines for the host begin with "trial: "; a line "trial: wrong: ..." is a fault.
set -u
LC_ALL=C
export LC_ALL
home=/var/lib/trial
: "${share:?}" "${plan:?}" "${cgroups:?}" "${workload:?}"

say() {
	echo "trial: $*"
}

wrong() {
	say "wrong: $*"
}

# run LABEL COMMAND...: run it, print its output, and last its status.
run() {
	label=$1
	shift
	"$@" 2>&1 </dev/null | sed "s/^/trial: $label: /"
}

# expect STATUS LABEL COMMAND...: like run, but another status is an error.
expect() {
	wanted=$1
	shift
	status=$home/status
	{
		label=$1
		shift
		"$@" 2>&1 </dev/null
		echo $? >"$status"
	} | tee $home/said | sed "s/^/trial: $1: /"
	read -r got <"$status"
	[ "$got" = "$wanted" ] || wrong "$1 ended with status $got, not $wanted"
}

# Everything that a plan may change: cgroups, units, and which CPUs and nodes each thread may use.
# Threads of this script are left out, because they come and go. Kernel threads get one line per
# name and place, because the kernel starts and ends workers at any time.
snapshot() {
	find "$cgroups" -type d | sort
	find "$cgroups" \( -name 'cpuset.*' -o -name cgroup.subtree_control -o -name cgroup.type \) \
		-exec grep -H '' {} + 2>/dev/null | sort
	for directory in /etc/systemd /run/systemd/system /run/systemd/transient \
		/run/systemd/system.control /run/systemd/generator; do
		[ -d $directory ] || continue
		find $directory -type d | sort
		find $directory -type f -exec sha256sum {} + | sort
		find $directory -type l -exec ls -l {} + | sed 's/.* \(\/.*\)/\1/' | sort
	done
	# Use files: in a pipe awk would run beside grep, and be among the threads only sometimes.
	grep -s -H '' /proc/[0-9]*/task/*/stat >$home/stats
	grep -s -H -E '^(Name|Cpus_allowed_list|Mems_allowed_list):' \
		/proc/[0-9]*/task/*/status >$home/statuses
	awk '
		{ thread = $0; sub(/\/stat.*/, "", thread) }
		/^[^:]*\/stat:/ {
			fields = $0
			sub(/.*\) /, "", fields)
			split(fields, field, " ")
			known[thread] = 1
			# PF_NO_SETAFFINITY: the kernel gives these their CPUs itself, others from time to time.
			# A process that has ended, and that nobody has waited for, is none.
			if (int(field[7] / 67108864) % 2 || field[1] == "Z")
				skip[thread] = 1
			# PF_KTHREAD
			if (int(field[7] / 2097152) % 2)
				kernel[thread] = 1
			next
		}
		!(thread in skip) { words[thread] = words[thread] " " $NF }
		END {
			# A thread that started between the two readings is left out: its kind is unknown.
			for (thread in words)
				if (!(thread in known))
					continue
				else if (!(thread in kernel))
					print "thread" words[thread]
				else if (!seen[words[thread]]++)
					print "kernel" words[thread]
		}' $home/stats $home/statuses |
		grep -v -E '^thread (trial|awk|grep|sort|sh|sed|find|\(udev-worker|systemd-udevd)' |
		sort | uniq -c
}

# The cgroups of the workloads, and the CPUs and nodes that they may use.
places() {
	for process in /proc/[0-9]*; do
		read -r name 2>/dev/null <"$process/comm" || continue
		[ "$name" = "$workload" ] || continue
		cpus=$(sed -n 's/^Cpus_allowed_list:.//p' "$process/status")
		mems=$(sed -n 's/^Mems_allowed_list:.//p' "$process/status")
		say "workload: $(cut -d: -f3- "$process/cgroup") CPUs $cpus nodes $mems"
	done | sort
}

# The kernel's own messages about the root domains that it made since the last call.
told=0
domains() {
	dmesg | grep 'root domain span' >$home/dmesg || :
	tail -n +$((told + 1)) $home/dmesg | sed 's/.*\(root domain span\)/trial: kernel: \1/'
	told=$(wc -l <$home/dmesg)
}

settle() {
	sleep 3
}

# apply.sh and undo.sh call probe.sh after each of their changes: whether others still run, and
# whether real-time threads of the workload have lost a CPU.
probed() {
	expected=$1
	script=$2
	rm -f $home/probes
	grep -s -H '^Cpus_allowed_list:' /proc/[0-9]*/task/[0-9]*/status >$home/allowed
	expect "$expected" "$script" env WROTE="$share/probe.sh" sh "$plan/$script"
	sed 's/^/trial: probe: /' $home/probes
	! grep -q '^late' $home/probes || wrong "$script: a probe did not run within a second"
	! grep -q '^lost' $home/probes || wrong "$script: a real-time thread lost a CPU"
}

# known FILE OTHER: print a snapshot without the kernel threads whose names the other one lacks.
known() {
	awk '
		NR == FNR { if ($2 == "kernel") both[$3] = 1; next }
		$2 != "kernel" || $3 in both' "$2" "$1"
}

# Take the snapshot that compare() uses. It must come out the same twice, so that it contains
# nothing transient.
remember() {
	tries=0
	snapshot >$home/before
	until snapshot >$home/after && cmp -s $home/before $home/after || [ $tries = 5 ]; do
		tries=$((tries + 1))
		cp $home/after $home/before
		sleep 1
	done
}

same() {
	snapshot >$home/after
	known $home/before $home/after >$home/before.known
	known $home/after $home/before >$home/after.known
	awk '
		NR == FNR { left[$0]++; next }
		left[$0] > 0 { left[$0]--; next }
		{ print "> " $0 }
		END {
			for (line in left)
				for (; left[line] > 0; left[line]--)
					print "< " line
		}' $home/before.known $home/after.known | sort >$home/differences
	[ ! -s $home/differences ]
}

# Compare a few times: what undo.sh left stays, but a thread that is starting or ending does not.
compare() {
	tries=1
	until same || [ $tries = 5 ]; do
		tries=$((tries + 1))
		sleep 1
	done
	if [ ! -s $home/differences ]; then
		say "undone: no difference in $(wc -l <$home/before.known) lines"
	else
		sed 's/^/trial: difference: /' $home/differences
		wrong "undo.sh left differences: $(head -n 3 $home/differences | tr -s '\n ' ' ')"
	fi
}
