# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Says where the kernel's inputs and work trees are."""

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from common.errors import telling
from common.paths import ROOT
from kernel.arch import X86, Arch

# The suite of Debian from which guests and trials take programs.
SUITE = "bookworm"


@dataclass(frozen=True)
class Layout:
    """The project folder, which is only read, and the work folder. Tests replace both."""

    project: Path = ROOT
    work: Path = ROOT / "build" / "kernel"
    linux: str | None = None  # the series; None: the default one of kernel/base.toml
    arch: Arch = X86
    send: str = ""  # a part of the series to be sent alone; "": the whole series

    @property
    def inputs(self) -> Path:
        """Return the folder kernel/ of the project."""
        return self.project / "kernel"

    @property
    def base(self) -> Path:
        """Return the unpacked, unchanged source."""
        return self.work / "src" / "base"

    def source(self, variant: str) -> Path:
        """Return the source tree of a variant."""
        return self.work / "src" / variant

    def objects(self, variant: str, config: str) -> Path:
        """Return the build tree of a variant in a configuration.

        The tree is inside the source tree. Only then does the kernel's make call the source ".."
        and not by an absolute path, so that variants can share ccache's objects.
        work/obj/VARIANT-CONFIG is a link to the build tree.
        """
        return self.source(variant) / f"build-{config}"

    def objects_link(self, variant: str, config: str) -> Path:
        """Return the short name of a build tree, a link."""
        return self.work / "obj" / f"{variant}-{config}"

    def state(self, name: str) -> Path:
        """Return a file of notes about a work tree.

        It is outside the tree, which has only kernel files.
        """
        return self.work / "state" / name

    def log(self, name: str) -> Path:
        """Return the log of a stage."""
        return self.work / "logs" / f"{name}.log"

    def shown(self, path: Path) -> str:
        """Return a path for messages, relative to the project if it is inside."""
        try:
            return str(path.relative_to(self.project))
        except ValueError:
            return str(path)

    def make_folder(self, path: Path) -> Path:
        """Create a folder of the work area. The UserError gives the reason if that fails."""
        with telling(f"cannot make {self.shown(path)}"):
            path.mkdir(parents=True, exist_ok=True)
        return path

    @contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """Lock a tree. Other processes print a message and wait."""
        path = self.make_folder(self.work / "state") / f"{name}.lock"
        fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o666)
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print(f"waiting: another process uses {self.shown(path)}", file=sys.stderr)
                fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)
