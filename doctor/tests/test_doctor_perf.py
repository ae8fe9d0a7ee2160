# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests profiles in each known form, whole, cut or damaged, and profiles of something else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.profiles import perf_file
from doctor.profiles.known import parse_text
from doctor.profiles.perf_c2c import parse_c2c
from doctor.profiles.perf_file import read_profile
from doctor.profiles.plain import lines_of
from doctor.profiles.profile import CacheLine, Profile, same
from doctor_cli import attempt, read

DATA = Path(__file__).resolve().parent / "data"

REPORT = """\
# To display the perf.data header info, please use --header/--header-only options.
#
# Samples: 3  of event 'page-faults'
# Overhead  Command  Shared Object      Symbol
    50.00%  a        a                  [.] main
# Samples: 8K of event 'cycles:k'
# Event count (approx.): 2020500000
#
# Overhead  Command          Shared Object      Symbol
# ........  ...............  .................  ......
    34.43%  ffmpeg           [kernel.kallsyms]  [k] cpupri_set
            |
            ---cpupri_set
               |--6.37%--enqueue_task_rt
     3.34%  my comm [k] x    [kernel.kallsyms]  [k] pull_rt_task.isra.0
     2.49%  python           python3.11         [.] 0x00000000000feedb
     1.00%  python           libx.so            [.] std::vector<int>::size
"""
CHILDREN = """\
# Samples: 4K of event 'cpu-clock'
# Children      Self  Command  Shared Object      Symbol
    99.00%     0.00%  a        [kernel.kallsyms]  [k] do_syscall_64
    40.00%    30.00%  a        [kernel.kallsyms]  [k] cpupri_set
"""
SCRIPT = """\
  my comm 21287 [000]  5646.285137:     250000 cycles:k:  ffffffff816e1f36 cpupri_set+0x56 ([kernel.kallsyms])
  sim 27558/27559 [001]  5646.285185:     750000 cycles:k:      55a37f905664 work+0x54 (/tmp/a b/sim)
  sim 27558 [001]  5646.285185:     1 page-faults:      55a37f905664 fault+0x54 (/tmp/sim)
"""  # noqa: E501
STACKS = """\
ffmpeg 27558 [000]  5649.588683:     250000 cpu-clock:
\tffffffff816e1f36 cpupri_set+0x54 ([kernel.kallsyms])
\tffffffff816e1f37 enqueue_task_rt+0x54 ([kernel.kallsyms])
\t    100000001900 [unknown] ([unknown])

ffmpeg 27558 [000]  5649.588683:     250000 cpu-clock:
\tffffffff816e1f36 main (/bin/a)

"""


def c2c(text: str) -> tuple[CacheLine, ...]:
    profile = parse_c2c(lines_of(text), "x")
    assert profile is not None
    return profile.lines


def whole(lines: tuple[CacheLine, ...]) -> str:
    """Lines as perf itself prints them, with all columns."""
    out = ["=" * 49, "      Shared Cache Line Distribution Pareto      ", "=" * 49, "#"]
    for number, line in enumerate(lines):
        out.append("  " + "-" * 60)
        out.append(
            f"  {number:5} {line.remote:8} {line.local:8} {line.stores:8} 0 0  {line.address:#x}"
        )
        out.append("  " + "-" * 60)
        for access in line.accesses:
            cycles = int(access.load_cycles)
            out.append(
                f"    {access.remote:8.2%} {access.local:8.2%} {access.store:8.2%} 0.00% 0.00%   "
                f"{access.offset:#x}     0       1  0xffffffff811a6b1c  {cycles}  0  "
                f"{cycles // 2}  {access.records}   48  [k] {access.symbol}  [kernel.kallsyms]  "
                "cpupri.c:150   0  1"
            )
    return "\n".join(out) + "\n"


def test_tables_of_a_mail() -> None:
    lines = c2c((DATA / "c2c-mail.txt").read_text())
    assert [(hex(line.address), line.remote, line.local, line.stores) for line in lines] == [
        ("0xff14d42c400e3880", 353, 44, 62),
        ("0xff14d42c400e3800", 231, 43, 48),
        ("0xff14d52c4682d800", 155, 39, 39),
        ("0xff14d42c400e3ec0", 149, 43, 41),
    ]
    hottest = max(lines[0].accesses, key=lambda access: access.remote)
    assert (hottest.symbol, hottest.offset) == ("cpupri_find_fitness", 0x38)
    assert (hottest.remote, hottest.local) == (0.3456, 0.2955)
    assert (hottest.load_cycles, hottest.records) == (25509, 527)
    assert [len(line.accesses) for line in lines] == [26, 10, 34, 7]


