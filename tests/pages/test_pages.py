# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Every kind of page in a real browser: phone, desktop, dark, light, keyboard and paper.

Most pages show results of the stand-ins for the tools. data/README.md describes the stored ones.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest
from browser import A4, CHROMIUM, CONTRAST, DESK, DRIVER, PHONE, TOO_WIDE, Browser, browsing
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from cli.entry import run
from common.paths import ROOT
from common.show import plots
from common.show.drawing import Shown, csv_text, shown_svg
from doctor_tree import Machine, Task, build, collect

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="no chromium with its driver"
)
DATA = Path(__file__).resolve().parent / "data"
FAKES = ROOT / "tests/cli/fakes"
KINDS = ("yield", "curve", "rt", "singles", "machines", "sweep", "record", "kernel", "reproduce",
         "doctor")  # fmt: skip
MOST_BYTES = 2_000_000
CONTRAST_OF_TEXT = 4.5
SMALLEST_LETTERS = 6.0


def schedshard(*arguments: str | Path) -> None:
    status = run([str(argument) for argument in arguments])
    assert status in (0, 4), arguments  # 4: doctor has found something


def _reports(folder: Path) -> Iterator[tuple[str, list[Path]]]:
    """The files of each page that `report` makes."""

    def saved(name: str, *arguments: str | Path) -> Path:
        path = folder / name
        schedshard(*arguments, "--out", path)
        return path

    two = ("--variant", "global", "--variant", "llc")
    yield (
        "yield",
        [saved("y.json", "run", "cpumask-yield", "--cpus", "16", *two, "--uncertainty", "64")],
    )
    yield "curve", [saved("c.json", "run", "atomic-inc", "--cpus", "16")]
    yield "rt", [DATA / "rt.json"]
    yield "singles", [
        saved("p.json", "run", "primitives", "--op", "cas-loop", "--op", "spinlock",
              "--op", "refcount", "--op", "seqlock-read", "--cpus", "16"),
        saved("pp.json", "run", "ping-pong"),
        saved("bp.json", "bench", "primitives", "--op", "spinlock", "--op", "refcount"),
        saved("t.json", "topo", "--machine", "epyc-7763-2s"),
        DATA / "validate.json",
    ]  # fmt: skip
    yield (
        "machines",
        [
            saved(f"{name}.json", "run", "cpumask-yield", "--machine", name, *two)
            for name in ("xeon-480", "future-2048")
        ],
    )
    yield "sweep", [
        saved("s.parquet", "sweep", "--experiment", "cpumask-yield", "--machine", "epyc-7763-2s",
              "--cpus", "16", "--cpus", "64", *two, "--seeds", "2")
    ]  # fmt: skip
    yield "record", [DATA / "record.json"]
    yield "kernel", [DATA / "kernel.json"]


def _host(folder: Path) -> Path:
    """A host whose real-time threads share a root domain, as collect.sh finds it."""
    tasks = [
        Task(100 + n, f"rt{n}", allowed=f"{4 + n // 4 * 4}-{7 + n // 4 * 4}", voluntary=voluntary)
        for voluntary in (0, 160_000)
        for n in range(12)
    ]
    first = build(folder / "early", Machine(tasks=tasks[:12]))
    late = Machine(tasks=tasks[12:])
    late.uptime += 2.0
    second = build(folder / "late", late)
    made = folder / "host.tar"
    done = collect(first, "-o", made, second=second)
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture(scope="module")
def drawn() -> dict[str, list[plots.Plot]]:
    """The plots of each page."""
    return {}


@pytest.fixture(scope="module")
def made(
    tmp_path_factory: pytest.TempPathFactory, drawn: dict[str, list[plots.Plot]]
) -> Iterator[dict[str, Path]]:
    """Make a page of each kind, and keep the plots that were drawn in ``drawn``."""
    folder = tmp_path_factory.mktemp("pages")
    draw, show = plots.figure_svg, shown_svg
    figures: list[Figure] = []
    now: list[plots.Plot] = []

    def kept_figure(figure: Figure) -> str:
        figures.append(figure)
        return draw(figure)

    def kept(
        svg: str, title: str, columns: tuple[str, ...], rows: Sequence[Sequence[Any]]
    ) -> Shown:
        now.append(plots.Plot(figures[-1], columns, rows))
        return show(svg, title, columns, rows)

    pages = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCHEDSHARD_BUILD", str(FAKES))
        patch.setenv("XDG_DATA_HOME", str(folder / "data-home"))
        patch.setenv("FAKE_SIM", "inputs")
        patch.setattr(plots, "figure_svg", kept_figure)
        patch.setattr(plots, "shown_svg", kept)
        for kind, files in _reports(folder):
            pages[kind] = folder / f"{kind}.html"
            schedshard("report", *files, "--out", pages[kind])
            drawn[kind], now[:] = list(now), []
        schedshard("reproduce", "--quick", "--out", folder / "out")
        pages["reproduce"] = folder / "out/report.html"
        drawn["reproduce"], now[:] = list(now), []
        pages["doctor"] = folder / "doctor.html"
        schedshard("doctor", _host(folder), "--html", pages["doctor"])
        drawn["doctor"] = list(now)
        yield pages


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture(params=KINDS)
def page(request: pytest.FixtureRequest, made: dict[str, Path]) -> Path:
    return made[str(request.param)]


