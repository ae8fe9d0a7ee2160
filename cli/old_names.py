# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Accepts the names that verbs had before 0.2, for one release and with a line of warning."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from common.paths import typed

_NOW = {
    ("c2c", "record"): ("record",),
    ("c2c", "replay"): ("record", "replay"),
    ("c2c", "diff"): ("record", "diff"),
    ("c2c", "show"): ("record", "show"),
    ("c2c",): ("record", "show"),
    ("machines",): ("machine", "list"),
    ("experiments",): ("run", "--list"),
    ("validate",): ("machine", "validate"),
}


def renamed(words: Sequence[str]) -> list[str]:
    """Replace an old verb in the words of a command line by today's, with a warning."""
    for count in (2, 1):
        now = _NOW.get(tuple(words[:count]))
        if now is not None:
            old = " ".join(words[:count])
            print(
                f"schedshard: '{typed(old)}' is '{typed(' '.join(now))}' now; the next release "
                "removes the old name",
                file=sys.stderr,
            )
            return [*now, *words[count:]]
    return list(words)
