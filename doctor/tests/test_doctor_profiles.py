# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Each layout of a posted profile is read as it is, or the message names what it lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.judge.sampling import interval
from doctor.judge.verdict import CANNOT_TELL, FOUND, NOTHING, judge
from doctor.profiles.known import looks_like, parse_text
from doctor.profiles.perf_file import read_profile
from doctor.profiles.plain import count_of, rounded_count
from doctor.profiles.profile import Tally
from doctor_cli import attempt, read, refused

HEADER = "# Samples: 20K of event 'cycles:P'\n#\n"
# Rows of three columns in perf's own order; the shares sum up to 100%.
ROWS = (
    (30.0, "ffmpeg", "[kernel.kallsyms]", "k", "cpupri_set"),
    (20.0, "ffmpeg", "[kernel.kallsyms]", "k", "pull_rt_task"),
    (49.0, "ffmpeg", "libavcodec.so.60", ".", "decode_frame"),
    (1.0, "swapper", "[kernel.kallsyms]", "k", "intel_idle"),
)
SHARES = {"cpupri_set": 0.3, "pull_rt_task": 0.2, "decode_frame": 0.49, "intel_idle": 0.01}


def table(order: str = "cds", own: str = "{:6.2f}%", names: bool = True) -> str:
    """Write the rows with the columns comm, dso and symbol in some order."""
    titles = {"c": "Command", "d": "Shared Object", "s": "Symbol"}
    lines = []
    if names:
        lines.append(
            "# Overhead  " + "  ".join(f"{titles[column]:<20}" for column in order).rstrip()
        )
    for share, comm, dso, mark, symbol in ROWS:
        cells = {"c": comm, "d": dso, "s": f"[{mark}] {symbol}"}
        row = "  ".join(f"{cells[column]:<20}" for column in order).rstrip()
        lines.append(f"   {own.format(share)}  {row}")
    return "\n".join(lines) + "\n"


def shares(text: str) -> dict[str, float]:
    return {name: round(share, 4) for name, share in read(text).functions.items()}


@pytest.mark.parametrize("order", ["cds", "dsc", "scd", "sdc", "ds", "s", "cs"])
@pytest.mark.parametrize("names", [True, False])
def test_columns_in_any_order(order: str, names: bool) -> None:
    assert shares(HEADER + table(order, names=names)) == SHARES


def test_a_process_whose_name_looks_like_a_symbol() -> None:
    row = "  30.00%  [k] evil  [kernel.kallsyms]  [k] cpupri_set\n"
    assert shares(f"# Overhead  Command  Shared Object  Symbol\n{row}") == {"cpupri_set": 0.3}
    row = "  30.00%  [k] cpupri_set  [kernel.kallsyms]  [k] evil\n"
    assert shares(f"# Overhead  Symbol  Shared Object  Command\n{row}") == {"cpupri_set": 0.3}


def test_what_else_columns_may_be() -> None:
    """Samples, periods, parts of the overhead, and addresses of data beside the functions."""
    text = "# Overhead       Samples  Command  Symbol\n    30.00%       1,234  a  [k] cpupri_set\n"
    assert shares(text) == {"cpupri_set": 0.3}
    text = (
        "# Overhead       sys       usr  Command  Shared Object  Symbol\n"
        "    30.00%    29.00%     1.00%  a        [kernel]       [k] cpupri_set\n"
    )
    assert shares(text) == {"cpupri_set": 0.3}
    text = (
        "# Overhead       Samples  Memory access  Symbol  Shared Object  Data Symbol\n"
        "    30.00%          1234  LLC hit  [k] cpupri_set  [kernel]  [k] 0xffff8881\n"
    )
    assert shares(text) == {"cpupri_set": 0.3}
    text = (
        "# Samples: 8K of events 'anon group { cycles, instructions }'\n"
        "#         Overhead  Command  Shared Object  Symbol\n"
        "    30.00%  10.00%  a        [kernel]       [k] cpupri_set\n"
    )
    assert shares(text) == {"cpupri_set": 0.3}


