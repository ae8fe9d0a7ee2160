# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds how well each regular shape of a machine explains a table of latencies.

A shape is packages x caches x cores x threads, where each number counts the parts of one part of
the previous level. Its CPUs are numbered in one of three ways. Its misfit is the mean distance of a
pair from the median of its class, as a ratio. Two shapes may put all pairs into the same classes,
such as two caches of one package, and two packages of one cache each. No table can distinguish such
shapes. Therefore shapes are only proposed, and a machine file is never made from the best one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from common.errors import UserError
from model.machines.making.classes import CLASSES, Values, kinds_of, misfit_of, split_home_remote
from model.machines.making.latencycsv import LatencyTable
from model.machines.making.topology import LEVELS, Ids, Regular, Topology, make_topology

# SMT siblings pass a line on in less than this (7 to 18 ns on measured machines), cores rarely do.
SMT_NS = 20.0
# The share of CPUs whose nearest CPU must be of the same core, if cores have siblings.
NEAREST_SHARE = 0.75
# Two classes whose medians differ by less than this factor are one.
STEP = 1.2
# Two shapes whose misfits differ by less than this explain a table equally well.
EQUAL = 0.003
MOST_PACKAGES = 16
USUAL_PACKAGES = (1, 2, 4, 8)
SHAPE = re.compile(r"[1-9]\d{0,3}(x[1-9]\d{0,3}){3}", re.ASCII)
SHAPE_RIGHT = "packages x caches of each x cores of each x threads of each, like 1x16x8x2"


@dataclass(frozen=True)
class Counts:
    """Packages, caches of each, cores of each cache, threads of each core."""

    packages: int
    llcs: int
    cores: int
    threads: int

    def __str__(self) -> str:
        return f"{self.packages}x{self.llcs}x{self.cores}x{self.threads}"

    @property
    def cpus(self) -> int:
        """Return the number of CPUs."""
        return self.packages * self.llcs * self.cores * self.threads

    @property
    def words(self) -> str:
        """Return the counts with their units."""
        units = ("package", "LLC", "core", "thread")
        counts = (self.packages, self.llcs, self.cores, self.threads)
        return " x ".join(
            f"{n} {unit}{'s' * (n != 1)}" for n, unit in zip(counts, units, strict=True)
        )

    def topologies(self, cpus: tuple[int, ...]) -> Iterator[Topology]:
        """Yield the places of the CPUs for each way of numbering: most usual first.

        The ways: one thread of each core first; siblings as neighbours; packages in turn.
        """
        numberings = ["threads-last", *(["threads-adjacent"] if self.threads > 1 else [])]
        for numbering in numberings:
            form = Regular(
                self.packages, 1, self.llcs, self.cores, self.threads, 1, numbering
            ).expand()
            yield _numbered(form, cpus, np.arange(self.cpus))
            if numbering == "threads-last" and 1 < self.packages < self.cpus // self.threads:
                turns = np.arange(self.cpus).reshape(self.threads, self.packages, -1)
                yield _numbered(form, cpus, turns.transpose(0, 2, 1).reshape(-1))


@dataclass(frozen=True)
class Shape:
    """A shape, its CPUs in the numbering that fits best, and its misfit."""

    counts: Counts
    topology: Topology
    misfit: float


def _numbered(form: Topology, cpus: tuple[int, ...], order: Ids) -> Topology:
    return make_topology(cpus, {level: form.ids(level)[order] for level in LEVELS})


def given_shape(text: str, table: LatencyTable) -> Shape:
    """Return the shape that a text names, in the numbering that fits the table best."""
    if not SHAPE.fullmatch(text):
        raise UserError(f"--shape '{text}' is not a shape: give {SHAPE_RIGHT}")
    counts = Counts(*map(int, text.split("x")))
    if counts.cpus != len(table.cpus):
        raise UserError(
            f"--shape {text} has {counts.cpus:,} CPUs, and {table.name} {len(table.cpus):,}: give "
            f"{SHAPE_RIGHT}"
        )
    return _best(counts, table.cpus, *table.pairs())[0]


def shapes(cpus: tuple[int, ...], rows: Ids, columns: Ids, values: Values) -> list[Shape]:
    """Return all shapes that pairs of CPUs may have, best first; of equal ones the usual first."""
    siblings, candidates = _siblings(len(cpus), rows, columns, values), []
    for counts in _counts(len(cpus)):
        if counts.threads == 1 and 1 not in siblings:
            continue
        best, distinct = _best(counts, cpus, rows, columns, values)
        if distinct:
            candidates.append(best)
    least = min((shape.misfit for shape in candidates), default=0.0)

    def rank(shape: Shape) -> tuple[float, ...]:
        counts = shape.counts
        alone = counts.cores == 1 and counts.cpus > counts.threads
        unusual = counts.packages not in USUAL_PACKAGES
        steps = int((shape.misfit - least) / EQUAL)
        unseen = counts.threads not in siblings
        return steps, unseen, alone, unusual, -counts.threads, counts.packages, shape.misfit

    return sorted(candidates, key=rank)


def _counts(cpus: int) -> Iterator[Counts]:
    for threads, packages in product((1, 2, 4), range(1, MOST_PACKAGES + 1)):
        cores, rest = divmod(cpus, threads * packages)
        if rest or not cores:
            continue
        for llcs in (n for n in range(1, cores + 1) if cores % n == 0):
            yield Counts(packages, llcs, cores // llcs, threads)


def _siblings(count: int, rows: Ids, columns: Ids, values: Values) -> set[int]:
    """Return how many threads cores seem to have: 1 unless the nearest CPU of most is a sibling."""
    nearest, which = np.full(count, np.inf), np.zeros(count, dtype=np.int64)
    for mine, other in ((rows, columns), (columns, rows)):
        order = np.argsort(-values, kind="stable")  # the least value of each CPU is written last
        better = order[values[order] < nearest[mine[order]]]
        nearest[mine[better]], which[mine[better]] = values[better], other[better]
    thread_counts = set()
    for threads in (2, 4):
        if count % threads:
            continue
        for topology in Counts(1, 1, count // threads, threads).topologies(tuple(range(count))):
            if (topology.core[which] == topology.core).mean() >= NEAREST_SHARE:
                thread_counts.add(threads)
    if not thread_counts or float(np.median(nearest)) > SMT_NS:
        thread_counts.add(1)  # pairs of cores with a common L2 are near as well
    return thread_counts


def _best(
    counts: Counts, cpus: tuple[int, ...], rows: Ids, columns: Ids, values: Values
) -> tuple[Shape, bool]:
    """Return the shape in its best numbering, and whether latency rises from class to class."""
    candidates = []
    for topology in counts.topologies(cpus):
        kind = kinds_of(topology, rows, columns)
        split_home_remote(values, kind)
        candidates.append(Shape(counts, topology, misfit_of(values, kind)))
    best = min(candidates, key=lambda shape: shape.misfit)
    kind = kinds_of(best.topology, rows, columns)
    split_home_remote(values, kind)
    last, step = 0.0, 1.0
    for index, name in enumerate(CLASSES[:-1]):
        if (kind == index).any():
            median = float(np.median(values[kind == index]))
            if median < last * step or (name == "smt" and median > SMT_NS):
                return best, False
            last, step = median, 1.0 if name == "smt" else STEP
    return best, True
