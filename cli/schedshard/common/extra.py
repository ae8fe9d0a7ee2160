# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The packages that only sweeps and statistics need: the extra 'sweep', 430 MB of others' code."""

from __future__ import annotations

from importlib.util import find_spec

from schedshard.common.errors import UserError
from schedshard.common.paths import INSTALLED

_PACKAGES = ("distributed", "pandas", "pyarrow", "SALib", "scipy")


def need_sweep(what: str) -> None:
    """Refuse what the extra is for where it is not installed."""
    lacks = [name for name in _PACKAGES if find_spec(name) is None]
    if lacks:
        how = "pip install 'schedshard[sweep]'" if INSTALLED else "run 'cli/environment --sweep'"
        raise UserError(f"{what} needs Python packages that are not here ({lacks[0]}): {how}")
