# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage deb: makes Debian packages of a variant, with the kernel's own bindeb-pkg.

The kernel's release ends in -schedshard, so the packages install beside the distribution's.
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from common.errors import UserError, telling
from common.output import make_directory
from common.programs import require
from common.progress import ticking, working
from kernel.build.config import configure, resolve
from kernel.build.make import Make, run_make
from kernel.layout import Layout
from kernel.source.apply import apply_steps
from kernel.source.base import check_space, require_fetched
from kernel.source.recipe import load_recipe

RELEASE = "-schedshard"
_TOOLS = ("dpkg-buildpackage", "dh_builddeb", "rsync", "cpio", "xz", "kmod", "fakeroot")
_FILES = 2900
_NEEDED_MB = 2500
_SOME_NEEDED_MB = 5000  # with the modules of one machine
_USER_NEEDED_MB = 25_000  # a distribution's configuration has thousands of modules


@dataclass(frozen=True)
class DebRequest:
    """Which variant, in which configuration (a name or a file), and where the packages go.

    ``modules`` is a file of lsmod's output: only these of the configuration's modules are built.
    """

    variant: str
    config: str
    out: Path | None = None
    jobs: int = 0
    modules: Path | None = None


@dataclass(frozen=True)
class Packages:
    """The packages, sorted by content."""

    image: Path
    headers: Path | None
    others: tuple[Path, ...]
    seconds: float


def package_version(base_version: str) -> str:
    """Return the packages' version: the base's upstream version and the project's revision."""
    return f"{base_version.partition('-')[0]}-1"


def sort_packages(paths: list[Path], seconds: float) -> Packages:
    """Sort packages by the beginnings of their names."""
    image = [path for path in paths if path.name.startswith("linux-image-")]
    plain = [path for path in image if "-dbg_" not in path.name]
    headers = [path for path in paths if path.name.startswith("linux-headers-")]
    if len(plain) != 1 or len(headers) > 1:
        names = ", ".join(sorted(path.name for path in paths)) or "nothing"
        raise UserError(f"the kernel's packaging made {names}: expected one linux-image", status=1)
    rest = tuple(path for path in paths if path not in (plain[0], *headers))
    return Packages(plain[0], headers[0] if headers else None, rest, seconds)


def _collect(source: Path, out: Path) -> list[Path]:
    """Move the packages from the source tree, where packaging leaves them, to ``out``."""
    collected = []
    with telling(f"cannot write packages to {out}"):
        for path in sorted(source.iterdir()):
            if path.suffix in (".buildinfo", ".changes"):
                path.unlink()
            elif path.suffix == ".deb":
                collected.append(Path(shutil.move(path, out / path.name)))
    return collected


def _clear(source: Path) -> None:
    for path in source.iterdir():
        if path.suffix in (".buildinfo", ".changes", ".deb") and path.is_file():
            path.unlink()


def deb(layout: Layout, request: DebRequest) -> Packages:
    """Build linux-image, and linux-headers if the configuration has modules."""
    recipe = load_recipe(layout)
    variant = recipe.variant(request.variant)
    configuration = resolve(layout, request.config, variant.config, request.modules)
    require(*_TOOLS)
    out = request.out or layout.work / "deb"
    make_directory(out)
    # This tree is separate, because packaging leaves files beside its build folder, and takes long.
    tree = f"{variant.name}-deb"
    name = f"{tree}-{configuration.name}"
    source, objects = layout.source(tree), layout.objects(tree, configuration.name)
    if not objects.is_dir():
        needed = _USER_NEEDED_MB if configuration.user_file else _NEEDED_MB
        needed = _SOME_NEEDED_MB if configuration.modules else needed
        check_space(layout, needed, f"package {variant.name}")
    apply_steps(layout, tree, recipe.steps_of(variant))
    version = package_version(require_fetched(layout).version)
    with layout.locked(tree):
        with working(f"configuring {name}"):
            configure(layout, tree, configuration)
        _clear(source)
        variables = (
            f"LOCALVERSION={RELEASE}",
            f"KDEB_PKGVERSION={version}",
            "KDEB_SOURCENAME=linux-schedshard",
            "KDEB_CHANGELOG_DIST=unstable",
            "KDEB_COMPRESS=xz",
            # Without the package of debugging symbols, which takes a gigabyte and has no user.
            "DPKG_FLAGS=--build-profiles=pkg.linux-schedshard.nokerneldbg",
        )
        make = Make(source, objects, name, request.jobs or os.cpu_count() or 1, variables)
        with ticking(f"packaging {name}", _FILES) as tick:
            made = run_make(layout, make, ["bindeb-pkg"], tick)
        collected = _collect(source, out)
    return sort_packages(collected, made.seconds)