def test_children_and_self() -> None:
    rows = [
        f"+  {min(share + 1, 100):6.2f}%  {share:6.2f}%  {comm}  {dso}  [{mark}] {name}"
        for share, comm, dso, mark, name in ROWS
    ]
    names = "  Children      Self  Command  Shared Object  Symbol"
    assert shares("\n".join([names, *rows])) == SHARES
    assert shares("\n".join(rows)) == SHARES
    chain = "            |--6.37%--enqueue_task_rt\n   - 34.4% do_syscall_64"
    assert shares("\n".join([names, rows[0], chain, *rows[1:]])) == SHARES
    only = (
        "# Children  Command  Symbol\n 99.00%  a  [k] do_syscall_64\n 98.00%  a  [k] cpupri_set\n"
    )
    assert "no column 'Self'" in refused(only)


@pytest.mark.parametrize("sign", [">", "> >", ">>", "> > >"])
def test_quoted_mail(sign: str) -> None:
    lines = ["On a day somebody wrote:", *(HEADER + table()).splitlines()]
    assert shares("\n".join(f"{sign} {line}" for line in lines)) == SHARES


def test_copies_of_a_terminal() -> None:
    coloured = table(own="\x1b[31m{:6.2f}%\x1b[m").replace("[k] ", "\x1b[0;36m[k]\x1b[0m ")
    assert shares(coloured) == SHARES
    assert shares(table(own="^[[31m{:6.2f}%^[[m")) == SHARES
    screen = "Samples: 20K of event 'cycles:P', 4000 Hz, Event count (approx.): 1234 lost: 0/0\n"
    names = "Overhead  Shared Object  Symbol\n"
    rows = table("ds", names=False).replace("\n ", "\n+")
    assert shares(screen + names + "+" + rows[1:]) == SHARES
    assert read(screen + names + rows).samples == 20000
    assert shares((HEADER + table()).replace("\n", "\r\n")) == SHARES
    assert shares("\ufeff" + (HEADER + table()).replace("  ", "\u00a0\u00a0")) == SHARES


def test_digits_of_other_places() -> None:
    assert shares(HEADER + table().replace(".00%", ",00%")) == SHARES
    for text, number in (("1,234", 1234), ("1.234.567", 1234567), ("15 384", 15384), ("12", 12)):
        assert count_of(text) == number
    assert count_of("1,23") is None
    assert [rounded_count(text) for text in ("28", "15K", "2M", "x")] == [28, 15000, 2000000, None]


def test_perf_top() -> None:
    head = (
        "   PerfTop:   {} irqs/sec  kernel:80.1%  exact: 99.0% [4000Hz cycles],  (all, 480 CPUs)\n"
        "------------------------------------------\n\n"
    )
    row = "    {}%  [kernel]                 [k] cpupri_set\n"
    profile = read(head.format(50) + row.format("20.00") + head.format(90000) + row.format("30.00"))
    assert profile.kind == "perf top"
    assert (profile.event, profile.samples, profile.everything) == ("cycles", 90000, True)
    assert profile.functions == {"cpupri_set": 0.3}
    assert "the second one" in profile.notes[0]


def test_of_several_tables_one_is_judged() -> None:
    rows = table(names=False)
    both = read(f"before:\n{rows}\nafter:\n{rows.replace('30.00', '10.00')}")
    assert both.functions["cpupri_set"] == 0.3
    assert both.notes == ("2 tables in x: the first one ('before:') is judged",)
    events = HEADER.replace("cycles:P", "page-faults") + table() + HEADER + table()
    assert read(events).event == "cycles:P"
    # Remarks between rows do not make a second table.
    lines = rows.splitlines()
    remarked = read("\n".join([lines[0], "What is this?", *lines[1:]]))
    assert {name: round(share, 4) for name, share in remarked.functions.items()} == SHARES
    assert not remarked.notes


