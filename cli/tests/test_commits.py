# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""scripts/commits.py finds what is wrong with a message."""

from __future__ import annotations

import commits
import pytest

SIGNED = "Signed-off-by: A Name <a@example.org>"
GOOD = f"core: walk: less work\n\nA sparse set took 115 instructions; now 102.\n\n{SIGNED}"


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (GOOD, None),
        (GOOD.replace("less work", "x" * 63), None),
        (GOOD.replace("less work", "x" * 64), "its subject has 76 characters, 75 at most"),
        (GOOD.replace("core: walk: ", ""), 'its subject does not begin with a part, such as "cor'),
        (GOOD.replace("less", "half; more"), 'its subject has a ";": one thing per commit'),
        (f"core: walk: less work\n\n{SIGNED}", "it has no body that says why"),
        (GOOD.replace(SIGNED, ""), "it is not signed off (git commit -s)"),
        (GOOD.replace(SIGNED, "Signed-off-by: nobody"), "it is not signed off (git commit -s)"),
    ],
)
def test_a_message(message: str, said: str | None) -> None:
    found = commits.faults(message)
    assert len(found) == (said is not None)
    assert said is None or found[0].startswith(said)
