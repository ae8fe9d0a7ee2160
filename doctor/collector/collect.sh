#!/bin/sh
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# Collect the state of this machine's scheduler, and put it into one small tar file.
#
#   sh collect.sh [-o FILE] [-s SECONDS]     write FILE [./schedshard-doctor.tar, or .tar.gz]
#   sh collect.sh -d DIRECTORY               leave the files in DIRECTORY, which must be empty
#
#   -s SECONDS   time between the two readings of the context switches [3]
#   -a           names of threads and of cgroups become pseudonyms, so that the file can be handed on
#   -k KEY       the file with the key for pseudonyms, made if it does not exist; it stays on this
#                host [~/.schedshard-doctor.key]
#   -r ROOT      read ROOT/proc and ROOT/sys instead of /proc and /sys
#   -R ROOT      take the second reading from another ROOT (both serve tests)
#
# The script runs as an ordinary user. It reads files below /proc and /sys, and
# /boot/config-RELEASE, and changes nothing. It looks for a few names among the kernel's symbols and
# types. It needs a shell, grep and the usual small tools (cat, dd, mkdir, mktemp, rm, sleep, sort,
# tr, wc). It needs gzip if the kernel's configuration is compressed, and awk and sha256sum for -a.
#
# Kept: CPUs and caches, kernel release, kernel options that matter to the scheduler, cgroups with
# their cpuset files, real-time and deadline threads. THE NAMES OF THREADS (comm) AND OF CGROUPS ARE
# KEPT without -a. Not read: command-line arguments and environments of processes, the names of the
# host and of users.
set -eu
umask 077
LC_ALL=C
export LC_ALL
# Functions that somebody exported to this shell must not take the place of programs.
unset -f awk cat command dd grep gzip mkdir mktemp printf rm sha256sum sleep sort tr wc || :

root=/
second=
seconds=3
anonymous=
key=
out=
directory=

fail() {
	echo "collect.sh: $*" >&2
	exit 2
}

usage='usage: sh collect.sh [-o FILE | -d DIRECTORY] [-s SECONDS] [-a [-k KEY]] [-r ROOT] [-R ROOT]'
while getopts o:s:d:r:R:k:ah option; do
	case $option in
	o) out=$OPTARG ;;
	s) seconds=$OPTARG ;;
	d) directory=$OPTARG ;;
	r) root=$OPTARG ;;
	R) second=$OPTARG ;;
	a) anonymous=yes ;;
	k) key=$OPTARG ;;
	h)
		echo "$usage"
		exit 0
		;;
	*) fail "$usage" ;;
	esac
done
shift $((OPTIND - 1))
[ $# -eq 0 ] || fail "unexpected argument '$1'"
case $seconds in
'' | *[!0-9]*) fail "-s $seconds: give a whole number of seconds" ;;
esac
[ "$seconds" -le 600 ] || fail "-s $seconds: at most 600 seconds"
[ -z "$out" ] || [ -z "$directory" ] || fail "-o and -d exclude each other"
[ -d "$root/proc" ] || fail "$root/proc is not a directory"
# Redirections refuse existing files, so that none writes through a link that somebody put there.
set -C
# PSEUDONYMS
if [ -n "$anonymous" ]; then
	if ! command -v pseudonyms >/dev/null 2>&1; then
		fail "-a: this copy has no pseudonyms: make it with 'doctor collect'"
	fi
	for name in awk sha256sum; do
		command -v $name >/dev/null 2>&1 || fail "-a: needs $name"
	done
	[ -n "$key" ] || [ -n "${HOME:-}" ] || fail "-a: HOME is unknown, so name a file of the key with -k"
	key=$(key_of "${key:-$HOME/.schedshard-doctor.key}")
elif [ -n "$key" ]; then
	fail "-k is for -a"
fi
[ -z "$second" ] || [ -d "$second/proc" ] || fail "$second/proc is not a directory"

