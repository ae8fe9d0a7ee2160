# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Entries that several experiments share."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.errors import UserError
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
    assert [(each["name"], each["value"]) for each in read["param"]] == [
        ("b_us", 2), ("c", 5), ("a_us", 1),
    ]  # fmt: skip
    assert read["param"][0]["high"] == 3
    assert "common" not in read


def test_dots_stand_for_all_entries_that_are_not_named(tmp_path: Path) -> None:
    text = '[[param]]\nname = "b_us"\nvalue = 7\n[[param]]\nnames = ["..."]'
    read = read_experiment(experiment(tmp_path, text))
    assert [(each["name"], each["value"]) for each in read["param"]] == [("b_us", 7), ("a_us", 1)]


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
        ("few", '[[param]]\nnames = ["a_us"]\nvalue = 7', "an entry with 'names' has no other key"),
        ("../few", "", "common is the name of a file in common/"),
        ("none", "", "none.toml"),
    ],
)
def test_what_is_not_there_is_one_line(tmp_path: Path, shared: str, text: str, words: str) -> None:
    with pytest.raises(UserError) as said:
        parse_experiment(experiment(tmp_path, text, shared))
    assert words in str(said.value)
    assert "\n" not in str(said.value)
