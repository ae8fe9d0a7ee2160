#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# Try a plan of doctor in this guest, one phase per boot; `schedshard kernel plan` starts it.
#
#   collect   run collect.sh on the groups of real-time threads, and hand its file to the host
#   apply     take the plan from the host: apply, verify; undo, compare; apply again
#   kept      after a boot: verify; collect again; undo, compare with what was before the plan
#
# /dev/vdb carries a tar file from and to the host. Lines for the host begin with "trial: "; a line
# "trial: wrong: ..." is a fault.
set -u
share=/usr/local/share/trial
plan=/var/lib/trial/plan
exchange=/dev/vdb
cgroups=/sys/fs/cgroup
workload=cyclictest
# shellcheck source-path=SCRIPTDIR source=shared.sh
. $share/shared.sh
systemd=
[ ! -d /run/systemd/system ] || systemd=yes

# apply.sh moves the groups itself.
apply() {
	probed 0 apply.sh
	expect 0 verify.sh sh $plan/verify.sh
	places
	domains
}

# Print the services that are not active, with their state and exit status.
failed_units() {
	for service in /etc/systemd/system/trial-*.service; do
		service=${service##*/}
		systemctl is-active --quiet "$service" ||
			say "$service: $(systemctl show -p ActiveState,Result,ExecMainStatus "$service" | tr '\n' ' ')"
	done
}

# Start what undo.sh lists as unable to start while the plan was in force.
start_again() {
	sed -n 's/.*: \(systemctl start [^ ]*\)$/\1/p' $home/said | while read -r _ _ service; do
		say "starting: $service"
		systemctl start "$service"
	done
}

undo() {
	probed 0 undo.sh
	start_again
	settle
	domains
	compare
}

hand_over() {
	rm -f $home/host.tar
	run collect.sh sh $share/collect.sh -o $home/host.tar -s 5
	tar -cf $exchange -C $home host.tar
	sync
}

mkdir -p $home
chmod +x $share/probe.sh
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
	remember
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
