# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compare the simulated machine with every curve of machines/published/curves.toml.

fidelity.py           predict each point, write machines/published/residuals.toml and the page
                      docs/results/fidelity.md with its plot
fidelity.py FILE      print the same figures for the curves of another file, or for a trial's
                      trial.json; nothing is written

A point is inside if its prediction's interval, made without any curve of the same machine, contains
it. build/results keeps a prediction while simulator, machine and samples stay the same.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from common.errors import UserError  # noqa: E402
from model.machines.cores import core_of  # noqa: E402
from model.machines.presets import load_machine  # noqa: E402
from model.run.model_error import (  # noqa: E402
    RESIDUALS,
    Residual,
    estimate,
    known_residuals,
    together,
    words,
)
from model.run.whole import WORKLOAD, known_whole, left_out, score  # noqa: E402
from trial.form import load_trial  # noqa: E402
from trial.machine_file import curves_of  # noqa: E402

CURVES = ROOT / "machines/published/curves.toml"
PAGE = ROOT / "docs/results/fidelity.md"
PLOT = ROOT / "docs/pictures/fidelity.png"
KEPT = ROOT / "build/results"
SAMPLES = 20
PAIRS = "pairs"  # instead of points: latency class, and nanoseconds per turn
FIRST, BEGIN = "<!-- table: fidelity-first -->\n", "<!-- table: fidelity -->\n"
END = "<!-- end of table -->"


@dataclass(frozen=True)
class Score:
    """One point: its residual, and the 90% interval made without any curve of its machine."""

    of: Residual
    low: float
    high: float

    @property
    def factor(self) -> float:
        """Return the larger of measured and predicted, divided by the smaller."""
        return max(self.of.measured / self.of.predicted, self.of.predicted / self.of.measured)

    @property
    def inside(self) -> bool:
        """Return whether the interval contains the measured value."""
        return self.low <= self.of.measured <= self.high


def build() -> Path:
    """Return the build tree whose simulator runs."""
    return Path(os.environ.get("SCHEDSHARD_BUILD") or ROOT / "build/release")


def predict(curve: dict[str, Any], base: Path) -> dict[str, Any]:
    """Return a curve's prediction, kept or new, with the intervals of its machine's inputs."""
    machine = base / f"{curve['machine']}.toml"
    words_ = ["run", "ping-pong" if PAIRS in curve else "primitives", "--machine", str(machine)]
    words_ += ["--op", curve["op"]]
    if PAIRS not in curve:
        words_ += ["--threads", ",".join(str(n) for n, _ in curve["points"])]
        words_ += ["--placement", curve.get("placement", "os")]
        words_ += ["--work", f"{curve.get('work_ns', 0):g}"]
        words_ += ["--hold", f"{curve['hold_ns']:g}"] if "hold_ns" in curve else []
        words_ += ["--lines", str(curve.get("lines", 1))]
    words_ += ["--uncertainty", str(SAMPLES)]
    key = hashlib.sha256(" ".join([curve["machine"], *words_[4:]]).encode())
    key.update((build() / "model/experiments/schedshard-sim").read_bytes())
    key.update(load_machine(str(machine)).sha256.encode())
    kept = KEPT / f"fidelity-{key.hexdigest()[:16]}.json"
    if not kept.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        print(f"fidelity: {curve['name']}", file=sys.stderr)
        env = {**os.environ, "PYTHONPATH": str(ROOT), "SCHEDSHARD_BUILD": str(build())}
        subprocess.run(
            [sys.executable, "-m", "cli", *words_, "--out", str(kept)],
            cwd=ROOT, env=env, stdout=subprocess.DEVNULL, check=True,
        )  # fmt: skip
    loaded: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
    return loaded


