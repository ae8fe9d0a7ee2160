# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests shared entries (`common = …`) of experiments, and reports of mistakes in their files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from common.errors import UserError
from common.paths import EXPERIMENTS
from conftest import FIGURES
from model.run.common_entries import read_experiment
from model.run.experiment import parse_experiment

COMMON = """
[[param]]
name = "a_us"
value = 1
unit = "us"
source = "design: a"

[[param]]
name = "b_us"
value = 2
low = 1
high = 3
unit = "us"
source = "estimate: b"
"""


def experiment(folder: Path, text: str, shared: str = "few") -> Path:
    (folder / "common").mkdir()
    (folder / "common" / "few.toml").write_text(COMMON, encoding="utf-8")
    path = folder / "own.toml"
    path.write_text(f'common = "{shared}"\n{text}', encoding="utf-8")
    return path


def test_names_stand_for_entries_where_they_are(tmp_path: Path) -> None:
    text = (
        '[[param]]\nnames = ["b_us"]\n[[param]]\nname = "c"\nvalue = 5\n[[param]]\nnames = ["a_us"]'
    )
    read = read_experiment(experiment(tmp_path, text))
    assert [(param["name"], param["value"]) for param in read["param"]] == [
        ("b_us", 2), ("c", 5), ("a_us", 1),
    ]  # fmt: skip
    assert read["param"][0]["high"] == 3
    assert "common" not in read


def test_dots_stand_for_all_entries_that_are_not_named(tmp_path: Path) -> None:
    text = '[[param]]\nname = "b_us"\nvalue = 7\n[[param]]\nnames = ["..."]'
    read = read_experiment(experiment(tmp_path, text))
    assert [(p["name"], p["value"]) for p in read["param"]] == [("b_us", 7), ("a_us", 1)]


def test_an_entry_takes_what_it_leaves_out_but_no_range_of_another_value(tmp_path: Path) -> None:
    text = '[[param]]\nname = "b_us"\nvalue = 9\n[[param]]\nname = "a_us"\nsource = "design: own"'
    own, other = read_experiment(experiment(tmp_path, text))["param"]
    assert own == {"name": "b_us", "value": 9, "unit": "us", "source": "estimate: b"}
    assert other == {"name": "a_us", "value": 1, "unit": "us", "source": "design: own"}


def test_a_common_file_has_the_entries_of_its_own_common_file(tmp_path: Path) -> None:
    text = '[[param]]\nnames = ["a_us", "b_us"]'
    path = experiment(tmp_path, text, "more")
    more = 'common = "few"\n[[param]]\nname = "a_us"\nunit = "us of more"\n'
    (tmp_path / "common" / "more.toml").write_text(more, encoding="utf-8")
    first, second = read_experiment(path)["param"]
    assert first == {"name": "a_us", "value": 1, "unit": "us of more", "source": "design: a"}
    assert second["high"] == 3


def test_common_files_in_a_circle_are_one_line(tmp_path: Path) -> None:
    path = experiment(tmp_path, "", "one")
    for name, above in (("one", "two"), ("two", "one")):
        (tmp_path / "common" / f"{name}.toml").write_text(f'common = "{above}"', encoding="utf-8")
    with pytest.raises(UserError, match=r"common/one\.toml takes entries from itself$"):
        parse_experiment(path)


@pytest.mark.parametrize(
    ("shared", "text", "words"),
    [
        ("few", '[[param]]\nnames = ["z_us"]', "common/few.toml has no param 'z_us'"),
        ("few", '[[variant]]\nnames = ["a_us"]', "common/few.toml has no variant 'a_us'"),
        ("few", '[[param]]\nnames = ["a_us"]\nvalue = 7', "may have no other key"),
        ("../few", "", "common is '../few': it must name a file in common/"),
        ("none", "", "none.toml"),
    ],
)
def test_what_is_not_there_is_one_line(tmp_path: Path, shared: str, text: str, words: str) -> None:
    with pytest.raises(UserError) as raised:
        parse_experiment(experiment(tmp_path, text, shared))
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