# absolute PATH: the path from /, without running another program.
absolute() {
	case $1 in
	/*) printf '%s\n' "$1" ;;
	*) printf '%s/%s\n' "$PWD" "$1" ;;
	esac
}

have_gzip=
if command -v gzip >/dev/null 2>&1; then
	have_gzip=yes
fi
if [ -n "$directory" ]; then
	[ -d "$directory" ] || fail "-d $directory: no such directory"
	directory=$(absolute "$directory")
	for file in "$directory"/* "$directory"/.[!.]*; do
		if [ -e "$file" ] || [ -h "$file" ]; then
			fail "-d $directory: is not empty"
		fi
	done
	made=$directory
	trap 'rm -rf -- "$made/names"' EXIT
else
	if [ -z "$out" ]; then
		out=schedshard-doctor.tar${have_gzip:+.gz}
	fi
	out=$(absolute "$out")
	if [ -e "$out" ] || [ -h "$out" ]; then
		fail "$out exists: remove it, or name another file with -o"
	fi
	temporary=$(mktemp -d "${TMPDIR:-/tmp}/schedshard-doctor.XXXXXX") ||
		fail "cannot make a temporary directory"
	trap 'rm -rf -- "$temporary"' EXIT
	made=$temporary/schedshard-doctor
	mkdir "$made"
fi
trap 'exit 130' INT
trap 'exit 143' TERM HUP
root=$(absolute "$root")
[ -z "$second" ] || second=$(absolute "$second")

# A list of paths is one string with a newline after each path. The script passes it on in portions:
# one program per portion, not one per file. Names of cgroups may hold anything but a newline.
newline='
'
list=
listed=0
text=
if echo a | grep -a a >/dev/null 2>&1; then
	text=-a
fi

# flush PATTERN: print PATH:LINE for each matching line in the listed files, and clear the list.
# Files that are gone or cannot be read are left out.
flush() {
	if [ "$listed" -gt 0 ]; then
		IFS=$newline
		set -f
		# Old kernels end some lists with a null byte, so that grep would call the file binary.
		# shellcheck disable=SC2086 # the newlines separate the paths
		{ grep $text -s -E -e "$1" -- $list /dev/null || :; } | tr -d '\000'
		set +f
		unset IFS
	fi
	list=
	listed=0
}

# add PATTERN FILE: list a file, and flush a full portion.
add() {
	list=$list$2$newline
	listed=$((listed + 1))
	if [ "$listed" -ge 400 ]; then
		flush "$1"
	fi
}

cpus() {
	cd "$root"
	for file in sys/devices/system/cpu/possible sys/devices/system/cpu/present \
		sys/devices/system/cpu/online sys/devices/system/cpu/offline \
		sys/devices/system/cpu/isolated sys/devices/system/cpu/nohz_full \
		sys/devices/system/cpu/smt/active sys/devices/system/node/node[0-9]*/cpulist; do
		add '' "$file"
	done
	for cpu in sys/devices/system/cpu/cpu[0-9]*; do
		for name in physical_package_id die_id cluster_id core_id thread_siblings_list; do
			add '' "$cpu/topology/$name"
		done
		for cache in "$cpu"/cache/index[0-9]*; do
			for name in id level type size coherency_line_size shared_cpu_list; do
				add '' "$cache/$name"
			done
			[ -e "$cache/shared_cpu_list" ] || add '' "$cache/shared_cpu_map"
		done
	done
	flush ''
}

# Names of functions and types that show which commits a kernel contains, whoever built it. All
# kernels contain the first name of each list, so that name shows that the list could be read.
symbols='schedule|cpuset_partition_write|mm_cid_fixup_cpus_to_tasks|rto_push_irq_work_func|sched_partition_write|task_cache_work|task_mm_cid_work'
types='task_struct|last_update_tg_load_avg|sched_ext_ops'

