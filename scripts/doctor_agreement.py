# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compare doctor's stored curves with simulations, on shapes drawn at random with fixed seeds.

PYTHONPATH=. .venv/bin/python scripts/doctor_agreement.py [FIRST [LAST]]

It prints each shape whose intervals do not meet, and a count; status 1 if there are any. All 200
take about 15 minutes of a CPU; docs/doctor.md names those that do not agree.
"""

from __future__ import annotations

import random
import sys

from doctor.predict.nearest import Nearest
from doctor.predict.predict import predict_on
from doctor.predict.shape import Shape
from doctor.predict.stored import on_surface
from doctor.predict.surface import load_surfaces

SHAPES = 200
# Costs up to a hundredth of a percent of a machine count as equal.
NOTHING = 1e-4
# Wake-ups counted per run: a quarter of those of --predict.
COUNTED = 3000.0


def drawn(number: int) -> tuple[Shape, str]:
    """Return a random shape and a machine of the table, which depend only on the number."""
    dice = random.Random(number)
    surface = dice.choice(load_surfaces())
    have = int(surface.row["cpus"])
    size = dice.choice((1, 2, 4, 8, 16))
    groups = min(round(2 ** dice.uniform(0, 9)), have // size)
    groups = max(groups, 2 if size == 1 else 1)
    cpus = groups * size
    rate = min(10 ** dice.uniform(1, 4.5) * cpus, 4e6)
    return Shape(
        groups, size, dice.choice((1, 50, 90, 99)), 1, rate, have, pinned=dice.random() < 0.25,
        spread=dice.random() < 0.3 and surface.row["packages"] > 1 and cpus < have / 2,
        push=dice.random() < 0.5,
    ), surface.name  # fmt: skip


def apart(number: int) -> list[str]:
    """Return the variants of a shape whose stored and simulated intervals do not meet."""
    shape, name = drawn(number)
    kept = on_surface(shape, Nearest(name, "drawn"))
    now = predict_on(shape, name, "drawn", None, COUNTED)
    found = []
    for row in kept.rows:
        other = now.row(row.variant)
        assert other is not None
        most = max(row.share.value, other.share.value)
        if most > NOTHING and not row.share.meets(other.share):
            found.append(
                f"{number}: {name}, {shape.words}, {row.variant}: stored {row.share}, simulated "
                f"{other.share}"
            )
    return found


def main(first: int, last: int) -> int:
    """Compare stored with simulated curves for these shapes, and return the exit status."""
    bad = 0
    for number in range(first, last):
        found = apart(number)
        bad += bool(found)
        print("\n".join(found) or f"{number}: agrees", flush=True)
    print(f"{last - first - bad} of {last - first} agree")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(*[int(each) for each in sys.argv[1:3]] or (0, SHAPES)))
