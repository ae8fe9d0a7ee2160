# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tries every regular shape that a latency table may have, and weighs how well each explains it.

A shape is packages x LLCs x cores x threads. Its CPUs are numbered in one of two ways, or in the
order in which clustering found them, because on many hosts the packages take turns. Its misfit is
the mean distance of a pair from the median of its class, as a ratio. Two shapes may put all pairs
into the same classes, such as two LLCs of one package, and two packages of one LLC each. A table
cannot distinguish these. Then the more usual shape is chosen, and the user gets a note.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from model.machines.making.classes import CLASSES, kinds_of, split_home_remote
from model.machines.making.latencycsv import Matrix
from model.machines.making.tiers import find_tiers
from model.machines.making.topology import (
    NUMBERINGS,
    Ids,
    Regular,
    Topology,
    make_topology,
)

# A line passed between SMT siblings never leaves the L1: 7 to 11 ns on the machines measured.
SMT_NS = 16.0
# Other cores are farther away than this. If most CPUs have a nearer CPU, that is a sibling.
CORES_NS = 12.0
# If the nearest other core is farther away than this, every core has a separate LLC.
LLC_NS = 80.0
# The median inside one LLC: 25 to 27 ns on core complexes, 32 ns on a ring, 48 to 55 ns on meshes.
FILLS_NS = 30.0
# A ring or mesh that fills one of several packages of a server has at least this many cores.
FILLS_CORES = 6
# Two classes whose medians differ by less than this factor are one.
STEP = 1.2
# Two shapes whose misfits differ by less than this explain a table equally well.
EQUAL = 0.003
MOST_PACKAGES = 16
UNKNOWN = 8.0  # no known machine has this shape
CLUSTERED = "as clustered"  # the third numbering
LEVELS = ("package", "node", "llc", "l2", "core")


@dataclass(frozen=True)
class Shape:
    """A regular shape, its CPUs, and its misfit as a share of a pair's latency."""

    form: Regular
    topology: Topology
    misfit: float
    inside_ns: float  # median of the nearest class that is not siblings

    @property
    def words(self) -> str:
        """Return the shape as text."""
        form = self.form
        parts = [
            _many(form.packages, "package"), _many(form.llcs_per_package, "LLC"),
            _many(form.cores_per_llc, "core"), _many(form.threads_per_core, "thread"),
        ]  # fmt: skip
        return " x ".join(parts)


