# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines the options of record for a program in a guest kernel."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.commands.options import BZIMAGE, PARAMETERS, Verb, gathered, path_option, with_options
from common.errors import UserError

if TYPE_CHECKING:
    from kernel.profile.program import GuestRequest

_OPTIONS = (
    click.option(
        "--variant", metavar="V", help="With --guest: a built kernel (kernel/series.toml)."
    ),
    click.option(
        "--config",
        default="lab",
        show_default=True,
        metavar="C",
        help="With --guest: the configuration of that kernel.",
    ),
    click.option(
        "--linux",
        metavar="V",
        envvar="SCHEDSHARD_LINUX",
        show_envvar=True,
        help="With --guest: the Linux series of that kernel [the default in kernel/base.toml].",
    ),
    path_option(
        "--vmlinux", help="With --guest: vmlinux of a kernel not built here; needs --bzimage."
    ),
    BZIMAGE,
    PARAMETERS,
    path_option(
        "--guest-file",
        "files",
        multiple=True,
        help="Copy this file into the guest, to the same path; repeatable.",
    ),
)


@dataclass(frozen=True)
class GuestOptions:
    """The kernel that a guest runs, its parameters, and the files that the guest gets."""

    variant: str | None
    config: str
    linux: str | None
    vmlinux: Path | None
    bzimage: Path | None
    parameters: tuple[str, ...]
    files: tuple[Path, ...]

    def request(self, machine: str, cpus: int | None) -> GuestRequest:
        """Return the request for the guest that the options describe."""
        from common.paths import INSTALLED
        from kernel.profile.c2c import Kernel, built_kernels
        from kernel.profile.program import GuestRequest
        from kernel.source.base import layout_for
        from model.machines.presets import load_machine, machine_topology
        from record.watch import shape_for

        if INSTALLED:
            raise UserError("--guest needs a checkout of the project: run './schedshard' there")
        if (self.vmlinux is None) != (self.bzimage is None):
            raise UserError("another kernel needs both --vmlinux and --bzimage")
        if (self.vmlinux is None) == (self.variant is None):
            raise UserError("--guest needs one kernel: --variant, or --vmlinux and --bzimage")
        for path in (self.vmlinux, self.bzimage):
            if path is not None and not path.is_file():
                raise UserError(f"no file {path}")
        loaded = load_machine(machine)
        layout = layout_for(self.linux)
        if self.vmlinux is not None and self.bzimage is not None:
            kernel = Kernel(self.bzimage.stem, self.bzimage, self.vmlinux)
        else:
            kernel = built_kernels(layout, (str(self.variant),), self.config)[0]
        count = cpus or 16
        shape = shape_for(machine_topology(loaded), loaded.name, count)
        slow = 10 if count <= 16 else 40
        return GuestRequest(layout, kernel, shape, self.files, self.parameters, slow)


def guest_options(verb: Verb) -> Verb:
    """Add the options of a guest; the command gets them as ``kernel``."""
    return with_options(gathered(GuestOptions, "kernel")(verb), _OPTIONS)
