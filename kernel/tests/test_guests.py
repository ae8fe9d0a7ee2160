# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Guests of the kernel that SCHEDSHARD_GUESTS names contend on the expected lines."""

import os
from typing import Any

import pytest

from kernel.layout import Layout
from kernel.profile.c2c import C2cRequest, built_kernels, one_kernel
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
    """Stock takes two modified lines of it from the other socket."""
    report = lines_of(layout, "cyclic")
    assert report["wake_ups"] >= 500
    lines = report["hitm_a_wake_up"].get("root domain", {"hitm_remote": 0.0})["hitm_remote"]
    assert lines <= 0.05 if VARIANT == "shard" else lines >= 1