# kernel_shows: which of these names the kernel contains. Symbols of modules have a word after the name.
kernel_shows() {
	if [ -f proc/kallsyms ]; then
		grep -s -E "^[0-9a-fA-F]+ [A-Za-z] ($symbols)\$" proc/kallsyms | while IFS= read -r line; do
			printf 'proc/kallsyms:%s\n' "${line##* }"
		done | sort -u
	fi
	# BTF contains its names one after the other, each followed by a null byte.
	if [ -f sys/kernel/btf/vmlinux ] && [ -r sys/kernel/btf/vmlinux ]; then
		tr '\000' '\n' <sys/kernel/btf/vmlinux | grep $text -x -E "$types" | sort -u |
			while IFS= read -r line; do
				printf 'sys/kernel/btf/vmlinux:%s\n' "$line"
			done
	fi
}

# Files that are kept completely. /proc/version is left out, because it names who built the kernel.
settings() {
	cd "$root"
	for file in proc/sys/kernel/osrelease proc/sys/kernel/version proc/version_signature \
		proc/sys/kernel/sched_* sys/kernel/realtime sys/kernel/sched_ext/state \
		sys/kernel/sched_ext/root/ops sys/kernel/sched_ext/switch_all \
		sys/kernel/debug/sched/features sys/kernel/debug/sched_features \
		sys/kernel/debug/sched/llc_balancing/* \
		sys/module/workqueue/parameters/* sys/devices/virtual/workqueue/cpumask \
		sys/hypervisor/type; do
		[ ! -f "$file" ] || add '' "$file"
	done
	flush ''
	# The first CPU is enough: it shows the vendor, the model and a hypervisor.
	grep -s -m 6 -E '^(vendor_id|cpu family|model|model name|CPU implementer|CPU part)[[:space:]]*:' \
		proc/cpuinfo | while IFS= read -r line; do
		printf 'proc/cpuinfo:%s\n' "$line"
	done
	if grep -s -m 1 -q -E '^flags.* hypervisor( |$)' proc/cpuinfo; then
		echo 'proc/cpuinfo:hypervisor : yes'
	fi
	kernel_shows
}

# Only parameters that concern CPUs, scheduling and cgroups: others may hold names and secrets.
command_line() {
	cd "$root"
	line=
	IFS= read -r line 2>/dev/null <proc/cmdline || :
	set -f
	for word in $line; do
		case $word in
		isolcpus=* | nohz | nohz=* | nohz_full | nohz_full=* | rcu_nocbs | rcu_nocbs=* | irqaffinity=* | \
			cgroup_* | systemd.unified_cgroup_hierarchy* | systemd.cpu_affinity=* | psi=* | preempt=* | split_llc=* | \
			shard_cap=* | nr_cpus=* | maxcpus=* | possible_cpus=* | nosmp | nosmt | nosmt=* | \
			threadirqs | rt_group_sched=* | workqueue.* | sched_* | numa=* | numa_balancing=* | skew_tick=* | \
			kthread_cpus=* | idle=* | relax_domain_level=* | noautogroup)
			printf '%s\n' "$word"
			;;
		esac
	done
	set +f
}

config_options='^(# )?CONFIG_(SMP|NR_CPUS|NR_CPUS_DEFAULT|HZ|PREEMPT[A-Z_]*|RT_GROUP_SCHED[A-Z_]*|CPUSETS[A-Z0-9_]*|CGROUP_SCHED|FAIR_GROUP_SCHED|CFS_BANDWIDTH|NO_HZ[A-Z_]*|PSI[A-Z_]*|SCHED_[A-Z0-9_]*|CPUMASK_OFFSTACK|CPU_ISOLATION|NUMA|NUMA_BALANCING|UCLAMP_[A-Z_]*|HYPERVISOR_GUEST|PARAVIRT[A-Z_]*|FUTEX[A-Z0-9_]*|RSEQ|WQ_[A-Z_]*|KASAN|KCSAN|PROVE_LOCKING|DEBUG_LOCK_ALLOC|LOCKDEP)[ =]'

config() {
	cd "$root"
	release=
	IFS= read -r release 2>/dev/null <proc/sys/kernel/osrelease || :
	if [ -r proc/config.gz ] && [ -n "$have_gzip" ]; then
		gzip -dc <proc/config.gz 2>/dev/null | grep -E -e "$config_options" || :
	elif [ -n "$release" ] && [ -r "boot/config-$release" ]; then
		grep -E -e "$config_options" "boot/config-$release" || :
	fi
}

# mounts: KIND ROOT PLACE OPTIONS of each cgroup mount that may have cpusets.
mounts() {
	cd "$root"
	[ -r proc/self/mountinfo ] || return 0
	while IFS= read -r line; do
		case $line in
		*' - cgroup2 '*) kind=cgroup2 ;;
		*' - cgroup '*) kind=cgroup ;;
		*' - cpuset '*) kind=cpuset ;;
		*) continue ;;
		esac
		after=${line##* - }
		options=${after##* }
		if [ "$kind" = cgroup ]; then
			case ,$options, in
			*,cpuset,*) ;;
			*) continue ;;
			esac
		fi
		set -f
		# shellcheck disable=SC2086 # the kernel separates the fields by blanks, and escapes others
		set -- $line
		set +f
		printf '%s %s %s %s\n' "$kind" "$4" "$5" "$options"
	done <proc/self/mountinfo
}

# walk DIRECTORY: list the cpuset files of a cgroup and of all cgroups below it. The recursive call
# changes the loop's variable, which the loop does not read again.
walk() {
	for name in $cpuset_files; do
		[ ! -f "$1/$name" ] || add '' "$1/$name"
	done
	for child in "$1"/*/ "$1"/.[!.]*/ "$1"/..?*/; do
		[ ! -d "$child" ] || [ -h "${child%/}" ] || walk "${child%/}"
	done
}