def residuals_of(curve: dict[str, Any], base: Path, cores: Mapping[str, str]) -> list[Residual]:
    """Return a residual per point. ``cores`` has the core types of machines outside machines/."""
    result = predict(curve, base)
    place = "class" if PAIRS in curve else "threads"
    points = {point[place]: point for point in result["variants"][0]["points"]}
    machine = curve["machine"].rpartition("/")[2]
    core = core_of(machine) or cores[machine]
    made = []
    for at, measured in curve.get(PAIRS) or curve["points"]:
        point = points[at]
        threads = 2 if PAIRS in curve else at
        inputs = point["interval"].get("inputs", point["interval"])
        made.append(
            Residual(
                machine, core, curve["kind"], curve["name"], threads, measured,
                point["ns_per_op"], inputs["low"], inputs["high"], bool(curve.get("calibrated")),
            )
        )  # fmt: skip
    return made


def scores_of(mine: Sequence[Residual], known: Sequence[Residual]) -> list[Score]:
    """Return the score of each point, whose interval is estimated without the point's machine."""
    factors: dict[tuple[str, str], float] = {}
    made = []
    for residual in mine:
        without = residual.machine, residual.kind
        if without not in factors:
            others = (other for other in known if other.machine != residual.machine)
            factors[without] = estimate(others, residual.kind).factor
        low, high = min(residual.low, residual.predicted), max(residual.high, residual.predicted)
        low, high = together(low, residual.predicted, high, factors[without])
        made.append(Score(residual, low, high))
    return made


def figures(part: Sequence[Score]) -> str:
    """Return cells: points, median factor, worst, inside, and the median ratio of the ends."""
    factors = [point.factor for point in part]
    inside = sum(point.inside for point in part)
    width = statistics.median(point.high / point.low for point in part)
    return (
        f"{len(part)} | {statistics.median(factors):.2f} | {max(factors):.2f} | "
        f"{inside} of {len(part)}, {inside / len(part):.0%} | {width:.2f} |"
    )


