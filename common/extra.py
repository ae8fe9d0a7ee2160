# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Checks that the extra 'sweep' is installed, 430 MB that only sweeps and statistics need."""

from __future__ import annotations

from importlib.util import find_spec

from common.errors import UserError
from common.paths import INSTALLED

_PACKAGES = ("distributed", "pandas", "pyarrow", "scipy")


def need_sweep(what: str) -> None:
    """Raise a UserError if the extra is not installed, which ``what`` needs."""
    lacks = [name for name in _PACKAGES if find_spec(name) is None]
    if lacks:
        how = "pip install 'schedshard[sweep]'" if INSTALLED else "run 'cli/environment --sweep'"
        raise UserError(f"{what} needs Python packages that are missing ({lacks[0]}): {how}")
