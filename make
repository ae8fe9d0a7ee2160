#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#
# ./make TARGET...: run make; first install its package where it is missing, as on a bare Debian.
set -eu

command -v make >/dev/null || {
	command -v apt-get >/dev/null || {
		echo "./make: no make here: install it" >&2
		exit 2
	}
	as_root=
	[ "$(id -u)" -eq 0 ] || as_root=sudo
	[ -z "$as_root" ] || { command -v sudo >/dev/null && sudo -v; } || {
		echo "./make: no make here, and this user may not install it: as root, apt-get install make" >&2
		exit 2
	}
	echo "./make: installing make" >&2
	$as_root apt-get -q -y install --no-install-recommends make >/dev/null 2>&1 || {
		$as_root apt-get -q update >/dev/null
		$as_root apt-get -q -y install --no-install-recommends make >/dev/null
	}
}
exec make -C "$(dirname -- "$0")" "$@"
