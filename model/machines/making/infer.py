# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Infers the topology of a machine from core-to-core latencies alone.

It works bottom up. Average linkage joins CPUs, and the heights of the joins form bands with wide
gaps between them. The nearest bands are SMT siblings, as far as they join pairs at the cost of a
line inside one core. The next band may be cores with a common L2, and the one after that the LLC.
From there on whole LLCs are compared by the median of all their pairs, which a few bad measurements
do not change. The bands of LLCs are the node and the package.

Latencies alone leave three questions open. Each is decided as follows, with a note to the user.

- All LLCs may be equally far apart. They may then be in one package (each LLC is one core complex),
or each may be a package (each LLC is a mesh).

- Pairs of one package may cost as much as remote ones, because their lines had their home in
another package.

- Firmware options split packages into NUMA nodes. A package counts as one node. If some of its LLCs
are nearer to each other than to the rest, they are a tier of latency (tiers.py), unless they are as
far apart as other levels.

One outlier can mislead clustering. Trying every regular shape (shapes.py) is robust, and shows what
else fits. choose() takes the better of the two and reports both.
"""

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from model.machines.making.classes import Evidence
from model.machines.making.grouping import (
    between,
    equal_groups,
    fill_missing,
    group_medians,
    tree,
)
from model.machines.making.latencycsv import LatencyTable, Matrix
from model.machines.making.shapes import (
    CLUSTERED,
    EQUAL,
    LEVELS,
    UNKNOWN,
    Shape,
    in_order,
    misfit_of,
    shapes,
    unusual,
    verdict,
)
from model.machines.making.topology import (
    Ids,
    Topology,
    cpu_list,
    make_topology,
    regular_form,
    renumber,
    within,
)

# A line passed between SMT siblings never leaves the L1: 8 to 11 ns on the machines measured.
SMT_NS = 16.0
# Distinguishes cores with a common L2 from a small core complex. The level above a common L2 is an
# LLC, of at most this latency. The level above a core complex is other complexes, farther away.
L2_NEXT_NS = 75.0
# The median inside one LLC was 25 to 27 ns on core complexes and 51 to 55 ns on meshes.
MESH_NS = 38.0
# If more than this share of CPUs has no sibling, the cores have no SMT. Otherwise these CPUs are
# outliers.
WILD_SHARE = 0.1
# Above this the nearest other core is no longer in the same LLC.
LLC_NS = 80.0
# On a mesh, other sub-NUMA clusters are within this many times a cluster's own latency, and other
# packages are beyond.
CLUSTER_STEP = 1.8


@dataclass
class Inference:
    """A topology and its uncertainties."""

    topology: Topology
    notes: list[str] = field(default_factory=list)


def infer_topology(table: LatencyTable) -> Inference:
    """Return cores, LLCs, nodes and packages of the CPUs in a latency table."""
    ns = fill_missing(table.symmetric())
    notes: list[str] = []
    core, l2, llc = _near_levels(ns, notes)
    llc = np.unique(llc, return_inverse=True)[1].reshape(-1)
    core, l2 = _mend_siblings(core, l2, llc, table.cpus, notes)
    package, node = _far_levels(ns, llc, table.cpus, notes)
    levels = {"core": core, "l2": l2, "llc": llc, "node": node, "package": package}
    return Inference(make_topology(table.cpus, levels), notes)


def _near_levels(ns: Matrix, notes: list[str]) -> tuple[Ids, Ids, Ids]:
    """Return the groups of CPUs by core, L2 and LLC."""
    count = len(ns)
    joins = tree(ns)
    bands = joins.levels()
    # where to cut so that band i is joined and band i + 1 is not
    cuts = [between(a, b) for a, b in pairwise(bands)]
    cuts.append(bands[-1][1] * 2.0)
    alone = np.arange(count, dtype=np.int64)
    core = alone
    at = 0
    # Siblings are one pair with one measurement each, so noise alone makes several bands of them.
    for band, (_, height) in enumerate(bands):
        joined = joins.cut(cuts[band])
        if height > SMT_NS or int(np.bincount(joined).max()) > 2:
            break
        core = joined
        at = band + 1
    l2 = core
    if at == len(bands):
        return core, l2, core
    if at + 1 < len(bands) and bands[at + 1][1] <= L2_NEXT_NS:
        groups = joins.cut(cuts[at])
        cores = equal_groups(groups)
        threads = equal_groups(core)
        if cores is not None and threads is not None and cores // threads <= 8:
            l2 = groups
            at += 1
            notes.append(
                f"groups of {cores // threads} cores inside one LLC count as sharing an L2"
            )
    if bands[at][0] > LLC_NS:
        notes.append(
            f"the nearest other core is {bands[at][0]:.0f} ns away: every core has its own LLC"
        )
        return core, l2, l2
    return core, l2, joins.cut(cuts[at])


def _mend_siblings(
    core: Ids, l2: Ids, llc: Ids, cpus: tuple[int, ...], notes: list[str]
) -> tuple[Ids, Ids]:
    """Join the only two CPUs of an LLC that have no sibling, if all others have one.

    Siblings are one pair with one measurement, so a single outlier separates them.
    """
    alone = np.bincount(core)[core] == 1
    if not alone.any() or alone.all():
        return core, l2
    core, l2 = core.copy(), l2.copy()
    for group in np.unique(llc[alone]).tolist() if alone.mean() <= WILD_SHARE else []:
        pair = np.flatnonzero(alone & (llc == group))
        if pair.size == 2:
            core[pair], l2[pair] = core[pair[0]], l2[pair[0]]
            alone[pair] = False
            notes.append(
                f"CPUs {cpu_list([cpus[i] for i in pair])} count as siblings: they are the only "
                "ones of their LLC without a sibling by latency"
            )
    if alone.any():
        rest = [cpu for cpu, single in zip(cpus, alone.tolist(), strict=True) if single]
        notes.append(f"CPUs {cpu_list(rest)} have no SMT sibling, others have")
    return core, l2


def _far_levels(ns: Matrix, llc: Ids, cpus: tuple[int, ...], notes: list[str]) -> tuple[Ids, Ids]:
    """Return package and node of each CPU."""
    one = np.zeros(len(ns), dtype=np.int64)
    count = int(llc.max()) + 1
    if count == 1:
        notes.append("one LLC in all: one package, one node")
        return one, one
    medians = group_medians(ns, llc)
    joins = tree(medians)
    bands = joins.levels()
    inside = _inside_ns(ns, llc)
    mesh = inside is not None and inside > MESH_NS
    order = _by_lowest_cpu(llc, cpus)
    if len(bands) == 1:
        shape = f"LLCs of {inside:.0f} ns" if inside is not None else "LLCs of one core"
        if mesh:
            notes.append(
                f"all {count} {shape} are equally far apart: each counts as a package, "
                "as such latencies inside an LLC belong to a mesh that fills a package"
            )
            return llc, llc
        notes.append(
            f"all {count} {shape} are equally far apart: they count as core complexes of a package"
        )
        package = np.zeros(count, dtype=np.int64)
    elif mesh and inside is not None and bands[0][0] > inside * CLUSTER_STEP:
        notes.append(
            "LLCs are meshes and all farther apart than clusters of one package would be: "
            "each counts as a package, and the tiers between them are links of several hops"
        )
        return llc, llc
    else:
        package = joins.cut(between(bands[-2], bands[-1])) - 1
        package = _mend_packages(package, order, cpus, llc, notes)
    if mesh:
        notes.append("every LLC is a separate mesh inside a package: a sub-NUMA cluster")
        return package[llc], llc
    node = package
    if len(bands) > 2:
        node = within(package, joins.cut(between(bands[0], bands[1])))
        notes.append("tiers inside a package count as NUMA nodes")
    else:
        node = package
    return package[llc], node[llc]


def _inside_ns(ns: Matrix, llc: Ids) -> float | None:
    """Return the median latency between cores of one LLC."""
    same = np.triu(llc[:, None] == llc[None, :], 1) & (ns > SMT_NS)
    return float(np.median(ns[same])) if same.any() else None


def _by_lowest_cpu(llc: Ids, cpus: tuple[int, ...]) -> list[int]:
    """Return the LLCs in the order of their lowest CPU number."""
    numbers = np.array(cpus)
    lowest = {group: int(numbers[llc == group].min()) for group in range(int(llc.max()) + 1)}
    return sorted(lowest, key=lambda group: lowest[group])


def _mend_packages(
    package: Ids, order: list[int], cpus: tuple[int, ...], llc: Ids, notes: list[str]
) -> Ids:
    """Join packages that were split because their lines had a remote home.

    They appear as LLCs that are far from everything, as many as fill whole packages of the usual
    size. The order of CPU numbers then decides which LLCs belong together.
    """
    sizes = np.bincount(package)
    full = int(sizes.max())
    loose = [group for group in order if sizes[package[group]] < full]
    if not loose:
        return package
    if len(loose) % full:
        notes.append("packages have unequal numbers of LLCs")
        return package
    mended = package.copy()
    for at in range(0, len(loose), full):
        members = loose[at : at + full]
        mended[members] = int(package.max()) + 1 + at
        numbers = [cpu for cpu, group in zip(cpus, llc.tolist(), strict=True) if group in members]
        notes.append(
            f"CPUs {cpu_list(numbers)} count as one package by number of LLCs and CPU numbers:"
            " between them a line costs as much as from another package, its home was remote"
        )
    return np.unique(mended, return_inverse=True)[1].reshape(-1)


def choose(table: LatencyTable, inferred: Inference) -> tuple[Topology, list[str], bool]:
    """Return the topology, notes for the user, and whether no other shape fits equally well."""
    mine, notes = inferred.topology, list(inferred.notes)
    order = np.lexsort((mine.core, mine.llc, mine.package))
    found = shapes(table.symmetric(), order)
    if not found:
        return mine, [*notes, *verdict(found)[1]], False
    best = found[0]
    sure, told = verdict(found)
    fits = misfit_of(table.symmetric(), mine)
    if not _better(best, mine, order, fits):
        if same_shape(best.topology, mine):
            return mine, [*notes, *told], sure
        told = [f"best regular shape: {best.words}, misfit {best.misfit:.1%}; taken: {fits:.1%}"]
        return mine, [*notes, *told], fits + EQUAL < best.misfit
    levels = {level: best.topology.ids(level) for level in LEVELS}
    counts = ", ".join(f"{mine.count(level)} by {level}" for level in ("package", "llc", "core"))
    told.append(f"clustering finds other groups ({counts}), misfit {fits:.1%}: not taken")
    return make_topology(table.cpus, levels), told, sure


def _better(best: Shape, mine: Topology, order: Ids, fits: float) -> bool:
    """Whether a regular shape explains the table better than clustering, or is more usual."""
    score = unusual(best.form, best.inside_ns)
    if best.misfit + EQUAL < fits:
        return score < UNKNOWN
    form = regular_form(in_order(mine, np.arange(order.size)))
    if form is None:
        form = regular_form(in_order(mine, order))
        form = replace(form, numbering=CLUSTERED) if form is not None else None
    plain = form is not None and form.nodes_per_package == 1 and form.cores_per_l2 == 1
    if form is None or not plain or abs(best.misfit - fits) > EQUAL:
        return False
    return score < unusual(form, best.inside_ns)


def same_shape(shape: Topology, mine: Topology) -> bool:
    """Whether CPUs with equal numbers form the same cores, LLCs and packages in both."""
    cpus = range(len(mine.cpus))
    return all(
        np.array_equal(renumber(shape.ids(level), cpus), renumber(mine.ids(level), cpus))
        for level in ("package", "llc", "core")
    )


def doubted(evidence: Evidence) -> Evidence:
    """Return the evidence, in which no level of LLCs or packages is called clear."""
    levels = [
        replace(level, sure="likely")
        if level.sure == "clear" and level.name in ("llc", "package")
        else level
        for level in evidence.levels
    ]
    return replace(evidence, levels=levels)
