# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""An observed load has the right shape, and its simulated cost agrees with the stored table."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from common.paths import sim_binary
from doctor.facts.domains import root_domains
from doctor.facts.facts import read_facts
from doctor.facts.load import domain_loads
from doctor.predict.nearest import Nearest
from doctor.predict.points import Spot
from doctor.predict.predict import predict_on
from doctor.predict.prediction import model_error
from doctor.predict.rates import load_rates
from doctor.predict.shape import Shape, shape_of
from doctor.predict.stored import by_table
from doctor_cli import assert_refused, call
from doctor_tree import KTHREAD, Machine, Task, listed, tar
from test_doctor_verdict import DATA

Capture = pytest.CaptureFixture[str]
needs_sim = pytest.mark.skipif(not sim_binary().is_file(), reason="the simulator is not built")
simulates = pytest.mark.slow(reason="predictions for whole machines")


def big(cpu: str = "AMD EPYC 9654 96-Core Processor", **changes: Any) -> Machine:
    """256 CPUs of 16 per cache in two packages, with 15 groups of 8 that wake up often."""
    tasks = [
        Task(
            1000 + n, "rt", allowed=f"{8 + n // 8 * 8}-{15 + n // 8 * 8}", voluntary=20_000,
            priority=40 + n % 2, tgid=1000 + n // 8,
        )
        for n in range(120)
    ]  # fmt: skip
    files = {"proc/cpuinfo": f"vendor_id\t: AuthenticAMD\nmodel name\t: {cpu}\n"}
    kept = {"cpus": 256, "llc_cpus": 16, "node_cpus": 128, "tasks": tasks, "files": files}
    return Machine(**{**kept, **changes})


def shape_in(machine: Machine) -> Shape:
    early = replace(machine, tasks=[replace(task, voluntary=0) for task in machine.tasks])
    facts = read_facts(listed(early, replace(machine, uptime=102.0)), "host")
    load = max(domain_loads(facts, root_domains(facts)), key=lambda load: load.wakeups)
    shape = shape_of(load, facts)
    assert shape is not None
    return shape


def test_the_shape_that_was_observed() -> None:
    shape = shape_in(big())
    assert (shape.groups, shape.cpus_per_group, shape.level, shape.levels) == (8, 16, 41, 2)
    assert shape.rate == pytest.approx(1_200_000, rel=0.01)
    assert (shape.pinned, shape.packages, shape.online) == (False, 1, 256)
    values = Spot("stock", True, False, False, shape.cpus, shape.rate).params(20_000)
    assert values["sleep_us"] + values["work_us"] == pytest.approx(128 / 1.2 - 3, abs=1)
    assert values["measured_us"] == pytest.approx(20_000 / 1_200_000 * 1e6, rel=0.01)


def test_a_few_busy_groups_among_idle_ones() -> None:
    """One group of 15 wakes up a hundred times as often: the load is about that of one group."""
    tasks = [
        replace(task, voluntary=20_000 if task.tid < 1008 else 200) for task in big().tasks
    ]  # fmt: skip
    assert shape_in(big(tasks=tasks)).groups == 1


def test_threads_on_one_cpu_each() -> None:
    tasks = [replace(task, allowed=str(8 + n)) for n, task in enumerate(big().tasks)]
    shape = shape_in(big(tasks=tasks))
    # Threads of a process are in one partition, so that 15 processes are 15 groups.
    assert (shape.groups, shape.cpus_per_group, shape.pinned) == (8, 16, True)


