# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage cross: compiles a variant for architectures whose kernels are not booted here.

Any warning is an error (kernel/config/cross.config). Small kernels are also linked and measured.
Linking shows missing symbols.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

from schedshard.kernel.arch import Target
from schedshard.kernel.build.build import build_tree
from schedshard.kernel.build.config import Configuration, fragments_of
from schedshard.kernel.build.make import Made
from schedshard.kernel.layout import Layout
from schedshard.kernel.source.apply import apply_steps
from schedshard.kernel.source.base import check_space
from schedshard.kernel.source.recipe import Variant, load_recipe
from schedshard.kernel.tools import call, require

_NEEDED_MB = 500
# The folders that the series changes for every processor.
_PLACES = ("kernel/sched/",)


@dataclass(frozen=True)
class Cross:
    """A kernel that is only compiled. kernel/config/cross/NAME.config contains its options."""

    words: str  # how it differs from the others
    target: Target
    start: str = "defconfig"  # the target of make that begins its configuration
    linked: bool = False  # it is small enough to link


CROSS: Mapping[str, Cross] = {
    "arm": Cross("32 bit", Target("arm", "arm-linux-gnueabihf-")),
    "powerpc": Cross(
        "32 bit, big-endian, 64-bit atomics by locks",
        Target("powerpc", "powerpc-linux-gnu-"),
        "pmac32_defconfig",
    ),
    "m68k": Cross(
        "32 bit, big-endian, one CPU, u64 aligned to 2 bytes",
        Target("m68k", "m68k-linux-gnu-"),
        "multi_defconfig",
    ),
    "powerpc64": Cross(
        "big-endian, NUMA", Target("powerpc", "powerpc64-linux-gnu-"), "ppc64_defconfig"
    ),
    "riscv": Cross("caches from firmware", Target("riscv", "riscv64-linux-gnu-")),
    "s390": Cross("big-endian", Target("s390", "s390x-linux-gnu-")),
    "i386-tiny": Cross("32 bit, one CPU", Target("i386", ""), "tinyconfig", linked=True),
    "arm-tiny": Cross("32 bit", Target("arm", "arm-linux-gnueabihf-"), "tinyconfig", linked=True),
}


@dataclass(frozen=True)
class Sections:
    """The sizes of a linked kernel's sections in bytes."""

    text: int
    data: int
    bss: int


@dataclass(frozen=True)
class Compiled:
    """The result of a compilation. ``sections`` is None unless the kernel was linked."""

    variant: str
    compiler: str
    made: Made
    sections: Sections | None


def configuration_of(layout: Layout, name: str, variant: Variant) -> Configuration:
    """Return the common options, the variant's, and the kernel's own, which may override others."""
    cross = CROSS[name]
    fragments = tuple(chain(*(fragments_of(layout, one) for one in ("cross", *variant.config))))
    own = layout.inputs / "config" / "cross" / f"{name}.config"
    fragments = (*fragments, own) if own.is_file() else fragments
    return Configuration(f"cross-{name}", fragments, start=cross.start, target=cross.target)


def parse_size(text: str) -> Sections:
    """Return the numbers that size prints below its heading."""
    text_size, data, bss = text.splitlines()[1].split()[:3]
    return Sections(int(text_size), int(data), int(bss))


def compile_cross(layout: Layout, name: str, variant: str, jobs: int = 0) -> Compiled:
    """Compile a variant for one of CROSS, and link the kernel if it is small."""
    cross, recipe = CROSS[name], load_recipe(layout)
    chosen = recipe.variant(variant)
    configuration = configuration_of(layout, name, chosen)
    size = f"{cross.target.cross}size"
    require(cross.target.compiler, size)
    objects = layout.objects(variant, configuration.name)
    if not objects.is_dir():
        check_space(layout, _NEEDED_MB, f"build {variant} for {name}")
    apply_steps(layout, variant, recipe.steps_of(chosen))
    targets = (*_PLACES, "vmlinux") if cross.linked else _PLACES
    made = build_tree(layout, variant, configuration, jobs=jobs, targets=targets)
    compiler = cross.target.compiler
    version = call([compiler, "-dumpfullversion"], what=f"asking {compiler} for its version")
    sections = None
    if cross.linked:
        said = call([size, objects / "vmlinux"], what=f"measuring {variant} for {name}")
        sections = parse_size(said.decode("ascii", "replace"))
    return Compiled(variant, f"{compiler} {version.decode().strip()}", made, sections)
