# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests which texts are latency tables, and the messages about texts that are not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import UserError
from model.machines.making.latencycsv import LatencyTable, parse_latency_csv
from synthetic import COMPLEX_NS, latencies, shape, to_csv

SMALL = latencies(shape(2, 2, 2).expand(), COMPLEX_NS, 0.03, 1)


def read(text: str) -> LatencyTable | str:
    """The table, or the error."""
    try:
        return parse_latency_csv(text, "a.csv")
    except UserError as error:
        return str(error)


def test_all_styles_read_the_same() -> None:
    want = parse_latency_csv(to_csv(SMALL), "a.csv").pairs()[2]
    texts = {
        "full": to_csv(SMALL, "full"),
        "ragged": to_csv(SMALL, "ragged"),
        "labels": to_csv(SMALL, labels=range(8)),
        "full and labels": to_csv(SMALL, "full", range(8)),
        "comma at the end": to_csv(SMALL).replace("\n", ",\n"),
        "labels and comma": to_csv(SMALL, labels=range(8)).replace("\n", ",\n"),
        "windows": "\ufeff" + to_csv(SMALL).replace("\n", "\r\n"),
        "no newline at the end": to_csv(SMALL).rstrip("\n"),
        "empty lines at the end": to_csv(SMALL) + "\n\n",
        "comment": "# measured at night\n" + to_csv(SMALL),
        "top edge only": ",".join(map(str, range(8))) + "\n" + to_csv(SMALL),
        "left edge only": "".join(
            f"cpu{i},{line}\n" for i, line in enumerate(to_csv(SMALL).splitlines())
        ),
        "quotes": "\n".join(
            ",".join(f'"{cell}"' for cell in line.split(",")) for line in to_csv(SMALL).splitlines()
        ),
    }
    for style, text in texts.items():
        table = parse_latency_csv(text, "a.csv")
        assert table.cpus == tuple(range(8)), style
        assert np.array_equal(table.pairs()[2], want), style


def test_labels_give_cpu_numbers() -> None:
    for numbers in ([0, 2, 4, 6, 8, 10, 12, 14], [4, 5, 6, 7, 20, 21, 22, 23]):
        assert parse_latency_csv(to_csv(SMALL, labels=numbers), "a.csv").cpus == tuple(numbers)
    few = parse_latency_csv(",cpu4,cpu5\ncpu4,,\ncpu5,25,\n", "a.csv")
    assert few.cpus == (4, 5)


def test_whole_nanoseconds_are_no_labels() -> None:
    table = parse_latency_csv("0,25,30\n25,0,35\n30,35,0\n", "a.csv")
    assert table.cpus == (0, 1, 2)
    assert table.pairs()[2].tolist() == [25, 30, 35]


def test_missing_values_in_many_spellings() -> None:
    table = parse_latency_csv(",,,\n20,,,\nNaN,n/a,,\n30,-,25,\n", "a.csv")
    rows, columns, values = table.pairs()
    assert list(zip(rows.tolist(), columns.tolist(), values.tolist(), strict=True)) == [
        (0, 1, 20), (0, 3, 30), (2, 3, 25),
    ]  # fmt: skip


def test_a_lost_row_is_not_a_comma_at_the_end() -> None:
    """A text that could also be 7 CPUs with a comma after each row is refused."""
    with pytest.raises(UserError, match="the table ends after 7 rows of 8 columns"):
        parse_latency_csv("".join(to_csv(SMALL).splitlines(keepends=True)[:-1]), "a.csv")


def test_both_directions_are_averaged() -> None:
    assert parse_latency_csv(",20\n30,\n", "a.csv").pairs()[2].tolist() == [25]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("25\n", "at least 2 CPUs"),
        (",,\n25,,\n26,2x,\n", "line 3, column 2: '2x' is not a number"),
        (",,\n25,,\n26,0,\n", "line 3, column 2: 0 ns"),
        (",,\n25,,\n-26,25,\n", "line 3, column 1: -26 ns"),
        (",,\n25,,\n26,inf,\n", "line 3, column 2: 'inf' is not a number"),
        (",,\n25,,\n1e9,25,\n", "line 3, column 1: 1e9 ns"),
        (",,,\n25,,,\n", "line 2, column 4: the table ends after 2 rows of 4 columns"),
        (
            ",,\n25,,\n26,2\n",
            "line 3, column 2: 2 cells where other lines have 3: is the file truncated?",
        ),
        (",,\n25\n26,25,\n", "line 2, column 1: 1 cells where other lines have 3"),
        (",\n25,\n26,27\n", "line 3, column 1: row 3 of a table with 2 columns"),
        (",,\n25,,\n,,\n", "CPU 2 has no latency to any other CPU"),
        (",,,,\n25,,,,\n26,,,,\n,,27,,\n,,,28,\n", "only 4 of 10 pairs"),
        (",0,1\n0,,\n2,25,\n", "line 3, column 1: '2' where the top edge says 1"),
        (",0,1,2\n0,,,\n1,25,,\n", "2 rows under 3 CPU numbers"),
        (",cpu0,cpu1\ncpu0,,\ncpu1,xx,\n", "line 3, column 2: 'xx' is not a number"),
        ("\x00\x01\x02", "line 1, column 1"),
        ("<html><body>not found</body></html>", "line 1, column 1"),
        (",,\n1_0,,\n26,25,\n", "line 2, column 1: '1_0' is not a number"),
        (",,\n\u0665,,\n26,25,\n", "line 2, column 1"),
        (";;\n25,5;;\n26,5;25,5;\n", "line 1, column 1: give commas between cells, and points"),
        (",,\n0.025,,\n0.026,0.1,\n", "the median is 0.026 ns, and no machine has that: give nan"),
        (",,\n25000,,\n26000,25500,\n", "the median is 25500 ns, and no machine has that"),
        (f",{'1' * 5000},2,3\n,,,\n,,,\n,,,\n", "line 1, column 2: 1111"),
        (
            ",4,5,6\n4,,25,26\n5,25,,25\n6,25,25,\n",
            "line 1, column 2: 4 to 6 along both edges: write cpu4 if these are numbers of CPUs",
        ),
        (",4,5\n4,,25\n5,25,\n", "4 to 5 along both edges: write cpu4 if these are numbers"),
        (",1,65\n1,,25\n65,26,\n", "and 1.0 if they are latencies"),
        (",40,80\n40,,60\n80,60,\n", "and 40.0 if they are latencies"),
    ],
)
def test_errors_name_the_cell(text: str, message: str) -> None:
    with pytest.raises(UserError) as raised:
        parse_latency_csv(text, "a.csv")
    assert str(raised.value).startswith("a.csv: ")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert raised.value.status == 2


@settings(deadline=None)
@given(st.integers(min_value=0, max_value=10_000))
def test_a_cut_table_is_an_error_or_whole(cut: int) -> None:
    """A cut file is an error, or has all CPUs and lacks only the last digits."""
    text = to_csv(SMALL)
    outcome = read(text[: cut % len(text)])
    assert isinstance(outcome, str) or len(outcome.cpus) == 8


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=',\n0123456789.e-nacpu\r"# \ufeff', max_size=80))
def test_any_text_is_a_table_or_one_line_of_error(text: str) -> None:
    outcome = read(text)
    if isinstance(outcome, str):
        assert outcome.startswith("a.csv: ")
        assert outcome.isprintable()
        return
    assert outcome.ns.shape == (len(outcome.cpus), len(outcome.cpus))
    assert len(outcome.cpus) >= 2
    values = outcome.ns[np.isfinite(outcome.ns)]
    assert values.size
    assert (values > 0).all()