def test_tables_as_perf_prints_them() -> None:
    lines = c2c((DATA / "c2c-mail.txt").read_text())
    assert c2c(whole(lines)) == lines


def test_report() -> None:
    profile = read(REPORT)
    functions = profile.functions
    assert (profile.event, profile.samples) == ("cycles:k", 8000)
    assert "2 tables in x: the second one" in profile.notes[0]
    assert functions["cpupri_set"] == pytest.approx(0.3443)
    assert functions["pull_rt_task"] == pytest.approx(0.0334)
    assert "main" not in functions
    assert read(CHILDREN).functions == {"do_syscall_64": 0.0, "cpupri_set": 0.3}


def test_script() -> None:
    assert read(SCRIPT).event == "cycles:k"
    assert read(SCRIPT).functions == {"cpupri_set": 0.25, "work": 0.75}
    assert read(STACKS).functions == {"cpupri_set": 0.5, "main": 0.5}
    assert read(STACKS).samples == 2


def test_symbols_that_reports_cut() -> None:
    assert same("native_queued_spin_lock_sl", "native_queued_spin_lock_slowpath")
    assert same("pull_rt_task.isra.0", "pull_rt_task")
    assert not same("pull_rt", "pull_rt_task")


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "has no known format"),
        (b"hello\n" * 100, "has no known format"),
        (REPORT.encode("utf-16"), "not text in UTF-8"),
        (bytes(1000), "not text in UTF-8"),
        ("\ufeffperf\u00e9".encode("latin-1", "replace"), "has no known format"),
    ],
)
def test_what_is_no_profile(tmp_path: Path, data: bytes, word: str) -> None:
    path = tmp_path / "p.txt"
    path.write_bytes(data)
    message = attempt(lambda: read_profile(path))
    assert isinstance(message, str)
    assert word in message
    assert "\n" not in message


def test_what_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no such file" in str(attempt(lambda: read_profile(tmp_path / "nothing")))
    monkeypatch.setattr(perf_file, "TEXT_LIMIT", 1000)
    (tmp_path / "huge").write_bytes(b"x" * 2000)
    assert "larger than" in str(attempt(lambda: read_profile(tmp_path / "huge")))


def test_perf_data_goes_through_perf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "perf.data"
    data.write_bytes(b"PERFILE2" + bytes(100))
    lines = c2c((DATA / "c2c-mail.txt").read_text())
    (tmp_path / "c2c").write_text(whole(lines))
    (tmp_path / "report").write_text(REPORT)
    program = tmp_path / "perf"
    program.write_text(
        "#!/bin/sh\n"
        "case $1 in evlist) echo cpu/mem-loads,ldlat=30/P ;;\n"
        f'c2c) cat "{tmp_path}/c2c" ;; report) cat "{tmp_path}/report" ;; esac\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    profile = read_profile(data)
    assert profile.lines == lines
    assert profile.functions["cpupri_set"] == pytest.approx(0.3443)
    program.write_text("#!/bin/sh\necho 'incompatible file format' >&2\nexit 1\n")
    assert "incompatible file format" in str(attempt(lambda: read_profile(data)))
    monkeypatch.setenv("PATH", "/nonexistent")
    assert "perf is not installed" in str(attempt(lambda: read_profile(data)))


TEXTS = (REPORT, CHILDREN, SCRIPT, STACKS, (DATA / "c2c-mail.txt").read_text())


def check(profile: Profile | None) -> None:
    """Shares are between 0 and 1, whatever the input was."""
    if profile is None:
        return
    assert sum(profile.functions.values()) <= 1.02
    assert all(share >= 0 for share in profile.functions.values())
    for line in profile.lines:
        assert line.accesses
        assert all(0 <= access.remote <= 1 and 0 <= access.local <= 1 for access in line.accesses)


def check_any(text: str) -> None:
    """Any text is read, or refused in one line."""
    result = attempt(lambda: parse_text(text, "x"))
    if isinstance(result, str):
        assert result.isprintable()
    else:
        check(result)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_damaged_texts_are_read_or_refused(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(TEXTS))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 40))
        text = text[:at] + data.draw(st.text(max_size=10)) + text[at + cut :]
    check_any(text)
