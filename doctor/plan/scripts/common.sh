# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# shellcheck shell=sh disable=SC2034,SC2154 # others set and use some variables
# Functions that apply.sh, verify.sh and undo.sh of a plan share. They source this file.
#
#   sh apply.sh|verify.sh|undo.sh [-r ROOT]
#
#   -r ROOT   work below ROOT instead of /, for tests. The variables SYSTEMCTL and TASKSET name other
#             programs; WROTE names one that is called after each change
#
# The file 'partitions' contains the plan, one fact per line, and 'steps' the steps in their order. Tabs
# separate the fields. 'found' records what was changed, in order, for undo.sh. 'affinities' contains the
# CPUs that each thread could use before.
set -eu
LC_ALL=C
export LC_ALL

plan=$here/partitions
journal=$here/found
affinities=$here/affinities
systemctl=${SYSTEMCTL:-systemctl}
taskset=${TASKSET:-taskset}
tab=$(printf '\t')
root=
dry=

fail() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

usage() {
	echo "usage: sh ${0##*/} [-r ROOT]" >&2
	exit 2
}

while [ $# -gt 0 ]; do
	case ${0##*/},$1 in
	apply.sh,--dry-run) dry=yes ;;
	*,-r)
		[ $# -gt 1 ] || usage
		root=$2
		shift
		;;
	*) usage ;;
	esac
	shift
done
if [ ! -r "$plan" ] || [ ! -r "$here/steps" ]; then
	fail "$plan or $here/steps is missing: make the plan again"
fi

# planned KIND: the lines of one kind, without the kind.
planned() {
	sed -n "s/^$1$tab//p" "$plan"
}

cgroups=$root$(planned place)
units=$root/etc/systemd/system
manager=$(planned manager)
version=$(planned version)
prefix=$(planned prefix)

# content FILE: the first line of a file, empty if it cannot be read. A shell's read may take single
# bytes, and a file below /proc/sys that contains a number ends after one read.
content() {
	{ sed 1q <"$1"; } 2>/dev/null || :
}

wrote() {
	[ -z "${WROTE-}" ] || "$WROTE" "$@" || fail "the test's kernel objects"
}

# cpus minus|plus A B: print a list. cpus within|meets A B: return whether B contains A, or overlaps it.
cpus() {
	awk -v op="$1" -v a="$2" -v b="$3" '
		function expand(list, set,   count, parts, i, ends, cpu) {
			count = split(list, parts, ",")
			for (i = 1; i <= count; i++) {
				if (split(parts[i], ends, "-") == 1)
					ends[2] = ends[1]
				for (cpu = ends[1] + 0; cpu <= ends[2] + 0; cpu++) {
					set[cpu] = 1
					if (cpu > most)
						most = cpu
				}
			}
		}
		BEGIN {
			most = -1
			expand(a, one)
			expand(b, two)
			out = ""
			all = 1
			any = 0
			for (cpu = 0; cpu <= most; cpu++) {
				any = any || ((cpu in one) && (cpu in two))
				all = all && (!(cpu in one) || (cpu in two))
				take = op == "plus" ? (cpu in one) || (cpu in two) : (cpu in one) && !(cpu in two)
				if (take && !(cpu > 0 && taken == cpu - 1 && out != "")) {
					out = out (out == "" ? "" : ",") cpu
					first = cpu
				}
				if (take) {
					taken = cpu
				}
				if (take && cpu > first) {
					sub(/-[0-9]+$/, "", out)
					out = out "-" cpu
				}
			}
			if (op == "within")
				exit !all
			if (op == "meets")
				exit !any
			print out
		}'
}

# populated CGROUP: whether processes are in a cgroup or below it.
populated() {
	if [ -r "$1/cgroup.events" ]; then
		grep -q '^populated 1' "$1/cgroup.events"
	else
		[ -n "$(content "$1/cgroup.procs")" ]
	fi
}

remember() {
	printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$journal"
}

# put FILE VALUE: write a cgroup file, remember its old value, and read it back. A partition that is
# not in force reads back with a reason, which is not remembered because it cannot be written.
put() {
	[ -e "$1" ] || surprise "$1 does not exist: cpusets are off in the kernel or the cgroup above"
	old=$(content "$1")
	if [ "$old" = "$2" ]; then
		return 0
	fi
	remember value "${1#"$root"}" "${old%% invalid*}"
	printf '%s\n' "$2" >"$1" || surprise "$1: the kernel refuses '$2'"
	wrote "$1"
	[ "$(content "$1")" = "$2" ] || surprise "$1 reads '$(content "$1")', not '$2'"
}

