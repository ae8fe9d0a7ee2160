#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# setup.sh --check [INSTALLED]: what schedshard finds on this machine, what is missing, and the command
# that gets it. It runs before anything is installed, so that it needs a shell and no more. INSTALLED is
# the folder with the tools of an installed package; without it this is of the checkout around the file.
set -u
export LC_ALL=C

if [ $# -lt 1 ] || [ $# -gt 2 ] || [ "$1" != --check ]; then
	echo "usage: schedshard setup --check (in a checkout 'make build' installs what is missing)" >&2
	exit 2
fi
self=$(readlink -f -- "$0")
installed=${2:-}
root=$(dirname -- "$(dirname -- "$self")")
missing=
broken=

# say WHAT STATE WORDS...
say() {
	what=$1 state=$2
	shift 2
	printf '%-12s %-8s %s\n' "$what" "$state" "$*"
}

# lacks WHAT WORDS PACKAGE...: the packages by Debian's names
lacks() {
	say "$1" missing "$2"
	shift 2
	missing="$missing $*"
}

# version PROGRAM: the first number in what it says of itself
version() {
	"$1" --version 2>/dev/null | grep -o '[0-9][0-9]*\.[0-9.]*[0-9]' | head -n 1
}

# program WHAT PROGRAM PACKAGE...
program() {
	what=$1 name=$2
	shift 2
	if command -v "$name" >/dev/null; then
		say "$what" ok "$name $(version "$name")"
	else
		lacks "$what" "$name" "$@"
	fi
}

# header WHAT COMPILER LANGUAGE HEADER PACKAGE VERSION
header() {
	if ! command -v "$2" >/dev/null; then
		say "$1" unknown "$4: nothing to look for it with"
		missing="$missing $5"
	elif echo "#include <$4>" | "$2" -x "$3" -E - >/dev/null 2>&1; then
		say "$1" ok "$4 $6"
	else
		lacks "$1" "$4" "$5"
	fi
}

# The interface for plugins has grown. The newest function that the emulator has shows its version. (QEMU
# 11.1, 10.1, 9.0, 4.2.)
plugin_interface() {
	file=$(readlink -f -- "$(command -v "$1")")
	for each in set_pc:7 write_register:5 num_vcpus:2 n_vcpus:1; do
		if grep -q "qemu_plugin_${each%:*}" -- "$file"; then
			echo "${each#*:}"
			return
		fi
	done
}

# emulator PROGRAM COMMANDS PACKAGE: whether it serves these commands
emulator() {
	if ! command -v "$1" >/dev/null; then
		lacks emulator "$1, for $2" "$3"
		return 1
	fi
	number=$(plugin_interface "$1")
	if [ -z "$number" ]; then
		say emulator partly "$1 $(version "$1") takes no plugins: not for $2"
		return 1
	fi
	say emulator ok "$1 $(version "$1"), plugins of interface $number"
}

boost_version() {
	echo '#include <boost/version.hpp>' | g++ -x c++ -E -dM - 2>/dev/null |
		sed -n 's/^#define BOOST_LIB_VERSION "\(.*\)"/\1/p' | tr _ .
}

pkg_version() {
	pkg-config --modversion "$1" 2>/dev/null
}

check_python() {
	for python in "${PYTHON:-}" /usr/bin/python3 python3 python3.14 python3.13 python3.12 python3.11; do
		[ -n "$python" ] && command -v "$python" >/dev/null &&
			"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break
		python=
	done
	if [ -z "$python" ]; then
		lacks Python "3.11 or newer (PYTHON= names one; doctor alone needs 3.9)" python3 python3-venv
	elif [ -z "$installed" ] && ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
		lacks Python "venv of $python" python3-venv
	else
		say Python ok "$python $(version "$python")"
	fi
}

# The folders of the checkout that are made on first use.
check_made() {
	if [ -x "$root/.venv/bin/python" ]; then
		groups=$(for each in "$root"/.venv/has-*; do [ -e "$each" ] && printf ' %s' "${each##*/has-}"; done)
		say packages ok ".venv:$groups (sweep: sweeps and statistics, by cli/environment --sweep)"
	else
		say packages "not yet" ".venv is made on first use, from the network"
	fi
	if [ -x "$root/build/release/model/experiments/schedshard-sim" ]; then
		say build ok "build/release"
	else
		say build "not yet" "build/release is compiled on first use"
	fi
}

check_tools() {
	if [ -x "$installed/build/release/model/experiments/schedshard-sim" ] &&
		"$installed/build/release/lib/schedshard-topo" --live >/dev/null 2>&1; then
		say tools ok "$installed/build/release"
	else
		say tools missing "$installed/build/release does not run: install schedshard again"
		broken=yes
	fi
}

distribution=$(sed -n 's/^PRETTY_NAME="\{0,1\}\([^"]*\)"\{0,1\}$/\1/p' /etc/os-release 2>/dev/null)
say system "" "${distribution:-unknown}, Linux $(uname -r), $(uname -m), $(getconf _NPROCESSORS_ONLN) CPUs"
[ -n "$installed" ] || echo "version      $(cat "$root/VERSION")"
check_python
if [ -n "$installed" ]; then
	check_tools
else
	program compiler gcc gcc
	program "" g++ g++
	program build meson meson
	program "" ninja ninja-build
	program "" make make
	program "" pkg-config pkg-config
	header Boost g++ c++ boost/context/detail/fcontext.hpp libboost-context-dev "$(boost_version)"
	header hwloc gcc c hwloc.h libhwloc-dev "$(pkg_version hwloc)"
	header jansson gcc c jansson.h libjansson-dev "$(pkg_version jansson)"
	header "conc. kit" gcc c ck_pr.h libck-dev "$(pkg_version ck)"
	header zlib gcc c zlib.h zlib1g-dev "$(pkg_version zlib)"
	check_made
fi
works=
[ -z "$python" ] || works="$works, doctor"
[ -n "$missing$broken" ] || works="$works, the simulator"
[ -n "$missing$installed" ] || works="$works, the library"
# scripts/emulator builds one where the distribution's takes no plugins; packages have one inside.
emulator=${installed:-$root}/build/emulator/qemu-x86_64
[ -x "$emulator" ] || emulator=qemu-x86_64
if [ "$(uname -m)" != x86_64 ]; then
	say emulator no "record needs an x86-64 machine"
elif [ -n "$installed" ] &&
	[ ! -e "$installed/build/release/record/program/libschedshard-qemu-user.so" ]; then
	say emulator no "this package has no record"
elif emulator "$emulator" "record" qemu-user && [ -z "$missing" ]; then
	works="$works, record"
fi
if [ -n "$installed" ]; then
	:
elif ! command -v qemu-system-x86_64 >/dev/null; then
	say emulator no "qemu-system-x86_64: only for kernels, 'make kernel' installs it"
elif emulator qemu-system-x86_64 "kernel c2c" qemu-system-x86 && [ -z "$missing" ]; then
	works="$works, kernel"
fi

works=${works#, }
echo "works here: ${works:-nothing}"
[ -z "$broken" ] || exit 1
[ -n "$missing" ] || {
	echo "nothing is missing"
	exit 0
}
if ! command -v apt-get >/dev/null; then
	echo "to get what is missing, install (by Debian's names):$missing"
elif [ "$(id -u)" -eq 0 ]; then
	echo "to get what is missing: apt-get install --no-install-recommends$missing"
else
	echo "to get what is missing, as root: apt-get install --no-install-recommends$missing"
fi
exit 1