def test_perf_diff() -> None:
    text = (
        "# Event 'cycles'\n#\n# Baseline  Delta Abs  Shared Object      Symbol\n"
        "    30.00%    -13.21%  [kernel.kallsyms]  [k] cpupri_set\n"
        "              +7.00%  [kernel.kallsyms]  [k] new_function\n"
        "    10.00%             [kernel.kallsyms]  [k] gone_function\n"
    )
    for given in (text, "\n".join(text.splitlines()[3:])):
        profile = read(given)
        assert profile.kind == "perf diff"
        assert profile.functions["cpupri_set"] == 0.3
        assert profile.functions["new_function"] == 0.0
        assert profile.functions["gone_function"] == 0.1
        assert any("'Baseline'" in note for note in profile.notes)


def test_a_sum_above_100_percent_is_an_error() -> None:
    text = "".join(f"  70.00%  a  [kernel]  [k] function_{name}\n" for name in "abc")
    message = refused(text)
    assert "sum up to 210.0%" in message


HEADS = (
    "ffmpeg 4821 [003] 5649.588683:     250000 cycles:k: ",
    "ffmpeg 4821/4822 [003] 5649.588683123:  250000 cycles:P: ",
    "ffmpeg 4821 [003] 250000 cycles: ",
    "ffmpeg  4821 cycles: ",
    "ffmpeg 4821 5649.588683: cycles: ",
    "my comm 4821 [003] d.h1. 5649.588683: 1 cpu_core/cycles/: ",
    "ffmpeg ",
    "ffmpeg 4821 ",
    "",
)
FRAMES = ("ffffffff816e1f36 cpupri_set+0x54 ([kernel.kallsyms])",
          "ffffffff816e1f37 enqueue_task_rt ([kernel.kallsyms])")  # fmt: skip


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("dso", [True, False])
def test_perf_script_with_any_fields(head: str, dso: bool) -> None:
    frames = [frame if dso else frame.split(" (")[0] for frame in FRAMES]
    other = (
        "            7f664 decode_frame+0x1 (/usr/lib/a b.so)" if dso else "   7f664 decode_frame"
    )
    head = head.rstrip()
    stack = "\n".join([head, *(f"\t{frame}" for frame in frames), ""])
    user = "\n".join([head, f"\t{other}", ""])
    blank = "" if "cycles" in head else "\n"  # between samples, where nothing else tells them apart
    profile = read(blank.join([stack, stack, stack, user]))
    assert profile.kind == "perf script"
    assert profile.functions == {"cpupri_set": 0.75, "decode_frame": 0.25}
    assert profile.samples == 4
    if head:
        flat = f"{head}  {frames[0]}\n"
        assert read(flat * 3).functions == {"cpupri_set": 1.0}


def test_perf_script_without_symbols() -> None:
    assert "no column 'sym'" in refused("ffmpeg 1 [000] 5.000001: cycles: \n" * 5)


def test_folded_stacks() -> None:
    text = (
        "ffmpeg;entry_SYSCALL_64;dequeue_task_rt;cpupri_set_[k] 2100\n"
        "ffmpeg;a function (int, char) const;decode_frame 6900\n"
        "swapper;start_secondary;[[kernel.kallsyms]]_[k] 1000\n"
    )
    profile = read(text)
    assert profile.kind == "folded stacks"
    assert profile.functions == {"cpupri_set": 0.21, "decode_frame": 0.69}
    assert (profile.samples, profile.nameless, profile.alone) == (10000, 0.1, "")
    two = read("a;b;cpupri_set 30 10\na;b;c 70 90\n")
    assert two.functions["cpupri_set"] == 0.3
    assert "first" in two.notes[0]
    assert "no column of counts" in refused("a;b;c;d\na;b;c;e\n" * 3)


