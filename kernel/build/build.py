# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage build: compiles a variant in a configuration to a kernel that boots."""

from dataclasses import dataclass
from pathlib import Path

from common.output import read_json, to_json, write_atomic
from common.progress import ticking, working
from kernel.arch import X86, Arch
from kernel.build.config import Configuration, configure, resolve
from kernel.build.make import Made, Make, run_make
from kernel.layout import Layout
from kernel.source.apply import apply_steps
from kernel.source.base import check_space
from kernel.source.recipe import load_recipe

# Expected number of made files in the lab configuration. Later builds use the last build's count.
_FIRST_GUESS = 1600
_NEEDED_MB = 1500


@dataclass(frozen=True)
class BuildRequest:
    """Which variant, in which configuration (a name or a file), with how many jobs (0: all)."""

    variant: str
    config: str = "lab"
    jobs: int = 0


@dataclass(frozen=True)
class Built:
    """A finished build."""

    variant: str
    config: str
    objects: Path
    made: Made
    arch: Arch = X86

    @property
    def kernel(self) -> Path:
        """Return the path of the image that an emulator boots."""
        return self.objects / self.arch.image


def _expected(layout: Layout, config: str) -> int:
    known = layout.state(f"count-{config}.json")
    return int(read_json(known, "state")["files"]) if known.is_file() else _FIRST_GUESS


def build_tree(
    layout: Layout, tree: str, configuration: Configuration, *, jobs: int = 0, strict: bool = True
) -> Made:
    """Configure an existing source tree, and make the image."""
    config = configuration.name
    name = f"{tree}-{config}"
    with layout.locked(tree):
        with working(f"configuring {name}"):
            configure(layout, tree, configuration, strict=strict)
        objects = layout.objects(tree, config)
        # The release contains the tree's name, so that a guest's log shows which kernel ran.
        release = (f"LOCALVERSION=-{tree}",)
        make = Make(layout.source(tree), objects, name, jobs, release, layout.arch)
        with ticking(f"building {name}", _expected(layout, config)) as tick:
            made = run_make(layout, make, [layout.arch.target], tick)
    if made.files > _expected(layout, config) or not layout.state(f"count-{config}.json").is_file():
        write_atomic(layout.state(f"count-{config}.json"), to_json({"files": made.files}))
    return made


def build(layout: Layout, request: BuildRequest) -> Built:
    """Bring a variant's source up to date, configure it and compile it."""
    recipe = load_recipe(layout)
    variant = recipe.variant(request.variant)
    configuration = resolve(layout, request.config, variant.config)
    if not layout.objects(variant.name, configuration.name).is_dir():
        check_space(layout, _NEEDED_MB, f"build {variant.name}")
    apply_steps(layout, variant.name, recipe.steps_of(variant))
    made = build_tree(layout, variant.name, configuration, jobs=request.jobs)
    objects = layout.objects(variant.name, configuration.name)
    return Built(variant.name, configuration.name, objects, made, layout.arch)
