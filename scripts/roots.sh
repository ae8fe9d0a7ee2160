# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# shellcheck shell=bash
#
# Functions for scripts that try the project on bare roots of Debian, made by debootstrap. The script
# that includes this file sets $kept, the folder of roots and archives, and $home, that of the user.
#
# An archive of a root is kept until the date of the mirror's release changes, and so are downloads and
# the user's caches. All mounts are in a private mount namespace, which ends with its commands,
# whatever happens.

# shellcheck disable=SC2154 # kept and home are those of the including script
logs=$kept/logs
mkdir -p "$logs"

# Print the mirror that the host's apt uses.
mirror() {
	# shellcheck disable=SC2016 # apt's own variables
	apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' |
		awk '$1 == "Debian" && $2 !~ /security/ { print $2; exit }'
}

# Print the signed date of the mirror's release.
date_of() {
	local folder
	folder=$(mktemp -d "$kept/apt.XXXXXX")
	mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(mirror) $1 main" \
		>"$folder/sources"
	apt-get -q -o Dir::Etc::SourceList="$folder/sources" -o Dir::Etc::SourceParts=/dev/null \
		-o Dir::State::Lists="$folder/lists" -o Dir::Cache="$folder/cache" \
		-o APT::Sandbox::User= -o Acquire::IndexTargets::deb::Packages::DefaultEnabled=false \
		-o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
		update >"$logs/$1-date.log" 2>&1 || true
	find "$folder/lists" -name '*InRelease' -exec sed -n 's/^Date: //p;/^SHA256/q' {} \;
	rm -rf -- "$folder"
}

# base RELEASE DATE: make the bare root as an archive, again if the date has changed.
base() {
	local new=$kept/$1.new
	[ "$(cat "$kept/$1.date" 2>/dev/null)" != "$2" ] || return 0
	rm -rf -- "$new" "$kept/$1.date"
	# Its mounts end with it.
	unshare --mount --pid --fork --kill-child debootstrap --variant=minbase \
		--include=ca-certificates "$1" "$new" "$(mirror)" || return 1
	echo 'APT::Install-Recommends "false"; Acquire::Check-Valid-Until "false";' \
		>"$new/etc/apt/apt.conf.d/90releases"
	tar -C "$new" -cf "$kept/$1.tar" . && rm -rf --one-file-system -- "$new" &&
		echo "$2" >"$kept/$1.date"
}

# fresh RELEASE NAME: unpack it, with the host's ways to the network.
fresh() {
	local root=$kept/$2
	rm -rf --one-file-system -- "$root"
	mkdir -p "$root"
	tar -C "$root" -xf "$kept/$1.tar"
	cp -L /etc/resolv.conf "$root/etc/resolv.conf"
	[ ! -f /etc/pip.conf ] || cp /etc/pip.conf "$root/etc/pip.conf"
	cp -r /usr/local/share/ca-certificates "$root/usr/local/share/"
	within "$2" "update-ca-certificates && apt-get -q update &&
		useradd --uid 1000 --home-dir $home user && chown user: $home"
}

# within NAME COMMAND [USER]: run a shell command in a root, as root or as the user.
within() {
	local root=$kept/$1 caches=$kept/cache-${1%-bare}
	mkdir -p "$caches/archives/partial" "$caches/user" "$root$home/.cache"
	chown 1000:1000 "$caches/user"
	# shellcheck disable=SC2016 # for the inner shell
	root=$root caches=$caches home=$home unshare --mount --pid --fork --kill-child bash -c '
		set -e
		mount -t proc proc "$root/proc"
		mount --rbind /sys "$root/sys"
		mount --rbind /dev "$root/dev"
		mount --bind "$caches/archives" "$root/var/cache/apt/archives"
		mount --bind "$caches/user" "$root$home/.cache"
		run=(env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
			LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive HOME="$2" CCACHE_DIR="$home/.cache/ccache"
			PIP_DISABLE_PIP_VERSION_CHECK=1)
		for name in http_proxy https_proxy no_proxy PIP_INDEX_URL PIP_DEFAULT_TIMEOUT; do
			[ -z "${!name:-}" ] || run+=("$name=${!name}")
		done
		[ -z "$3" ] || run+=(setpriv --reuid 1000 --regid 1000 --clear-groups)
		exec chroot "$root" "${run[@]}" bash -euc "$1"
	' within "$2" "$([ -z "${3:-}" ] && echo /root || echo "$home")" "${3:-}" </dev/null
}
