# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds groups of near neighbours in a matrix of latencies.

Latencies of one kind vary by a factor, not by a difference, and kinds also differ by a factor (8,
25, 105, 200 ns). So everything here works on logarithms. It uses average linkage, not single or
complete linkage: one interrupted measurement among thousands must neither join nor split groups.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from model.machines.making.latencycsv import Matrix
from model.machines.making.topology import Ids

# Two merge heights that differ by more than this factor belong to different levels. Inside a level
# the measured machines stay under 1.1, between levels they are over 1.7.
GAP = 1.35
# How many third CPUs are tried to estimate a pair that was not measured.
NEAREST = 64


@dataclass(frozen=True)
class Tree:
    """A dendrogram. Heights are in ns and rising; links are in log latency above ``floor``."""

    links: npt.NDArray[np.float64]
    floor: float
    heights: npt.NDArray[np.float64]

    def cut(self, ns: float) -> Ids:
        """Return the groups whose mean distance stays below ``ns``."""
        from scipy.cluster.hierarchy import fcluster

        return fcluster(self.links, np.log(ns) - self.floor, criterion="distance").astype(np.int64)

    def levels(self) -> list[tuple[float, float]]:
        """Return the bands of merge heights, nearest first, as lowest and highest height."""
        bands = [(float(self.heights[0]), float(self.heights[0]))]
        for height in self.heights[1:].tolist():
            if height / bands[-1][1] > GAP:
                bands.append((height, height))
            else:
                bands[-1] = (bands[-1][0], height)
        return bands


def between(low: tuple[float, float], high: tuple[float, float]) -> float:
    """Return the height between two bands at which to cut: the geometric mean of the gap's ends."""
    return float(np.sqrt(low[1] * high[0]))


def fill_missing(ns: Matrix) -> Matrix:
    """Return the matrix with estimates for unmeasured pairs.

    In a hierarchy the distance of two CPUs never exceeds the larger of their distances to any third
    CPU. It equals that distance for a third CPU that is near to either. The best third CPU gives
    the estimate.
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
    """Return the dendrogram of a full symmetric matrix with at least two rows."""
    # Imported here, because it takes half a second and readers of machine files do not need it.
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    logs = np.log(ns, out=np.zeros_like(ns), where=ns > 0)
    # scipy needs distances of at least 0, but the logarithm of less than 1 ns is negative
    floor = min(0.0, float(logs.min()))
    condensed = squareform(logs - floor, checks=False)
    links = linkage(condensed, method="average")
    return Tree(links, floor, np.exp(np.sort(links[:, 2]) + floor))


def group_medians(ns: Matrix, labels: Ids) -> Matrix:
    """Return the median latencies between groups 0..n-1, with 0 on the diagonal."""
    count = int(labels.max()) + 1
    members = [np.flatnonzero(labels == group) for group in range(count)]
    medians = np.zeros((count, count))
    for a in range(count):
        for b in range(a):
            medians[a, b] = medians[b, a] = np.median(ns[np.ix_(members[a], members[b])])
    return medians


def silhouette(ns: Matrix, labels: Ids) -> float | None:
    """Return the mean silhouette of a grouping: 1 - inside / outside for well-formed groups.

    Near 1 the distances outside are many times those inside; 0 means no groups. None: undefined,
    because there is only one group, or every group has only one member.
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
    """Return the common size of all groups, or None."""
    sizes = np.unique(np.unique(labels, return_counts=True)[1])
    return int(sizes[0]) if sizes.size == 1 else None
