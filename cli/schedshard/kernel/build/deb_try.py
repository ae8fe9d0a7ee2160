# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tries the packages: installs and removes them in a separate small Debian.

debootstrap makes the Debian on first use, and later trials reuse it. Each trial works on a copy, so
that an earlier trial cannot influence it. debootstrap and chroot need root.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from schedshard.common.errors import UserError, os_reason
from schedshard.common.progress import working
from schedshard.kernel.build.deb import Packages
from schedshard.kernel.layout import SUITE, Layout
from schedshard.kernel.source.base import check_space
from schedshard.kernel.tools import call, require

_NEEDED_MB = 1500
_NAME = re.compile(r"^(linux-(?:image|headers)-([^_]+))_")


@dataclass(frozen=True)
class Tried:
    """The result of a trial in the small Debian."""

    release: str
    files: tuple[str, ...]


def package_name(path: Path) -> tuple[str, str]:
    """Return a package's name and its kernel's release, from the name of the file."""
    match = _NAME.match(path.name)
    if match is None:
        raise UserError(f"{path.name} is not a package of a kernel")
    return match[1], match[2]


def expected_files(release: str, *, headers: bool) -> tuple[str, ...]:
    """Return the files that must exist after the packages were installed."""
    files = [f"boot/vmlinuz-{release}", f"boot/config-{release}", f"boot/System.map-{release}"]
    if headers:
        names = ("Makefile", "Module.symvers", "include/config/auto.conf")
        files += [f"usr/src/linux-headers-{release}/{name}" for name in names]
    return tuple(files)


def mirror_of(targets: str) -> str | None:
    """Return the mirror from which this host gets SUITE, from apt-get indextargets' output."""
    for line in targets.splitlines():
        site, _, rest = line.partition(" ")
        if rest == f"{SUITE} main Packages":
            return site
    return None


def _host_mirror() -> list[str]:
    """Return this host's mirror as an argument of debootstrap, or nothing for its default."""
    form = "$(SITE) $(CODENAME) $(COMPONENT) $(CREATED_BY)"
    if shutil.which("apt-get") is None:
        return []
    said = call(["apt-get", "indextargets", "--format", form], what="asking apt for its mirror")
    mirror = mirror_of(said.decode("utf-8", "replace"))
    return [mirror] if mirror else []


def debootstrap(suite: str, root: Path, *options: str) -> None:
    """Make a small Debian in an empty folder.

    debootstrap mounts /proc in it. It runs in a separate mount namespace, so that this mount ends
    even when debootstrap is killed, and removing the folder removes nothing else.
    """
    alone = ["unshare", "--mount", "debootstrap", "--variant=minbase"]
    call([*alone, *options, suite, root, *_host_mirror()], what=f"debootstrap of {suite}")


def _make_root(layout: Layout) -> Path:
    root = layout.work / f"root-{SUITE}"
    if root.is_dir():
        return root
    check_space(layout, _NEEDED_MB, "make a small Debian")
    temp = Path(tempfile.mkdtemp(prefix=".root.", dir=layout.work))
    try:
        temp.chmod(0o755)
        with working(f"debootstrap of {SUITE} (once, a minute or two)"):
            debootstrap(SUITE, temp)
        temp.rename(root)
    except OSError as error:
        raise UserError(f"cannot make {layout.shown(root)}: {os_reason(error)}") from error
    finally:
        shutil.rmtree(temp, ignore_errors=True)
    return root


def chroot_call(root: Path, argv: Sequence[str], what: str) -> str:
    """Run a program in a root file system, and return its output."""
    clean = ["env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", "PATH=/usr/sbin:/usr/bin"]
    said = call(["chroot", root, *clean, *argv], what=what)
    return said.decode("utf-8", "replace")


def try_install(layout: Layout, packages: Packages) -> Tried:
    """Install image and headers, check the files, remove the packages, and check again."""
    if os.geteuid() != 0:
        raise UserError("trying the packages needs root: debootstrap and chroot do")
    require("debootstrap")
    files = [path for path in (packages.image, packages.headers) if path is not None]
    names = [package_name(path)[0] for path in files]
    release = package_name(packages.image)[1]
    root = _make_root(layout)
    temp = Path(tempfile.mkdtemp(prefix=".trial.", dir=layout.work))
    try:
        trial = temp / "root"
        call(["cp", "-a", root, trial], what="copying the small Debian")
        for path in files:
            shutil.copy(path, trial / "tmp" / path.name)
        with working("installing the packages in a small Debian"):
            inside = [f"/tmp/{path.name}" for path in files]
            chroot_call(trial, ["dpkg", "-i", *inside], "installing the packages")
            seen = expected_files(release, headers=packages.headers is not None)
            for name in seen:
                if not (trial / name).is_file():
                    raise UserError(f"after the packages were installed there is no /{name}")
            if audit := chroot_call(trial, ["dpkg", "--audit"], "dpkg --audit").strip():
                raise UserError(f"dpkg --audit after the installation: {audit}")
            chroot_call(trial, ["dpkg", "--purge", *names], "removing the packages")
        for name in seen:
            if (trial / name).exists():
                raise UserError(f"after the packages were removed there still is /{name}")
    finally:
        subprocess.run(["rm", "-rf", "--", str(temp)], check=False)
    return Tried(release, seen)