BPFTRACE = (
    "@[\n    cpupri_set+86\n    dequeue_task_rt+33\n]: 2100\n@[\n    decode_frame+1\n]: 7900\n",
    "@stacks[\n    cpupri_set+86\n    schedule+33\n, \n    0x7f12\n, ffmpeg, 4821]: 2100\n"
    "@stacks[, \n    decode_frame+7\n, ffmpeg, 4822]: 7900\n",
    "@[ffmpeg, \n    cpupri_set+86\n    schedule+3\n]: 2100\n"
    "@[swapper, \n    decode_frame+8\n]: 7900\n",
    "@[cpupri_set]: 2100\n@[decode_frame]: 7900\n",
    "@[cpupri_set, ffmpeg, 3]: 2100\n@[decode_frame, swapper/1, 1]: 7900\n",
    "@[17, ffmpeg, cpupri_set]: 2100\n@[0, swapper/1, decode_frame]: 7900\n",
    "@[ffmpeg, cpupri_set+86]: 2100\n@[ffmpeg, decode_frame+1]: 7,900\n",
    "@[\n        ffffffff816e1f36 cpupri_set+86 ([kernel])\n]: 2100\n"
    "@[\n        ffffffff816e1f36 decode_frame+86 ([kernel])\n]: 7900\n",
)


@pytest.mark.parametrize("text", BPFTRACE)
def test_maps_of_bpftrace(text: str) -> None:
    profile = read("Attaching 1 probe...\n^C\n\n" + text)
    assert profile.kind == "map of bpftrace"
    assert profile.functions == {"cpupri_set": 0.21, "decode_frame": 0.79}
    assert profile.samples == 10000
    two = read(text + "@other[cpupri_set]: 90000\n")
    assert two.functions["cpupri_set"] == 0.21
    assert any("2 maps" in note for note in two.notes)


@pytest.mark.parametrize(
    ("text", "what", "lacks"),
    [
        (
            "# Samples: 2K of event 'cycles'\n# Overhead  Command\n 90.00%  a\n",
            "perf report",
            "Symbol",
        ),
        (" 90.00%  libc.so\n  5.00%  a.out\n", "perf report", "Symbol"),
        (" Performance counter stats for 'a':\n\n  1,234  cycles\n", "perf stat", "functions"),
        ("Percent | Source code & Disassembly of vmlinux\n 5.0 : mov\n", "perf annotate", "other"),
        ("    Shared Data Cache Line Table\n 0 0xff11 1 2 3\n", "perf c2c", "Pareto"),
        ("<?xml version='1.0'?>\n<svg>\n", "flame graph", "folded"),
        ("top - 10:00:00 up 1 day\n", "top", "functions"),
    ],
)
def test_what_a_text_lacks_is_named(tmp_path: Path, text: str, what: str, lacks: str) -> None:
    path = tmp_path / "p.txt"
    path.write_text(text)
    message = str(attempt(lambda: read_profile(path)))
    assert f"looks like {what}" in message or f"looks like a {what}" in message
    assert "has no" in message
    assert lacks in message
    assert not looks_like("nothing at all\n")


@pytest.mark.parametrize("magic", [b"\x1f\x8b\x08", b"\xfd7zXZ\x00", b"(\xb5/\xfd\x00"])
def test_packed_profiles(tmp_path: Path, magic: bytes) -> None:
    path = tmp_path / "p"
    path.write_bytes(magic + bytes(20))
    assert "unpack it first" in str(attempt(lambda: read_profile(path)))


def test_intervals() -> None:
    """Wilson's interval, checked against its definition."""
    for share, samples in ((0.02, 500), (0.3, 28), (0.0, 1000), (1.0, 50)):
        low, high = interval(share, samples)
        for bound in (low, high):
            # Each bound is 1.96 standard deviations from the share, computed for the bound.
            gap = abs(share - bound)
            assert gap == pytest.approx(1.96 * (bound * (1 - bound) / samples) ** 0.5, abs=1e-9)
        assert low <= share <= high
    assert interval(0.25, None) == (0.25, 0.25)


def verdict(text: str) -> tuple[int, str]:
    judgement = judge("profile only", None, [read(text)])
    return judgement.status, judgement.sentence


