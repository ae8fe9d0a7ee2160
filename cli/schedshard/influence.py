# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Which inputs the spread of a figure comes from: first-order indices of given samples.

An index is the share of a figure's variance that one input explains alone. What the indices leave
to 1 is due to inputs together, to the seeds, and to the error of the method.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

METHOD = "RBD-FAST"
HARMONICS = 4
# With so many samples the error of an index is 0.07; half as many make it 0.16.
LEAST_SAMPLES = 64

Samples = np.ndarray[Any, np.dtype[np.float64]]


def noise(samples: int) -> float:
    """Standard error of the index of an input without any influence.

    Of samples / 2 equal parts of the variance, HARMONICS are taken for the input's, and the mean
    of what chance puts there is taken off.
    """
    mean = 2.0 * HARMONICS / samples
    return mean / math.sqrt(HARMONICS) / (1.0 - mean)


def first_order(names: Sequence[str], drawn: Samples, figure: Samples) -> dict[str, float] | None:
    """An index for each input; None when the figure does not vary. A row of ``drawn`` a sample."""
    from SALib.analyze import rbd_fast

    if math.isclose(float(np.ptp(figure)), 0.0):
        return None
    problem = {
        "num_vars": len(names),
        "names": list(names),
        "bounds": [[float(low), float(high)] for low, high in zip(drawn.min(0), drawn.max(0),
                                                                  strict=True)],
    }  # fmt: skip
    # Its own confidence, from resamples with repeated points, is far wider than the error.
    found = rbd_fast.analyze(problem, drawn, figure, M=HARMONICS, num_resamples=2, seed=0)
    flat = np.ptp(drawn, axis=0) == 0
    return {
        name: 0.0 if flat[index] else min(1.0, max(0.0, float(found["S1"][index])))
        for index, name in enumerate(names)
    }
