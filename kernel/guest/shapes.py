# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Names small and unusual machines, for `kernel test --shape`."""

from collections.abc import Mapping, Sequence

from common.errors import check_names
from record.shape import Shape

SHAPES: Mapping[str, Shape] = {
    shape.label: shape
    for shape in (
        Shape(label="one"),
        Shape(cores=2, label="two"),
        Shape(cores=4, threads=2, label="one-llc"),
        Shape(packages=2, llcs=4, threads=2, label="llc-a-core"),
        # Hypervisors report a cache per CPU by default. The series treats such caches as unknown.
        Shape(llcs=8, label="llc-a-cpu"),
        # Three is not a power of two: APIC ids have holes.
        Shape(packages=1, llcs=3, cores=3, label="threes"),
        Shape(packages=2, cores=4, threads=2, one_thread=True, label="holes"),
        Shape(packages=2, cores=4, threads=2, empty=5, label="uneven"),
        Shape(packages=2, cores=4, memory_nodes=1, label="memory-node"),
        Shape(packages=3, cores=4, bare_nodes=1, label="bare-node"),
        Shape(packages=2, llcs=2, cores=30, threads=2, label="most"),
    )
}
ALL = "all"


def named_shapes(names: Sequence[str]) -> list[Shape]:
    """Return the shapes with these names, in the order of the table; "all" selects every shape."""
    check_names("shape", names, (*SHAPES, ALL))
    return [shape for name, shape in SHAPES.items() if ALL in names or name in names]
