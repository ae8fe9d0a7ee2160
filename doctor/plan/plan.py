# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes a plan: one page of commands that turn cgroups of real-time threads into partitions.

The lines of the page are the commands that a person would type. The kernel decides about each, and
says why it refuses one. One rule is checked here: no cgroup loses its last usable CPU.
"""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.inputs import open_input
from common.paths import typed
from doctor.facts.cpusets import Cpuset
from doctor.facts.facts import Facts
from doctor.facts.load import Part, auxiliary, kind_of, unit_of
from doctor.facts.values import clean, cpu_list
from doctor.judge.finding import count_of
from doctor.judge.predictions import percent, share_words
from doctor.judge.root_domains import barred, roaming, wide_words, widest
from doctor.judge.verdict import Verdict
from doctor.known import offers
from doctor.plan.apply import EMULATOR, FORMAT, MOST
from doctor.predict.prediction import Prediction, total
from doctor.predict.shape import PARTITION
from doctor.predict.stored import faster
from model.machines.topo import label

# Names of cgroups with other characters are in no command.
_PLAIN = re.compile(r"[A-Za-z0-9:_.\\@/+,=~-]{1,512}")
# Parts with less than this share of the largest part's wake-ups would gain nothing: they poll.
_LITTLE = 0.01
# This many CPUs without real-time threads are left for all other tasks, even if others need one.
_STAY = 2
# How a page and its JSON begin.
_OURS = re.compile(
    rb"# [0-9]+ partitions? for .*: Linux |\{\s*\"format\":\s*\"%b\"" % FORMAT.encode()
)
# For each kind of cgroup: who sets its list of CPUs today, and how to keep a partition of it.
_OWNERS = {
    "pod": "the kubelet (static CPU manager) at each start of a container, which 'crictl ps "
    "--no-trunc' names. It has no setting for partitions: repeat the line after each start. Its "
    "reserved CPUs (reservedSystemCPUs; OpenShift: spec.cpu.reserved of the PerformanceProfile) "
    "stay {reserved}",
    "guest": "libvirt, from <cputune> in the guest's XML. Repeat the line from the hook "
    "/etc/libvirt/hooks/qemu, at 'started'",
    "proxmox": "Proxmox VE, from the guest's affinity (qm set ID --affinity LIST; for a container "
    "lxc.cgroup2.cpuset.cpus). Repeat the line from the guest's hookscript, at 'post-start'",
    "job": "SLURM (ConstrainCores=yes) at each start of a job. Repeat the line from Prolog=, which "
    "runs as root, with PrologFlags=RunInJob, so that the job's cgroup exists by then",
    "container": "the container's runtime (--cpuset-cpus; LXC: cpuset.cpus): 'podman ps "
    "--no-trunc' or 'docker ps --no-trunc' names the container of an ID. Repeat the line after "
    "each start",
    "service": "systemd: 'systemctl set-property UNIT AllowedCPUs=LIST' keeps the cgroup's cpuset; "
    "a later drop-in in 'systemctl cat UNIT' wins. CPUSetPartition=root (systemd 261) keeps the "
    "partition of a unit in -.slice only; for others run 'apply --again' at each start of the unit",
    "other": "whoever starts these programs. Repeat the line after each start",
}


@dataclass(frozen=True)
class Row:
    """A cgroup that becomes a partition. ``base`` is the partition above it, "" for the root.

    ``masks`` are the CPU lists of the threads that a threaded cgroup takes over from its parent.
    ``emulator`` is the CPU of a guest's threads other than virtual CPUs, if they have to move.
    """

    path: str
    cpus: frozenset[int]
    was: str
    kind: str
    threads: int
    wakeups: float
    base: str
    masks: tuple[str, ...] = ()
    emulator: int | None = None


@dataclass(frozen=True)
class Plan:
    """The rows, the reasons why other parts get no partition, and the saved share of CPU time."""

    rows: tuple[Row, ...]
    left: tuple[str, ...]
    rest: frozenset[int]
    gain: float


def _row(part: Part, beside: list[Part], facts: Facts, emulator: int | None = None) -> Row | str:
    """Return a part's row of the plan, or why it gets none. ``beside`` are the other parts."""
    others = frozenset[int]().union(*(other.cpus | _lists(other, facts) for other in beside))
    where = f"CPUs {label(part.cpus)}"
    if len(part.places) > 1:
        names = ", ".join(_shown(name) for name in part.places[:3])
        return f"{where}: threads of {names} share these CPUs: first pin them to separate CPUs"
    place = part.places[0]
    above = offers.base_of(place, facts)
    used = any(name.startswith(f"{above}/") for other in beside for name in other.places)
    place = above if above and not used else place
    if offers.overlooked(place, facts) and not part.split:
        # A slice below the root may be a partition, if its CPUs are this part's alone.
        top = f"{above}/{place[len(above) + 1 :].partition('/')[0]}"
        listed = facts.cpusets.sets.get(top, Cpuset(top)).cpus or frozenset()
        used = any(f"{name}/".startswith(f"{top}/") for other in beside for name in other.places)
        place = top if listed >= part.cpus and not listed & others and not used else place
    if _PLAIN.fullmatch(place) is None:
        return f"{where}: the name {_shown(place)} has characters that are unsafe in a command"
    if any(name.startswith(f"{place}/") for other in beside for name in other.places):
        return f"{where}: cgroups inside {_shown(place)} become partitions"
    held = facts.cpusets.sets.get(place, Cpuset(place))
    own = _listed(held, facts)
    kind = kind_of(unit_of(place))
    cpus = part.cpus
    threads = [thread for group in part.groups for thread in group.threads if not thread.kernel]
    if part.split or place == "/":
        if any(thread.cgroup != place for thread in threads):
            return f"{where}: its threads are in several cgroups below {_shown(place)}"
        if inner := facts.cpusets.domains.get(place):
            return (
                f"{where}: the kernel makes no threaded cgroup beside {_shown(inner)}, which is "
                "not threaded: the processes of that cgroup would have to leave it first"
            )
        path = f"{place.rstrip('/')}/cpus-{min(cpus)}"
        if reason := offers.too_deep(path, facts):
            return f"{where}: {reason}"
        masks = {
            label(thread.allowed): min(thread.allowed) for thread in facts.threads
            if thread.cgroup == place and thread.allowed and thread.allowed & facts.online <= cpus
        }  # fmt: skip
        lists = tuple(sorted(masks, key=lambda mask: masks[mask]))
        base = offers.base_of(path, facts)
        return Row(path, cpus, "-", kind, len(threads), part.wakeups, base, lists)
    if _vm(place):
        apart = [inner.cpus or frozenset() for inner in facts.cpusets.inside(place)
                 if auxiliary(inner.path)]  # fmt: skip
        more = frozenset[int]().union(*apart) - cpus
        # An emulator with more CPUs than cgroups has all CPUs that no virtual CPU uses.
        own -= more if len(more) > max(len(apart), _STAY) and not held.cpus else frozenset()
    if own >= cpus and not own & others:
        cpus = own
    confined = held.cpus and held.cpus & facts.online <= cpus
    if facts.unthrottled and not (cpus - part.cpus or confined or _vm(place)):
        return (
            f"{where}: {facts.unthrottled}, so that other threads of {_shown(place)} may never run "
            "on these CPUs: give its list a CPU without a real-time thread first"
        )
    vcpus = (thread.allowed or cpus for thread in threads if not auxiliary(thread.cgroup or ""))
    if not _vm(place) or not cpus <= frozenset[int]().union(*vcpus):
        emulator = None
    elif emulator is None:
        return (
            f"{where}: the emulator of {_shown(place)} needs a CPU on which no virtual CPU "
            "runs, and none is free: give the guest another CPU, and collect again"
        )
    else:
        cpus |= {emulator}
        emulator = emulator if kind == "guest" else None
    if reason := offers.too_deep(place, facts):
        return f"{where}: {reason}"
    return Row(
        place, cpus, held.partition if held.valid else "member", kind, len(threads), part.wakeups,
        offers.base_of(place, facts), emulator=emulator,
    )  # fmt: skip


