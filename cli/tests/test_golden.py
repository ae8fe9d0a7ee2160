# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compares what verbs print and pages say with files, which `pytest --update-golden` writes.

The C tools are stand-ins, so the figures mean nothing.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from common.paths import ROOT
from conftest import Cli, Golden
from html_page import read_page

STORED = ROOT / "report/tests/data"
TWO = ("--variant", "global", "--variant", "llc")
RUNS: dict[str, tuple[str, ...]] = {
    "yield": ("run", "cpumask-yield"),
    "samples": ("run", "cpumask-yield", "--cpus", "16", *TWO, "--uncertainty", "20"),
    "curve": ("run", "atomic-inc", "--cpus", "16"),
    "figures": ("run", "figures", "--variant", "stock", "--variant", "pad"),
    "primitives": ("run", "primitives", "--op", "cas-loop", "--op", "spinlock", "--cpus", "16"),
    "ping-pong": ("run", "ping-pong", "--op", "cas", "--op", "read-cas"),
    "measured": ("bench", "primitives", "--op", "spinlock", "--op", "refcount"),
    "measured-pairs": ("bench", "ping-pong"),
}


def lasting(text: str) -> str:
    """Return a text without what differs between two runs, checkouts and machine files."""
    text = re.sub(r"[\d.]+ CPU seconds", "N CPU seconds", text)
    text = re.sub(r"\b[0-9a-f]{12,64}(-dirty)?\b", "HASH", text)
    return re.sub(r"(schedshard|\|) \d+\.\d+\.\d+\S*", r"\1 VERSION", text)


@pytest.mark.usefixtures("figures")
@pytest.mark.parametrize("name", RUNS)
def test_a_result(
    cli: Cli, golden: Golden, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The terminal, and for some kinds the page of the saved result."""
    monkeypatch.setenv("FAKE_SIM", "inputs" if name == "samples" else "")
    saved, page = tmp_path / "result.json", tmp_path / "page.html"
    shown = cli(*RUNS[name], "--out", saved)
    assert shown.status == 0
    assert cli("report", saved, "--out", page).status == 0
    words = read_page(page)
    more = f"\n--- the page ---\n{words}" if name in ("samples", "figures", "measured") else ""
    text = lasting(shown.out + more)
    for what, value in json.loads(saved.read_text()).get("host", {}).items():
        text = text.replace(str(value), what.upper()) if what in ("cpu", "kernel") else text
    golden(f"{name}.txt", text)


def test_cache_lines(cli: Cli, golden: Golden, tmp_path: Path) -> None:
    shown, page = cli("record", "show", STORED / "record.json"), tmp_path / "page.html"
    assert cli("report", STORED / "record.json", "--out", page).status == 0
    golden("c2c.txt", lasting(f"{shown.out}\n--- the page ---\n{read_page(page)}"))


def test_other_machines_share_a_section(cli: Cli, golden: Golden, tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.json" for name in ("xeon-480", "future-2048")]
    for path in files:
        assert cli("run", "cpumask-yield", "--machine", path.stem, *TWO, "--out", path).status == 0
    page = tmp_path / "page.html"
    assert cli("report", *files, STORED / "validate.json", "--out", page).status == 0
    golden("machines.txt", lasting(read_page(page)))


def test_a_sweep(cli: Cli, golden: Golden, tmp_path: Path) -> None:
    saved = tmp_path / "s.parquet"
    shown = cli(
        "sweep", "--experiment", "cpumask-yield", "--machine", "epyc-7763-2s", "--cpus", "16",
        "--cpus", "64", *TWO, "--seeds", "2", "--out", saved,
    )  # fmt: skip
    golden("sweep.txt", lasting(shown.out))
    golden("compare.txt", cli("compare", f"{saved}:global", f"{saved}:llc").out)


def test_a_narrow_terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.commands.options._PLAIN_WIDTH", 80)
    lines = cli(*RUNS["yield"]).out.splitlines()
    assert 60 < max(map(len, lines)) <= 80
