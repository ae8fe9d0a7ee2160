#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# setup.sh --check [INSTALLED]: print for each product whether it works on this machine, what it lacks,
# and the command that gets the rest. It installs nothing and needs only a shell. INSTALLED is the folder of
# an installed package; without it the products are those of the checkout around this file.
set -u
export LC_ALL=C

place=${2-/} # ./schedshard passes a user's words, such as the name of a product
if [ $# -gt 2 ] || [ "${1:-}" != --check ] || [ "${place#/}" = "$place" ]; then
	echo "usage: schedshard setup --check (in a checkout './make build' installs what is missing)" >&2
	exit 2
fi
root=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
place=${2-$root}
status=0

# On other distributions nothing says which of the packages are there.
unchecked=
[ $# -eq 2 ] || { command -v apt-get && command -v dpkg-query; } >/dev/null ||
	unchecked=", if its packages are installed (docs/install.md)"

# product NAME COMMAND LACK...: print one line; each LACK that is not empty is something missing
product() {
	name=$1 command=$2 lacks=
	shift 2
	for lack; do
		[ -z "$lack" ] || lacks=${lacks:+$lacks, }$lack
	done
	if [ -z "$lacks" ]; then
		printf '%-10s works%s\n' "$name" "$unchecked"
	else
		status=1
		printf '%-10s lacks %s%s\n' "$name" "$lacks" "${command:+: $command}"
	fi
}

# packages GROUP...: what scripts/bootstrap would install
packages() {
	[ -z "$unchecked" ] || return
	# shellcheck disable=SC2046 # one word per package
	set -- $(bash "$root/scripts/bootstrap" --list "$@")
	case $# in
	0) ;;
	[1-4]) echo "$*" ;;
	*) echo "$# packages ($1, $2, $3, ...)" ;;
	esac
}

# python [OPTION]: the Python packages of the checkout's environment
python() {
	sh "$root/cli/environment" --check "$@" || echo "Python packages"
}

# tools: the compiled programs, which an installed package has with their libraries
tools() {
	if [ ! -x "$place/build/release/model/experiments/schedshard-sim" ]; then
		echo "compiled programs"
	elif ! "$place/build/release/lib/schedshard-topo" --live >/dev/null 2>&1; then
		echo "compiled programs that run here"
	fi
}

emulator() {
	for program in "$place/build/emulator/qemu-x86_64" "$(command -v qemu-x86_64)"; do
		[ ! -x "$program" ] || ! "$program" --help 2>/dev/null | grep '^-plugin' >/dev/null || return
	done
	echo "an emulator that loads plugins"
}

linux() {
	[ -d "$root/build/kernel/src/base" ] || echo "Linux's source"
}

distribution=$(sed -n 's/^PRETTY_NAME="\{0,1\}\([^"]*\)"\{0,1\}$/\1/p' /etc/os-release 2>/dev/null)
echo "${distribution:-unknown system}, Linux $(uname -r), $(uname -m), $(getconf _NPROCESSORS_ONLN) CPUs"
x86=
[ "$(uname -m)" = x86_64 ] || x86="an x86-64 processor"
if [ $# -eq 2 ]; then
	again="install schedshard again"
	product doctor "$again" ""
	product run "$again" "$(tools)"
	product record "schedshard's Debian package has both" "$x86" "$(tools)" "$(emulator)"
	echo "kernel     only from a checkout"
	exit $status
fi
product doctor "./make doctor" "$(packages doctor)" \
	"$([ -x "$root/build/doctor/schedshard-doctor.pyz" ] || python)"
product trial "./make trial" "$(packages trial)"
product library "./make install-lib PREFIX=/usr/local" "$(packages library)"
product run "./make build" "$(packages demo)" "$(python)" "$(tools)"
product sweep "./make build && cli/environment --sweep" "$(packages demo)" "$(python --sweep)" "$(tools)"
product record "./make build" "$x86" "$(packages demo)" "$(python)" "$(tools)" "$(emulator)"
product series "./make series" "$(packages series)" "$(python)" "$(linux)"
product kernel "./make kernel" "$(packages demo kernel)" "$(python)" "$(tools)" "$(linux)"
product tests "./make check" "$(packages demo check)" "$(python --dev)"
exit $status
