# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage apply: brings a variant's source tree up to date with the base, core/ and kernel/."""

from collections.abc import Sequence
from dataclasses import dataclass

from kernel.layout import Layout
from kernel.source.base import require_base
from kernel.source.delta import Delta, deltas
from kernel.source.recipe import Step, load_recipe
from kernel.source.tree import bring_tree


@dataclass(frozen=True)
class Applied:
    """The result: files that differ from the base, and how many this call changed."""

    variant: str
    differing: int
    changed: int


def apply_steps(layout: Layout, name: str, steps: Sequence[Step]) -> Applied:
    """Bring work/src/NAME to the state of the base after these steps."""
    base = require_base(layout)
    made = deltas(layout, steps)
    delta: Delta = made[-1] if made else {}
    with layout.locked(name):
        changed = bring_tree(layout, name, delta, base)
    return Applied(name, len(delta), changed)


def try_edits(layout: Layout) -> tuple[int, int]:
    """Return how many edits of the series apply to the base, and how many edits there are.

    If one does not apply, deltas() raises an error that names it.
    """
    steps = load_recipe(layout).steps
    deltas(layout, steps)
    count = sum(len(step.edits) for step in steps)
    return count, count


def apply(layout: Layout, variant: str) -> Applied:
    """Make or update the source tree of a variant; unchanged files keep their times."""
    recipe = load_recipe(layout)
    chosen = recipe.variant(variant)
    return apply_steps(layout, chosen.name, recipe.steps_of(chosen))
