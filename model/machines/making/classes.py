# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Computes the latency of each distance, and how well a topology explains the pairs.

The median is used, because tables contain interrupted measurements. Pairs of one package that cost
more than the geometric mean of their own distance and the remote one are a separate class: their
line had its home in another package during the measurement. On some machines these are half of all
pairs of a package. Nothing else in a table shows where its lines were. Pairs inside a tier
(tiers.py) do not belong to the class of their distance.
"""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from model.machines.making.grouping import fill_missing, group_medians, silhouette
from model.machines.making.latencycsv import Matrix
from model.machines.making.tiers import find_tiers
from model.machines.making.topology import Ids, Topology

CLASSES = ("smt", "llc", "node", "package", "remote", "home_remote")
# By class of pairs, the grouping inside which they lie.
LEVELS = {"smt": "core", "llc": "llc", "node": "node", "package": "package"}
# If a smaller share of a package's pairs is far, these pairs are outliers, not lines with a remote
# home.
HOME_REMOTE_SHARE = 0.01
# A single pair cannot distinguish two medians within this factor. It fits both.
SAME_MEDIAN = 1.10
# Thresholds of a clear and of a likely level: the share of pairs that fit, and the silhouette.
CLEAR = (0.98, 0.4)
LIKELY = (0.90, 0.05)


@dataclass(frozen=True)
class PairClass:
    """Pairs of one distance: their number, median, and 5th and 95th percentile in ns."""

    name: str
    pairs: int
    median: float
    low: float
    high: float


@dataclass(frozen=True)
class TierClass(PairClass):
    """Pairs inside one group of a tier: groups of ``count`` cores, llcs, nodes or packages."""

    unit: str
    count: int


@dataclass(frozen=True)
class Level:
    """How clearly the latencies show one level of grouping."""

    name: str
    groups: int
    silhouette: float | None
    separation: float
    fit: float
    sure: str


@dataclass(frozen=True)
class Evidence:
    """Evidence from the pairs about the topology, without levels if only some were measured."""

    classes: dict[str, PairClass]
    levels: list[Level]
    fit: float
    pairs: int
    tiers: list[TierClass] = field(default_factory=list)
    sampled: bool = False


def kinds_of(topology: Topology, rows: Ids, columns: Ids) -> npt.NDArray[np.int64]:
    """Return for each pair of CPU indices the index of their distance in CLASSES; -1 for one CPU.

    As in lib/machine.h the LLC is checked before the node, so that an LLC may span two nodes.
    """
    kind = np.full(np.broadcast_shapes(rows.shape, columns.shape), CLASSES.index("remote"))
    for name, level in (("package", "package"), ("node", "node"), ("llc", "llc"), ("smt", "core")):
        ids = topology.ids(level)
        kind[ids[rows] == ids[columns]] = CLASSES.index(name)
    kind[rows == columns] = -1
    return kind


def weigh(ns: Matrix, topology: Topology, whole: Topology | None = None) -> Evidence:
    """Return the latency of each class of pairs, and how well they fit.

    ``ns`` is in the order of the topology's CPUs.

    ``whole`` is the topology of the whole machine, if ``topology`` is a part of it.
    """
    rows, columns = np.nonzero(np.triu(np.isfinite(ns), 1))
    return _weigh(rows, columns, ns[rows, columns], topology, whole or topology, ns)


def weigh_sample(
    rows: Ids, columns: Ids, values: npt.NDArray[np.float64], part: Topology, whole: Topology
) -> Evidence:
    """Return the evidence of some pairs of CPUs, without levels.

    ``rows`` and ``columns`` give the CPUs of each pair by their indices in ``part``.
    """
    return _weigh(rows, columns, values, part, whole, None)


def _weigh(
    rows: Ids,
    columns: Ids,
    values: npt.NDArray[np.float64],
    topology: Topology,
    whole: Topology,
    ns: Matrix | None,
) -> Evidence:
    kind = kinds_of(topology, rows, columns)
    split_home_remote(values, kind)
    tiers: list[TierClass] = []
    index_of = {cpu: i for i, cpu in enumerate(whole.cpus)}
    place = np.array([index_of[cpu] for cpu in topology.cpus], dtype=np.int64)
    for tier in find_tiers(whole, place[rows], place[columns], values, np.array(CLASSES)[kind]):
        kind[tier.inside] = len(CLASSES) + len(tiers)
        spread = _spread(values[tier.inside])
        tiers.append(TierClass(tier.name, *spread, tier.unit, tier.count))
    classes = {}
    for index, name in enumerate(CLASSES):
        mine = values[kind == index]
        if mine.size:
            classes[name] = PairClass(name, *_spread(mine))
    medians = [classes[name].median if name in classes else np.nan for name in CLASSES]
    fits = _fits(values, kind, np.array(medians + [tier.median for tier in tiers]))
    levels = [] if ns is None else _levels(ns, topology, values, kind, fits)
    return Evidence(classes, levels, float(fits.mean()), int(values.size), tiers, ns is None)


def _spread(values: npt.NDArray[np.float64]) -> tuple[int, float, float, float]:
    """Return count, median, 5th and 95th percentile."""
    low, median, high = np.percentile(values, [5, 50, 95]).tolist()
    return int(values.size), median, low, high


def split_home_remote(values: npt.NDArray[np.float64], kind: npt.NDArray[np.int64]) -> None:
    """Move the pairs of a package whose line had a remote home into their own class."""
    remote = values[kind == CLASSES.index("remote")]
    for name in ("node", "package"):
        mine = kind == CLASSES.index(name)
        if not remote.size or not mine.any():
            continue
        # the lower quartile: more than half of the pairs may have had a remote home
        limit = np.sqrt(np.percentile(values[mine], 25) * np.median(remote))
        if np.percentile(values[mine], 25) * 1.2 > np.median(remote):
            continue
        far = mine & (values > limit)
        if far.sum() >= HOME_REMOTE_SHARE * mine.sum():
            kind[far] = CLASSES.index("home_remote")


def _fits(
    values: npt.NDArray[np.float64], kind: npt.NDArray[np.int64], class_ns: npt.NDArray[np.float64]
) -> npt.NDArray[np.bool_]:
    """Return which pairs are nearest, by ratio, to the median of their own class or tier."""
    logs = np.log(values)
    medians = np.log(class_ns)
    nearest = np.zeros_like(logs)
    best = np.full_like(logs, np.inf)
    for median in medians[np.isfinite(medians)].tolist():
        distance = np.abs(logs - median)
        nearest = np.where(distance < best, median, nearest)
        best = np.minimum(distance, best)
    fits: npt.NDArray[np.bool_] = np.abs(nearest - medians[kind]) <= np.log(SAME_MEDIAN)
    return fits


def _levels(
    ns: Matrix,
    topology: Topology,
    values: npt.NDArray[np.float64],
    kind: npt.NDArray[np.int64],
    fits: npt.NDArray[np.bool_],
) -> list[Level]:
    """Return one entry per level that has several groups with several members each."""
    # A group's members are the groups of the level below. Otherwise the many near pairs of a core
    # would make every package look clear.
    units = fill_missing(ns)
    labels = np.arange(len(ns), dtype=np.int64)
    present = [i for i in range(CLASSES.index("home_remote")) if (kind == i).any()]
    found = []
    for near, far in pairwise(present):
        level = LEVELS[CLASSES[near]]
        if level == "node" and "package" not in {CLASSES[i] for i in present}:
            level = "package"
        inside, outside = values[kind == near], values[kind == far]
        separation = float(np.percentile(outside, 5) / np.percentile(inside, 95))
        fit = float(fits[(kind == near) | (kind == far)].mean())
        score = silhouette(units, _first_of(topology.ids(level), labels))
        below = np.unique(topology.ids(level), return_inverse=True)[1].reshape(-1)
        units, labels = group_medians(fill_missing(ns), below), below
        found.append(Level(level, topology.count(level), score, separation, fit, _sure(fit, score)))
    return found


def _first_of(ids: Ids, labels: Ids) -> Ids:
    """Return the id of each group of CPUs, taken from one of its members."""
    return ids[np.unique(labels, return_index=True)[1]]


def _sure(fit: float, score: float | None) -> str:
    for word, (least_fit, least_score) in (("clear", CLEAR), ("likely", LIKELY)):
        if fit >= least_fit and score is not None and score >= least_score:
            return word
    return "doubtful"


def describe(evidence: Evidence) -> str:
    """Return the evidence as a sentence for the [source] table of a machine file."""
    if evidence.sampled:
        return (
            f"{evidence.fit:.1%} of {evidence.pairs:,} sampled pairs lie nearest the median of "
            "their class"
        )
    parts = [] if evidence.levels else ["no second group at any level"]
    for level in evidence.levels:
        score = "undefined" if level.silhouette is None else f"{level.silhouette:.2f}"
        parts.append(
            f"{level.name} {level.sure} ({level.groups} groups, silhouette {score}, "
            f"separation {level.separation:.2f}, {level.fit:.1%} of its pairs fit)"
        )
    whole = f"{evidence.fit:.1%} of {evidence.pairs:,} pairs lie nearest the median of their class"
    return "; ".join([*parts, whole])