def _many(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def shapes(ns: Matrix, order: Ids | None = None) -> list[Shape]:
    """Return all shapes that a table may have, best first. ``order`` sorts CPUs by clustering."""
    rows, columns = np.nonzero(np.triu(np.isfinite(ns), 1))
    values = ns[rows, columns]
    nearest = np.full(len(ns), np.inf)
    for ends in (rows, columns):
        np.minimum.at(nearest, ends, values)
    siblings = float(np.median(nearest)) < CORES_NS
    found = []
    for form in _forms(len(ns)):
        clustered = form.numbering == CLUSTERED
        if (siblings and form.threads_per_core == 1) or (clustered and order is None):
            continue
        topology = form.expand()
        if clustered and order is not None:
            topology = in_order(topology, np.argsort(order))
        kind = kinds_of(topology, rows, columns)
        split_home_remote(values, kind)
        shape = _weighed(form, topology, values, kind)
        if shape is not None:
            found.append(shape)
    best = min((shape.misfit for shape in found), default=0.0)
    inside = next((shape.inside_ns for shape in found if shape.misfit == best), 0.0)

    def rank(shape: Shape) -> tuple[int, float, float]:
        """Return a sort key: misfit first, then the more usual of equally good shapes."""
        steps = int((shape.misfit - best) / EQUAL)
        return steps, unusual(shape.form, inside), shape.misfit

    return sorted(found, key=rank)


def in_order(topology: Topology, order: Ids) -> Topology:
    """Return the topology with renumbered CPUs: number i is the former ``order[i]``."""
    return make_topology(range(order.size), {level: topology.ids(level)[order] for level in LEVELS})


def misfit_of(ns: Matrix, topology: Topology) -> float:
    """Return a topology's misfit, with tiers: the mean distance of a pair from its median."""
    rows, columns = np.nonzero(np.triu(np.isfinite(ns), 1))
    values = ns[rows, columns]
    kind = kinds_of(topology, rows, columns)
    split_home_remote(values, kind)
    tiers = find_tiers(topology, rows, columns, values, np.array(CLASSES)[kind])
    for index, tier in enumerate(tiers):
        kind[tier.inside] = len(CLASSES) + index
    logs = np.log(values)
    off = [np.abs(logs[kind == k] - np.median(logs[kind == k])) for k in np.unique(kind)]
    return float(np.concatenate(off).mean())


def _forms(count: int) -> Iterator[Regular]:
    for threads, packages in product((1, 2, 4), range(1, MOST_PACKAGES + 1)):
        cores, rest = divmod(count, threads * packages)
        if rest or not cores:
            continue
        for llcs in (n for n in range(1, cores + 1) if cores % n == 0):
            form = Regular(packages, 1, llcs, cores // llcs, threads, 1, CLUSTERED)
            yield form
            for numbering in NUMBERINGS if threads > 1 else NUMBERINGS[:1]:
                yield replace(form, numbering=numbering)


def _weighed(
    form: Regular,
    topology: Topology,
    values: np.ndarray[tuple[int], np.dtype[np.float64]],
    kind: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> Shape | None:
    """Return the shape with its misfit, or None if a class is not farther than the previous one."""
    logs = np.log(values)
    misfit = np.zeros_like(logs)
    last = inside = 0.0
    for index, name in enumerate(CLASSES):
        mine = kind == index
        if not mine.any():
            continue
        median = float(np.median(values[mine]))
        misfit[mine] = np.abs(logs[mine] - np.log(median))
        if name == "smt" and median > SMT_NS:
            return None
        if name == "home_remote":
            continue
        if last and median < last * STEP:
            return None
        last = median
        if name != "smt" and not inside:
            inside = median
    return Shape(form, topology, float(misfit.mean()), inside)


def unusual(form: Regular, inside: float) -> float:
    """Return how unusual a shape is, to compare shapes that fit equally well."""
    fills = inside >= FILLS_NS and form.cores_per_llc >= FILLS_CORES
    score = 0.0
    if form.cores_per_llc == 1 and form.llcs_per_package > 1 and inside < LLC_NS:
        score += UNKNOWN  # cores this near share a last-level cache
    if form.packages > 1 and form.llcs_per_package == 1 and not fills:
        score += 4.0  # a core complex does not fill a package
    if form.packages == 1 and form.llcs_per_package > 1 and fills:
        score += 4.0  # a mesh fills a package
    if form.packages not in (1, 2, 4, 8):
        score += 2.0
    if form.numbering != "threads-last":
        score += 0.5 if form.numbering == "threads-adjacent" else 0.6
    return score + 0.01 * form.packages


def verdict(found: list[Shape]) -> tuple[bool, list[str]]:
    """Return whether only the best shape explains the table, and notes for the user."""
    if not found:
        return False, ["no regular shape explains the table: packages x LLCs x cores x threads"]
    best = found[0]
    others = [shape for shape in found if shape.words != best.words]
    told = f"best shape: {best.words}, misfit {best.misfit:.1%}"
    if others:
        told += f"; second: {others[0].words}, misfit {others[0].misfit:.1%}"
    notes = [told]
    equal = [
        shape
        for shape in others
        if shape.misfit - best.misfit < EQUAL and unusual(shape.form, best.inside_ns) < UNKNOWN
    ]
    names = list(dict.fromkeys(shape.words for shape in equal))
    if not names:
        return True, notes
    notes.append(
        f"not clear: the table fits {' and '.join(names[:2])} as well; the usual shape "
        "is used. Give --topology or --hwloc-xml of that machine to decide"
    )
    return False, notes
