# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Computes the latency of each distance, and how well a topology explains the pairs.

The median is used, because tables contain interrupted measurements. Pairs of one package form a
separate class if they cost more than the geometric mean of the latencies of their own distance and
of the remote one. The line of such a pair had its home in another package during the measurement.
On some machines half of all pairs of a package are such pairs. Nothing else in a table shows where
the measured lines were. Pairs inside a tier (tiers.py) are not in the class of their distance.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from model.machines.making.tiers import find_tiers
from model.machines.making.topology import Ids, Topology

Values = npt.NDArray[np.float64]

CLASSES = ("smt", "llc", "node", "package", "remote", "home_remote")
# If a smaller share of a package's pairs is far, these pairs are outliers, not lines with a remote
# home.
HOME_REMOTE_SHARE = 0.01
# If two medians differ by less than this factor, a single pair fits both.
SAME_MEDIAN = 1.10


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
class Evidence:
    """What pairs say about a topology. ``misfit`` leaves out tiers that it does not name."""

    classes: dict[str, PairClass]
    fit: float
    misfit: float
    pairs: int
    tiers: list[TierClass] = field(default_factory=list)


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


def weigh(rows: Ids, columns: Ids, values: Values, part: Topology, whole: Topology) -> Evidence:
    """Return the latency of each class of pairs, and how well they fit.

    ``rows`` and ``columns`` give the CPUs of each pair by their indices in ``part``, which is the
    measured part of the ``whole`` machine.
    """
    kind = kinds_of(part, rows, columns)
    split_home_remote(values, kind)
    tiers: list[TierClass] = []
    known = kind.copy()
    index_of = {cpu: i for i, cpu in enumerate(whole.cpus)}
    place = np.array([index_of[cpu] for cpu in part.cpus], dtype=np.int64)
    for tier in find_tiers(whole, place[rows], place[columns], values, np.array(CLASSES)[kind]):
        kind[tier.inside] = len(CLASSES) + len(tiers)
        if tier.name == "l2":
            known[tier.inside] = kind[tier.inside]
        spread = _spread(values[tier.inside])
        tiers.append(TierClass(tier.name, *spread, tier.unit, tier.count))
    classes = {}
    for index, name in enumerate(CLASSES):
        mine = values[kind == index]
        if mine.size:
            classes[name] = PairClass(name, *_spread(mine))
    medians = [classes[name].median if name in classes else np.nan for name in CLASSES]
    fits = _fits(values, kind, np.array(medians + [tier.median for tier in tiers]))
    return Evidence(classes, float(fits.mean()), misfit_of(values, known), int(values.size), tiers)


def misfit_of(values: Values, kind: npt.NDArray[np.int64]) -> float:
    """Return the mean distance of a pair from the median of its class, as a ratio."""
    logs = np.log(values)
    off = [np.abs(logs[kind == k] - np.median(logs[kind == k])) for k in np.unique(kind)]
    return float(np.concatenate(off).mean())


def _spread(values: Values) -> tuple[int, float, float, float]:
    """Return count, median, 5th and 95th percentile."""
    low, median, high = np.percentile(values, [5, 50, 95]).tolist()
    return int(values.size), median, low, high


def split_home_remote(values: Values, kind: npt.NDArray[np.int64]) -> None:
    """Move the pairs of a package whose line had a remote home into their own class."""
    remote = values[kind == CLASSES.index("remote")]
    for name in ("node", "package"):
        mine = kind == CLASSES.index(name)
        if not remote.size or not mine.any():
            continue
        # the lower quartile, because more than half of the pairs may have had a remote home
        limit = np.sqrt(np.percentile(values[mine], 25) * np.median(remote))
        if np.percentile(values[mine], 25) * 1.2 > np.median(remote):
            continue
        far = mine & (values > limit)
        if far.sum() >= HOME_REMOTE_SHARE * mine.sum():
            kind[far] = CLASSES.index("home_remote")


def _fits(values: Values, kind: npt.NDArray[np.int64], class_ns: Values) -> npt.NDArray[np.bool_]:
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


def describe(evidence: Evidence) -> str:
    """Return the evidence as a sentence for the [source] table of a machine file."""
    return (
        f"{evidence.fit:.1%} of {evidence.pairs:,} pairs lie nearest the median of their class, "
        f"misfit {evidence.misfit:.1%}"
    )