cgroups() {
	cd "$root"
	while read -r kind _ place _; do
		case $kind in
		cgroup2)
			cpuset_files='cgroup.type cpuset.cpus cpuset.cpus.effective cpuset.cpus.exclusive
				cpuset.cpus.exclusive.effective cpuset.cpus.partition cpuset.cpus.isolated'
			;;
		cgroup) cpuset_files='cpuset.cpus cpuset.effective_cpus cpuset.sched_load_balance' ;;
		*) cpuset_files='cpus effective_cpus sched_load_balance' ;;
		esac
		walk "${place#/}"
		flush ''
		# The root of a hierarchy has no cgroup.events (v2), or has a release_agent (v1). Otherwise
		# the mount shows only a part of the tree, as in a container.
		if [ -e "${place#/}/cgroup.events" ]; then
			printf '%s:%s\n' "${place#/}/cgroup.part" 1
		elif [ "$kind" != cgroup2 ] && [ ! -e "${place#/}/release_agent" ]; then
			printf '%s:%s\n' "${place#/}/cgroup.part" 1
		fi
	done <"$made/mounts"
}

# The stat file has the scheduling policy as the 39th field after the name: FIFO is 1, RR is 2,
# deadline is 6.
realtime='[)] [A-Za-z]( -?[0-9]+){37} [126]( |$)'

# threads: TGID TID POLICY PRIORITY FLAGS CPU NAME of each real-time and deadline thread.
threads() {
	cd "$root/proc"
	for task in [0-9]*/task/[0-9]*; do
		add "$realtime" "$task/stat"
	done
	flush "$realtime"
}

