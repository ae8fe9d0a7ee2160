# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tables of perf c2c are read in each layout that perf or a mail has given them."""

from __future__ import annotations

import pytest

from doctor.judge.verdict import CANNOT_TELL, FOUND, judge
from doctor.profiles.profile import CacheLine
from doctor_cli import read, refused

TITLE = "=" * 49 + "\n      Shared Cache Line Distribution Pareto      \n" + "=" * 49 + "\n#\n"
RULE = "  " + "-" * 60 + "\n"


def only_line(text: str) -> CacheLine:
    profile = read(text)
    assert profile.kind == "perf c2c report"
    assert not profile.functions
    (line,) = profile.lines
    return line


def layout(names: str, counts: str, first: str, second: str) -> str:
    """Write one table of a line with two rows below its head."""
    head = f"  {counts}  0xffff883ffb6a7e80\n"
    return f"{TITLE}#  {names}\n#\n{RULE}{head}{RULE}{first}\n{second}\n"


OLD = layout(
    "Num      Rmt      Lcl   L1 Hit  L1 Miss      Offset      Pid        Code address  rmt hitm  "
    "lcl hitm      load       cnt               Symbol                Object",
    "0     9000     2000   109036      468",
    "  60.00%  55.00%  75.00%   0.00%   0x38  14604  0xffffffff810cf16d  27161  26039  26017  9  "
    "[k] cpupri_set  [kernel.kallsyms]  cpupri.c:144   0{0-1 2}",
    "  40.00%  45.00%  25.00%  90.00%   0x30  14604  0xffffffff810cf156  18088  12601  26671  9  "
    "[k] pull_rt_task  [kernel.kallsyms]  rt.c:145   0{0-1 2}",
)
NEW = layout(
    "Num  RmtHitm  LclHitm   L1 Hit  L1 Miss      N/A      Offset  Node  PA cnt        Code address"
    "  rmt hitm  lcl hitm      load  records       cnt                  Symbol",
    "0     9000     2000   109036      468        5",
    "  60.00%  55.00%  75.00%   0.00%  0.00%   0x38  0  1  0xffffffff810cf16d  27161  26039  26017"
    "  500  9  [k] cpupri_set  [kernel.kallsyms]  cpupri.c:144   0",
    "  40.00%  45.00%  25.00%  90.00%  0.00%   0x30  0  1  0xffffffff810cf156  18088  12601  26671"
    "  400  9  [k] pull_rt_task  [kernel.kallsyms]  rt.c:145   0",
)
ARM = layout(
    "Num  RmtHitm  LclHitm     Peer   L1 Hit  L1 Miss      N/A      Offset  Node  PA cnt  "
    "Code address  rmt hitm  lcl hitm      load      peer  records       cnt  "
    "Symbol",
    "0        0        0     9900        0        0        0",
    "  0.00%  0.00%  60.00%  0.00%  0.00%  0.00%  0x38  N/A  0  0xffff800010c25ac0  0  0  43  "
    "6375  500  128  [k] cpupri_set",
    "  0.00%  0.00%  40.00%  0.00%  0.00%  0.00%  0x30  N/A  0  0xffff800010c3e880  0  0  173  "
    "7180  400  128  [k] pull_rt_task",
)


def without_names(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if "Num" not in line) + "\n"


@pytest.mark.parametrize("text", [OLD, NEW, ARM, *map(without_names, (OLD, NEW, ARM))])
def test_layouts_of_perf(text: str) -> None:
    line = only_line(text)
    assert line.address == 0xFFFF883FFB6A7E80
    assert [(access.symbol, access.offset) for access in line.accesses] == [
        ("cpupri_set", 0x38), ("pull_rt_task", 0x30),
    ]  # fmt: skip
    assert [round(access.remote, 4) for access in line.accesses] == [0.6, 0.4]
    arm = "Peer" in text or "0     9900" in text
    assert (line.remote, line.local) == ((9900, 0) if arm else (9000, 2000))
    cycles = [access.load_cycles for access in line.accesses]
    assert cycles == ([6375, 7180] if arm else [27161, 26671])
    records = [access.records for access in line.accesses]
    if "Pid" in text or "14604" in text:
        # Perf printed no count: the line's hits and stores times the function's shares replace it.
        assert records[0] == round(0.6 * 9000 + 0.55 * 2000 + 0.75 * 109504)
    else:
        assert records == [500, 400]
    verdict = judge("profile only", None, [read(text)])
    assert verdict.status == FOUND
    assert verdict.findings[0].entry.id == "rd-shared"


def test_quoted_and_coloured() -> None:
    quoted = "\n".join(f"> > \x1b[31m{line}\x1b[m" for line in NEW.splitlines())
    assert only_line(quoted) == only_line(NEW)
    assert only_line(NEW.replace(".00%", ",00%")) == only_line(NEW)


COALESCED = (
    "#        ----- HITM -----                                   Shared\n"
    "#   Num  RmtHitm  LclHitm                 Symbol            Object       Source:Line  Node\n"
    "# .....  .......  .......   ....................  ................  ................  ....\n"
    "#\n" + RULE + "      1       {}      103  \n" + RULE
    + "\t  96.00%   96.94%  [k] update_cfs_group  [kernel.vmlinux]  atomic64_64.h:15   0  1\n"
    + "\t   2.00%    1.02%  [k] update_load_avg   [kernel.vmlinux]  atomic64_64.h:25   0  1\n"
)  # fmt: skip


def test_rows_without_an_offset_are_no_perf_report() -> None:
    line = only_line(COALESCED.format(50))
    assert (line.address, line.remote, line.local) == (0, 50, 103)
    assert [(access.symbol, access.offset) for access in line.accesses] == [
        ("update_cfs_group", None), ("update_load_avg", None),
    ]  # fmt: skip
    few = judge("profile only", None, [read(COALESCED.format(50))])
    assert few.status == CANNOT_TELL
    assert "153 loads" in few.sentence
    assert "tg-load-avg" in few.sentence
    many = judge("profile only", None, [read(COALESCED.format(5000))])
    assert many.status == FOUND
    assert many.findings[0].entry.id == "tg-load-avg"


def test_a_share_that_is_none_is_an_error() -> None:
    for text, word in (
        (NEW.replace("60.00%", "160.00%"), "share above 100%"),
        (NEW.replace("60.00%", "-nan%", 1), "share that is not a number"),
        (NEW.replace("75.00%", "inf%", 1), "share that is not a number"),
        (NEW.replace("60.00%", "80.00%"), "sum up to 120.0%"),
    ):
        assert word in refused(text)


def test_a_mail_with_lines_and_functions() -> None:
    text = NEW + "\nAnd the profile:\n\n  20.00%  a  [kernel]  [k] cpupri_set\n"
    profile = read(text)
    assert len(profile.lines) == 1
    assert profile.functions == {"cpupri_set": 0.2}


def test_a_report_without_symbols() -> None:
    text = NEW.replace("[k] cpupri_set", "").replace("[k] pull_rt_task", "")
    assert "no column 'Symbol'" in refused(text)
