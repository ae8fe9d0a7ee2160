# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage fetch: unpacks the kernel source for which the patches are made.

The source comes from Debian's package or from a path that the user gives. The package is the
installed one, or else the newest of the mirror (archive.py). kernel/base.toml lists the series of
Linux (such as 7.3), with the tested versions of each and the hashes of their tarballs. An untested
version of such a series is accepted, too. That is safe because each edit fails unless it changes
the expected number of places, and the command fetch tries all edits before it ends.

The tree appears by one rename when it is complete. After that no program may write into it: the
trees of the variants are hard links to its files.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from common.errors import UserError, check_names, telling
from common.output import read_json, read_toml, to_json, write_atomic
from common.programs import call, require
from common.progress import working
from common.provenance import sha256_file
from kernel.arch import X86, Arch
from kernel.layout import Layout
from kernel.source.archive import NotThereError, Wanted, download
from kernel.source.table import Table

INSTALLED = Path("/usr/src")


@dataclass(frozen=True)
class Tested:
    """A version of the package with which everything was tested, and its tarball's hash."""

    version: str
    sha256: str


@dataclass(frozen=True)
class Base:
    """One series of Linux in kernel/base.toml."""

    linux: str
    wanted: Wanted
    unpacked_mb: int
    tested: tuple[Tested, ...]
    hide: tuple[tuple[str, str], ...]  # (file, text) that spatch cannot parse

    @property
    def package(self) -> str:
        """Return the name of Debian's package."""
        return self.wanted.package

    @property
    def tarball(self) -> str:
        """Return the tarball's name. It contains one folder."""
        return f"{self.package}.tar.xz"

    def version_of(self, sha256: str) -> str | None:
        """Return the tested version whose tarball has a hash, or None."""
        return next((release.version for release in self.tested if release.sha256 == sha256), None)


@dataclass(frozen=True)
class Fetched:
    """The version and hash of the unpacked base, and whether it is a tested one."""

    version: str
    sha256: str
    tested: bool


def _pairs(table: Table, key: str, names: tuple[str, str]) -> Iterator[Any]:
    """Yield the tables of a list as pairs of texts. The list may be missing."""
    for entry in table.tables(key):
        yield tuple(entry.text(name) for name in names)
        entry.end()


def _one_base(table: Table) -> Base:
    linux = table.text("series")
    table.where = f"{table.where} {linux}"
    package, archive, suites = table.text("package"), table.text("archive"), table.texts("suites")
    if not suites:
        raise UserError(f"{table.where}: 'suites' must be a list of texts")
    unpacked_mb = table.count("unpacked_mb")
    tested = tuple(Tested(*pair) for pair in _pairs(table, "tested", ("version", "sha256")))
    hide = tuple(_pairs(table, "hide", ("file", "text")))
    table.end()
    return Base(linux, Wanted(package, archive, suites), unpacked_mb, tested, hide)


def load_bases(layout: Layout) -> tuple[str, dict[str, Base]]:
    """Return the name of the default series, and all series."""
    path = layout.inputs / "base.toml"
    where = layout.shown(path)
    top = Table(read_toml(path), where)
    if (schema := top.data.pop("schema", None)) != 2:
        raise UserError(f"{where}: schema is {schema}, must be 2")
    default = top.text("default")
    listed = [_one_base(table) for table in top.tables("linux")]
    top.end()
    bases = {base.linux: base for base in listed}
    if default not in bases:
        raise UserError(
            f"{where}: the default is '{default}', which is not one of {', '.join(bases)}"
        )
    return default, bases


def load_base(layout: Layout) -> Base:
    """Return the layout's series of Linux."""
    default, bases = load_bases(layout)
    name = layout.linux or default
    check_names("series of Linux", [name], bases)
    return bases[name]


def layout_for(linux: str | None, project: Layout | None = None, arch: Arch = X86) -> Layout:
    """Return the layout for a series of Linux.

    Series other than the default have separate work folders.
    """
    plain = replace(project or Layout(), arch=arch)
    if linux is None:
        return plain
    default, bases = load_bases(plain)
    check_names("series of Linux", [linux], bases)
    if linux == default:
        return plain
    return replace(plain, work=plain.work.with_name(f"{plain.work.name}-{linux}"), linux=linux)


def installed_version(base: Base) -> str | None:
    """Return the version of the installed package, or None."""
    require("dpkg-query")
    form = "${db:Status-Status} ${Version}"
    output = call(
        ["dpkg-query", "-W", "-f", form, base.package],
        good=(0, 1),
        what=f"looking for {base.package}",
    )
    status, _, version = output.decode("utf-8", "replace").strip().partition(" ")
    return version if status == "installed" else None


