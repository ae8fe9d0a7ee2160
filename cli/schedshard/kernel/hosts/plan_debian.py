# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes a small Debian on a disk image, in which a doctor plan is tried."""

import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from schedshard.common.errors import UserError, os_reason
from schedshard.common.progress import working
from schedshard.kernel.build.deb_try import chroot_call, debootstrap
from schedshard.kernel.layout import Layout
from schedshard.kernel.source.base import check_space
from schedshard.kernel.tools import call, require

_NEEDED_MB = 4000
_DISK = "2G"
_EXCHANGE_BYTES = 64 << 20
_SYSTEMD = "systemd-sysv,dbus,udev,kmod"
# Real-time threads, and Debian's own kernel with its packages for a boot from disk.
_PACKAGES = ("rt-tests", "linux-image-cloud-amd64", "initramfs-tools")
_SHARE = "/usr/local/share/trial"
_UNITS = "/etc/systemd/system"


@dataclass(frozen=True)
class Disk:
    """The root file system of a trial, and the disk that exchanges tar files with the guest."""

    root: Path
    exchange: Path

    def give(self, folder: Path) -> None:
        """Put a folder on the exchange disk, for the guest."""
        with tarfile.open(self.exchange, "w") as tar:
            tar.add(folder, folder.name)
        os.truncate(self.exchange, _EXCHANGE_BYTES)

    def take(self, name: str, target: Path) -> None:
        """Copy a file from the exchange disk, where the guest put it."""
        try:
            with tarfile.open(self.exchange) as tar:
                source = tar.extractfile(name)
                if source is None:
                    raise KeyError(name)
                target.write_bytes(source.read())
        except (tarfile.TarError, KeyError) as error:
            raise UserError(f"the guest handed over no {name}: {error}", status=1) from error


def _make_system(layout: Layout, suite: str, root: Path) -> None:
    with working(f"debootstrap of {suite} with systemd (once, some minutes)"):
        debootstrap(suite, root, f"--include={_SYSTEMD}")
        install = ["apt-get", "install", "-q", "-y", "--no-install-recommends", *_PACKAGES]
        chroot_call(root, install, "installing a kernel in the small Debian")
        chroot_call(root, ["apt-get", "clean"], "cleaning up in the small Debian")


def debian_kernel(folder: Path) -> tuple[Path, Path]:
    """Return Debian's own kernel and its initrd."""
    kernels, initrds = sorted(folder.glob("vmlinuz-*")), sorted(folder.glob("initrd.img-*"))
    if not kernels or not initrds:
        raise UserError(f"{folder} has no kernel with an initrd")
    return kernels[-1], initrds[-1]


def small_debian(layout: Layout, suite: str) -> Path:
    """Return a folder with disk.img, a kernel and its initrd. It is made on first use and kept."""
    made = layout.work / f"systemd-{suite}"
    with layout.locked(f"systemd-{suite}"):
        if made.is_dir():
            return made
        if os.geteuid() != 0:
            raise UserError("making a small Debian needs root: debootstrap and chroot do")
        require("debootstrap", "mke2fs", "debugfs")
        check_space(layout, _NEEDED_MB, "make a small Debian with a kernel")
        temp = Path(tempfile.mkdtemp(prefix=".systemd.", dir=layout.work))
        try:
            root = temp / "root"
            root.mkdir(mode=0o755)
            _make_system(layout, suite, root)
            for path in debian_kernel(root / "boot"):
                shutil.copy(path, temp / path.name)
            make: list[str | Path] = ["mke2fs", "-q", "-t", "ext4", "-d", root]
            call([*make, temp / "disk.img", _DISK], what="making the guest's disk")
            call(["rm", "-rf", "--one-file-system", "--", root], what="removing the folder")
            temp.rename(made)
        except OSError as error:
            raise UserError(f"cannot make {layout.shown(made)}: {os_reason(error)}") from error
        finally:
            shutil.rmtree(temp, ignore_errors=True)
    return made


def _commands(files: Iterable[Path]) -> str:
    lines = [f"mkdir {_SHARE}"]
    for path in files:
        unit = path.suffix == ".service"
        lines.append(f"write {path} {_UNITS if unit else _SHARE}/{path.name}")
        if unit:
            wanted = f"{_UNITS}/multi-user.target.wants/{path.name}"
            lines.append(f"symlink {wanted} {_UNITS}/{path.name}")
    return "".join(f"{line}\n" for line in lines)


def make_disk(debian: Path, folder: Path, files: Iterable[Path]) -> Disk:
    """Return a copy of the small Debian's disk with added scripts and enabled units."""
    disk = Disk(folder / "disk.img", folder / "exchange.img")
    call(
        ["cp", "--sparse=always", "--reflink=auto", debian / "disk.img", disk.root],
        what="copying the guest's disk",
    )
    commands = folder / "commands"
    commands.write_text(_commands(files), encoding="ascii")
    call(["debugfs", "-w", "-f", commands, disk.root], what="writing to the guest's disk")
    disk.exchange.touch()
    os.truncate(disk.exchange, _EXCHANGE_BYTES)
    return disk