# threads: one line per thread that may be moved: number, start, name, CPUs, cgroup, policy (- for
# kernel threads), process.
threads() {
	(
		cd "$root/proc"
		printf '%s\n' [0-9]*/task/[0-9]*/stat | xargs grep -s -H '' || :
		printf '%s\n' [0-9]*/task/[0-9]*/cgroup | xargs grep -s -H -E '^(0::|[0-9]+:([^:]*,)?cpuset[,:])' || :
		printf '%s\n' [0-9]*/task/[0-9]*/status | xargs grep -s -H '^Cpus_allowed_list:' || :
	) | awk -v OFS='\t' -v version="$version" '
		!match($0, "/task/[0-9]+/") { next }
		{
			thread = substr($0, RSTART + 6, RLENGTH - 7)
			process[thread] = substr($0, 1, RSTART - 1)
			file = substr($0, RSTART + RLENGTH)
			sub(/:.*/, "", file)
		}
		file == "stat" {
			comm = fields = $0
			sub(/^[^(]*\(/, "", comm)
			sub(/\) [A-Za-z] [-0-9 ]*$/, "", comm)
			gsub(/[^ -~]/, "?", comm)
			sub(/.*\) /, "", fields)
			split(fields, field, " ")
			# PF_NO_SETAFFINITY: the kernel sets the CPUs of these threads itself.
			if (int(field[7] / 67108864) % 2)
				next
			start[thread] = field[20]
			name[thread] = comm
			# PF_KTHREAD
			policy[thread] = int(field[7] / 2097152) % 2 ? "-" : field[39] + 0
		}
		file == "cgroup" {
			sub(/^[^:]*:/, "")
			unified = /^0::/
			sub(/^[0-9]+:[^:]*:/, "")
			gsub(/[^ -~]/, "?")
			if (unified == (version == 2))
				cgroup[thread] = $0
		}
		file == "status" && thread in start {
			print thread, start[thread], name[thread], $NF, cgroup[thread], policy[thread], process[thread]
		}'
}

# of_group PATH CPUS: the real-time threads of users that are in the cgroup ("in") or run only on these
# CPUs ("out"): this word, number, process, CPUs, policy.
of_group() {
	threads | inside=$1 awk -F '\t' -v OFS='\t' -v list="$2" '
		BEGIN {
			inside = ENVIRON["inside"]
			count = split(list, parts, ",")
			for (i = 1; i <= count; i++) {
				if (split(parts[i], ends, "-") == 1)
					ends[2] = ends[1]
				for (cpu = ends[1] + 0; cpu <= ends[2] + 0; cpu++)
					mine[cpu] = 1
			}
		}
		$6 == 1 || $6 == 2 || $6 == 6 {
			within = 1
			count = split($4, parts, ",")
			for (i = 1; i <= count && within; i++) {
				if (split(parts[i], ends, "-") == 1)
					ends[2] = ends[1]
				for (cpu = ends[1] + 0; cpu <= ends[2] + 0; cpu++)
					if (!(cpu in mine))
						within = 0
			}
			here = $5 == inside || index($5, inside "/") == 1
			if (here || within)
				print here ? "in" : "out", $1, $7, $4, $6
		}'
}

boot_id() {
	content "$root/proc/sys/kernel/random/boot_id"
}

# changed real-time|all: threads that may use other CPUs than before: number, CPUs before, name, cgroup,
# CPUs now. After a reboot the name and the cgroup identify a thread. It is then listed only if it may
# run anywhere now; otherwise it was pinned anew. Deadline threads cannot be pinned, and are left out.
changed() {
	[ -e "$affinities" ] || return 0
	threads | awk -F '\t' -v OFS='\t' -v boot="$(boot_id)" -v which="$1" \
		-v all="$(content "$cgroups/cpuset.cpus.effective")" '
		NR == 1 { same = $2 == boot; next }
		{ key = same ? $1 FS $2 : $3 FS $5 }
		NR == FNR {
			if (key in cpus && cpus[key] != $4)
				cpus[key] = "several"
			else
				cpus[key] = $4
			next
		}
		$6 == 6 || (which != "all" && $6 != 1 && $6 != 2) { next }
		key in cpus && cpus[key] != $4 && (same || (which == "all" && $4 == all)) {
			print $1, cpus[key], $3, $5, $4
		}' "$affinities" -
}

# loosened: reads changed(), and prints the threads that may use CPUs that they could not use before:
# number, CPUs before. Threads whose CPUs before are unknown ("several") are left out.
loosened() {
	awk -F '\t' -v OFS='\t' '
		function expand(list, set,   count, parts, i, ends, cpu) {
			count = split(list, parts, ",")
			for (i = 1; i <= count; i++) {
				if (split(parts[i], ends, "-") == 1)
					ends[2] = ends[1]
				for (cpu = ends[1] + 0; cpu <= ends[2] + 0; cpu++)
					set[cpu] = 1
			}
		}
		$2 == "several" { next }
		{
			split("", had)
			split("", has)
			expand($2, had)
			expand($5, has)
			for (cpu in has)
				if (!(cpu in had)) {
					print $1, $2
					next
				}
		}'
}

# refused: services that did not start, because their CPUAffinity= names CPUs of partitions only. Linux
# 7.2 and 7.3 refuse such CPUs to tasks outside. The service then ends with status 215.
refused() {
	[ "$manager" = systemd ] || return 0
	"$systemctl" --plain --no-legend --state=failed list-units | while read -r unit _; do
		case $("$systemctl" show -p ExecMainStatus -- "$unit") in
		ExecMainStatus=215) printf '%s\n' "$unit" ;;
		esac
	done
}