def hash_of_tree(tree: Path) -> str:
    """Return a hash of an unpacked source's content."""
    digest = hashlib.sha256()
    for folder, folders, names in os.walk(tree):
        folders[:] = sorted(name for name in folders if name != ".git")
        for name in sorted(names):
            path = Path(folder) / name
            digest.update(f"{path.relative_to(tree)}\0".encode())
            content = str(path.readlink()) if path.is_symlink() else sha256_file(path)
            digest.update(f"{content}\0".encode())
    return digest.hexdigest()


def free_mb(path: Path) -> int:
    """Return the free megabytes for a folder."""
    return shutil.disk_usage(path).free >> 20


def check_space(layout: Layout, needed_mb: int, what: str) -> None:
    """Raise a UserError before long work that would fill the disk."""
    free = free_mb(layout.make_folder(layout.work))
    if free < needed_mb:
        raise UserError(
            f"no room to {what}: {free} MB free in {layout.shown(layout.work)}, "
            f"{needed_mb} MB needed"
        )


def _written_since(layout: Layout) -> str | None:
    """Return a file of the base that is newer than the unpacking, or None."""
    stamp = layout.state("base.json")
    newer = call(
        ["find", layout.base, "-type", "f", "-newer", stamp, "-print", "-quit"],
        what="looking for changed files of the base",
    )
    return newer.decode("utf-8", "replace").strip() or None


def fetched(layout: Layout) -> Fetched | None:
    """Return the unpacked base, or None if it is missing or of another series.

    Raise a UserError if a program has written to it.
    """
    base = load_base(layout)
    stamp = layout.state("base.json")
    if not stamp.is_file() or not layout.base.is_dir():
        return None
    known = read_json(stamp, "state")
    if known.get("linux") != base.linux:
        return None
    if (path := _written_since(layout)) is not None:
        raise UserError(
            f"{layout.shown(Path(path))} was written to, and every variant shares it: run "
            f"'rm -rf {layout.shown(layout.work / 'src')}' and start again"
        )
    sha256 = str(known["sha256"])
    return Fetched(str(known["version"]), sha256, base.version_of(sha256) is not None)


def make_version(tree: Path) -> str:
    """Return the version in a source tree's Makefile: "7.3.4"."""
    try:
        text = (tree / "Makefile").read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UserError(f"{tree} has no Makefile: it is not kernel source") from error
    parts = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) *= *(\d+) *$", text, re.MULTILINE))
    if not {"VERSION", "PATCHLEVEL"} <= set(parts):
        raise UserError(f"{tree}/Makefile names no version: it is not kernel source")
    numbers = (parts["VERSION"], parts["PATCHLEVEL"], parts.get("SUBLEVEL", "0"))
    return ".".join(numbers)


def check_series(base: Base, tree: Path, where: Path) -> str:
    """Return the version of a source tree. Raise a UserError if it is of another series."""
    version = make_version(tree)
    if not f"{version}.".startswith(f"{base.linux}."):
        raise UserError(f"{where} is Linux {version}, but a {base.linux} is needed")
    return version


def _swap(layout: Layout, tree: Path) -> None:
    """Replace the base by a complete tree."""
    if layout.base.exists():
        # The old base is another version. Variants are made again, because their base differs.
        layout.state("base.json").unlink(missing_ok=True)
        shutil.rmtree(layout.base)
    tree.rename(layout.base)


@contextmanager
def _scratch(layout: Layout) -> Iterator[Path]:
    """Yield a folder beside the base, which is removed afterwards."""
    parent = layout.make_folder(layout.work / "src")
    temp = Path(tempfile.mkdtemp(prefix=".base.", dir=parent))
    try:
        yield temp
    finally:
        subprocess.run(["rm", "-rf", "--", str(temp)], check=False)


def _only_folder(temp: Path, tarball: Path) -> Path:
    entries = sorted(temp.iterdir())
    if len(entries) != 1 or not (entries[0] / "Makefile").is_file():
        raise UserError(f"{tarball} is not kernel source: one folder with a Makefile is expected")
    return entries[0]


def _from_tarball(layout: Layout, base: Base, tarball: Path, version: str | None) -> Fetched:
    """Unpack a tarball. ``version`` is that of its package, or None without a package."""
    sha256 = sha256_file(tarball)
    known = base.version_of(sha256)
    if known is None and version in [release.version for release in base.tested]:
        raise UserError(
            f"{tarball} has sha256 {sha256[:16]}..., and is not what was tested as "
            f"{base.package} {version}: reinstall it, or give another with --base"
        )
    require("tar", "xz")
    with _scratch(layout) as temp:
        with working(f"unpacking {tarball.name} {version or known or ''}".rstrip()):
            call(
                ["tar", "-C", temp, "-xf", tarball, "--no-same-owner"], what=f"unpacking {tarball}"
            )
        top = _only_folder(temp, tarball)
        release = check_series(base, top, tarball)
        _swap(layout, top)
    return Fetched(version or known or release, sha256, known is not None)


