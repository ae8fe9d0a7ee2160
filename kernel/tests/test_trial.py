# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A trial of two kernels runs both in turn, survives reboots, and compares the results."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from cli.commands.main import main
from common.errors import UserError
from kernel.layout import Layout
from kernel.trial import facts, image, inside, installed, running
from kernel.trial.image import TrialRequest, kexec_script, make_trial, menu
from kernel.trial.log import Log, console_text, in_console, order_of, parse, seconds_of, settings_of
from kernel.trial.predict import predicted_ratios
from kernel.trial.workloads import WORKLOADS, chosen, instances
from trial.compare import comparison
from trial.form import Cpu, Figure, Host, Kernel, State, Trial, read_trial
from trial.host import Machine
from trial.measuring import EndError, Watch
from trial.workloads import EVENTS, Workload

TWO = ("stock", "series")
# Two sockets with a cache of two cores each, two threads in a core; siblings are 4 apart.
CPUS = tuple(Cpu(n, n % 4 // 2, n % 4 // 2, n % 4 // 2, n % 4, n % 4) for n in range(8))
HOST = Host("A processor", "x86_64", True, True, CPUS)


def trial_of(*figures: Figure, host: Host = HOST) -> Trial:
    kernels = tuple(Kernel(name, "7.3.4") for name in TWO)
    return Trial("1.0", host, kernels, State(0, 0, False), figures)


def figure(kernel: str, *runs: float, name: str = "cyclictest", part: str = "") -> Figure:
    return Figure(name, kernel, EVENTS, runs, part=part)


def test_each_pair_of_turns_has_the_other_order() -> None:
    assert order_of(TWO, 3) == ["stock", "series", "series", "stock", "stock", "series"]
    assert seconds_of(10, 8, 12) == 5
    assert seconds_of(1, 40, 12) == 1
    assert seconds_of(1, 2, 0) == 24


def test_the_page_says_first_that_a_guest_measures_nothing() -> None:
    pair = figure("stock", 10.0, 10.0), figure("series", 20.0, 20.0)
    lines = comparison([("a", trial_of(*pair))], {("cyclictest", ""): 3.0}).splitlines()
    assert lines[0] == "NOT A MEASUREMENT: an emulator ran this machine."
    assert lines[-1].split()[-3:] == ["differs", "3.000", "OUTSIDE"]
    real = trial_of(*pair, host=Host("A processor", "x86_64", False, False, CPUS))
    assert comparison([("a", real)]).startswith("a: A processor, 8 CPUs; stock is Linux 7.3.4, ")
    lone = Trial("1.0", HOST, (Kernel("stock", "7.3.4"),), State(0, 0, False), pair[:1])
    assert inside.shown(lone).startswith("Nothing here judges the model (emulated")


def test_a_log_goes_on_after_its_last_whole_line() -> None:
    log = Log("me")
    log.boot(Kernel("series", "7.3.4", {"HRTICK": False}), 0.5, True)
    log.run(1, "stress-ng-fork", [("", EVENTS, 2.0)], hot=True)
    log.boot(Kernel("stock", "7.3.4"), 0.0, False)
    log.run(0, "stress-ng-fork", [("", EVENTS, 1.0)], hot=False)
    again = parse(log.text() + '{"turn": 2, "work', "me")
    assert again == log
    assert again.done(0) == {"stress-ng-fork"}
    assert not again.done(2)
    made = again.trial("1.0", HOST, order_of(TWO, 1), "power failed")
    assert [kernel.name for kernel in made.kernels] == list(TWO)
    assert {row.kernel: row.runs for row in made.figures} == {"stock": (1.0,), "series": (2.0,)}
    assert made.state == State(0.5, 0.5, True, hot=True)
    assert "too hot" in made.marks
    assert read_trial(in_console(f"boot\r\n{console_text(made)}x").encode(), "x") == made
    for other in ("", "[1]\n", '{"id": "other"}\n', "\0\n"):
        assert parse(other, "me") is None


def test_instances_lie_in_one_cache_or_on_both_sides_of_a_border() -> None:
    cache = {cpu.cpu: cpu.llc for cpu in CPUS}
    aligned, straddling = instances(CPUS), instances(CPUS, straddling=True)
    assert [{cache[cpu] for cpu in instance} for instance in aligned] == [{0}, {1}]
    assert [{cache[cpu] for cpu in instance} for instance in straddling] == [{0, 1}, {0, 1}]
    assert instances(CPUS[:1]) == [[0]]


@pytest.mark.parametrize(
    ("name", "output", "expected"),
    [("encode-aligned", "frames 30\n", {"": 15.0}), ("encode-aligned", "no frames\n", {})],
)
def test_readings(name: str, output: str, expected: dict[str, float]) -> None:
    assert {part: value for part, _, value in WORKLOADS[name].read(output, 2.0)} == expected


def test_a_run_has_the_kernels_counts_or_says_why_there_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def workload(script: str) -> Workload:
        return Workload(
            "stress-ng-fork", lambda *_: ("sh", "-c", script), lambda *_: iter([("", EVENTS, 4)])
        )

    watch = Watch(Machine(), busy=True)
    counts = {part: value for part, _, value in running.measure(workload("echo"), CPUS, 1, watch)}
    assert {"", "switches", "call-interrupts"} <= set(counts)
    with pytest.raises(EndError, match="workload stress-ng-fork: status 3: no"):
        running.measure(workload("echo no; exit 3"), CPUS, 1, watch)
    # Software's clock, twice. Regression: only the first event was counted.
    monkeypatch.setattr("trial.events.codes", lambda: {"one": (1, 0), "two": (1, 0)})
    counts = {
        part: value for part, _, value in running.measure(workload("echo"), CPUS[:1], 1, watch)
    }
    assert ("one" in counts) == ("two" in counts)


def test_a_hot_machine_marks_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "measure", lambda *_: [("", EVENTS, 1.0)])
    watch: Any = SimpleNamespace(heat=lambda: "a sensor shows 99 degrees")
    log, messages = Log("me"), list[str]()
    running.run_turn(log, 0, ["stress-ng-fork"], CPUS, 1, watch, messages.append, lambda: None)
    assert log.lines[-1]["hot"]
    assert messages[-1] == "stress-ng-fork: a sensor shows 99 degrees; the trial is marked"


def test_a_trial_of_the_booted_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def runs(log: Log, turn: int, names: Sequence[str], *_: Any) -> None:
        if turn == 2:
            raise EndError("not idle", "other programs use 9% of the CPUs")
        for name in names:
            log.run(turn, name, [("", EVENTS, 1.0)], hot=False)

    monkeypatch.setattr(installed, "build_guest", lambda _: {"a": tmp_path / "a"})
    monkeypatch.setattr(installed, "run_turn", runs)
    monkeypatch.setattr(Watch, "look", lambda *_: None)
    monkeypatch.setattr("platform.release", lambda: "7.3.4-schedshard")
    monkeypatch.setenv("PATH", os.environ["PATH"])
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    (tmp_path / "stress-ng").touch(0o755)
    lines: list[str] = []
    layout = Layout(work=tmp_path)
    made, why = installed.run_here(layout, 1, 4, ["encode-aligned", "stress-ng-fork"], lines.append)
    assert lines == ["left out: encode-aligned, because trial-encode is not here"]
    assert [(row.name, row.kernel, len(row.runs)) for row in made.figures] == [
        ("stress-ng-fork", "schedshard", 2)
    ]
    assert (made.ended, why) == ("not idle", "other programs use 9% of the CPUs")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(UserError, match="which only root may: use sudo"):
        installed.run_here(layout, 1, 4, [], lines.append)


def test_workloads_of_small_machines() -> None:
    assert set(WORKLOADS) - set(chosen(CPUS[:1])) == {"push-walk"}
    assert chosen(CPUS, ["stress-ng-fork"]) == ["stress-ng-fork"]
    with pytest.raises(UserError, match="did you mean 'stress-ng-fork'"):
        chosen(CPUS, ["stress-ng-forkz"])
    for workload in WORKLOADS.values():
        assert all(isinstance(word, str) for word in workload.argv(CPUS, 1))


def test_the_menu_and_the_script_name_both_kernels(tmp_path: Path) -> None:
    request = TrialRequest(parameters=("no_timer_check",))
    text = menu(request, "/boot")
    assert text.count("menuentry") == 5
    assert "linux /boot/series rdinit=/init" in text
    words = next(line for line in text.splitlines() if "trial.kexec=off" in line)
    assert settings_of(words) == {"kernel": "stock", "kexec": "off"}
    script = tmp_path / "kexec.sh"
    script.write_text(kexec_script(request))
    assert subprocess.run(["sh", "-n", script], check=False).returncode == 0
    assert " no_timer_check trial.kernel=stock" in script.read_text()


class PowerError(Exception):
    """A boot of the fake machine has ended."""


class FakeMachine:
    """A machine with a partition, on which boots of a trial run until it is finished."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, pairs: int, refusal: str = "") -> None:
        self.kept: dict[str, str] = {}
        self.messages: list[str] = []
        self.ran: list[tuple[str, str]] = []
        self.boots: list[str] = []
        self.fails_after = 10**9
        self.log: Log | None = None
        self.settings = {
            "id": "me", "kernels": TWO, "minutes": 1, "pairs": pairs, "version": "1.0",
            "workloads": ["cyclictest", "stress-ng-fork"],
        }  # fmt: skip
        monkeypatch.setattr(inside, "say", self.messages.append)
        monkeypatch.setattr(inside, "_refusal", lambda: refusal)
        monkeypatch.setattr(inside, "_switch", self.switch)
        monkeypatch.setattr(inside, "_print", lambda made: self.messages.append("printed"))
        monkeypatch.setattr(inside, "Machine", self.idle)
        monkeypatch.setattr(running, "measure", self.measure)
        monkeypatch.setattr(facts, "read_host", lambda: HOST)
        monkeypatch.setattr(facts, "read_kernel", lambda name: Kernel(name, "7.3.4"))
        monkeypatch.setattr("time.sleep", lambda seconds: None)

    @staticmethod
    def idle() -> Any:
        return SimpleNamespace(
            load=lambda seconds: 0.0, battery=lambda: False, throttled=lambda: 0, hot=lambda: ""
        )

    def switch(self, system: inside.System, name: str) -> None:
        self.log = parse(system.log.text(), "me")
        self.boots.append(name)
        raise PowerError

    def measure(self, workload: Any, cpus: Sequence[Cpu], seconds: int, watch: Watch) -> Any:
        if len(self.ran) == self.fails_after:
            self.fails_after, self.log = 10**9, None
            raise PowerError
        self.ran.append((self.kernel, next(n for n, w in WORKLOADS.items() if w is workload)))
        return [("", EVENTS, 1.0 + len(self.ran))]

    def boot(self, kernel: str, **parameters: str) -> None:
        """Boot once, by hand or from the kernel before."""
        self.kernel = kernel
        log = self.log or parse(self.kept.get("trial.log", ""), "me") or Log("me")
        self.log = None
        partition: Any = SimpleNamespace(device="/dev/x", write=self.kept.update)
        system = inside.System(self.settings, {"kernel": kernel, **parameters}, partition, log)
        try:
            inside._go_on(system)
        except PowerError:
            if self.log is not None:
                self.boot(self.boots[-1], stick="there")

    @property
    def result(self) -> Trial:
        return read_trial(self.kept["trial.json"].encode(), "trial.json")


def test_a_trial_runs_alone_from_its_first_boot(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = FakeMachine(monkeypatch, pairs=2)
    machine.boot("stock")
    assert machine.boots == ["stock", "series", "series", "stock"]
    assert len(machine.ran) == 8
    assert machine.result.ended == ""
    assert {row.kernel: len(row.runs) for row in machine.result.figures} == dict.fromkeys(TWO, 2)
    assert "printed" in machine.messages
    machine.boot("stock")
    assert len(machine.ran) == 8
    assert "finished" in machine.messages[-1]


def test_a_trial_goes_on_after_a_power_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = FakeMachine(monkeypatch, pairs=1)
    machine.fails_after = 3
    machine.boot("stock")
    assert machine.result.ended == "power failed"
    assert len(machine.ran) == 3
    machine.boot("stock")
    assert machine.ran == [(k, w) for k in TWO for w in ("stress-ng-fork", "cyclictest")]
    assert machine.result.ended == ""


def test_two_boots_by_hand_where_kexec_is_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = FakeMachine(monkeypatch, pairs=1, refusal="kexec_file_load: Operation not permitted")
    machine.boot("stock")
    assert "Operation not permitted): boot twice instead" in machine.messages[0]
    assert machine.messages[-1] == "boot again, and choose only series in the menu"
    assert machine.result.ended == "interrupted"
    machine.boot("series", kexec="off")
    assert machine.boots == []
    assert machine.result.ended == ""


def test_a_kernel_that_is_not_built(tmp_path: Path) -> None:
    layout = Layout(work=tmp_path)
    for tool in ("zstd", "grub-mkstandalone", "grub-mkrescue", "xorriso", "mformat"):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool} here")
    with pytest.raises(UserError, match="'stock' is not built in configuration 'trial'"):
        make_trial(layout, TrialRequest(), [tmp_path / "trial.efi"])
    assert not (tmp_path / "trial.efi").exists()


def test_another_users_link_beside_the_file_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("require", "kernel_paths", "system_files", "_image"):
        monkeypatch.setattr(image, name, lambda *_: {})
    monkeypatch.setitem(image._MAKERS, ".iso", lambda *words: words[-1].write_bytes(b"made"))
    victim, out = tmp_path / "victim", tmp_path / "trial.iso"
    victim.write_text("precious")
    out.with_name(".trial.iso.new").symlink_to(victim)
    make_trial(Layout(work=tmp_path), TrialRequest(), [out])
    assert (victim.read_text(), out.read_bytes()) == ("precious", b"made")


def test_a_result_beside_its_prediction(tmp_path: Path) -> None:
    small = Host("A processor", "x86_64", False, False, CPUS[:4])
    made = trial_of(
        figure("stock", 1.0, name="stress-ng-mutex"), figure("series", 2.0, name="stress-ng-mutex"),
        host=small,
    )  # fmt: skip
    ratio = dict(predicted_ratios(made, "epyc-7763-2s"))
    assert list(ratio) == [("stress-ng-mutex", "")]
    assert ratio["stress-ng-mutex", ""] > 1
    with pytest.raises(UserError, match="--machine"):
        next(predicted_ratios(made, None))
    path = tmp_path / "console"
    path.write_text(console_text(made))
    shown = CliRunner().invoke(main, ["kernel", "trial", "--predict", str(path)])
    assert "stress-ng-mutex" in shown.output
    assert json.loads(in_console(path.read_text()))["version"] == "1.0"


def test_a_trial_of_any_variant() -> None:
    trial = ["kernel", "trial", "--dry-run", "--pairs", "1", "--variant"]
    shown = CliRunner().invoke(main, [*trial, "nohz-slots"])
    assert shown.output.startswith("kernels in this order: stock nohz-slots\n")
    with pytest.raises(UserError, match="name another kernel"):
        CliRunner().invoke(main, [*trial, "stock"], catch_exceptions=False)