def test_the_number_of_samples_decides() -> None:
    assert verdict(HEADER + table())[0] == FOUND
    status, sentence = verdict(HEADER.replace("20K", "499") + table())
    assert status == CANNOT_TELL
    assert "499 samples" in sentence
    assert "rd-shared" in sentence
    # 1.2% of 1,000 samples may be less than the 1% that the catalogue asks for.
    row = "# Samples: {} of event 'cycles'\n  1.20%  a  [k] cpupri_set\n 98.80%  b  [.] main\n"
    status, sentence = verdict(row.format("1000"))
    assert status == CANNOT_TELL
    assert "more samples" in sentence
    assert verdict(row.format("90K"))[0] == FOUND
    quiet = row.replace("1.20", "0.10").replace("98.80", "99.90")
    assert verdict(quiet.format("90K"))[0] == NOTHING


def test_one_process_says_nothing_about_the_machine() -> None:
    alone = HEADER + table().replace("swapper", "ffmpeg ")
    # A command is not a process: many may run it.
    judgement = judge("", None, [read(alone)])
    assert judgement.findings[0].severity == "high"
    assert any("are of the command ffmpeg" in note for note in judgement.notes)
    status, sentence = verdict(alone.replace("ffmpeg ", "ffmpeg:7"))
    assert status == CANNOT_TELL
    assert "one process, ffmpeg:7" in sentence
    recorded = "# cmdline : /usr/bin/perf record -a -g -- sleep 10 \n"
    assert verdict(recorded + alone.replace("ffmpeg ", "ffmpeg:7"))[0] == FOUND


def test_rows_that_are_missing_are_said() -> None:
    whole = HEADER + table()
    rows = whole.replace("49.00%", "40.00%")
    judgement = judge("", None, [read(rows)])
    assert (judgement.findings[0].severity, judgement.doubts) == ("high", ())
    assert "the rows of x cover 91.0% of all samples" in judgement.notes
    for cut in (whole[: whole.index("_frame")], "\n".join(whole.splitlines()[:5]) + "\n"):
        judgement = judge("", None, [read(cut)])
        assert judgement.findings[0].severity == "medium"
        assert "cover" in judgement.doubts[0]


def test_user_space_and_idle_cpus_count_in_maps_of_bpftrace() -> None:
    stack = "@[\n    cpupri_set+5\n    try_to_wake_up+5\n]: 14000\n"
    assert shares(f"{stack}@[\n]: 77000\n@[\n    intel_idle+1\n]: 9000\n")["cpupri_set"] == 0.14


def test_a_kernel_without_symbols() -> None:
    text = HEADER + table().replace("cpupri_set", "0xffffffff81120b31").replace(
        "pull_rt_task", "0xffffffff8112fb31"
    )
    status, sentence = verdict(text)
    assert status == CANNOT_TELL
    assert "without names" in sentence
    assert "kptr_restrict" in sentence


def test_an_excerpt_may_hide_something() -> None:
    status, sentence = verdict(HEADER + "  3.00%  a  [kernel]  [k] clear_page_erms\n")
    assert status == CANNOT_TELL
    assert "cover 3.0%" in sentence


def test_two_programs_of_one_name_have_one_table() -> None:
    """Real reports have the same row twice, for two files with one name."""
    header = "# Samples: 5K of event 'cpu-clock'\n#\n# Overhead  Command  Shared Object  Symbol\n"
    rows = "".join(
        f"    {share}%  python  python3.11  [.] {symbol}\n"
        for share, symbol in (
            ("30.00", "_start"),
            ("25.00", "run"),
            ("25.00", "run"),
            ("20.00", "x"),
        )
    )
    profile = read(header + rows)
    assert profile.functions == pytest.approx({"_start": 0.3, "run": 0.5, "x": 0.2})
    assert not any("tables" in note for note in profile.notes)
    # In a mail without headers the second table begins with a larger share than the last one.
    twice = read(rows + rows)
    assert sum(twice.functions.values()) == pytest.approx(1.0)
    assert "2 tables" in twice.notes[0]