def lines(scores: Sequence[Score]) -> list[str]:
    """Return the table of all curves."""
    made = [
        "| curve | kind | points | median factor | worst | inside | width |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(point.of.curve for point in scores):
        part = [point for point in scores if point.of.curve == name]
        mark = " (calibrated)" * part[0].of.calibrated
        made.append(f"| {name}{mark} | {words(part[0].of.kind)} | {figures(part)}")
    return made


def kinds(scores: Sequence[Score], known: Sequence[Residual]) -> list[str]:
    """Return the table of kinds, worst first, with the error factor that predictions print."""
    made = [
        "| kind | curves | machines | cores | to threads | error factor | "
        "points | median factor | worst | inside | width |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    rows = []
    for kind in sorted({residual.kind for residual in known}):
        part = [point for point in scores if point.of.kind == kind and not point.of.calibrated]
        total = estimate(known, kind)
        rows.append((
            statistics.median(point.factor for point in part) if part else math.inf,
            f"| {words(kind)} | {total.curves} | {total.machines} | {', '.join(total.cores)} | "
            f"{total.threads or ''} | {total.factor:.2f} | "
            + (figures(part) if part else "0 | | | | |"),
        ))  # fmt: skip
    whole, (within, of) = score(known_whole(), "exact"), left_out(known_whole(), "exact")
    rows.append((
        whole.median,
        f"| {words(WORKLOAD)} | {whole.pairs} pairs | {whole.machines} | | | {whole.inside:.2f} | "
        f"{whole.pairs} | {whole.median:.2f} | {whole.worst:.2f} | {within} of {of}, "
        f"{within / of:.0%} | {whole.inside**2:.2f} |",
    ))  # fmt: skip
    made += [row for _, row in sorted(rows, key=lambda row: -row[0])]
    blind = [point for point in scores if not point.of.calibrated]
    return [*made, f"| all of these | | | | | | {figures(blind)}"] if blind else made


def headline(scores: Sequence[Score]) -> list[str]:
    """Return the first paragraph of the page."""
    blind = [point for point in scores if not point.of.calibrated]
    chosen = [point for point in scores if point.of.calibrated]
    curves = len({point.of.curve for point in blind})
    worst = max(blind, key=lambda point: point.factor)
    inside = statistics.mean(point.inside for point in blind)
    width = statistics.median(point.high / point.low for point in blind)
    text = (
        f"{inside:.0%} of the {len(blind)} points of {curves} published curves lie inside the "
        "90% interval of their prediction. No number or rule of the model was chosen to fit these "
        "curves, and each interval was estimated without any curve of the same machine. At the "
        f"median the ends of an interval differ by a factor of {width:.2f}, and prediction and "
        f"measurement by {statistics.median(p.factor for p in blind):.2f}. The worst point is "
        f"wrong by a factor of {worst.factor:.2f}: {worst.of.curve}, {worst.of.threads} threads. "
        f"For the {len({p.of.curve for p in chosen})} calibrated curves, which prove little, "
        f"the median factor is {statistics.median(p.factor for p in chosen):.2f}."
    )
    return textwrap.wrap(text, 120)


def residual_text(curves: Sequence[dict[str, Any]], known: Sequence[Residual]) -> str:
    """Return the residuals as the table that predictions read."""
    made = [
        "# SPDX-License-Identifier: (MIT OR GPL-2.0-only)",
        "# Made by scripts/fidelity.py from curves.toml, a curve a line. points: threads, then",
        "# nanoseconds per operation: measured, predicted, and the ends of the prediction's 90%",
        "# interval over unknown inputs.",
        "curve = [",
    ]
    for curve in curves:
        mine = [residual for residual in known if residual.curve == curve["name"]]
        first = mine[0]
        points = ", ".join(
            f"[{r.threads},{r.measured:.5g},{r.predicted:.5g},{r.low:.5g},{r.high:.5g}]"
            for r in mine
        )
        made.append(
            f'{{ name = "{first.curve}", machine = "{first.machine}", core = "{first.core}", '
            f'kind = "{first.kind}", calibrated = {str(first.calibrated).lower()}, '
            f"points = [{points}] }},"
        )
    return "\n".join([*made, "]", ""])


def page_with(scores: Sequence[Score], known: Sequence[Residual]) -> str:
    """Return the page with new tables."""
    page = PAGE.read_text(encoding="utf-8")
    for begin, made in (
        (FIRST, headline(scores)),
        (BEGIN, [*kinds(scores, known), "", *lines(scores)]),
    ):
        start = page.index(begin) + len(begin)
        page = page[:start] + "\n".join(made) + "\n" + page[page.index(END, start) :]
    return page


def draw(known: Sequence[Residual]) -> None:
    """Write the plot: a dot per point, in the colour of its kind, and lines at factors of two."""
    figure = Figure(figsize=(6.4, 6.0), layout="constrained")
    axes = figure.add_subplot(xscale="log", yscale="log", aspect="equal")
    for kind in sorted({residual.kind for residual in known}):
        mine = [residual for residual in known if residual.kind == kind]
        axes.plot([r.predicted for r in mine], [r.measured for r in mine], ".", label=words(kind))
    for factor, style in ((0.5, ":"), (1, "-"), (2, ":")):
        axes.axline((1, factor), (10, 10 * factor), color="black", linewidth=0.8, linestyle=style)
    axes.set(xlabel="predicted, ns per operation", ylabel="measured, ns per operation")
    axes.legend(fontsize=8)
    drawn = BytesIO()
    figure.savefig(drawn, dpi=80)
    Image.open(drawn).convert("RGB").quantize(256).save(PLOT, optimize=True)


def main(arguments: Sequence[str]) -> None:
    """Score all curves, or those of another file."""
    path = Path(arguments[0]) if arguments else CURVES
    base = path.parent if arguments else ROOT / "machines"
    if path.suffix == ".json":
        base = Path(tempfile.mkdtemp(prefix="schedshard-"))
        atexit.register(shutil.rmtree, base)
        table = curves_of(load_trial(path), base)
    else:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    curves, cores = table["curve"], table["cores"]
    mine = [residual for curve in curves for residual in residuals_of(curve, base, cores)]
    known = list(known_residuals()) if arguments else mine
    scores = scores_of(mine, known)
    print("\n".join([*lines(scores), "", *kinds(scores, known)]))
    if not arguments:
        RESIDUALS.write_text(residual_text(curves, known), encoding="utf-8")
        PAGE.write_text(page_with(scores, known), encoding="utf-8")
        draw(known)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except UserError as error:
        print(f"fidelity: {error}", file=sys.stderr)
        sys.exit(error.status)
