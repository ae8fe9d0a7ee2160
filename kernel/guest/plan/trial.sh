#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# Try a plan of doctor in this guest, one phase a boot; `schedshard kernel plan` starts it.
#
#   collect   run collect.sh on the groups of real-time threads, and hand its file to the host
#   apply     take the plan from the host: apply, verify; undo, compare; apply again
#   kept      after a boot: verify; collect again; undo, compare with what was before the plan
#
# /dev/vdb carries a tar file from and to the host. Lines for the host begin with "trial: "; a line
# "trial: wrong: ..." is a fault.
set -u
LC_ALL=C
export LC_ALL

home=/var/lib/trial
plan=$home/plan
exchange=/dev/vdb
cgroups=/sys/fs/cgroup
systemd=
[ ! -d /run/systemd/system ] || systemd=yes

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

# expect STATUS LABEL COMMAND...: the same, and another status is an error.
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
# Threads of this script come and go.
snapshot() {
	find $cgroups -type d | sort
	find $cgroups \( -name 'cpuset.*' -o -name cgroup.subtree_control -o -name cgroup.type \) \
		-exec grep -H '' {} + 2>/dev/null | sort
	for directory in /etc/systemd /run/systemd/system /run/systemd/transient \
		/run/systemd/system.control /run/systemd/generator; do
		[ -d $directory ] || continue
		find $directory -type d | sort
		find $directory -type f -exec sha256sum {} + | sort
		find $directory -type l -exec ls -l {} + | sed 's/.* \(\/.*\)/\1/' | sort
	done
	{
		grep -s -H '' /proc/[0-9]*/task/*/stat
		grep -s -H -E '^(Name|Cpus_allowed_list|Mems_allowed_list):' /proc/[0-9]*/task/*/status
	} | awk '
		{ thread = $0; sub(/\/stat.*/, "", thread) }
		/^[^:]*\/stat:/ {
			fields = $0
			sub(/.*\) /, "", fields)
			split(fields, field, " ")
			# PF_NO_SETAFFINITY: the kernel gives these their CPUs itself, others from time to time.
			if (int(field[7] / 67108864) % 2)
				skip[thread] = 1
			next
		}
		!(thread in skip) { words[thread] = words[thread] " " $NF }
		END { for (thread in words) print "thread" words[thread] }' |
		grep -v -E '^thread (trial|awk|grep|sort|sh|sed|find|\(udev-worker|systemd-udevd)' |
		sort | uniq -c
}

# The cgroups of the workloads, and the CPUs and nodes that they may use.
places() {
	for process in /proc/[0-9]*; do
		read -r name 2>/dev/null <"$process/comm" || continue
		[ "$name" = cyclictest ] || continue
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

compare() {
	snapshot >$home/after
	if diff $home/before $home/after >$home/differences; then
		say "undone: no difference in $(wc -l <$home/before) lines"
	else
		sed 's/^/trial: difference: /' $home/differences
		wrong "undo.sh left differences"
	fi
}

# apply.sh moves the groups itself; after each of its changes probe.sh looks whether others still run.
apply() {
	cp /usr/local/share/trial/probe.sh $home/probe
	chmod +x $home/probe
	rm -f $home/probes
	expect 0 apply.sh env WROTE=$home/probe sh $plan/apply.sh
	sed 's/^/trial: probe: /' $home/probes
	! grep -q late $home/probes || wrong "a probe did not run within a second"
	expect 0 verify.sh sh $plan/verify.sh
	places
	domains
}

# Services that are not at work, and why: their state, and the status with which they ended.
failed_units() {
	for service in /etc/systemd/system/trial-*.service; do
		service=${service##*/}
		systemctl is-active --quiet "$service" ||
			say "$service: $(systemctl show -p ActiveState,Result,ExecMainStatus "$service" | tr '\n' ' ')"
	done
}

# What undo.sh says that could not start while the plan was in force.
start_again() {
	sed -n 's/.*: \(systemctl start [^ ]*\)$/\1/p' $home/said | while read -r _ _ service; do
		say "starting: $service"
		systemctl start "$service"
	done
}

undo() {
	expect 0 undo.sh sh $plan/undo.sh
	start_again
	settle
	domains
	compare
}

hand_over() {
	rm -f $home/host.tar
	run collect.sh sh /usr/local/share/trial/collect.sh -o $home/host.tar -s 5
	tar -cf $exchange -C $home host.tar
	sync
}

mkdir -p $home
say "phase $1 on Linux $(uname -r)${systemd:+, $(systemctl --version | sed -n 1p)}"
settle
domains
case $1 in
collect)
	places
	hand_over
	;;
apply)
	rm -rf $plan
	tar -xf $exchange -C $home
	snapshot >$home/before
	apply
	expect 0 'apply.sh again' sh $plan/apply.sh
	undo
	apply
	;;
kept)
	if [ -n "$systemd" ]; then
		expect 0 verify.sh sh $plan/verify.sh
		places
		failed_units
	else
		# Nothing makes the partitions at boot: the files of apply.sh are of the last boot.
		expect 1 'verify.sh after a boot' sh $plan/verify.sh
		apply
	fi
	hand_over
	undo
	;;
*) wrong "no phase '$1'" ;;
esac
say "end of phase $1"
