# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The catalogue is whole, and published profiles lead to the entries that they are about."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.facts.values import release, stable_release
from doctor.judge.symptoms import hot_sets, known_lines
from doctor.known.catalogue import load_catalogue
from doctor.profiles.perf_file import read_profile
from doctor.profiles.profile import Access, CacheLine, Profile
from doctor_cli import assert_refused, call

DATA = Path(__file__).resolve().parent / "data"


def test_entries_are_whole() -> None:
    catalogue = load_catalogue()
    assert len(catalogue.entries) == 16
    for entry in catalogue.entries.values():
        assert re.fullmatch(r"[a-z0-9-]+", entry.id)
        assert entry.source
        assert (0 < entry.share <= 0.1) is bool(entry.functions)
        for text in (entry.title, entry.what, entry.hurts, entry.remedy, entry.checked):
            assert len(text) > 10, entry.id
        for version in (entry.since, entry.fixed_in):
            assert version == "" or release(version) is not None
        for version in entry.backports:
            assert re.fullmatch(r"\d+\.\d+\.\d+", version)
            assert entry.fixed_in
        assert not entry.remains or entry.fixed_in
        assert bool(entry.fixed_by) == bool(entry.fixed_in)
        assert not set(entry.functions) & set(entry.helpers)


def test_the_fix_of_push_interrupts_is_in_stable_releases() -> None:
    """The releases are those in the kernel's record of CVE-2026-45919."""
    entry = load_catalogue().entries["rt-push-ipi"]
    first = [(5, 10, 252), (5, 15, 202), (6, 1, 165), (6, 6, 128), (6, 12, 75), (6, 18, 14)]
    for series, minor, patch in [*first, (6, 19, 4), (7, 0, 0)]:
        assert entry.fixed((series, minor, patch))
        assert patch == 0 or not entry.fixed((series, minor, patch - 1))
    assert not entry.fixed((6, 17, 13))
    assert not entry.fixed((6, 13, 80))
    assert entry.versions == "4.15 and later"
    assert "Linux 7.0 and 5.10.252, " in entry.fix
    assert "each request still restarts the walk" in entry.fix


@pytest.mark.parametrize(
    ("name", "build", "version"),
    [
        ("6.1.0-50-amd64", "#1 SMP Debian 6.1.176-1 (2026-07-02)", (6, 1, 176)),
        ("6.12.86+deb13-amd64", "#1 SMP Debian 6.12.86-1", (6, 12, 86)),
        ("6.8.0-31-generic", "#31-Ubuntu SMP", (6, 8, 0)),
        ("7.3.4", "#1 SMP built with Debian 6.1.176", (7, 3, 4)),
        ("x", "Debian 6.1.176", None),
    ],
)
def test_a_name_may_hide_the_stable_release(
    name: str, build: str, version: tuple[int, int, int] | None
) -> None:
    assert stable_release(name, build) == version


def test_published_tables_are_the_root_domain() -> None:
    profile = read_profile(DATA / "c2c-mail.txt")
    matches = known_lines(profile, load_catalogue())
    assert [(hex(match.line.address), match.known.id) for match in matches] == [
        ("0xff14d42c400e3880", "rd-line-3"),
        ("0xff14d42c400e3800", "rd-line-1"),
        ("0xff14d52c4682d800", "cpupri-mask"),
        ("0xff14d42c400e3ec0", "cpupri-line"),
    ]
    assert all(match.fit > 0.95 for match in matches)
    third = dict(matches[0].fields)
    assert set(third) == {
        "rto_push_work", "rto_lock", "rto_loop, rto_cpu", "rto_loop_next", "rto_loop_start",
        "rto_mask", "cpupri.pri_to_cpu[0].count",
    }  # fmt: skip
    assert max(third, key=lambda name: third[name]) == "cpupri.pri_to_cpu[0].count"
    assert matches[0].cycles == (10908, 59770)


def test_published_profile_is_the_root_domain() -> None:
    """Shares that the kernel test robot published on linux-kernel, 2025-06-16."""
    functions = {
        "cpupri_set": 0.3202, "pull_rt_task": 0.1490, "__cpupri_find": 0.1244,
        "enqueue_pushable_task": 0.0354, "dequeue_pushable_task": 0.0019,
        "_find_first_and_bit": 0.0145,
    }  # fmt: skip
    sets = hot_sets(Profile("x", "perf report", "cycles", functions), load_catalogue())
    assert [hot.entry.id for hot in sets] == ["rd-shared", "rd-isolated"]
    assert sets[0].share == pytest.approx(0.3202 + 0.1490 + 0.1244 + 0.0354 + 0.0019)
    name, share = sets[0].functions[0]
    assert (name, round(share, 4)) == ("cpupri_set", 0.3202)
    assert dict(sets[0].helpers)["_find_first_and_bit"] == pytest.approx(0.0145)


def test_something_else_is_nothing() -> None:
    catalogue = load_catalogue()
    other = Profile("x", "perf report", "cycles", {"copy_page": 0.5, "__bitmap_and": 0.4})
    assert hot_sets(other, catalogue) == []
    accesses = tuple(
        Access(offset, "vma_interval_tree_remove", 0.1, 0.1, 0, 300, 100) for offset in (0, 8, 56)
    )
    line = CacheLine(0xFF00, 10, 10, 10, accesses)
    assert known_lines(Profile("x", "c2c", lines=(line,)), catalogue) == []
    # Another bitmap, because a search alone does not show that a bitmap is one of cpupri.
    bits = tuple(Access(8 * n, "_find_first_and_bit", 0.1, 0.1, 0, 300, 100) for n in range(8))
    line = CacheLine(0xFF00, 10, 10, 10, bits)
    assert known_lines(Profile("x", "c2c", lines=(line,)), catalogue) == []


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 63),
            st.sampled_from(("cpupri_set", "pull_rt_task", "foo", "enqueue_pushable_task")),
            st.integers(0, 1000),
        ),
        min_size=1,
    )
)
def test_any_line_is_a_known_one_or_none(rows: list[tuple[int, str, int]]) -> None:
    accesses = tuple(Access(at, name, 0.1, 0.1, 0.1, 100, count) for at, name, count in rows)
    profile = Profile("x", "c2c", lines=(CacheLine(64, 1, 1, 1, accesses),))
    for match in known_lines(profile, load_catalogue()):
        assert 0.6 <= match.fit <= 1.0
        assert sum(share for _, share in match.fields) == pytest.approx(match.fit)


def test_catalogue_and_explain(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, "doctor", "catalogue")
    assert outcome.status == 0
    for entry in load_catalogue().entries.values():
        assert entry.id in outcome.out
        shown = call(capsys, "doctor", "explain", entry.id)
        assert shown.status == 0
        assert entry.title in shown.out
        assert ("not verified" in shown.out) is not entry.verified
    listed = call(capsys, "doctor", "catalogue", "--json").json
    assert [row["id"] for row in listed["entries"]] == list(load_catalogue().entries)
    assert_refused(call(capsys, "doctor", "explain", "rd-share"), "did you mean 'rd-shared'?")