def _listed(cpuset: Cpuset, facts: Facts) -> frozenset[int]:
    """Return the CPUs of a cgroup's list, or, if it is empty, of the lists of cgroups below it."""
    below = facts.cpusets.inside(cpuset.path) if not cpuset.cpus else [cpuset]
    return facts.online & frozenset[int]().union(*(held.cpus or () for held in below))


def _lists(part: Part, facts: Facts) -> frozenset[int]:
    """Return the CPUs of the lists of a part's cgroups."""
    sets = [facts.cpusets.sets.get(place, Cpuset(place)) for place in part.places if place != "/"]
    return frozenset[int]().union(*(_listed(cpuset, facts) for cpuset in sets))


def _vm(place: str) -> bool:
    """Whether a cgroup is of a virtual machine, whose other threads need a CPU too."""
    return kind_of(place) == "guest" or place.startswith("/qemu.slice/")


def _emulators(parts: list[Part], made: list[Row | str], facts: Facts) -> dict[int, int]:
    """Return, by a part's index, a free CPU for each guest, in its cache or else on its node.

    ``made`` are the rows without these CPUs, or why there is none. Some free CPUs are left for all
    other tasks.
    """
    alone = (
        thread.allowed for thread in facts.threads
        if thread.allowed and len(thread.allowed) == 1
        and not (thread.kernel or auxiliary(thread.cgroup or ""))
    )  # fmt: skip
    kept = (row.cpus for row in made if isinstance(row, Row))
    free = facts.online - frozenset[int]().union(*(part.cpus for part in parts), *alone, *kept)
    ordinary = facts.online - facts.boot_isolated
    emulators = {}
    for index, part in enumerate(parts):
        if isinstance(made[index], Row) or not _vm(part.places[0]) or len(part.places) > 1:
            continue
        above = offers.base_of(part.places[0], facts)
        inside = free & (facts.cpusets.sets[above].claimed if above else free)
        for held in facts.cpusets.sets.values():
            if _is_partition(held) and not f"{above}/".startswith(f"{held.path}/"):
                inside -= held.claimed
        known = [facts.cpus[cpu] for cpu in part.cpus if cpu in facts.cpus]
        nodes = {own.node for own in known}
        # On free CPUs of isolcpus something may poll, as nobody else is to run there.
        if any(cpu.node in nodes for cpu in facts.cpus.values() if cpu.number in ordinary):
            inside &= ordinary
        node = [cpu for cpu in inside if facts.cpus[cpu].node in nodes]
        cache = [cpu for cpu in node if facts.cpus[cpu].llc in {own.llc for own in known}]
        if len(inside) > _STAY:
            far = {cpu: min(abs(cpu - own) for own in part.cpus) for cpu in cache or node or inside}
            emulators[index] = max(far, key=lambda cpu: (-far[cpu], cpu))
            free -= {emulators[index]}
    return emulators