def test_thousands_of_single_samples_are_rounded_up() -> None:
    """A sample of 5,900 is 0.017%, which perf prints as 0.02%: the sum is above 100%."""
    header = "# Samples: 5K of event 'cpu-clock'\n#\n# Overhead  Command  Shared Object  Symbol\n"
    rows = [f"     0.02%  a  a  [.] f{n}\n" for n in range(3000)]
    rows = ["    46.00%  a  a  [.] main\n", *rows]
    profile = read(header + "".join(rows))
    assert profile.covered == 1.0
    assert "sum up to 166.0%" in refused(header + "    60.00%  a  a  [.] g\n" + "".join(rows))


_OTHER = {ord("0") + n: ord("\N{ARABIC-INDIC DIGIT ZERO}") + n for n in range(10)}


@pytest.mark.parametrize("text", [
    table(names=False),
    "a;cpupri_set 30\nb;idle 10\n",
    "@[cpupri_set]: 30\n@[idle]: 10\n",
])  # fmt: skip
def test_only_ascii_digits_make_numbers(text: str) -> None:
    assert read(text).functions
    assert parse_text(text.translate(_OTHER), "x") is None


@pytest.mark.parametrize("text", [
    f"a;b {'9' * 400}\na;c 1\n",
    f"   PerfTop: {'9' * 5000} irqs/sec [4000Hz cycles], (all, 48 CPUs)\n",
])  # fmt: skip
def test_a_number_that_is_too_long_is_none(text: str) -> None:
    assert parse_text(text, "x") is None


@pytest.mark.parametrize("text", [
    "  {}.00%  CPU 0/KVM  [guest.kernel.kallsyms]  [g] cpupri_set\n"
    "  {}.00%  a          [kernel.kallsyms]        [k] cpupri_set\n",
    "  {}.00%  CPU 0/KVM  [guest/1234]             [.] cpupri_set\n"
    "  {}.00%  a          [kernel.kallsyms]        [k] cpupri_set\n",
    *(
        f"CPU 0/KVM 10 1.2: {{}} cycles:  ffffffff81000000 cpupri_set ([{name}])\n"
        "a 11 1.2: {} cycles:  ffffffff81000000 cpupri_set ([kernel.kallsyms])\n"
        for name in ("guest.kernel.kallsyms", "guest.kernel.kallsyms.1234", "guest/1234")
    ),
    "[guest/1234] 10 1.2: {} cycles:  ffffffff81000000 cpupri_set ([unknown])\n"
    "a 11 1.2: {} cycles:  ffffffff81000000 cpupri_set ([kernel.kallsyms])\n",
])  # fmt: skip
def test_functions_of_guests_are_not_the_hosts(text: str) -> None:
    profile = read(text.format(70, 30))
    assert profile.functions == pytest.approx({"cpupri_set": 0.3})
    assert profile.covered == pytest.approx(1.0)
    assert profile.notes[0].startswith("70.0% of the samples in x are in guests")
    guests = text.format(70, 30).splitlines()[0]
    assert "shows guests only: record in the guest" in refused(guests)


@pytest.mark.parametrize("share", ["inf%", "-nan%", "3O.00%"])
def test_a_share_that_is_not_a_number_is_said(share: str) -> None:
    profile = read(HEADER + table() + f"  {share}  a  [kernel]  [k] clear_page_erms\n")
    assert "1 row of x left out: the share or time is not a number" in profile.notes
    assert round(profile.functions["cpupri_set"], 4) == 0.3


def test_memory_is_bounded_by_different_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tally, "MOST", 3)
    rows = "".join(f"   {9 - n:2d}.00%  c{n}  [kernel.kallsyms]  [k] f{n}\n" for n in range(9))
    stacks = "".join(f"c{n};f{n} {9 - n}\n" for n in range(9))
    for text in (HEADER + rows, stacks):
        profile = read(text)
        assert set(profile.functions) == {"f0", "f1", "f2"}
        assert profile.covered == pytest.approx(0.45 if text != stacks else 1.0)
