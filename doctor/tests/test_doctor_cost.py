# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests what the cost in the stored table depends on, and what follows from that cost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from doctor_predictions import row_of

from common.paths import ROOT
from doctor.facts.facts import read_facts
from doctor.known.push_ipi import push_ipi
from doctor.predict.nearest import Fit, Nearest, distance, nearest
from doctor.predict.prediction import Range, model_error
from doctor.predict.rates import LEVELS, Asked, Rates, level_at, load_rates
from doctor.predict.shape import Shape
from doctor.predict.stored import by_table, faster
from doctor_tree import Machine, Task, listed, tar
from model.run.model_error import known_error
from test_doctor_verdict import groups, ids, judged, partitions

Capture = pytest.CaptureFixture[str]
ROWS = [[cpus, *(rate * cpus for rate in (1e3, 6e3, 12e3, 15e3, 16e3))] for cpus in (4, 64)]
MADE = Rates({"name": "made", "stretch": [0.8, 1.25], "rates": {"stock push": ROWS}})


def asked(cpus: int, rate: float) -> Asked:
    return Asked("stock", True, False, False, cpus, rate * cpus)


def test_a_row_goes_through_its_levels_and_rises() -> None:
    for cpus in (4, 16, 64):
        shares = [MADE.at(asked(cpus, rate)) for rate in (1e3, 6e3, 12e3, 15e3, 16e3)]
        assert shares == pytest.approx(LEVELS)
    shares = [MADE.at(asked(16, 10 ** (number / 20))) for number in range(40, 100)]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    # Below the first level a wake-up costs the same; one CPU shares nothing.
    assert MADE.at(asked(4, 10.0)) == pytest.approx(1e-5)
    assert MADE.at(asked(1, 1e4)) == 0
    assert MADE.at(asked(128, 3e3)) == pytest.approx(MADE.at(asked(64, 6e3)))


def test_the_interval_is_wide_where_the_cost_rises() -> None:
    widths = []
    for rate in (100.0, 14e3):
        low, high = MADE.bounds(asked(4, rate))
        assert low < MADE.at(asked(4, rate)) < high
        widths.append(high / low)
    assert widths[1] > 3 * widths[0]
    # Above the highest level only that is known.
    assert MADE.bounds(asked(64, 40e3)) == (LEVELS[-1], 1.0)


def test_the_stored_rates_are_whole() -> None:
    known = load_rates()
    assert len({rates.name for rates in known}) == len(known) >= 5
    for rates in known:
        for name, rows in rates.row["rates"].items():
            assert [row[0] for row in rows] == sorted({row[0] for row in rows}), (rates.name, name)
            assert all(row[1] > 0 and row[1:] == sorted(set(row[1:])) for row in rows), name
        low, high = rates.row["stretch"]
        assert 0.2 < low < 1 < high < 5
        for push in (True, False):
            for pinned in (True, False):
                ask = Asked("stock", push, pinned, False, rates.row["cpus"], 1e6)
                few = rates.at(replace(ask, cpus=8, rate=1e6 * 8 / ask.cpus))
                assert few < rates.at(ask), (rates.name, push, pinned)


def test_a_row_rises_at_saturation() -> None:
    """Two levels that round to one rate both stay in the row: the second rate is one higher."""
    points = [(2e5, 0.001), (2e6, 0.1), (2.421e6, 0.15), (2.422e6, 0.6)]
    [_, *rates] = row_of(128, points)
    assert (rates[3], rates[4]) == (2_420_000, 2_420_001)
    assert level_at(rates, 2.5e6, -1) == 0.5


def test_a_small_domain_is_not_the_whole_machine() -> None:
    """32 CPUs of a 480-CPU machine cost what 32 CPUs cost, per wake-up and in all."""
    small = Shape(4, 8, 50, 1, 32 * 4000.0, 480)
    whole = Shape(60, 8, 50, 1, 480 * 4000.0, 480)
    few, many = (by_table(shape, Nearest("xeon-480-snc", "")).now for shape in (small, whole))
    assert few.kernel_ns.value < many.kernel_ns.value / 3
    assert few.share.value < many.share.value / 15


def test_far_apart_costs_more_than_close_together() -> None:
    near = Shape(4, 8, 50, 1, 300_000.0, 480)
    costs = [
        by_table(shape, Nearest("xeon-480-snc", "")).now.kernel_ns.value
        for shape in (near, replace(near, packages=2))
    ]
    assert costs[0] < costs[1]


def test_an_unknown_setting_has_the_interval_of_both() -> None:
    shape = Shape(60, 8, 50, 1, 1.5e6, 480)
    on, off, either = (
        by_table(replace(shape, push=push), Nearest("xeon-480-snc", "")).now.share
        for push in (True, False, None)
    )
    assert either.low == min(on.low or 0, off.low or 0)
    assert either.high == max(on.high or 0, off.high or 0)


