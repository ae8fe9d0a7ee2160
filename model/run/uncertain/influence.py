# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds the inputs that cause the spread of a figure: first-order indices from given samples.

An index is the share of a figure's variance that one input explains alone. The rest to 1 comes from
inputs together, from the seeds, and from the error of the method.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

METHOD = "RBD-FAST"
HARMONICS = 4
# With this many samples the error of an index is 0.07; with half as many it is 0.16.
LEAST_SAMPLES = 64

Samples = np.ndarray[Any, np.dtype[np.float64]]


def noise(samples: int) -> float:
    """Return the standard error of the index of an input without any influence.

    Chance spreads the variance evenly over samples / 2 frequencies. The index is the share of the
    first HARMONICS frequencies, less the mean of what chance contributes to them.
    """
    mean = 2.0 * HARMONICS / samples
    return mean / math.sqrt(HARMONICS) / (1.0 - mean)


def first_order(names: Sequence[str], drawn: Samples, figure: Samples) -> dict[str, float] | None:
    """Return the index of each input, or None if the figure does not vary.

    ``drawn`` has one row per sample.
    """
    from SALib.analyze import rbd_fast

    if math.isclose(float(np.ptp(figure)), 0.0):
        return None
    problem = {
        "num_vars": len(names),
        "names": list(names),
        "bounds": [[float(low), float(high)] for low, high in zip(drawn.min(0), drawn.max(0),
                                                                  strict=True)],
    }  # fmt: skip
    # The package's own confidence interval comes from resamples with repeated points. It is far
    # wider than the error.
    found = rbd_fast.analyze(problem, drawn, figure, M=HARMONICS, num_resamples=2, seed=0)
    flat = np.ptp(drawn, axis=0) == 0
    return {
        name: 0.0 if flat[index] else min(1.0, max(0.0, float(found["S1"][index])))
        for index, name in enumerate(names)
    }
