# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests every kind of page as a browser shows it. data/README.md describes the stored results."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from calling import call
from doctor_tree import Machine, Task, tar

CHROMIUM = shutil.which("chromium")
DATA = Path(__file__).resolve().parent / "data"
TWO = ("--variant", "global", "--variant", "llc")
# The commands whose results each page shows; a name is a stored result.
PAGES: dict[str, list[str | tuple[str, ...]]] = {
    "runs": [
        ("run", "cpumask-yield", "--cpus", "16", *TWO, "--uncertainty", "64"),
        ("run", "atomic-inc", "--cpus", "16"),
        ("run", "ping-pong"),
        ("run", "cpumask-yield", "--machine", "xeon-480", *TWO),
        ("run", "cpumask-yield", "--machine", "future-2048", *TWO),
    ],
    "measured": [
        ("bench", "ping-pong"), "validate.json",
    ],
    "lines": ["rt.json", "record.json", "kernel.json"],
}  # fmt: skip


@pytest.fixture(params=[*PAGES, "doctor"])
def page(
    request: pytest.FixtureRequest,
    stand_ins: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Path:
    """A page of one kind, made of results of the stand-ins for the C tools."""
    monkeypatch.setenv("FAKE_SIM", "inputs")
    made = tmp_path / "page.html"
    if request.param == "doctor":
        assert call(capsys, "doctor", _host(tmp_path), "--html", made).status == 4
        return made
    files = []
    for number, words in enumerate(PAGES[str(request.param)]):
        if isinstance(words, str):
            files.append(DATA / words)
            continue
        files.append(tmp_path / f"{number}.json")
        assert call(capsys, *words, "--out", files[-1]).status == 0
    assert call(capsys, "report", *files, "--out", made).status == 0
    return made


def _host(folder: Path) -> Path:
    """A host whose real-time threads share a root domain, as collect.sh finds it."""
    machine = Machine(
        tasks=[
            Task(100 + n, f"rt{n}", allowed=f"{4 + n}-{7 + n}", voluntary=160_000)
            for n in range(12)
        ]
    )
    return tar(folder, machine)


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium")
@pytest.mark.parametrize("width", [1280, 390], ids=["desk", "phone"])
def test_a_browser_shows_the_page(page: Path, tmp_path: Path, width: int) -> None:
    picture = tmp_path / "page.png"
    words = [
        str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
        f"--window-size={width},3000", f"--user-data-dir={tmp_path / 'browser'}",
        f"--screenshot={picture}", page.as_uri(),
    ]  # fmt: skip
    subprocess.run(words, check=True, capture_output=True, timeout=300)
    pixels = imread(picture)[..., :3]
    assert pixels.shape[1] == width
    # Text is everywhere: no quarter of the first screen is of one colour.
    assert all(np.ptp(part) > 0.5 for part in np.array_split(pixels[:900], 4))


def test_a_page_asks_for_nothing_and_is_small(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not re.search(r'(src|href)="(?!data:|#)', text)
    assert "url(" not in text
    assert len(text) < 2_000_000
    assert re.search(r"<dd>.*\?.*</dd>\s*<dt>Answer</dt>", text)