def test_a_remedy_within_the_models_error_gains_nothing() -> None:
    """Six pods of eight pinned threads on two caches: almost all of the cost stays."""
    prediction = by_table(Shape(6, 8, 95, 2, 1.92e6, 104, True), Nearest("xeon-8358-2s", ""))
    best = prediction.row("partition")
    assert best is not None
    assert best.share.value < prediction.now.share.value
    assert prediction.saved == 0


def test_twice_the_wakeups_cost_more() -> None:
    prediction = by_table(Shape(60, 8, 50, 1, 1e6, 480), Nearest("xeon-480-snc", ""))
    later = faster(prediction, 2.0)
    assert later is not None
    assert later.value > 2 * prediction.now.share.value
    assert faster(replace(prediction, machine="host"), 2.0) is None


def test_no_cost_above_what_the_cpus_did() -> None:
    shape = Shape(60, 8, 50, 1, 3e6, 480, busy=0.05)
    share = by_table(shape, Nearest("xeon-480-snc", "")).now.share
    assert share.high == 0.05


def test_the_defaults_of_push_interrupts() -> None:
    cases = {
        "6.12.10": True, "6.12.95": True, "6.12.96": False, "6.1.177": True, "6.1.178": False,
        "7.3.4": False, "6.6.50": None, "3.10.0": False,
    }  # fmt: skip
    for release, on in cases.items():
        facts = read_facts(listed(Machine(release=release)), "host")
        assert push_ipi(facts).on is on, release
    features = {"sys/kernel/debug/sched/features": "NO_RT_PUSH_IPI X\n"}
    assert push_ipi(read_facts(listed(Machine(files=features)), "host")).on is False
    realtime = Machine(release="7.3.4", files={"sys/kernel/realtime": "1\n"})
    assert push_ipi(read_facts(listed(realtime), "host")).on is True


@pytest.mark.parametrize(
    ("release", "build", "on"),
    [
        (
            "5.14.0-427.59.1.el9_4.x86_64",
            "#1 SMP PREEMPT_DYNAMIC Thu Mar 7 14:30:24 EST 2024",
            True,
        ),
        (
            "5.14.0-700.1.1.el9_9.x86_64",
            "#1 SMP PREEMPT_DYNAMIC Mon Sep 21 01:02:03 EDT 2026",
            None,
        ),
        ("4.18.0-553.el8_10.x86_64", "#1 SMP Fri May 10 15:19:13 UTC 2024", True),
        ("6.12.0-55.el10_0.x86_64", "#1 SMP", None),
        (
            "6.4.0-150600.23-default",
            "#1 SMP PREEMPT_DYNAMIC Tue Oct 29 11:23:45 UTC 2024 (a)",
            True,
        ),
        ("6.8.0-60-generic", "#63-Ubuntu SMP PREEMPT_DYNAMIC Tue Apr 15 19:04:15 UTC 2025", True),
        ("6.8.0-160-generic", "#163-Ubuntu SMP PREEMPT_DYNAMIC Thu Oct 1 19:04:15 UTC 2026", None),
        ("6.12.96+deb13-amd64", "#1 SMP Debian 6.12.96-1 (2026-07-10)", False),
        ("6.12.90+deb13-amd64", "#1 SMP Debian 6.12.90-1 (2026-05-30)", True),
        ("6.6.50", "#1 SMP Sun Sep 8 10:00:00 UTC 2024", True),
        ("6.6.150", "#1 SMP Sun Feb 31 10:00:00 UTC 2026", None),
    ],
)
def test_the_day_of_the_build_tells_of_a_backport(
    release: str, build: str, on: bool | None
) -> None:
    files = {"proc/sys/kernel/version": f"{build}\n"}
    state = push_ipi(read_facts(listed(Machine(release=release, files=files)), "host"))
    assert state.on is on, state.why


def row(name: str, cpus: int, llcs: int, packages: int, title: str = "Xeon") -> dict[str, object]:
    return {
        "name": name, "cpus": cpus, "llcs": llcs, "packages": packages, "nodes": packages,
        "title": title,
    }  # fmt: skip


def test_distance_is_in_doublings_of_what_the_load_is_in() -> None:
    fit = Fit(64, 16.0, 1, 256, "amd", "")
    epyc = row("epyc-1", 256, 16, 2, "2 x AMD EPYC")
    assert distance(fit, epyc) == 0
    assert distance(replace(fit, per_cache=32.0), epyc) == 1
    assert distance(replace(fit, maker="intel"), epyc) == 1
    assert distance(replace(fit, packages=2), epyc) == 0
    assert distance(replace(fit, packages=2), row("epyc-2", 256, 16, 1, "AMD EPYC")) == 1
    assert distance(replace(fit, cpus=512, packages=2), epyc) == pytest.approx(1)
    # Inside one cache it does not matter how many other CPUs share it.
    inside = Fit(16, 256.0, 1, 256, "amd", "")
    assert distance(inside, epyc) == 0