def _shown(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else repr(name[:80])


def _others(rows: list[Row], facts: Facts) -> list[tuple[str, frozenset[int]]]:
    """Return the cgroups beside the rows that cannot use all CPUs, and the CPUs that they have."""
    own = tuple(f"{row.path}/" for row in rows)
    made = [(row.base, _listed(facts.cpusets.sets[row.base], facts))
            for row in rows if row.masks and row.base]  # fmt: skip
    for held in facts.cpusets.preorder():
        above = any(path.startswith(f"{held.path.rstrip('/')}/") for path in own)
        partition = held.root_partition or held.isolated_partition
        if not (above or partition or f"{held.path}/".startswith(own)):
            base = facts.cpusets.sets.get(offers.base_of(held.path, facts), held)
            made.append((held.path, (held.cpus or base.claimed) & facts.online))
    return made


def _quietest(rows: list[Row], facts: Facts) -> frozenset[int]:
    """Return the CPUs of the cache or row with the fewest wake-ups, if some row is elsewhere."""
    places = [*sorted(facts.llcs, key=min), *(row.cpus for row in rows)]
    rates = {
        cpus: sum(row.wakeups for row in rows if row.cpus & cpus)
        for cpus in places
        if cpus - facts.boot_isolated and not all(row.cpus & cpus for row in rows)
    }  # fmt: skip
    return min(rates, key=lambda cpus: rates[cpus], default=facts.online)


def _without_one_cache(verdict: Verdict, rows: list[Row], left: list[str]) -> list[Row] | str:
    """Return the rows except those of a cache that is left for all other tasks; or a reason."""
    facts = verdict.facts
    assert facts is not None
    given = _quietest(rows, facts)
    if given == facts.online:
        return "every CPU has real-time threads of one group, which partitions would not divide"
    threads = sum(row.threads for row in rows if row.cpus & given)
    free = f"{len(given)} of {len(facts.online)} CPUs ({label(given)})"
    others = f"do nothing, at {share_words(verdict.cost)}; or {_series(verdict)}"
    if facts.unthrottled:
        return (
            f"every CPU has real-time threads, and {facts.unthrottled}: all other tasks would wait "
            "behind these. Set sched_rt_runtime_us to 950000, which keeps 5% of each CPU for other "
            f"tasks; free {free} of real-time threads; {others}"
        )
    left.append(
        f"CPUs {label(given)}: every CPU has real-time threads, and all other tasks need CPUs. So "
        f"those tasks share these CPUs with {threads} real-time threads. Or move these threads to "
        f"other CPUs, so that real-time threads lose {free}; {others}"
    )
    return [row for row in rows if not row.cpus & given]


def _series(verdict: Verdict) -> str:
    rows = [cost.row("shard") for cost in verdict.costs if isinstance(cost, Prediction)]
    share = share_words(total(row.share for row in rows if row is not None))
    return f"boot a kernel with schedshard's series, which needs no partition and leaves {share}"


def make_plan(verdict: Verdict) -> Plan | str:
    """Return the plan for a verdict, or in one sentence why there is none."""
    facts = verdict.facts
    costly = [
        (finding.cpus, finding.predicted) for finding in verdict.findings
        if isinstance(finding.predicted, Prediction)
    ]  # fmt: skip
    hot = [cpus for cpus, predicted in costly if predicted.row(PARTITION) is not None]
    if facts is None:
        return "HOST.tar shows the groups, a profile does not"
    if not costly:
        why = barred(facts, verdict.loads, verdict.costs)
        return why or "no partition is known to save enough"
    loads = [load for load in verdict.loads if load.domain.cpus in (hot or dict(costly))]
    if not hot and all(load.kernel > load.wakeups / 2 for load in loads):
        return "most of these wake-ups are of kernel threads, which no partition of a cgroup takes"
    if not hot:
        who = ", ".join(map(_shown, widest(loads[0]))) or "these programs"
        return (
            f"threads of {who} may run on the same CPUs: give groups of them separate CPUs, and "
            "collect again"
        )
    if facts.pseudonyms:
        return "names of cgroups are pseudonyms (collect.sh -a): collect without -a"
    if facts.cpusets.version == 1:
        return offers.V1
    if facts.cpusets.version == 0 or facts.cpusets.part:
        return "the whole tree of cgroups was not seen: collect on the host itself"
    if other := offers.no_partitions(facts):
        return other[0]
    parts = [part for load in loads for part in load.parts]
    most = max((part.wakeups for part in parts), default=0.0)
    parts = [part for part in parts if part.cpus and part.wakeups >= max(_LITTLE * most, 1.0)]
    if len(parts) > MOST:
        return f"{len(parts):,} partitions are more than a person can review ({MOST})"
    rows, left = _rows(parts, facts)
    left += filter(None, (clean(roaming(load)) for load in loads))
    free = facts.online - facts.boot_isolated - frozenset[int]().union(
        *(held.claimed for held in facts.cpusets.sets.values() if _is_partition(held))
    )  # fmt: skip
    rest = free - frozenset[int]().union(*(row.cpus for row in rows))
    if rows and not rest:
        kept = _without_one_cache(verdict, rows, left)
        if isinstance(kept, str):
            return kept
        rows = kept
        rest = free - frozenset[int]().union(*(row.cpus for row in rows))
    for path, cpus in _others(rows, facts):
        if cpus and cpus <= frozenset[int]().union(*(row.cpus for row in rows)):
            least = min((row for row in rows if row.cpus & cpus), key=lambda row: row.wakeups)
            left.append(f"CPUs {label(least.cpus)}: threads of {_shown(path)} have no other CPU")
            rows.remove(least)
            rest |= least.cpus & free
    if not rows:
        return left[0] if left else "no real-time threads are in groups of CPUs"
    taken = frozenset[int]().union(*(row.cpus for row in rows))
    gain = 0.0
    for load, cost in zip(verdict.loads, verdict.costs):
        if load in loads and isinstance(cost, Prediction):
            inside = sum(part.wakeups for part in load.parts if part.cpus <= taken)
            gain += cost.saved * inside / sum(part.wakeups for part in load.parts)
    return Plan(tuple(rows), tuple(left), rest, gain)


def _rows(parts: Iterable[Part], facts: Facts) -> tuple[list[Row], list[str]]:
    held = list(parts)
    beside = [held[:number] + held[number + 1 :] for number in range(len(held))]
    made = [_row(part, others, facts) for part, others in zip(held, beside)]
    for number, cpu in _emulators(held, made, facts).items():
        made[number] = _row(held[number], beside[number], facts, cpu)
    rows = [row for row in made if isinstance(row, Row)]
    left = [reason for reason in made if isinstance(reason, str)]
    return sorted(rows, key=lambda row: min(row.cpus)), left


def _is_partition(held: Cpuset) -> bool:
    return held.path != "/" and (held.root_partition or held.isolated_partition)


_BY_HAND = """\
# As root. p CGROUP CPUS prints root, or why the kernel refuses. u CGROUP undoes it: the lists of
# the cgroups above lose CGROUP's CPUs, but keep the CPUs of other cgroups.
p() (
  IFS=/; set -f
  for n in $1; do
    echo +cpuset >cgroup.subtree_control; cd "./$n" || exit
    echo "$(cat cpuset.cpus.exclusive),$2" >cpuset.cpus.exclusive || exit
  done
  echo root >cpuset.cpus.partition; cat cpuset.cpus.partition
)
u() (
  cd "./$1" && echo member >cpuset.cpus.partition && echo >cpuset.cpus.exclusive || exit
  n=$1; while [ "$n" != "${n%/*}" ]; do
    n=${n%/*}; cd .. || exit
    echo "$(cat ./*/cpuset.cpus.exclusive | tr -s '\\n' ,)" >cpuset.cpus.exclusive
  done
)"""
_OLD = """\
# As root. p CGROUP CPUS prints root, or why the kernel refuses; u CGROUP LIST undoes it, where LIST
# is the earlier cpuset.cpus, which the cgroup's line names.
p() (
  echo +cpuset >cgroup.subtree_control; cd "./$1" && echo "$2" >cpuset.cpus || exit
  echo root >cpuset.cpus.partition; cat cpuset.cpus.partition
)
u() ( cd "./$1" && echo member >cpuset.cpus.partition && echo "$2" >cpuset.cpus )"""
_THREADS = """\
# t CGROUP CPUS LISTS makes a threaded cgroup, and moves into it those threads of its parent whose
# CPUs are one of the lists. Then t goes on like p. v CGROUP undoes t.
t() {
  ( n=$(basename "$1"); cd "$(dirname "./$1")" && mkdir "$n" && echo threaded >"$n/cgroup.type" ||
    exit
  for i in $(cat cgroup.threads); do
    l=$(taskset -cp "$i"); case " $3 " in *" ${l##*: } "*) echo "$i" >"$n/cgroup.threads";; esac
  done; : ) && p "$1" "$2"
}
v() {
  u "$1"; ( cd "./$1" && for i in $(cat cgroup.threads); do echo "$i" >../cgroup.threads; done )
  rmdir "./$1"
}"""


def _boot(plan: Plan, facts: Facts) -> list[str]:
    taken = frozenset[int]().union(*(row.cpus for row in plan.rows))
    if not facts.boot_isolated & taken:
        return []
    kept = facts.boot_isolated - taken
    words = [word for word in facts.cmdline if word.startswith("isolcpus=")]
    flags = any("managed_irq" in word for word in words)
    gone = "take domain out of the flags of" if flags else "remove"
    change = f"leave only {label(kept)} in the list of" if kept else gone
    return [
        "First change a boot option, because the kernel gives no CPU of isolcpus a root domain: "
        f"{change} {shlex.join(words)}. Then boot and collect again, because cgroups have other "
        "names after a boot. Until the partitions are made, other tasks may run on these CPUs. To "
        "undo this, put isolcpus= back."
    ]


def _line(row: Row, facts: Facts) -> str:
    path = shlex.quote(row.path[len(row.base) + 1 :])
    sets = facts.cpusets.sets
    held = sets.get(row.path, Cpuset(row.path))
    was = row.was if held.valid else f"{held.partition} invalid"
    note = f"# {was} -> root, {row.threads} threads, {row.wakeups:,.0f}/s"
    if row.masks:
        return f"t {path} {label(row.cpus)} {shlex.quote(' '.join(row.masks))}  {note}"
    if row.was == "isolated":
        file = shlex.quote(f"{row.path[len(row.base) + 1 :]}/cpuset.cpus.partition")
        return f"echo root >{file}  {note}"
    if not offers.has_exclusive(facts):
        note += f", cpuset.cpus was '{label(held.cpus or frozenset())}'"
    if row.emulator is not None:
        vm, pins = shlex.quote(_guest(row.path)), ""
        below = [name for name in sets if name.startswith(f"{row.path}/") and auxiliary(name)]
        for name in below or [EMULATOR]:
            threads, leaf = sets.get(name, held), name.rpartition("/")[2]
            verb = f"emulatorpin {vm}" if leaf == "emulator" else f"iothreadpin {vm} {leaf[8:]}"
            pins += f"virsh {verb} {row.emulator} --live --config && "
            was = label(threads.cpus or threads.effective or facts.online)
            note += f", {leaf} was on {was}"
        return f"{pins}p {path} {label(row.cpus)}  {note}"
    return f"p {path} {label(row.cpus)}  {note}"


def _guest(path: str) -> str:
    """Return a guest's name from its scope, machine-qemu-NUMBER-NAME.scope with escaped dashes."""
    name = path.rpartition("/")[2].removesuffix(".scope")
    name = re.sub(r"\\x([0-9a-f]{2})", lambda match: chr(int(match[1], 16)), name)
    return re.sub(r"^(?:machine-)?(?:qemu|lxc)-[0-9]+-|\.libvirt-(?:qemu|lxc)$", "", name)


def plan_data(verdict: Verdict, plan: Plan) -> dict[str, Any]:
    """Return the plan as the data that 'doctor apply' reads."""
    assert verdict.facts is not None
    return {
        "format": FORMAT,
        "release": verdict.facts.release,
        "cpus": len(verdict.facts.online),
        "rows": [
            {
                "cgroup": row.path,
                "base": row.base,
                "cpus": label(row.cpus),
                "was": row.was,
                "masks": list(row.masks),
                "emulator": row.emulator,
            }
            for row in plan.rows
        ],
    }


def _reserved(facts: Facts) -> str:
    """Return the CPUs that the host keeps for its manager, as its boot options say."""
    isolated = facts.nohz_full or facts.boot_isolated
    words = [word for word in facts.cmdline if word.startswith("systemd.cpu_affinity=")]
    with contextlib.suppress(ValueError):
        if not isolated and words:
            return label(cpu_list(words[-1].partition("=")[2]))
    return label(facts.online - isolated) if isolated else "as they are"


def _questions(verdict: Verdict, facts: Facts, plan: Plan) -> list[str]:
    """Return the answers to what an operator asks before a change."""
    count = len(facts.online)
    later = [faster(cost, 2.0) for cost in verdict.costs if isinstance(cost, Prediction)]
    doubled = total(cost_later for cost_later in later if cost_later is not None)
    now, twice = (wide_words(cost) or share_words(cost) for cost in (verdict.cost, doubled))
    taken = frozenset[int]().union(*(row.cpus for row in plan.rows))
    gain = f"up to {percent(plan.gain)}, {plan.gain * count:.1f} of {count} CPUs"
    if wide_words(verdict.cost):
        gain = "cannot tell how much"
    return [
        f"Gain: {gain}, because of shorter waits on the partitions' own CPUs, {label(taken)}.",
        f"If nothing is done: sharing costs {now}, and nothing breaks"
        + ("." if None in later else f". At twice the wake-ups it would cost {twice}."),
        f"Whom it hurts: all other tasks can then use only CPUs {label(plan.rest)}, "
        f"{len(plan.rest)} of {count}, even when the partitions' CPUs idle.",
        *_moved(plan, facts),
        *[
            "Linux 6.7 to 6.10 and backports may give no root domain to a partition whose parent "
            "is not one (fixed by ccac8e8de99c): if 'verify' after 'apply' says so, run 'undo'."
        ][: any(offers.overlooked(row.path, facts) for row in plan.rows)],
        "The plan holds while these cgroups live. Programs that start later have no partition, "
        "and cannot use the partitions' CPUs.",
        f"Or {_series(verdict)}.",
    ]


def _moved(plan: Plan, facts: Facts) -> list[str]:
    """Return who may use only the partitions' CPUs and is in none of them, as a line."""
    taken = frozenset[int]().union(*(row.cpus for row in plan.rows))
    inside = tuple(f"{row.path}/" for row in plan.rows)
    divided = {row.path.rpartition("/")[0] for row in plan.rows if row.masks}
    names = {
        thread.cgroup for thread in facts.threads
        if thread.cgroup not in (None, *divided) and not f"{thread.cgroup}/".startswith(inside)
        and not thread.kernel and thread.allowed and thread.allowed & facts.online <= taken
    }  # fmt: skip
    sets = [facts.cpusets.sets.get(name, Cpuset(name)) for name in divided]
    names |= {held.path for held in sets if held.cpus and held.cpus & facts.online <= taken}
    shown = ", ".join(sorted(_shown(name) for name in names if name)[:5])
    if not shown:
        return []
    return [f"Moved: other threads of {shown} leave these CPUs for {label(plan.rest)}."]


def is_plan(path: Path) -> bool:
    """Whether a file is a regular one, no link, that --plan wrote: a page, or its JSON."""
    with contextlib.suppress(UserError), open_input(path, "plan", links=False) as file:
        return _OURS.match(file.read(1000)) is not None
    return False


def _functions(plan: Plan, facts: Facts) -> list[str]:
    """Return the functions that the lines call, and how to undo a line without a function."""
    made = []
    if any(row.was != "isolated" for row in plan.rows):
        made.append(_BY_HAND if offers.has_exclusive(facts) else _OLD)
    if any(row.masks for row in plan.rows):
        made.append(_THREADS)
    if any(row.was == "isolated" for row in plan.rows):
        made += [
            "# After 'echo root', unbound work of the kernel may use these CPUs, unless",
            "# /sys/devices/virtual/workqueue/cpumask excludes them. 'echo isolated' undoes it.",
        ]
    if any(row.emulator is not None for row in plan.rows):
        made.append("# To undo a pin of virsh, give it the threads' earlier CPUs.")
    return made


def plan_text(verdict: Verdict, plan: Plan) -> str:
    """Return the page."""
    facts = verdict.facts
    assert facts is not None
    count = len(facts.online)
    lines = [
        f"# {count_of(len(plan.rows), 'partition')} for {clean(verdict.source)}: "
        f"Linux {facts.release}, {count} CPUs. Costs: predicted shares of the machine's CPU time.",
        *(f"# {line}" for line in _questions(verdict, facts, plan)),
        *(f"# {line}" for line in _boot(plan, facts)),
        f"# The same with one command each: {typed('doctor apply FILE.json')}, verify, undo.",
        *_functions(plan, facts),
    ]
    for base in sorted({row.base for row in plan.rows}):
        lines.append(f"cd {shlex.quote(facts.cpusets.place + base)}")
        lines += [_line(row, facts) for row in plan.rows if row.base == base]
    lines.append(
        "# A boot undoes the plan. Who sets these cgroups' CPUs, and how to keep the partitions:"
    )
    kinds = sorted({row.kind for row in plan.rows})
    for kind in kinds:
        owner = _OWNERS.get(kind, _OWNERS["other"]).format(reserved=_reserved(facts))
        lines.append(f"# - {kind}: {owner}.")
    if plan.left:
        lines.append("# These get no partition:")
        lines += [f"# - {reason}." for reason in plan.left[:10]]
        if len(plan.left) > 10:
            lines.append(f"# - and {len(plan.left) - 10} more.")
    return "\n".join(lines) + "\n"
