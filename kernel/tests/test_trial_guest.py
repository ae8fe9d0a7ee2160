# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A whole trial compares stock with the kernel that SCHEDSHARD_GUESTS names, in a guest.

SCHEDSHARD_TRIAL names another kernel than stock.
"""

import os
from pathlib import Path

import pytest

from common.paths import VERSION
from kernel.arch import X86
from kernel.guest.boot import Emulator, Ending, Limits, clock_parameters, emulate, machine_argv
from kernel.guest.programs import host_tsc_khz
from kernel.source.base import layout_for
from kernel.trial.image import STOCK, TrialRequest, make_trial
from kernel.trial.log import in_console
from record.shape import usual_shape
from trial.form import read_trial

VARIANT = os.environ.get("SCHEDSHARD_GUESTS", "")
FIRST = os.environ.get("SCHEDSHARD_TRIAL", STOCK)
pytestmark = pytest.mark.skipif(not VARIANT, reason="SCHEDSHARD_GUESTS names no built kernel")
WORKLOADS = ("stress-ng-cyclic", "cyclictest", "encode-unpinned")


def test_a_trial_boots_runs_both_kernels_and_compares_them(tmp_path: Path) -> None:
    layout = layout_for(os.environ.get("SCHEDSHARD_LINUX"))
    image, log = tmp_path / "trial.iso", layout.log("trial")
    clock = clock_parameters(host_tsc_khz(layout) or 2_000_000, 100)
    guest = (*X86.parameters[1:], *clock)
    request = TrialRequest((FIRST, VARIANT), "lab", 1, 1, VERSION, WORKLOADS, guest)
    make_trial(layout, request, [image])
    argv = [*machine_argv(usual_shape(2), log, Emulator(extra_mb=512)), "-cdrom", str(image)]
    ended = emulate(layout, log, argv, Limits(silence=300, total=1500))
    text = "\n".join(ended.lines[-40:])
    assert ended.ending is Ending.OFF, text
    trial = read_trial(in_console("\n".join(ended.lines) + "\n").encode(), "the console")
    assert trial.host.emulated
    assert not trial.ended
    assert [kernel.name for kernel in trial.kernels] == [FIRST, VARIANT]
    rates = {(figure.name, figure.kernel) for figure in trial.figures if not figure.part}
    assert {(name, kernel) for name in WORKLOADS[::2] for kernel in (FIRST, VARIANT)} <= rates, text
    lines = [line.partition("trial: ")[2] for line in ended.lines if "trial: " in line]
    assert any(line.startswith("NOT A MEASUREMENT: an emulator") for line in lines), text
