# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Guests of the kernel that SCHEDSHARD_GUESTS names contend on the expected lines."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kernel.layout import Layout
from kernel.profile.c2c import C2cRequest, built_kernels, one_kernel
from kernel.profile.compare import report_on
from kernel.profile.program import GuestRequest
from kernel.source.base import layout_for
from model.machines.presets import load_machine, machine_topology
from record.shape import usual_shape

VARIANT = os.environ.get("SCHEDSHARD_GUESTS", "")
pytestmark = pytest.mark.skipif(not VARIANT, reason="SCHEDSHARD_GUESTS names no built kernel")

# Modified lines found in another cache, per operation, on 2 sockets with a cache of 4 cores each.
# They follow from the program, or for the yield experiment from `run cpumask-yield`.
KNOWN = {
    "share-none": 0.0,
    "share-false": 1.0,
    "share-true": 1.0,
    "yield-global": 0.979,
    "yield-half": 0.822,
    "yield-byte": 0.0,
}
# Threads neither begin nor end at the same time, and the guest has interrupts. In a yield, siblings
# may meet one after the other.
TOLERANCE, YIELDS, NOISE = 0.05, 0.2, 0.01


@pytest.fixture(scope="module")
def layout() -> Layout:
    return layout_for(os.environ.get("SCHEDSHARD_LINUX"))


def lines_of(layout: Layout, workload: str) -> dict[str, Any]:
    """The report of `kernel c2c` for a workload on 16 CPUs."""
    machine = load_machine("epyc-7763-2s")
    kernels = built_kernels(layout, [VARIANT], "lab")
    request = C2cRequest(kernels, usual_shape(16), machine, workload)
    result = one_kernel(layout, request, kernels[0], machine_topology(machine), lambda _: None)
    assert not result.partial
    return result.to_data()


@pytest.mark.parametrize("workload", KNOWN)
def test_lines_of_a_program_with_known_sharing(layout: Layout, workload: str) -> None:
    report = lines_of(layout, workload)
    assert report["operations"] > 0
    lines = report["hitm_total"] / report["operations"]
    tolerance = YIELDS if workload.startswith("yield") else TOLERANCE
    assert lines == pytest.approx(KNOWN[workload], rel=tolerance, abs=NOISE)


def test_a_wake_up_of_the_series_takes_no_line_of_the_root_domain(layout: Layout) -> None:
    """Stock takes two modified lines of the root domain from the other socket."""
    report = lines_of(layout, "cyclic")
    assert report["wake_ups"] >= 500
    lines = report["hitm_a_wake_up"].get("root domain", {"hitm_remote": 0.0})["hitm_remote"]
    assert lines <= 0.05 if VARIANT == "shard" else lines >= 1


def test_a_programs_calls_contend_on_an_object_that_no_symbol_leads_to(
    layout: Layout, tmp_path: Path
) -> None:
    """Regression: the window began before the model did, and some processes spent it waiting."""
    calls = tmp_path / "calls"
    subprocess.run(
        ["gcc", "-O2", "-static", "-D_GNU_SOURCE", "-Ikernel/guest", "-o", str(calls),
         "kernel/tests/whole/calls.c"],
        check=True,
    )  # fmt: skip
    guest = GuestRequest(layout, built_kernels(layout, [VARIANT], "lab")[0], usual_shape(16))
    words = (str(calls), "dup", "16", "100")
    variant = report_on(guest, "epyc-7763-2s", words, 1, marks=True).to_data()["variants"][0]
    assert variant["runs"][0]["operations"] == pytest.approx(1600, rel=0.2)
    line = variant["lines"][0]
    assert line["object"] == "kernel: struct file"
    assert line["accesses"][0]["field"].startswith("f_")  # f_ref, or f_count before Linux 6.13