WRONG = [
    ("cpumask-yield", "schema = 1", "schema = 2", "schema is 2"),
    ("cpumask-yield", "schema = 1", "schema = ", "is not TOML"),
    ("cpumask-yield", '= "global"', '= "glob"', "baseline 'glob' is not one of"),
    ("cpumask-yield", '= "global"', '= "global"\nsweep = "cpus"', "sweep is 'cpus'"),
    ("cpumask-yield", 'name = "node"', 'name = "llc"', "different names"),
    ("cpumask-yield", 'title = "one global mask", ', "", "key 'title' is missing"),
    ("cpumask-yield", "published = 0.012977", 'published = "x"', "could not convert"),
    ("cpumask-yield", 'role = "prediction"', "", "key 'role' is missing"),
    ("cpumask-yield", "low = 600, ", "", "param 'yield_ns' has 'high' alone"),
    ("cpumask-yield", "low = 600", "low = 1300",
     "param 'yield_ns' is 1290 with the range 1300 to 2200"),
    ("cpumask-yield", "high = 2200", "high = 1000", "give low <= value <= high"),
    ("cpumask-yield", "low = 600", 'low = "x"', "could not convert"),
    ("cpumask-yield", "low = 600", 'calibrated_on = { variant = "node", metric = "m" }, low = 600',
     "calibrated on 'm' of 'node'"),
    ("ping-pong", 'sweep = "pairs"', 'sweep = "trios"', "sweep is 'trios'"),
    ("ping-pong", '["op", "from", "home"]', '["size"]', "options are size"),
    ("ping-pong", 'variant = "read-inc"', 'variant = "read-ink"', "pair names 'read-ink'"),
    ("atomic-inc", 'machine = "epyc-zen4-vm-83"', 'machine = "xeon-8176-8s"', "of one machine"),
    ("ffmpeg-rt", 'takes = "switch"', 'takes = "yes"',
     "param 'pinned' has takes = 'yes': give number, switch or whole"),
    ("ffmpeg-rt", 'value = 1, takes = "switch"', 'value = 2, takes = "switch"',
     "param 'pinned' is a switch: its value is 0 or 1"),
    ("ffmpeg-rt", 'value = 1, takes = "switch"', 'value = 1, takes = "switch", low = 0, high = 1',
     "without a range"),
    ("ffmpeg-rt", 'value = 1, takes = "switch"', 'value = 1.0, takes = "whole"',
     "takes whole numbers: write each without"),
    ("figures", 'name = "map_bytes"', 'name = "kernel_share"', "metrics must have different names"),
    ("figures", 'name = "map_bytes"', 'name = "lines"', "cannot be called 'lines'"),
    ("figures", "fps_relative = 1.11", "fps = 1.11",
     "'pad' names 'fps', which is not a [[metric]]"),
    ("figures", 'calibrated = ["kernel', 'calibrated = ["x', "names 'x_share'"),
    ("figures", 'variant = "stock"\nobject', 'variant = "stok"\nobject',
     "a published line names 'stok'"),
    ("figures", 'baseline = "stock"', 'baseline = "stock"\nsweep = "threads"',
     "cannot sweep threads"),
    ("figures", ', unit = "bytes"', "", "key 'unit' is missing"),
    ("figures", "low = 700", 'low = "few"', "could not convert"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "words"), WRONG)
def test_a_mistake_is_one_line(tmp_path: Path, name: str, old: str, new: str, words: str) -> None:
    folder = FIGURES.parent if name == "figures" else EXPERIMENTS
    text = (folder / f"{name}.toml").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / f"{name}.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    shutil.copytree(EXPERIMENTS / "common", tmp_path / "common")
    with pytest.raises(UserError) as raised:
        parse_experiment(path)
    assert words in str(raised.value)
    assert path.name in str(raised.value)
    assert "\n" not in str(raised.value)
