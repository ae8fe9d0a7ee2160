# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Stage fetch: Debian's source package, the one version that the series is for, unpacked.

The tree appears by one rename when it is whole. After that nobody may write into it: the trees of
the variants are hard links to its files.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedshard.errors import UserError, os_reason
from schedshard.kernel.layout import Layout
from schedshard.kernel.tools import call, require
from schedshard.output import read_json, to_json, write_atomic
from schedshard.progress import working

_KEYS = {
    "schema": int,
    "package": str,
    "version": str,
    "tarball": str,
    "sha256": str,
    "top": str,
    "unpacked_mb": int,
}
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Base:
    """What kernel/base.toml says."""

    package: str
    version: str
    tarball: Path
    sha256: str
    top: str
    unpacked_mb: int


def read_toml(path: Path) -> dict[str, Any]:
    """One of our TOML files, or where it stops being one."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {os_reason(error)}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is no TOML: {error}") from error


def load_base(layout: Layout) -> Base:
    """Read kernel/base.toml."""
    path = layout.inputs / "base.toml"
    data = read_toml(path)
    for key, kind in _KEYS.items():
        if type(data.get(key)) is not kind:
            raise UserError(f"{layout.shown(path)}: '{key}' must be given, as {kind.__name__}")
    if unknown := sorted(set(data) - set(_KEYS)):
        raise UserError(f"{layout.shown(path)}: unknown key '{unknown[0]}'")
    if data["schema"] != 1:
        raise UserError(f"{layout.shown(path)}: schema {data['schema']}, known is 1")
    return Base(
        data["package"],
        data["version"],
        Path(data["tarball"]),
        data["sha256"],
        data["top"],
        data["unpacked_mb"],
    )


def check_package(base: Base) -> None:
    """The installed package must be the accepted version of it."""
    require("dpkg-query")
    form = "${db:Status-Status} ${Version}"
    said = call(
        ["dpkg-query", "-W", "-f", form, base.package],
        good=(0, 1),
        what=f"looking for {base.package}",
    )
    status, _, version = said.decode("utf-8", "replace").strip().partition(" ")
    if status != "installed":
        raise UserError(
            f"{base.package} is not installed: run 'scripts/bootstrap kernel' "
            f"(version {base.version} is needed)"
        )
    if version != base.version:
        raise UserError(
            f"{base.package} is version {version}, the series is for {base.version}: "
            f"install that one (apt-get install {base.package}={base.version})"
        )


def check_tarball(base: Base) -> None:
    """The tarball must be, byte for byte, the one that the rules were counted on."""
    digest = hashlib.sha256()
    try:
        with base.tarball.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except OSError as error:
        raise UserError(f"cannot read {base.tarball}: {os_reason(error)}") from error
    if digest.hexdigest() != base.sha256:
        raise UserError(
            f"{base.tarball} has sha256 {digest.hexdigest()[:16]}..., expected "
            f"{base.sha256[:16]}...: reinstall {base.package} {base.version}"
        )


def free_mb(path: Path) -> int:
    """Megabytes that may be written under a folder."""
    return shutil.disk_usage(path).free >> 20


def check_space(layout: Layout, needed_mb: int, what: str) -> None:
    """Refuse long work that would end with a full disk."""
    free = free_mb(layout.make_folder(layout.work))
    if free < needed_mb:
        raise UserError(
            f"no room to {what}: {free} MB free in {layout.shown(layout.work)}, "
            f"{needed_mb} MB needed"
        )


def _written_since(layout: Layout) -> str | None:
    """A file of the base that is newer than its unpacking, if there is one."""
    stamp = layout.state("base.json")
    found = call(
        ["find", layout.base, "-type", "f", "-newer", stamp, "-print", "-quit"],
        what="looking for changed files of the base",
    )
    return found.decode("utf-8", "replace").strip() or None


def fetched(layout: Layout, base: Base) -> bool:
    """Whether the base lies unpacked, in the right version; an error when it was written to."""
    stamp = layout.state("base.json")
    if not stamp.is_file() or not layout.base.is_dir():
        return False
    if read_json(stamp, "state")["sha256"] != base.sha256:
        return False
    if (path := _written_since(layout)) is not None:
        raise UserError(
            f"{layout.shown(Path(path))} was written to, and every variant shares it: run "
            f"'rm -rf {layout.shown(layout.work / 'src')}' and start again"
        )
    return True


def _unpack(layout: Layout, base: Base) -> None:
    parent = layout.make_folder(layout.work / "src")
    temp = Path(tempfile.mkdtemp(prefix=".base.", dir=parent))
    try:
        call(
            ["tar", "-C", temp, "-xf", base.tarball, "--no-same-owner"],
            what=f"unpacking {base.tarball}",
        )
        top = temp / base.top
        if not (top / "Makefile").is_file():
            raise UserError(f"{base.tarball} has no {base.top}/Makefile: it is no kernel source")
        if layout.base.exists():
            # Of another version; the variants made from it go with it.
            layout.state("base.json").unlink(missing_ok=True)
            shutil.rmtree(layout.base)
        top.rename(layout.base)
    except OSError as error:
        raise UserError(f"unpacking {base.tarball}: {os_reason(error)}") from error
    finally:
        subprocess.run(["rm", "-rf", "--", str(temp)], check=False)


def fetch(layout: Layout) -> bool:
    """Bring the base to work/src/base; returns False when it was there already."""
    base = load_base(layout)
    with layout.locked("base"):
        if fetched(layout, base):
            return False
        check_package(base)
        check_tarball(base)
        require("tar", "xz")
        check_space(layout, 2 * base.unpacked_mb, "unpack the kernel")
        with working(f"unpacking {base.package} {base.version}"):
            _unpack(layout, base)
        stamp = {"version": base.version, "sha256": base.sha256}
        write_atomic(layout.state("base.json"), to_json(stamp))
    return True


def require_base(layout: Layout) -> str:
    """The hash of the base that is there, or the command that brings it."""
    base = load_base(layout)
    if not fetched(layout, base):
        raise UserError("the kernel source is not there: run './schedshard kernel fetch'")
    return base.sha256
