# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""record --exact: objects have the types of the pointers that hooks receive."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from running import MACHINE, NEEDED, call, each_compiler, record

pytestmark = NEEDED

copied = each_compiler("copied.c")
segment = each_compiler("segment.c")


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


def test_a_segment_of_system_v_is_an_object(segment: Path) -> None:
    """Regression: it had neither name nor type, and the report saw nothing to gain."""
    words = ("--machine", MACHINE, "--json", "--", str(segment))
    report = json.loads(call("record", "--exact", *words).stdout)
    line = report["variants"][0]["lines"][0]
    assert line["object"].startswith("heap: main (record/tests/exact/segment.c:")
    assert line["type"] == "struct score"
    assert {access["field"] for access in line["accesses"]} == {f"[{i}].hits" for i in range(4)}
    (advice,) = report["advice"]
    assert "struct score" in advice["words"]
