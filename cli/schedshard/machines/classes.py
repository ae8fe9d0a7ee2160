# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The latency of each distance, and how well a topology explains the pairs.

The median, because a table holds interrupted measurements. Pairs of one package that cost more
than the geometric middle between their own distance and the remote one are a class of their own:
their line had its home in another package while it was measured (on some machines that is half of
all pairs of a package). Nothing else about a table says where its lines were.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from schedshard.machines.grouping import fill_missing, group_medians, silhouette
from schedshard.machines.latencycsv import Matrix
from schedshard.machines.topology import Ids, Topology

CLASSES = ("smt", "llc", "node", "package", "remote", "home_remote")
# The grouping that a class of pairs lies inside of.
LEVELS = {"smt": "core", "llc": "llc", "node": "node", "package": "package"}
# Fewer pairs than this share of a package's are stray measurements, not lines of a remote home.
HOME_REMOTE_SHARE = 0.01
# Two medians nearer than this cannot be told apart by one pair: either counts as a fit.
SAME_MEDIAN = 1.10
# Share of pairs that fit, and silhouette, from which on a level is called clear or likely.
CLEAR = (0.98, 0.4)
LIKELY = (0.90, 0.05)


@dataclass(frozen=True)
class PairClass:
    """Pairs of one distance: how many, median, 5th and 95th percentile in ns."""

    name: str
    pairs: int
    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Level:
    """How clearly one grouping stands out of the latencies."""

    name: str
    groups: int
    silhouette: float | None
    separation: float
    fit: float
    sure: str


@dataclass(frozen=True)
class Evidence:
    """What the table says about the topology."""

    classes: dict[str, PairClass]
    levels: list[Level]
    fit: float
    pairs: int


def pair_kinds(topology: Topology) -> npt.NDArray[np.int64]:
    """For each pair of CPUs the index in CLASSES of their distance; -1 on the diagonal.

    As in lib/machine.h: an LLC counts before the node, so that one that spans two nodes is one.
    """

    def same(level: str) -> npt.NDArray[np.bool_]:
        ids = topology.ids(level)
        return np.equal(ids[:, None], ids[None, :])

    kind = np.full((len(topology.cpus),) * 2, CLASSES.index("remote"), dtype=np.int64)
    for name, level in (("package", "package"), ("node", "node"), ("llc", "llc"), ("smt", "core")):
        kind[same(level)] = CLASSES.index(name)
    np.fill_diagonal(kind, -1)
    return kind


def weigh(ns: Matrix, topology: Topology) -> Evidence:
    """Latency of each class of pairs, and how well they fit; ``ns`` in the order of the CPUs."""
    rows, columns = np.nonzero(np.triu(np.isfinite(ns), 1))
    values = ns[rows, columns]
    kind = pair_kinds(topology)[rows, columns]
    _split_home_remote(values, kind)
    classes = {}
    for index, name in enumerate(CLASSES):
        mine = values[kind == index]
        if mine.size:
            low, median, high = np.percentile(mine, [5, 50, 95]).tolist()
            classes[name] = PairClass(name, int(mine.size), median, low, high)
    fits = _fits(values, kind, classes)
    levels = _levels(ns, topology, values, kind, fits)
    return Evidence(classes, levels, float(fits.mean()), int(values.size))


def _split_home_remote(values: npt.NDArray[np.float64], kind: npt.NDArray[np.int64]) -> None:
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
    values: npt.NDArray[np.float64], kind: npt.NDArray[np.int64], classes: dict[str, PairClass]
) -> npt.NDArray[np.bool_]:
    """Which pairs lie nearest the median of their own class, by ratio."""
    logs = np.log(values)
    medians = np.full(len(CLASSES), np.nan)
    nearest = np.zeros_like(logs)
    best = np.full_like(logs, np.inf)
    for name, item in classes.items():
        median = medians[CLASSES.index(name)] = np.log(item.median)
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
    """One entry for each level that the machine has more than trivially."""
    # members of a group are the groups of the level below: else the many near pairs of a core
    # would make every package look clear
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
    """The id of each group of CPUs, taken from one of its members."""
    return ids[np.unique(labels, return_index=True)[1]]


def _sure(fit: float, score: float | None) -> str:
    for word, (least_fit, least_score) in (("clear", CLEAR), ("likely", LIKELY)):
        if fit >= least_fit and score is not None and score >= least_score:
            return word
    return "doubtful"


def describe(evidence: Evidence) -> str:
    """One sentence for the [source] table of a machine file."""
    parts = [] if evidence.levels else ["no second group at any level"]
    for level in evidence.levels:
        score = "undefined" if level.silhouette is None else f"{level.silhouette:.2f}"
        parts.append(
            f"{level.name} {level.sure} ({level.groups} groups, silhouette {score}, "
            f"separation {level.separation:.2f}, {level.fit:.1%} of its pairs fit)"
        )
    whole = f"{evidence.fit:.1%} of {evidence.pairs:,} pairs lie nearest the median of their class"
    return "; ".join([*parts, whole])