def test_a_page_is_small_and_silent_and_asks_for_nothing(browser: Browser, page: Path) -> None:
    assert page.stat().st_size < MOST_BYTES
    browser.look(DESK)
    browser.open(page, folds=True)
    console, asked = browser.logs()
    assert console == []
    assert [address for address in asked if address != page.as_uri()] == []


def test_a_page_begins_with_question_answer_and_interval(browser: Browser, page: Path) -> None:
    browser.look(DESK)
    browser.open(page)
    assert browser.ask("return document.querySelectorAll('details[open]').length") == 0
    order = browser.ask(
        "return [...document.querySelectorAll('h1, dl, details, figure, table, section')].map("
        "(e) => e.tagName + ' ' + e.className)"
    )
    assert order[0].strip() == "H1"
    assert order[1].startswith("DL lead")
    leads = browser.ask(
        "return [...document.querySelectorAll('header > dl.lead')].map("
        "(l) => [...l.children].map((e) => e.textContent))"
    )
    for asked, question, answer, said, interval, known in leads:
        assert (asked, answer, interval) == ("Asked", "Answer", "Interval")
        assert "?" in question
        assert said
        assert known.startswith("none") or re.search(r"\d.* to .*\d", known)
    top = browser.ask("return document.querySelector('.lead .interval').getBoundingClientRect().y")
    assert top < 900


def test_a_phone_scrolls_in_one_direction(browser: Browser, page: Path) -> None:
    browser.look(PHONE)
    for folds in (False, True):
        browser.open(page, folds=folds)
        assert browser.ask("return document.documentElement.scrollWidth") <= PHONE
        assert browser.ask(TOO_WIDE) == []
    letters = browser.ask(
        "return [...document.querySelectorAll('svg text')].map((t) => "
        "parseFloat(getComputedStyle(t).fontSize) * Math.abs(t.getScreenCTM().a || "
        "t.getScreenCTM().b))"
    )
    assert min(letters, default=SMALLEST_LETTERS) >= SMALLEST_LETTERS


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_stands_out(browser: Browser, page: Path, dark: bool) -> None:
    browser.look(DESK, dark=dark)
    browser.open(page, folds=True)
    found = browser.ask(CONTRAST, CONTRAST_OF_TEXT)
    assert found["bad"] == []
    assert found["texts"] > 10
    paper = browser.ask("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", paper)[:3])) < 3 * 64) == dark
    # Each colour has a light and a dark value: a fixed colour would be an oversight.
    fixed = browser.ask(
        "return [...document.querySelectorAll('figure svg [style]')].filter("
        "(e) => /#[0-9a-f]{3}/.test(e.getAttribute('style').replace(/url\\([^)]*\\)/g, '')))"
        ".map((e) => e.getAttribute('style'))"
    )
    assert fixed == []


def _numbers(text: str) -> list[float]:
    found = []
    for row in csv.reader(io.StringIO(text)):
        for cell in row:
            try:
                found.append(float(cell))
            except ValueError:
                continue
    return found


def test_every_plot_has_words_and_its_numbers(browser: Browser, page: Path) -> None:
    browser.look(DESK)
    browser.open(page)
    pictures = browser.ask(
        "return [...document.querySelectorAll('svg, img, canvas')].map((p) => "
        "[p.getAttribute('role'), p.getAttribute('aria-label') || p.getAttribute('alt'), "
        "[...(p.closest('figure')?.querySelectorAll('a[download]') || [])].map("
        "(a) => [a.download, a.href, a.textContent])])"
    )
    names = []
    for role, words, links in pictures:
        assert role == "img"
        assert len(words.split()) > 2
        [(name, link, said)] = links
        assert name.endswith(".csv")
        names.append(name)
        kind, _, data = link.partition(",")
        assert kind == "data:text/csv;charset=utf-8"
        head, *rows = csv.reader(io.StringIO(unquote(data)))
        assert len(head) == len(set(head)) > 1
        assert all(len(row) == len(head) for row in rows)
        assert said == f"Its {len(rows)} point{'' if len(rows) == 1 else 's'} as CSV"
        assert len(_numbers(unquote(data))) >= len(rows) > 0
    assert len(names) == len(set(names))


