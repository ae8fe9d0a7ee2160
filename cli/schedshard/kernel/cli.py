# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Verbs of `schedshard kernel` on the host's side; stages are imported inside the verbs."""

from __future__ import annotations

from schedshard.kernel.group import VARIANT, kernel
from schedshard.kernel.layout import Layout

__all__ = ["kernel"]


@kernel.command()
def fetch() -> None:
    """Unpack Debian's kernel source, after checking version and hash."""
    from schedshard.kernel.base import fetch as stage

    layout = Layout()
    how = "unpacked" if stage(layout) else "already there"
    print(f"{layout.shown(layout.base)}: {how}")


@kernel.command()
@VARIANT
def apply(variants: tuple[str, ...]) -> None:
    """Make or update the source tree of a variant."""
    from schedshard.kernel.apply import apply as stage

    layout = Layout()
    for variant in variants:
        done = stage(layout, variant)
        print(
            f"{layout.shown(layout.source(variant))}: {done.differing} files differ from the base, "
            f"{done.changed} of them changed now"
        )