def test_topology_comes_before_names() -> None:
    """A guest has its processor's name but other caches: the name must not decide."""
    named = row("xeon-6980p-2s", 512, 2, 2)
    other = row("xeon-480-snc", 480, 6, 2)
    fit = Fit(480, 80.0, 2, 480, "intel", "INTEL(R) XEON(R) 6980P")
    assert nearest(fit, [named, other]).name == "xeon-480-snc"
    # Between machines of equal topology it does.
    twin = row("xeon-twin", 512, 2, 2)
    assert nearest(replace(fit, cpus=256, per_cache=256.0), [twin, named]).name == "xeon-6980p-2s"
    # A machine that is near enough is chosen, though the one with the same name is too far.
    small = Fit(64, 4.0, 1, 64, "intel", "XEON 6980P")
    near = row("small", 64, 16, 1)
    assert nearest(small, [named, near]).name == "small"
    assert nearest(small, [named]).name is None


def test_one_cache_is_judged(capsys: Capture, tmp_path: Path) -> None:
    tasks = [
        Task(1000 + n, "av", allowed=f"{n // 8 * 8}-{n // 8 * 8 + 7}", voluntary=20_000,
             cgroup=f"/av{n // 8}", tgid=1000 + n // 8)
        for n in range(256)
    ]  # fmt: skip
    files = {"proc/cpuinfo": "vendor_id\t: GenuineIntel\nmodel name\t: INTEL(R) XEON(R) 6980P\n"}
    machine = Machine(cpus=512, llc_cpus=256, node_cpus=256, tasks=tasks, files=files)
    outcome = judged(capsys, tar(tmp_path, machine))
    assert [name for name, _ in ids(outcome)] == ["rd-shared"]
    [finding] = outcome.json["findings"]
    variants = {
        variant["variant"]: variant["share"] for variant in finding["predicted"]["variants"]
    }
    assert variants["partition"]["high"] < variants["stock"]["value"]
    assert "partitions would leave" in outcome.json["sentence"]
    # Near the bend of the curve the interval is wide, and doctor says why.
    share = finding["predicted"]["variants"][0]["share"]
    reasons = [fact["value"] for fact in finding["evidence"] if fact["where"] == "the interval"]
    assert bool(reasons) == (share["high"] > 6 * share["low"])
    assert all("the lines are nearly saturated" in reason for reason in reasons)


def test_little_is_no_finding(capsys: Capture, tmp_path: Path) -> None:
    """0.03 CPU of 64 is not a reason to give up isolation, nor is cyclictest on four CPUs."""
    isolated = Machine(
        cpus=64, node_cpus=32, tasks=groups(30_000), isolated="4-15",
        cmdline="isolcpus=domain,4-15",
    )  # fmt: skip
    board = Machine(
        cpus=4, node_cpus=4, llc_cpus=1,
        tasks=[Task(100 + n, "cyclictest", allowed=str(n), voluntary=20_000) for n in range(4)],
    )  # fmt: skip
    for number, machine in enumerate((isolated, board)):
        outcome = judged(capsys, tar(tmp_path / str(number), machine))
        assert outcome.status == 0
        assert "sharing costs " in outcome.json["sentence"]


def test_intervals_meet() -> None:
    assert Range(2, 1, 3).meets(Range(4, 3, 5))
    assert not Range(2, 1, 3).meets(Range(4, 3.5, 5))
    assert Range(2, 1, 3).meets(Range(2.5))
    assert not Range(2).meets(Range(2.5))


def test_impossible_rates_are_said_to_be(capsys: Capture, tmp_path: Path) -> None:
    """Also where partitions exist already, for which the verdict once was 'Nothing found'."""
    for number, cgroups in enumerate(({}, partitions("root"))):
        machine = Machine(tasks=groups(4_000_000_000), cgroups=cgroups)
        outcome = judged(capsys, tar(tmp_path / str(number), machine))
        assert (outcome.status, outcome.json["findings"]) == (3, [])
        sentence = outcome.json["sentence"]
        assert sentence.startswith("Cannot tell: ")
        assert "real-time wake-ups per second on CPUs" in sentence
        assert "are impossible, " in sentence
        assert "CPU time" not in sentence


def test_the_models_error_is_that_of_the_page() -> None:
    page = " ".join((ROOT / "docs/doctor.md").read_text(encoding="utf-8").split())
    assert f"to which it was not fitted, a factor of {model_error():.2f}." in page
    assert round(known_error("workload").factor, 2) == model_error()
