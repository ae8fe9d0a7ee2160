# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""record --exact: objects have the types of the pointers that hooks receive."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from running import NEEDED, each_compiler, record

pytestmark = NEEDED

copied = each_compiler("copied.c")


@pytest.mark.parametrize(
    ("kind", "type_name", "fields"),
    [("fields", "struct message", {"number", "kind"}), ("bytes", "", {""})],
)
def test_a_copy_says_nothing_of_types(
    copied: Path, kind: str, type_name: str, fields: set[str]
) -> None:
    """A copy calls one hook for both sides, whose first argument is the target."""
    line = json.loads(record(copied, kind).stdout)["variants"][0]["lines"][0]
    assert line["object"].startswith("heap: main (")
    assert (line["type"], {access["field"] for access in line["accesses"]}) == (type_name, fields)