def _from_package(layout: Layout, base: Base, package: Path) -> Fetched:
    """Unpack the tarball in a package."""
    require("dpkg-deb")
    version = call(["dpkg-deb", "-f", package, "Version"], what=f"reading {package.name}")
    with tempfile.TemporaryDirectory(prefix=".deb.", dir=layout.make_folder(layout.work)) as temp:
        call(["dpkg-deb", "-x", package, temp], what=f"unpacking {package.name}")
        tarball = Path(temp) / "usr" / "src" / base.tarball
        if not tarball.is_file():
            raise UserError(f"{package} holds no usr/src/{base.tarball}")
        return _from_tarball(layout, base, tarball, version.decode("utf-8", "replace").strip())


def _from_tree(layout: Layout, base: Base, tree: Path) -> Fetched:
    """Copy a source tree of the user."""
    version = check_series(base, tree, tree)
    with _scratch(layout) as temp, working(f"copying {tree}"):
        copy = temp / "source"
        # The files keep their times, so that make does not treat the copy as new.
        call(["cp", "-a", "--", tree, copy], what=f"copying {tree}")
        subprocess.run(["rm", "-rf", "--", str(copy / ".git")], check=False)
        sha256 = hash_of_tree(copy)
        _swap(layout, copy)
    return Fetched(version, sha256, False)


def _from_path(layout: Layout, base: Base, path: Path) -> Fetched:
    """Fetch from the path in --base: a source tree, a tarball of one, or Debian's package."""
    if path.is_dir():
        return _from_tree(layout, base, path)
    if not path.is_file():
        raise UserError(f"--base {path}: there is no such file or folder")
    if path.suffix == ".deb":
        return _from_package(layout, base, path)
    return _from_tarball(layout, base, path, None)


def _from_debian(layout: Layout, base: Base) -> Fetched:
    """Fetch from the installed package, or else from the newest one of the mirror."""
    version = installed_version(base)
    tarball = INSTALLED / base.tarball
    if version is not None and tarball.is_file():
        return _from_tarball(layout, base, tarball, version)
    with tempfile.TemporaryDirectory(prefix=".deb.", dir=layout.make_folder(layout.work)) as temp:
        with working(f"downloading {base.package}"):
            package = download(base.wanted, Path(temp))
        return _from_package(layout, base, package)


def fetch(layout: Layout, path: Path | None = None) -> tuple[Fetched, bool]:
    """Bring the base to work/src/base. Return its version, and whether this call brought it."""
    base = load_base(layout)
    with layout.locked("base"):
        if path is None and (known := fetched(layout)) is not None:
            return known, False
        check_space(layout, 2 * base.unpacked_mb, "unpack the kernel")
        with telling("fetching the kernel source"):
            source = _from_path(layout, base, path) if path else _from_debian(layout, base)
        stamp = {"linux": base.linux, "version": source.version, "sha256": source.sha256}
        write_atomic(layout.state("base.json"), to_json(stamp))
    return source, True


def fetch_any(
    project: Layout | None = None, tell: Callable[[str], None] = lambda line: None
) -> tuple[Layout, Fetched]:
    """Fetch the base of the default series, or else of the next series that the mirror has."""
    default, bases = load_bases(project or Layout())
    missing: NotThereError | None = None
    for name in (default, *(linux for linux in bases if linux != default)):
        layout = layout_for(name, project)
        if missing is not None:
            tell(f"{missing}; taking Linux {name}")
        try:
            return layout, fetch(layout)[0]
        except NotThereError as error:
            missing = error
    assert missing is not None
    raise missing


def fetch_command(layout: Layout) -> str:
    """Return the command that fetches the base."""
    which = f"--linux {layout.linux} " if layout.linux else ""
    return f"./schedshard kernel {which}fetch"


def require_fetched(layout: Layout) -> Fetched:
    """Return the unpacked base. The UserError names the command that fetches it."""
    source = fetched(layout)
    if source is None:
        raise UserError(f"the kernel source is not there: run '{fetch_command(layout)}'")
    return source


def require_base(layout: Layout) -> str:
    """Return the hash of the unpacked base."""
    return require_fetched(layout).sha256
