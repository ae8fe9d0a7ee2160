#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# The part of collect.sh that replaces names by pseudonyms (-a). 'doctor collect' inserts it there.
#
# A pseudonym is the start of the SHA-256 hash of a key and the name. The key is random, is made
# once, and stays on the host, so that two archives of a host have the same pseudonyms. The parts of
# a name that identify a service, slice, guest or pod remain. So do names that the kernel or a
# manager gives.

# key_of FILE: print the key in a file, which is made first if it does not exist.
key_of() {
	if [ -h "$1" ]; then
		fail "-k $1: is a link"
	fi
	if [ ! -e "$1" ]; then
		random=$(dd if=/dev/urandom bs=32 count=1 2>/dev/null | sha256sum)
		(echo "$random" >"$1") 2>/dev/null || fail "-k $1: cannot be made"
	fi
	key=
	IFS=' ' read -r key _ 2>/dev/null <"$1" || :
	case $key in
	*[!0-9a-f]*) key= ;;
	esac
	[ ${#key} -eq 64 ] || fail "-k $1: is not a key of collect.sh"
	printf '%s\n' "$key"
}

# shellcheck disable=SC2016 # the dollar signs are awk's
pseudonyms_awk='
function digits(hex, at, sum) {
	sum = 0
	for (at = 1; at <= 7; at++)
		sum = sum * 16 + index("0123456789abcdef", substr(hex, at, 1)) - 1
	return sprintf("%d", sum + 1)
}
# A name itself, or its pseudonym. Numbers stay numbers, because Proxmox identifies guests by them.
function pseudonym(name) {
	if (name == "" || name in whole)
		return name
	if (known == "") {
		if (!(name in seen)) {
			seen[name] = 1
			print name
		}
		return name
	}
	return name ~ /^[0-9]+$/ ? digits(hash[name]) : "x" substr(hash[name], 1, 12)
}
function parts(name, by, count, at, made, part) {
	count = split(name, part, by)
	for (at = 1; at <= count; at++)
		made = made (at > 1 ? by : "") pseudonym(part[at])
	return made
}
# One part of a path. The prefix and the suffix of its name, which show what it is, remain.
function component(name, start, end, at) {
	if (name == "" || name in whole || name ~ /^vcpu[0-9]+$/)
		return name
	if (match(name, /\.(service|slice|scope|mount|socket|swap|target|libvirt-qemu|libvirt-lxc)$/)) {
		end = substr(name, RSTART)
		name = substr(name, 1, RSTART - 1)
	}
	for (at = 1; at <= starts; at++)
		if (length(name) > length(start_of[at]) && index(name, start_of[at]) == 1) {
			start = start_of[at]
			name = substr(name, length(start) + 1)
			break
		}
	if (end == ".slice")
		return start parts(name, "-") end
	return start parts(name, "@") end
}
function path(text, count, at, made, part) {
	count = split(text, part, "/")
	for (at = 1; at <= count; at++)
		made = made (at > 1 ? "/" : "") component(part[at])
	return made
}
BEGIN {
	count = split("sys fs cgroup unified cpuset dev init.scope system.slice user.slice machine.slice machine qemu.slice lxc lxc.monitor docker kubepods kubepods.slice kubepods-burstable.slice kubepods-besteffort.slice burstable besteffort guaranteed libvirt qemu emulator app.slice session.slice background.slice", list, " ")
	for (at = 1; at <= count; at++)
		whole[list[at]] = 1
	starts = split("kubepods-burstable-pod kubepods-besteffort-pod kubepods-pod crio-conmon- crio- cri-containerd- docker- libpod-conmon- libpod- machine-qemu\\x2d machine- lxc.payload. lxc.monitor. session- user@ user- run- pod", start_of, " ")
	while (known != "" && (getline line < known) > 0) {
		sum = line
		getline line < names
		hash[line] = substr(sum, 1, 64)
	}
}
list_name == "threads" {
	# Six numbers, then the name. Kernel threads, a bit of the fifth number, keep their names.
	rest = $0
	for (at = 1; at <= 6; at++)
		rest = substr(rest, index(rest, " ") + 1)
	if (int($5 / 2097152) % 2 == 0 && rest !~ /^CPU [0-9]+\/(KVM|TCG)$/)
		out = substr($0, 1, length($0) - length(rest)) pseudonym(rest)
	else
		out = $0
}
list_name == "mounts" { out = $1 " " path($2) " " path($3) " " $4 }
list_name == "cgroups" {
	# Saved, because component() calls match() as well.
	start = match($0, /\/[a-z_.]+:[^\/]*$/)
	out = path(substr($0, 1, start - 1)) substr($0, start)
}
list_name == "places" {
	out = $0
	if (match($0, /^[0-9]+\/task\/[0-9]+\/cgroup:[0-9]*:[^:]*:/)) {
		start = RLENGTH
		out = substr($0, 1, start) path(substr($0, start + 1))
	}
}
known != "" { print out }
'

# pseudonyms DIRECTORY KEY: replace the names in the lists of a directory. Its folder "names" has the
# key and the names; a trap removes it whatever ends the script.
pseudonyms() {
	work=$1/names
	mkdir "$work"
	for name in threads mounts cgroups places; do
		awk -v list_name="$name" -v known= "$pseudonyms_awk" <"$1/$name"
	done | sort -u >"$work/names"
	count=0
	while IFS= read -r name; do
		count=$((count + 1))
		printf '%s\n%s' "$2" "$name" >"$work/$count"
	done <"$work/names"
	at=1
	while [ $at -le $count ]; do
		set -- "$1" "$2"
		while [ $at -le $count ] && [ $# -lt 400 ]; do
			set -- "$@" "$work/$at"
			at=$((at + 1))
		done
		(
			shift 2
			sha256sum -- "$@"
		)
	done >"$work/hashes"
	for name in threads mounts cgroups places; do
		awk -v list_name="$name" -v known="$work/hashes" -v names="$work/names" \
			"$pseudonyms_awk" <"$1/$name" >"$work/$name.new"
		cat "$work/$name.new" >|"$1/$name"
	done
	rm -rf -- "$work"
	echo 'collector/pseudonyms:yes' >>"$1/settings"
}