def test_cpus_in_two_packages_of_a_host_smaller_than_the_machine_file() -> None:
    """CPUs in two packages of the host are far apart, even if the file's package has as many."""
    tasks = [
        Task(1000 + n, "rt", allowed=f"{n // 8 * 8}-{n // 8 * 8 + 7}", voluntary=20_000,
             cgroup=f"/g{n // 8}", tgid=1000 + n // 8)
        for n in range(64)
    ]  # fmt: skip
    shape = shape_in(big(cpus=64, node_cpus=32, tasks=tasks))
    assert (shape.groups, shape.packages, shape.group_packages) == (8, 2, 1)
    assert "8 groups of 8 CPUs in 2 packages, " in shape.words
    far = {size: shape.asked(True, size) for size in (32, 128)}
    assert [far[size]["stock"].spread for size in far] == [False, True]
    assert not any(asked["partition"].spread for asked in far.values())


def interrupts(rates: dict[int, int]) -> list[Task]:
    """Two interrupt threads on each of these CPUs, with that many wake-ups in the interval."""
    return [
        Task(
            4000 + 2 * cpu + n, f"irq/{n}-eth{cpu}", allowed=str(cpu), voluntary=rate, flags=KTHREAD
        )
        for cpu, rate in rates.items()
        for n in range(2)
    ]  # fmt: skip


def test_kernel_threads_on_few_cpus() -> None:
    """Pinned kernel threads count as the CPUs on which they wake up, at most all CPUs."""
    rates = {
        "one": {0: 20_000},
        "three": {0: 20_000, 1: 20_000, 2: 20_000},
        "idle": {cpu: 20_000 if cpu < 8 else 2 for cpu in range(256)},
        "all": dict.fromkeys(range(256), 20_000),
    }
    shapes = {}
    for name, held in rates.items():
        shapes[name] = shape_in(big(tasks=interrupts(held)))
    assert {name: shape.cpus for name, shape in shapes.items()} == {
        "one": 1, "three": 3, "idle": 8, "all": 256,
    }  # fmt: skip
    assert [shape.packages for shape in shapes.values()] == [1, 1, 1, 2]
    assert shapes["one"].words.startswith("1 group of 1 CPU, ")
    both = big(tasks=[*big().tasks, *interrupts(rates["all"])])
    assert shape_in(both).cpus in range(240, 257)


@needs_sim
@simulates
def test_predicting_now(capsys: Capture, tmp_path: Path) -> None:
    host = tar(tmp_path, big())
    outcome = call(capsys, "doctor", host, "--predict", "--limit", "5", "--json")
    assert outcome.status == 4
    predicted = outcome.json["findings"][0]["predicted"]
    assert (predicted["groups"], predicted["cpus_per_group"]) == (8, 16)
    assert predicted["machine"] == "epyc-9654-2s"
    shares = {row["variant"]: row["share"]["value"] for row in predicted["variants"]}
    assert set(shares) == {"stock", "partition", "shard"}
    assert shares["shard"] < shares["partition"] < shares["stock"]


@needs_sim
@simulates
def test_one_group_has_no_partition_to_gain_from() -> None:
    prediction = predict_on(Shape(1, 4, 50, 1, 4000.0, 256), "epyc-7763-2s", "", 0.001)
    assert prediction.samples == 0
    assert [row.variant for row in prediction.rows] == ["stock", "shard"]
    assert all(row.share.low is None for row in prediction.rows)


@needs_sim
@simulates
def test_more_cpus_than_the_machine_has() -> None:
    prediction = predict_on(Shape(100, 8, 50, 1, 80_000.0, 800), "epyc-7763-2s", "", 0.001)
    assert prediction.shape.groups == 100
    assert 0 < prediction.now.share.value < 0.1


def test_shapes_at_random_are_answered() -> None:
    """Every answer has an interval around its value, and no remedy costs much more than none."""
    for number in range(2000):
        shape, name = drawn(number)
        prediction = by_table(shape, Nearest(name, "drawn"))
        for row in prediction.rows:
            low, value, high = row.share.low, row.share.value, row.share.high
            assert 0 <= (low or 0) <= value <= (high or 0) <= 1
        partition = prediction.row("partition")
        if partition is not None:
            assert partition.share.value <= model_error() * prediction.now.share.value + 1e-6, (
                shape.words
            )


# Wake-ups counted per run: a quarter of those of --predict.
COUNTED = 3000.0


def drawn(number: int) -> tuple[Shape, str]:
    """A random shape and a machine of the table, which depend only on the number."""
    dice = random.Random(number)
    surface = dice.choice(load_rates())
    have = int(surface.row["cpus"])
    size = dice.choice((1, 2, 4, 8, 16))
    groups = min(round(2 ** dice.uniform(0, 9)), have // size)
    groups = max(groups, 2 if size == 1 else 1)
    cpus = groups * size
    rate = min(10 ** dice.uniform(1, 4.5) * cpus, 4e6)
    return Shape(
        groups, size, dice.choice((1, 50, 90, 99)), 1, rate, have, pinned=dice.random() < 0.25,
        packages=surface.row["packages"] if dice.random() < 0.3 and cpus < have / 2 else 1,
        push=dice.random() < 0.5,
    ), surface.name  # fmt: skip


# Ten of the 200 shapes. Their machines' curves have all sizes; three have groups of one core.
AGREED = (0, 5, 6, 10, 14, 25, 33, 53, 58, 101)


@needs_sim
@simulates
@pytest.mark.parametrize("number", AGREED)
def test_stored_and_simulated_agree(number: int) -> None:
    """Ten of 200 shapes (docs/doctor.md). Costs below a hundredth of a percent count as equal."""
    shape, name = drawn(number)
    kept = by_table(shape, Nearest(name, "drawn"))
    now = predict_on(shape, name, "drawn", None, COUNTED)
    for row in kept.rows:
        other = now.row(row.variant)
        assert other is not None, "what is stored is simulated as well"
        if max(row.share.value, other.share.value) > 1e-4:
            assert row.share.meets(other.share), (shape.words, row.variant)


def test_predict_needs_a_machine(capsys: Capture) -> None:
    outcome = call(capsys, "doctor", "--perf", DATA / "c2c-mail.txt", "--predict")
    assert_refused(outcome, "--predict", "HOST.tar")
