# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests the trial's plan, runs, early ends and page, and machine files made from it."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean, variance

import pytest

from common.errors import UserError
from common.paths import sim_binary
from model.machines.presets import load_machine
from model.run.experiment import load_experiment
from model.run.run import Point, RunPlan, RunRequest, execute, point_metrics
from test_trial_form import TRIAL
from trial import (
    command,
    compare,
    events,
    form,
    host,
    machine_file,
    measuring,
    page,
    plan,
    workloads,
)
from trial.form import Costs, Cpu, Figure, Predicted
from trial.measuring import Measured, Watch
from trial.predict import stored

# Two packages of two caches of two cores with two threads; siblings have neighbouring numbers.
BIG = replace(
    TRIAL.host,
    cpus=tuple(Cpu(n, n // 8, n // 8, n // 4, n // 2, n // 2) for n in range(16)),
    processor="AMD EPYC 9654 96-Core Processor",
)
LIVE = """{"variants":[{"name":"atomic-inc","points":[
 {"threads":1,"ns_per_op":3.0,"all_disturbed":false},
 {"threads":2,"ns_per_op":30.0,"all_disturbed":true}]}],"left_out":0}"""


class Calm(host.Machine):
    """A machine without sensors that has the next of the given loads each time it is asked."""

    def __init__(self, *loads: float, hot: str = "", slowed: Sequence[int] = ()) -> None:
        super().__init__(Path("/nowhere"))
        self._loads, self._hot, self._slowed = list(loads), hot, list(slowed)

    def load(self, seconds: float = 1.0) -> float:
        return self._loads.pop(0) if self._loads else 0.0

    def hot(self) -> str:
        return self._hot

    def throttled(self) -> int:
        return self._slowed.pop(0) if self._slowed else 0


def shell(text: str, *, tool: bool = False) -> plan.Step:
    """Return a step that runs a shell's text and reads a figure."""
    figure = Figure("fork", "host", "s", (1.0,))
    step = plan.Step("a step", ("/bin/sh", "-c", text), 20.0, lambda *_: [figure], "fork")
    return replace(step, argv=(plan.LIVE,), workload="") if tool else step


COSTS = replace(
    shell("echo '" + '{"ops_ns":{"cycle":0.3},"pairs":[],"homes":[]}' + "'"), workload=""
)


def run(folder: Path, *steps: plan.Step, machine: host.Machine | None = None) -> Measured:
    measured = Measured()
    messages: list[str] = []
    watch = Watch(machine or Calm(), busy=False)
    with measuring.interruptible():
        measuring.measure(plan.Plan(COSTS, steps, ()), folder, watch, messages.append, measured)
    return measured


def test_five_runs_make_a_figure(tmp_path: Path) -> None:
    measured = run(tmp_path, shell("true"))
    assert (len(measured.runs), measured.ended) == (5, "")
    assert {figure.part: figure.runs for figure in measured.figures} == {
        "": (1.0,) * 5, "switches": (0.0,) * 5, "call-interrupts": (0.0,) * 5
    }  # fmt: skip
    assert measured.costs == Costs({"cycle": 0.3}, ())


def test_a_busy_or_hot_machine_ends_it_and_complete_runs_stay(tmp_path: Path) -> None:
    measured = run(tmp_path, shell("true"), machine=Calm(0, 0, 0, 0.5))
    assert (measured.ended, len(measured.runs), measured.load) == ("not idle", 2, 0.5)
    assert "other programs use 50% of the CPUs, at most 5% are allowed" in measured.why
    measured = run(tmp_path, shell("true"), machine=Calm(hot="a sensor shows 99 degrees"))
    assert (measured.ended, measured.runs) == ("too hot", [])
    assert measured.why == "a sensor shows 99 degrees"
    measured = run(tmp_path, shell("sleep 60"), machine=Calm(slowed=(1, 1, 2)))
    assert (measured.ended, measured.why) == ("too hot", "the processor slowed itself down")
    allowed = Watch(Calm(0.5), busy=True)
    allowed.look()
    assert allowed.load == 0.5


def test_a_program_that_fails_ends_it_only_if_it_is_ours(tmp_path: Path) -> None:
    measured = run(tmp_path, shell("echo no such option; exit 3"), shell("true"))
    assert (len(measured.runs), measured.figures[0].runs) == (5, (1.0,) * 5)
    tool = tmp_path / plan.LIVE
    tool.write_text("#!/bin/sh\necho worse; exit 1\n")
    tool.chmod(0o700)
    measured = run(tmp_path, shell("", tool=True))
    assert (measured.ended, measured.why) == ("failed", "a step: status 1: worse")


def test_ctrl_c_ends_what_runs_and_keeps_complete_runs(tmp_path: Path) -> None:
    """The third run's step starts a child that would write later, if it were not ended."""
    step = shell(
        f"echo x >>{tmp_path}/n; test $(wc -l <{tmp_path}/n) -lt 3 || "
        f"{{ (sleep 3; touch {tmp_path}/late) & touch {tmp_path}/there; sleep 60; }}"
    )

    def interrupt() -> None:
        while not (tmp_path / "there").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    other = threading.Thread(target=interrupt)
    other.start()
    measured = run(tmp_path, step)
    other.join()
    assert (measured.ended, len(measured.runs)) == ("interrupted", 2)
    left = subprocess.run(["pgrep", "-f", f"{tmp_path}/late"], capture_output=True, text=True)
    assert left.stdout == ""
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


def test_disturbed_points_and_other_output(tmp_path: Path) -> None:
    steps = plan.make_plan(TRIAL.host, 1, root=False).steps
    contended = next(step for step in steps if "primitives" in step.argv)
    assert [(f.name, f.threads, f.runs) for f in contended.read(LIVE, 1.0)] == [
        ("atomic-inc", 1, (3,))
    ]
    with pytest.raises(UserError, match="schedshard-live printed no measurements"):
        contended.read("Killed", 1.0)


def test_the_dry_run_lists_everything_that_runs() -> None:
    """Also what only root runs, and each program that is missing has one line."""
    made = plan.make_plan(BIG, 2, root=True, everywhere=True)
    lines = plan.described(made, {"schedshard-live": "0" * 64})
    for step in (made.once, *made.steps):
        assert any(all(w in line for w in step.argv if "\n" not in w) for line in lines), step.title
    for workload in workloads.WORKLOADS:
        assert any(workload.argv(BIG.cpus, 1)[0] in line for line in lines)
    assert any("SHA-256 " + "0" * 64 in line for line in lines)
    assert plan.make_plan(BIG, 2, root=False).skipped == (
        "skipped: the scheduler's workloads, which only root can run",
    )


def test_missing_programs_are_one_line_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    made = plan.make_plan(BIG, 2, root=True)
    assert len(made.skipped) == len(workloads.WORKLOADS)
    assert made.skipped[0] == "skipped: stress-ng-cyclic, because stress-ng is missing"


def test_a_trial_that_takes_longer_says_so() -> None:
    (line,) = plan.make_plan(BIG, 0.3, root=True, everywhere=True).skipped[-1:]
    assert line.startswith("this takes about 1.5 minutes, not 0.3, because each of 11 programs")
    assert plan.make_plan(BIG, 2, root=True, everywhere=True).skipped == ()


INTEL = "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: {}\nmodel name\t: x 7\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (INTEL.format(0xAD), {"hitm-near": (4, 0x4D2), "hitm-far": (4, 0x4D3)}),
        (INTEL.format(0xAF), {}),  # its cores have other events
        ("vendor_id\t: AuthenticAMD\ncpu family\t: 26\n",
         {"fills-near": (4, 0x443), "fills-far": (4, 0x1043)}),
        ("vendor_id\t: AuthenticAMD\ncpu family\t: 23\n", {}),
        ("CPU implementer\t: 0x41\n", {}),
    ],
)  # fmt: skip
def test_events_by_processor(text: str, expected: events.Codes, tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text(text)
    assert events.codes(tmp_path) == expected


def test_events_are_counted_or_one_line_says_why_not() -> None:
    cpu = min(host.allowed_cpus())
    clock = events.Events([cpu], {"clock": (1, 0)})  # software's, which needs no PMU
    if not clock.why:
        first = clock.counts()["clock"]
        time.sleep(0.01)
        assert clock.counts()["clock"] - first > 5e6  # ns
    clock.close()
    for wanted, why in (({"none": (1, 99)}, "no PMU"), ({}, "no events of cache lines are known")):
        none = events.Events([cpu], wanted)
        assert why in none.why or none.why.startswith("perf_event_open: ")
        assert none.counts() == {}


def test_state_of_a_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "sys/class/power_supply/a/type": "Battery", "sys/class/power_supply/a/status": "Charging",
        "sys/class/power_supply/b/type": "Battery", "sys/class/power_supply/b/scope": "Device",
        "sys/class/power_supply/b/status": "Discharging",
        "sys/class/hwmon/hwmon0/temp1_input": "90000", "sys/class/hwmon/hwmon0/temp1_crit": "0",
        "sys/class/hwmon/hwmon1/temp1_input": "94000",
        "sys/class/hwmon/hwmon1/temp1_crit": "100000",
        "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count": "3",
        "sys/kernel/debug/sched/features": "RT_PUSH_IPI NO_HRTICK",
        "proc/stat": "cpu 5 0 5 90 0 0 0 0 0 0\nctxt 77",
        "proc/interrupts": "  IWI: 5\n  CAL:   1   20   Function call interrupts",
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    machine = host.Machine(tmp_path)
    assert (machine.battery(), machine.hot(), machine.throttled()) == (False, "", 3)
    assert machine.counts() == {
        "program": 5, "system": 5, "switches": 77, "call-interrupts": 21
    }  # fmt: skip
    assert machine.kernel().features == {"RT_PUSH_IPI": True, "HRTICK": False}
    (tmp_path / "sys/class/power_supply/a/status").write_text("Discharging\n")
    (tmp_path / "sys/class/hwmon/hwmon1/temp1_input").write_text("96000\n")
    assert machine.battery()
    assert machine.hot() == "a sensor shows 96 degrees C; 100 are critical"
    # Time that a hypervisor takes away is busy, too.
    later = "cpu 5 0 5 150 20 0 0 20 0 0"
    monkeypatch.setattr(time, "sleep", lambda _: (tmp_path / "proc/stat").write_text(later))
    assert machine.load() == 0.2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "a"], "run takes no file, not 1"),
        (["compare"], "compare takes one or two files, not 0"),
        (["show", "/nowhere/a.json"], "cannot read trial /nowhere/a.json: no such file"),
        (["--minutes", "0"], "'0' is not a time: give 0.1 to 600 minutes"),
        (["--out", "/nowhere/a.json"], "cannot write /nowhere/a.json: no directory /nowhere"),
        (["dance"], "invalid choice: 'dance'"),
    ],
)
def test_wrong_words_are_one_line(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(words) == 2
    shown = capsys.readouterr()
    assert (message in shown.err, shown.err.count("\n"), shown.out) == (True, 1, "")


def test_threads_take_one_cpu_of_each_core_first() -> None:
    order = [cpu.cpu for cpu in host.in_order(BIG.cpus)]
    assert order == [*range(0, 16, 2), *range(1, 16, 2)]
    assert plan.thread_counts(BIG) == [1, 2, 4, 8, 16]
    pairs = host.pairs_by_class(BIG.cpus, 3)
    assert {name: len(chosen) for name, chosen in pairs.items()} == {"smt": 3, "llc": 3, "node": 3,
                                                                   "remote": 3}  # fmt: skip
    by_cpu = {cpu.cpu: cpu for cpu in BIG.cpus}
    for name, chosen in pairs.items():
        assert all(host.distance(by_cpu[a], by_cpu[b]) == name for a, b in chosen)


STRESS = """stress-ng: info:  [1] cyclic:   50.00%:      11228 ns
stress-ng: info:  [1] cyclic:   99.00%:      48398 ns
stress-ng: metrc: [1] cyclic             8235      1.00      0.00      0.10      8218.29       792.7
"""
HISTOGRAM = """000001 000097\t000001
000002 000001\t000000
# Avg Latencies: 00002 00004
# Max Latencies: 00099 00007
# Histogram Overflows: 00001 00000
"""


@pytest.mark.parametrize(
    ("name", "output", "expected"),
    [
        ("stress-ng-cyclic", STRESS, {"": 8218.29, "p50": 11.228, "p99": 48.398}),
        ("cyclictest", HISTOGRAM, {"mean": 3.0, "longest": 99.0, "p50": 1.0, "p99": 2.0}),
        ("cyclictest", "# Histogram Overflows: 00009\n", {}),
        ("pi-stress", "Total inversion performed: 26500\n", {"": 13250.0}),
        ("hackbench-pipes-threads", "with 2 groups\nTime: 0.5\nTime: 1.5\n", {"": 16000.0}),
        ("hackbench-pipes-threads", "with 2 groups\nTime: 0.000\n", {}),
    ],
)
def test_output_of_workloads(name: str, output: str, expected: dict[str, float]) -> None:
    workload = next(workload for workload in workloads.WORKLOADS if workload.name == name)
    assert {part: value for part, _, value in workload.read(output, 2.0)} == expected


def test_this_machine_is_described_without_names() -> None:
    machine = host.Machine()
    this_host = machine.host(host.allowed_cpus())
    assert {cpu.cpu for cpu in this_host.cpus} == host.allowed_cpus()
    text = form.trial_text(replace(TRIAL, host=this_host, kernels=(machine.kernel(),), costs=None,
                                   figures=()))  # fmt: skip
    names = {os.uname().nodename, os.environ.get("USER", "")} - {""}
    assert not [name for name in names if len(name) > 4 and name in text]


def test_predictions_are_of_the_nearest_file_with_its_interval() -> None:
    rows = {row["name"]: row for row in stored.stored()}
    of = stored.Predictor(replace(BIG, cpus=_cpus_of(192)))
    assert of.why.startswith("machine file epyc-9654-2s, the same model")
    point = rows["epyc-9654-2s"]["curves"]["atomic-inc"][0]
    prediction = of.of(Figure("atomic-inc", "host", "ns per operation", (1.0,), point[0]))
    assert prediction == Predicted(point[1], point[2], point[3], "epyc-9654-2s")
    between = of.of(Figure("atomic-inc", "host", "ns per operation", (1.0,), 150))
    assert between is not None
    assert between.low < between.value < between.high
    # The interval of another model's file covers those of several.
    other = stored.Predictor(replace(BIG, cpus=_cpus_of(192), processor="AMD EPYC 9999"))
    wide = other.of(Figure("atomic-inc", "host", "ns per operation", (1.0,), 2))
    assert wide is not None
    assert "machine files like it" in other.why
    assert of.of(Figure("fork", "host", "s", (1.0,))) is None
    assert of.of(Figure("atomic-inc", "host", "ns per operation", (1.0,), 8000)) is None


@pytest.mark.skipif(not sim_binary().is_file(), reason="the simulator is not built")
@pytest.mark.parametrize(("op", "threads"), [("atomic-inc", 2), ("claim-slots", 64)])
def test_stored_predictions_are_the_simulators(op: str, threads: int) -> None:
    """After a change of the model scripts/trial_predictions.py makes them anew."""
    row = next(row for row in stored.stored() if row["name"] == "graviton3-64")
    experiment, machine = load_experiment("primitives"), load_machine(row["name"])
    point = Point(experiment.variant(op), threads)
    (raw,) = execute(RunPlan(RunRequest(experiment, machine, 64), 64, (point,)))
    simulated = point_metrics(experiment, point, raw)["ns_per_op"]
    kept = next(entry for entry in row["curves"][op] if entry[0] == threads)
    assert kept[1] == float(f"{simulated:.3g}")


def _cpus_of(cores: int) -> tuple[Cpu, ...]:
    """Return the CPUs of two packages whose caches have eight cores each, two threads per core."""
    half = cores // 2
    return tuple(
        Cpu(n, n % cores // half, n % cores // half, n % cores // 8, n % cores, n % cores)
        for n in range(2 * cores)
    )


def test_the_first_line_of_the_page_is_true_alone() -> None:
    good = replace(TRIAL.figures[0], predicted=Predicted(90.0, 60.0, 140.0, "epyc-9654-2s"))
    bad = replace(good, threads=1, predicted=Predicted(25.0, 20.0, 30.0, "epyc-9654-2s"))
    wide = replace(good, threads=4, runs=(1.0, 50.0, 100.0))
    made = page.page(replace(TRIAL, figures=(good, bad, wide)))
    assert made.splitlines()[0] == (
        "1 of 2 figures lie inside their predicted 90% intervals; the worst is contended add on 1 "
        "CPU: measured 100 ns per operation, predicted 25 (20 to 30, machine file epyc-9654-2s)."
    )
    rows = [line for line in made.splitlines() if line.startswith("contended add")]
    assert [row.split("  ")[0] for row in rows] == [
        "contended add on 1 CPU", "contended add on 4 CPUs", "contended add on 2 CPUs"
    ]  # fmt: skip
    assert rows[1].endswith("OUTSIDE, not judged")
    figures = replace(good, predicted=None, runs=(1.0,)), replace(wide, predicted=None)
    unpredicted = page.page(replace(TRIAL, figures=figures)).splitlines()
    assert [line.split("  ")[-1] for line in unpredicted[5:7]] == ["few runs", "not steady"]
    marked = replace(TRIAL, state=replace(TRIAL.state, battery=True), ended="interrupted")
    assert page.page(marked).splitlines()[0] == (
        "Nothing here judges the model (on battery): 2 figures measured, and the trial ended early "
        "(interrupted)."
    )


KERNELS = (form.Kernel("stock", "6.12.1"), form.Kernel("shard", "6.12.1"))


def test_comparison_of_two_kernels_in_one_trial_or_two() -> None:
    stock = Figure("fork", "stock", "events per second", (100.0, 101.0, 99.0))
    shard = replace(stock, kernel="shard", runs=(150.0, 151.0, 149.0))
    both = replace(TRIAL, kernels=KERNELS, figures=(stock, shard))
    text = compare.comparison([("a.json", both)])
    assert "1 of 1 figures with two runs or more differ (the 95%" in text
    assert "1.500  1.488 to 1.513  differs" in text
    same = compare.comparison([("a.json", TRIAL), ("b.json", TRIAL)])
    assert "0 of 2 figures with two runs or more differ" in same
    assert "a.json: host  b.json: host" in same
    with pytest.raises(UserError, match="only one kernel was measured"):
        compare.comparison([("a.json", TRIAL)])


def test_a_ratio_is_a_mean_on_a_logarithmic_scale() -> None:
    """Runs of one trial are pairs; those of two trials are not, so their interval is wider."""
    stock = Figure("fork", "stock", "s", (100.0, 110.0, 90.0))
    shard = replace(stock, kernel="shard", runs=(150.0, 165.0, 140.0))
    logs = [math.log(b / a) for a, b in zip(stock.runs, shard.runs)]
    for paired, squares in (
        (True, variance(logs) / 3),
        (False, sum(variance(map(math.log, figure.runs)) / 3 for figure in (stock, shard))),
    ):
        ratio = compare.ratio_of(stock, shard, paired)
        half = 4.303 * squares**0.5  # Student's distribution, two degrees of freedom
        assert ratio.ratio == pytest.approx(math.exp(mean(logs)))
        assert ratio.low == pytest.approx(math.exp(mean(logs) - half))
        assert ratio.high == pytest.approx(math.exp(mean(logs) + half))
        assert ratio.differs


def test_what_has_no_pair_or_no_interval() -> None:
    def figure(kernel: str, *runs: float, part: str = "") -> Figure:
        return Figure("cyclictest", kernel, "us", runs, part=part)

    figures = (
        figure("stock", 10.0, 20.0), figure("shard", 20.0),  # the power failed
        figure("stock", 0.0, 1.0, part="p99"), figure("shard", 1.0, 1.0, part="p99"),
        figure("stock", 1.0, part="mean"),
    )  # fmt: skip
    trial = replace(TRIAL, kernels=KERNELS, figures=figures)
    ratio, none = compare.ratios(trial, "stock", trial, "shard")
    assert ratio.ratio == pytest.approx(2.0)
    assert (ratio.low, ratio.differs, none.ratio) == (None, False, None)


COSTED = replace(
    TRIAL,
    host=BIG,
    costs=Costs(
        {"cycle": 0.25, "load_hit": 1.0, "store": 0.3, "locked": 5.0, "fence": 5.0,
         "timestamp": 6.0, "memory": 90.0},
        tuple(
            (a.cpu, b.cpu, {"smt": 5.0, "llc": 20.0, "node": 50.0, "remote": 100.0}[
                host.distance(a, b)])
            for a in BIG.cpus for b in BIG.cpus if a.cpu < b.cpu
        ),
    ),
)  # fmt: skip


def test_a_machine_file_is_made_of_it(tmp_path: Path) -> None:
    made = machine_file.machine_of(COSTED)
    path = tmp_path / "made.toml"
    path.write_text(made.text)
    machine = load_machine(str(path))
    assert machine.name == "amd-epyc-9654-96-core-processor"
    assert (len(machine.places), machine.data["clock_ghz"]) == (16, 4.0)
    assert machine.data["latency_ns"]["remote"] in (100.0, {"value": 100.0})
    with pytest.raises(UserError, match="the trial lacks the costs of"):
        machine_file.machine_of(TRIAL)
    with pytest.raises(UserError, match="which a machine file needs"):
        machine_file.machine_of(replace(TRIAL, costs=None))


def test_curves_for_fidelity_have_only_what_may_judge(tmp_path: Path) -> None:
    steady = replace(TRIAL.figures[1], runs=(40.0, 40.0, 40.0))
    table = machine_file.curves_of(replace(COSTED, figures=(TRIAL.figures[0], steady)), tmp_path)
    first, second = table["curve"]
    assert (first["op"], first["kind"], first["points"]) == ("atomic-inc", "locked", [[2, 100.5]])
    assert (second["op"], second["pairs"]) == ("cas", [["llc", 40.0]])
    assert (first["calibrated"], second["calibrated"]) == (False, True)
    machine = load_machine(str(tmp_path / f"{first['machine']}.toml"))
    # Threads take CPU numbers in order there: one of each core first.
    assert machine.places[0].core != machine.places[1].core
    with pytest.raises(UserError, match="cannot judge the model: no figure"):
        machine_file.curves_of(replace(COSTED, figures=(TRIAL.figures[1],)), tmp_path)
    with pytest.raises(UserError, match="cannot judge the model: under load"):
        machine_file.curves_of(replace(COSTED, state=form.State(0.3, 0, False)), tmp_path)
