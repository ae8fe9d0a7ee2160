# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A probe passes arguments to the emulator, and boots guests that idle or run stale code again."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from common.errors import UserError
from kernel.guest.boot import Booted, BootRequest, Emulation, Emulator, Ending, Step
from kernel.layout import Layout
from kernel.probe import probe as probe_module
from kernel.probe.probe import FORMAT, memory_folder, probe
from record.shape import usual_shape
from record.watch import Watch

IDLE = "[    1.5] # cyclic: c2c-run: not busy when the window opens: 31 switches in 20 ms"
STALE = "[    0.251342] Oops: int3: 0000 [#1] PREEMPT SMP"


class Guest:
    """A stand-in for boot(): for each call a line of the log, and whether the window opened."""

    def __init__(self, result: Path, *boots: tuple[str, bool]) -> None:
        self._result, self._boots = result, list(boots)
        self.requests: list[BootRequest] = []

    def __call__(
        self, layout: Layout, request: BootRequest, on_line: Callable[[str], None]
    ) -> Booted:
        self.requests.append(request)
        line, opened = self._boots.pop(0)
        if opened:
            self._result.write_text(f'{{"format": "{FORMAT}", "partial": false}}')
        return Booted(layout.log("guest"), Ending.OFF, 1.0, lines=[line])


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Start a guest whose boots are given, with or without a machine that it stands for."""
    monkeypatch.setattr(probe_module, "plugin_library", lambda name="schedshard-qemu": Path(name))

    def go(*boots: tuple[str, bool], slow: int = 1, machine: Path | None = None) -> Any:
        result = tmp_path / "raw.json"
        guest = Guest(result, *boots)
        monkeypatch.setattr(probe_module, "boot", guest)
        plan = BootRequest(
            tmp_path / "bzImage", "guest", usual_shape(16), (), (Step("a", ("/bin/a",), 9),),
            emulator=Emulator(Emulation.MULTI, slow),
        )  # fmt: skip
        done = probe(Layout(work=tmp_path), plan, Watch(result, machine=machine), lambda line: None)
        return guest, done

    return go


def test_stale_code_is_booted_again(
    start: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    guest, done = start((STALE, False), (STALE, False), ("fine", True))
    assert len(guest.requests) == 3
    assert done.raw["partial"] is False
    assert capsys.readouterr().err.count("booting again") == 2


def test_stale_code_is_not_booted_for_ever(start: Callable[..., Any]) -> None:
    words = "the emulator executed stale code of the guest, 5 times, log .*guest.log"
    with pytest.raises(UserError, match=words) as caught:
        start(*[(STALE, False)] * 5)
    assert caught.value.status == 1


def test_an_idle_guest_is_booted_again(
    start: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    guest, done = start((IDLE, True), ("fine", True))
    assert len(guest.requests) == 2
    assert done.raw["partial"] is False
    assert "not busy when its window opened (31 switches in 20 ms): boot" in capsys.readouterr().err
    with pytest.raises(UserError, match=r"\(31 switches in 20 ms\), 5 times") as caught:
        start(*[(IDLE, True)] * 5)
    assert caught.value.status == 1
    # The measurement of an idle guest is deleted.
    assert not (tmp_path / "raw.json").exists()


def test_other_deaths_count(start: Callable[..., Any]) -> None:
    with pytest.raises(UserError, match="the guest ended before the measured window"):
        start(("Kernel panic - not syncing", False))
    # A guest that died after its window opened is not booted again either.
    guest, _ = start((STALE, True))
    assert len(guest.requests) == 1


def test_time_is_the_models_where_there_is_one(start: Callable[..., Any], tmp_path: Path) -> None:
    guest, _ = start(("fine", True), machine=tmp_path / "m.toml")
    assert guest.requests[0].emulator.environment == {
        "LD_PRELOAD": "schedshard-guest-clock", "SCHEDSHARD_SLOW": "1",
    }  # fmt: skip
    guest, _ = start(("fine", True))
    assert guest.requests[0].emulator.environment == {}
    guest, _ = start(("fine", True), slow=40)
    assert guest.requests[0].emulator.environment["SCHEDSHARD_SLOW"] == "40"


def test_memory_goes_where_there_is_room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(probe_module, "_MEMORY", tmp_path)
    assert memory_folder(1) == str(tmp_path)
    assert memory_folder(1 << 40) == tempfile.gettempdir()
    monkeypatch.setattr(probe_module, "_MEMORY", tmp_path / "none")
    assert memory_folder(1) == tempfile.gettempdir()