thread_lines() {
	while IFS= read -r line; do
		path=${line%%:*}
		name=${line#*:}
		name=${name#*'('}
		name=${name%')'*}
		tid=${path%/stat}
		set -f
		# shellcheck disable=SC2086 # numbers, separated by blanks
		set -- ${line##*') '}
		set +f
		printf '%s %s %s %s %s %s %s\n' "${path%%/*}" "${tid##*/}" "${39}" "${38}" "$7" \
			"${37}" "$name"
	done
}

# of_threads PATTERN FILE: the matching lines in a file of each listed thread.
of_threads() {
	while read -r tgid tid _; do
		add "$1" "$tgid/task/$tid/$2"
	done <"$made/threads"
	flush "$1"
}

# reading ROOT: the time, how busy each CPU was, interrupts between CPUs, and for each listed thread
# its context switches.
reading() {
	cd "$1/proc"
	grep -s '' uptime /dev/null || :
	grep -s -E '^ctxt ' stat /dev/null || :
	grep -s -E '^cpu[0-9]+ ' stat | while IFS= read -r line; do
		printf 'busy:%s\n' "$line"
	done
	grep -s -E '^ *(IWI|RES|CAL):' interrupts /dev/null || :
	of_threads '^(non)?voluntary_ctxt_switches:' status
	grep -s '' uptime /dev/null || :
}

cpus >"$made/cpus"
settings >"$made/settings"
command_line >"$made/cmdline"
config >"$made/config"
mounts >"$made/mounts"
cgroups >"$made/cgroups"
threads | thread_lines >"$made/threads"
reading "$root" >"$made/reading-1"
(
	cd "$root/proc"
	of_threads '^Cpus_allowed_list:' status
	of_threads '^(0::|[0-9]+:([^:]*,)?cpuset[,:])' cgroup
) >"$made/places"
[ -n "$second" ] || sleep "$seconds"
reading "${second:-$root}" >"$made/reading-2"
echo 'schedshard-doctor 1' >"$made/format"
names='as they are on the host'
if [ -n "$anonymous" ]; then
	pseudonyms "$made" "$key"
	names='pseudonyms, made with a key that stayed on the host. Names that the kernel or a manager
of services, guests and pods gives are as they are'
fi
{
	echo 'What schedshard doctor collected: CPUs, settings of the kernel, cgroups, real-time threads.'
	echo "Names of threads and of cgroups are $names."
	echo 'Not read: command lines and environments of processes, names of the host and of users.'
} >"$made/README"

# zeros COUNT: that many null bytes.
zeros() {
	[ "$1" -eq 0 ] || dd if=/dev/zero bs="$1" count=1 2>/dev/null
}

# member NAME: a file of the tar format (ustar), whose owner is 0 and has no name. The tar programs
# write the name of the user who calls them, and not all of them have an option against that.
member() {
	size=$(($(wc -c <"$made/$1")))
	octal=$(printf '%011o' "$size")
	# The sum of all bytes of the header, with 8 blanks in place of the sum itself. The other
	# bytes that every header has are "0000644", four times "0000000", eleven zeros, "0" and
	# "ustar00".
	sum=$((256 + 350 + 4 * 336 + 528 + 48 + 559 + 96))
	rest=schedshard-doctor/$1$octal
	while [ -n "$rest" ]; do
		code=$(printf '%d' "'$rest")
		sum=$((sum + code))
		rest=${rest#?}
	done
	printf 'schedshard-doctor/%s' "$1"
	zeros $((100 - 18 - ${#1}))
	printf '0000644\0000000000\0000000000\000%s\00000000000000\000' "$octal"
	printf '%06o\000 0' "$sum"
	zeros 100
	printf 'ustar\00000'
	zeros 64
	printf '0000000\0000000000\000'
	zeros 167
	cat "$made/$1"
	zeros $(((512 - size % 512) % 512))
}

archive() {
	for name in cpus settings cmdline config mounts cgroups threads reading-1 places \
		reading-2 README format; do
		member "$name"
	done
	zeros 1024
}

if [ -z "$directory" ]; then
	case $out in
	*.gz | *.tgz)
		[ -n "$have_gzip" ] || fail "gzip is missing: name a file that ends in .tar with -o"
		archive | gzip >"$temporary/done"
		;;
	*) archive >"$temporary/done" ;;
	esac
	# The first one makes the file, and fails where something has come to lie there.
	(: >"$out") 2>/dev/null || fail "cannot write $out"
	cat "$temporary/done" >|"$out" || {
		rm -f -- "$out"
		fail "cannot write $out"
	}
	echo "wrote $out" >&2
fi