def _has_names(axis: Axis) -> bool:
    """Whether set_yticks() labelled the ticks: matplotlib then formats with a partial function."""
    formatter = axis.get_major_formatter()
    return isinstance(formatter, FuncFormatter) and isinstance(formatter.func, partial)


def _plotted(plot: plots.Plot) -> Iterator[float]:
    """Every number that a plot shows: coordinates of points, ends of bars and of ranges.

    Positions on an axis of names are not numbers of the result, nor are those of guide lines.
    """
    for axes in plot.figure.axes:
        if not axes.axison:
            continue  # a picture of boxes
        numbers = [
            number for number, axis in enumerate((axes.xaxis, axes.yaxis)) if not _has_names(axis)
        ]
        for line in axes.lines:
            if line.get_transform() == axes.transData:
                yield from np.asarray(line.get_xydata(), dtype=float)[:, numbers].ravel()
        for bars in axes.containers:
            if isinstance(bars, BarContainer):
                upright = bars.orientation == "vertical"
                yield from (float(b.get_height() if upright else b.get_width()) for b in bars)
        for collection in axes.collections:
            if isinstance(collection, LineCollection):
                for segment in collection.get_segments():
                    yield from np.asarray(segment, dtype=float)[:, numbers].ravel()


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize("kind", KINDS)
def test_the_csv_has_what_is_drawn(kind: str, drawn: dict[str, list[plots.Plot]]) -> None:
    # Doctor draws without matplotlib.
    assert drawn[kind] or kind in ("record", "kernel", "doctor")
    for plot in drawn[kind]:
        known = np.array(_numbers(csv_text(plot.columns, plot.rows)))
        shown = list(_plotted(plot))
        assert bool(shown) == any(axes.axison for axes in plot.figure.axes), plot.columns
        for value in shown:
            assert np.isclose(known, value, rtol=1e-9, atol=0).any(), (plot.columns, value)


def test_the_keyboard_opens_every_fold(browser: Browser, page: Path) -> None:
    browser.look(DESK)
    browser.open(page)
    browser.ask(
        "document.querySelectorAll('summary').forEach((s, i) => { s.dataset.fold = i; });"
        "document.activeElement.blur();"
    )
    folds = browser.ask("return document.querySelectorAll('summary').length")
    reached: set[str] = set()
    for _ in range(10 * folds + 100):
        if len(reached) == folds:
            break
        browser.key("Tab")
        fold = browser.ask("return document.activeElement.dataset?.fold ?? null")
        if fold is not None and fold not in reached:
            reached.add(fold)
            assert browser.ask(
                "const o = getComputedStyle(document.activeElement);"
                "return o.outlineStyle !== 'none' && parseFloat(o.outlineWidth) >= 1"
            )
            browser.key("Enter")
            assert browser.ask("return document.activeElement.parentElement.open")
    assert len(reached) == folds > 0


def test_a4_shows_the_whole_page(browser: Browser, page: Path) -> None:
    browser.look(A4, dark=True, paper=True)
    browser.open(page)
    assert browser.ask("return document.documentElement.scrollWidth") <= A4
    assert browser.ask(TOO_WIDE) == []
    assert browser.ask(
        "return [...document.querySelectorAll('*')].filter((e) => "
        "['auto', 'scroll'].includes(getComputedStyle(e).overflowX)).length"
    ) == 0  # fmt: skip
    folded = browser.ask(
        "return [...document.querySelectorAll('details td, details li, details dd')].map("
        "(e) => [e.checkVisibility({contentVisibilityAuto: true}) && "
        "e.getBoundingClientRect().height > 0, e.textContent])"
    )
    assert folded
    assert [text for shown, text in folded if not shown] == []
    # Dark ink on white, whatever the screen is.
    assert browser.ask("return getComputedStyle(document.body).backgroundColor") == (
        "rgb(255, 255, 255)"
    )
    height = browser.ask("return document.documentElement.scrollHeight")
    pdf = browser.pdf()
    assert pdf.startswith(b"%PDF-")
    sizes = re.findall(rb"/MediaBox ?\[ ?0 0 ([\d.]+) ([\d.]+)", pdf)
    assert sizes
    for wide, tall in sizes:
        assert float(wide) == pytest.approx(210 / 25.4 * 72, abs=1)
        assert float(tall) == pytest.approx(297 / 25.4 * 72, abs=1)
    # There would be fewer sheets if folded parts stayed shut.
    assert len(sizes) >= height / ((297 - 28) / 25.4 * 96)


def test_the_stored_results_name_their_format_and_no_absolute_path() -> None:
    for path in DATA.glob("*.json"):
        text = path.read_text(encoding="utf-8")
        assert json.loads(text)["format"].startswith("schedshard/")
        assert re.findall(r"(?<![\w.>)\]])/\w[^\"]*", text) == [], path.name
