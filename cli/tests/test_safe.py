# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Names from results, files and hosts reach a terminal or a log as text, never as commands."""

from __future__ import annotations

import copy
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from common.paths import ROOT
from common.safe import SafeStream, safe, trusted

RECORD = json.loads((ROOT / "report/tests/data/record.json").read_text())
HOSTILE = "a\x1b]0;x\x07\u202eb\x9b2J\n::error file=x::y\n ##[error]z"


def bad_lines(text: str) -> list[str]:
    unseen = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")
    return [
        line
        for line in text.split("\n")
        if unseen.search(line) or line.strip().startswith("::") or "##[" in line
    ]


@pytest.mark.parametrize("text", [HOSTILE, "::warning::x", "x\r::error::y", "\U000e0041"])
def test_text_contains_no_command(text: str) -> None:
    assert bad_lines(safe(text)) == []
    assert safe(safe(text)) == safe(text)
    # In JSON the escapes mean what was there.
    assert json.loads(safe(json.dumps(text, ensure_ascii=False))) == text


def test_other_text_stays() -> None:
    text = "std::atomic<long>\tis 3 µs, | \u2500\n"
    assert safe(text) == text


def test_a_stream_is_safe_except_for_what_is_trusted() -> None:
    below = io.StringIO()
    stream = SafeStream(below)
    print("::error::name", file=stream)
    print("::error::ours", file=trusted(stream))  # type: ignore[arg-type]
    assert below.getvalue() == "\\u003a:error::name\n::error::ours\n"


@pytest.mark.parametrize("verb", [["record", "show"], ["record", "diff"], ["compare"]])
def test_no_verb_prints_a_name_as_it_is(tmp_path: Path, verb: list[str]) -> None:
    hostile = copy.deepcopy(RECORD)
    hostile |= {"experiment": HOSTILE, "notes": [HOSTILE], "guest": HOSTILE}
    for line in hostile["variants"][0]["lines"]:
        line |= {"object": HOSTILE, "type": HOSTILE}
        for access in line["accesses"]:
            access |= {"field": HOSTILE, "symbol": HOSTILE, "source": HOSTILE}
    name = tmp_path / "\x1b[31mname.json"
    name.write_text(json.dumps(hostile))
    files = [str(name)] * (2 if verb[-1] in ("diff", "compare") else 1)
    done = subprocess.run(
        [sys.executable, "-m", "cli", *verb, *files], capture_output=True, text=True, cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert bad_lines(done.stdout + done.stderr) == []
