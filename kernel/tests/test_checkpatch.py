# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Every finding of checkpatch needs an explanation, and every explanation a finding."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_kernel import DATA, write, write_base, write_other_base

from common.errors import UserError
from kernel.layout import Layout
from kernel.series.checkpatch import Allowed, judge, load_allowed, parse
from kernel.series.series_view import print_judged
from kernel.source.base import layout_for

FINDINGS = parse((DATA / "checkpatch-terse.txt").read_text(encoding="utf-8"), "0001-lib.patch")
ALL = (
    Allowed("COMMIT_LOG_LONG_LINE", "*", "a table"),
    Allowed("FILE_PATH_CHANGES", "*", "later"),
    Allowed("MACRO_ARG_REUSE", "include/linux/schedshard/*.h", "an iterator"),
)


def test_terse_output() -> None:
    assert [(finding.file, finding.line, finding.level, finding.type) for finding in FINDINGS] == [
        ("", 12, "WARNING", "COMMIT_LOG_LONG_LINE"),
        ("arch/x86/kernel/cpu/schedshard.c", 71, "WARNING", "FILE_PATH_CHANGES"),
        ("include/linux/schedshard/sbm.h", 426, "CHECK", "MACRO_ARG_REUSE"),
    ]
    assert str(FINDINGS[2]) == (
        "0001-lib.patch: include/linux/schedshard/sbm.h:426: check MACRO_ARG_REUSE: "
        "Macro argument reuse 'it' - possible side-effects?"
    )


def test_all_explained(capsys: pytest.CaptureFixture[str]) -> None:
    judged = judge(FINDINGS, ALL)
    assert judged.faults == ()
    assert len(judged.explained) == 3
    print_judged(judged)
    out = capsys.readouterr().out
    assert "side-effects? [an iterator]" in out
    assert out.endswith("checkpatch --strict: 3 findings, all explained\n")


def test_one_not_explained(capsys: pytest.CaptureFixture[str]) -> None:
    judged = judge(FINDINGS, ALL[1:])
    assert [finding.type for finding in judged.faults] == ["COMMIT_LOG_LONG_LINE"]
    with pytest.raises(UserError, match="finds 1 things") as caught:
        print_judged(judged)
    assert caught.value.status == 1
    assert "to fix: 0001-lib.patch: warning COMMIT_LOG_LONG_LINE" in capsys.readouterr().out


def test_stale_explanation() -> None:
    judged = judge(FINDINGS, (*ALL, Allowed("LINE_SPACING", "*", "old")))
    with pytest.raises(UserError, match=r"explains LINE_SPACING in \*, which checkpatch does not"):
        print_judged(judged)


@pytest.mark.parametrize(
    "entry", ['type = "A"\nfile = "*"', 'type = "A"\nfile = "*"\nreason = ""', "reason = 1"]
)
def test_every_explanation_has_its_reason(tmp_path: Path, entry: str) -> None:
    layout = Layout(tmp_path, tmp_path / "work")
    write_base(layout, write(tmp_path / "linux-fake.tar.xz", ""))
    write(layout.inputs / "checkpatch.toml", f"[[allow]]\n{entry}\n")
    with pytest.raises(UserError, match="allow 1 needs type, file and reason"):
        load_allowed(layout)


def test_the_projects_own_list() -> None:
    assert load_allowed(Layout())


def test_findings_of_one_series_of_linux(tmp_path: Path) -> None:
    layout = Layout(tmp_path, tmp_path / "work")
    write_base(layout, write(tmp_path / "linux-fake.tar.xz", ""))
    write_other_base(layout)
    entry = '[[allow]]\ntype = "{}"\nfile = "*"\nreason = "because"\n'
    only = entry.format("LINES") + 'linux = "2.1"\n'
    write(layout.inputs / "checkpatch.toml", entry.format("SPACING") + only)
    assert [rule.type for rule in load_allowed(layout)] == ["SPACING"]
    assert [rule.type for rule in load_allowed(layout_for("2.1", layout))] == ["SPACING", "LINES"]
