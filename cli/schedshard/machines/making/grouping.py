# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finding groups of near neighbours in a matrix of latencies.

Latencies of one kind scatter by a factor, not by a difference, and kinds differ by a factor (8, 25,
105, 200 ns). So everything here works on logarithms. Average linkage, not single or complete: one
interrupted measurement among thousands must neither join two groups nor split one.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from schedshard.machines.making.latencycsv import Matrix
from schedshard.machines.making.topology import Ids

# Two merge heights that differ by more than this factor belong to different levels. Inside a level
# the measured machines stay under 1.1, between levels they are over 1.7.
GAP = 1.35
# Third CPUs that are tried for a pair that was not measured.
NEAREST = 64


@dataclass(frozen=True)
class Tree:
    """A dendrogram; heights in ns, rising; links in log latency above ``floor``."""

    links: npt.NDArray[np.float64]
    floor: float
    heights: npt.NDArray[np.float64]

    def cut(self, ns: float) -> Ids:
        """Groups whose mean distance stays below ``ns``."""
        from scipy.cluster.hierarchy import fcluster

        return fcluster(self.links, np.log(ns) - self.floor, criterion="distance").astype(np.int64)

    def levels(self) -> list[tuple[float, float]]:
        """Bands of merge heights, nearest first: lowest and highest height of each."""
        bands = [(float(self.heights[0]), float(self.heights[0]))]
        for height in self.heights[1:].tolist():
            if height / bands[-1][1] > GAP:
                bands.append((height, height))
            else:
                bands[-1] = (bands[-1][0], height)
        return bands


def between(low: tuple[float, float], high: tuple[float, float]) -> float:
    """Where to cut between two bands: the geometric middle of the gap."""
    return float(np.sqrt(low[1] * high[0]))


def fill_missing(ns: Matrix) -> Matrix:
    """Estimate unmeasured pairs: over the best near third CPU the longer of both legs.

    In a hierarchy the distance of two CPUs never exceeds the larger of their distances to any
    third. It equals that for a third CPU that is near to either.
    """
    full = ns.copy()
    known = np.where(np.isfinite(ns), ns, np.inf)
    np.fill_diagonal(known, np.inf)
    for i in np.flatnonzero(np.isinf(known).sum(axis=1) > 1).tolist():
        thirds = np.argsort(known[i])[:NEAREST]
        legs = np.maximum(known[i, thirds][:, None], known[thirds]).min(axis=0)
        missing = ~np.isfinite(ns[i])
        full[i, missing] = np.where(np.isfinite(legs), legs, np.nanmax(ns))[missing]
    return np.minimum(full, full.T)


def tree(ns: Matrix) -> Tree:
    """The dendrogram of a full symmetric matrix with at least two rows."""
    # Here, since it takes half a second and what only reads machines does without it.
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    logs = np.log(ns, out=np.zeros_like(ns), where=ns > 0)
    # scipy needs distances of at least 0, which the logarithm of less than 1 ns is not
    floor = min(0.0, float(logs.min()))
    condensed = squareform(logs - floor, checks=False)
    links = linkage(condensed, method="average")
    return Tree(links, floor, np.exp(np.sort(links[:, 2]) + floor))


def group_medians(ns: Matrix, labels: Ids) -> Matrix:
    """Median latency between (and, on the diagonal, 0 within) groups 0..n-1."""
    count = int(labels.max()) + 1
    members = [np.flatnonzero(labels == group) for group in range(count)]
    medians = np.zeros((count, count))
    for a in range(count):
        for b in range(a):
            medians[a, b] = medians[b, a] = np.median(ns[np.ix_(members[a], members[b])])
    return medians


def silhouette(ns: Matrix, labels: Ids) -> float | None:
    """Mean silhouette of a grouping: 1 - inside / outside for well-formed groups.

    Near 1: outside is many times farther than inside; 0: no groups at all. None if it is undefined:
    one group in all, or every group of one member.
    """
    groups, index = np.unique(labels, return_inverse=True)
    sizes = np.bincount(index)
    if groups.size < 2 or sizes.max() < 2:
        return None
    sums = ns @ np.eye(groups.size)[index]
    rows = np.arange(len(ns))
    own = sizes[index]
    inside = sums[rows, index] / np.maximum(own - 1, 1)
    means = sums / sizes
    means[rows, index] = np.inf
    outside = means.min(axis=1)
    score = (outside - inside) / np.maximum(outside, inside)
    return float(np.where(own > 1, score, 0.0).mean())


def equal_groups(labels: Ids) -> int | None:
    """The common size of all groups, or None."""
    sizes = np.unique(np.unique(labels, return_counts=True)[1])
    return int(sizes[0]) if sizes.size == 1 else None
