# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Says where this host's measured machine file is, which belongs to the user."""

import os
from pathlib import Path

from common.errors import UserError, os_reason


def host_path() -> Path:
    """Return the file that '--machine host' names: in $XDG_DATA_HOME, by default ~/.local/share.

    A relative $XDG_DATA_HOME is ignored, as the base directory specification demands.
    """
    base = Path(os.environ.get("XDG_DATA_HOME") or "")
    if not base.is_absolute():
        try:
            base = Path.home() / ".local" / "share"
        except RuntimeError as error:
            raise UserError("no home directory: set XDG_DATA_HOME, or give --out FILE") from error
    return base / "schedshard" / "host.toml"


def make_parent(path: Path) -> None:
    """Create the directory of the default machine file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot create {path.parent}: {os_reason(error)}; give --out FILE"
        ) from error
