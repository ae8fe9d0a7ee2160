# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compare the simulated machine with every curve of machines/published/curves.toml.

fidelity.py           predict each point, write machines/published/residuals.toml and the page
                      docs/results/fidelity.md with its plot
fidelity.py --new     the same, but predict only curves whose points residuals.toml lacks: for a
                      new curve while neither model nor machines changed
fidelity.py --check   only print the three figures of each curve; status 1 if the page differs
fidelity.py FILE      the same figures for the curves of another file, nothing written

A point is inside if its interval contains it. The interval is estimated without any curve of the
same machine. build/results keeps each prediction as long as simulator, machine and samples stay the
same.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import statistics
import subprocess
import sys
import textwrap
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from model.machines.cores import vendor_of  # noqa: E402
from model.run.model_error import (  # noqa: E402
    INSIDE,
    RESIDUALS,
    Residual,
    estimate,
    known_residuals,
    together,
    words,
)

CURVES = ROOT / "machines/published/curves.toml"
PAGE = ROOT / "docs/results/fidelity.md"
PLOT = ROOT / "docs/pictures/fidelity.png"
KEPT = ROOT / "build/results"
SAMPLES = 20
PAIRS = "pairs"  # instead of points: latency class, and nanoseconds per turn
BEGIN, END = "<!-- table: fidelity -->\n", "<!-- end of table -->"
SPLITS_BEGIN = "<!-- table: fidelity-splits -->\n"
FEW = 8  # threads


@dataclass(frozen=True)
class Score:
    """One curve: its kind, its points, and how many of them are inside."""

    name: str
    kind: str
    machine: str
    factors: tuple[float, ...]
    inside: int
    calibrated: bool


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
        words_ += ["--lines", str(curve.get("lines", 1))]
    words_ += ["--uncertainty", str(SAMPLES)]
    key = hashlib.sha256(" ".join([curve["machine"], *words_[4:]]).encode())
    for path in (build() / "model/experiments/schedshard-sim", machine):
        key.update(path.read_bytes())
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


def residuals_of(curve: dict[str, Any], base: Path) -> list[Residual]:
    """Return one residual per point."""
    result = predict(curve, base)
    place = "class" if PAIRS in curve else "threads"
    points = {point[place]: point for point in result["variants"][0]["points"]}
    machine = curve["machine"].rpartition("/")[2]
    vendor = vendor_of(machine, result["machine"]["title"])
    made = []
    for at, measured in curve.get(PAIRS) or curve["points"]:
        point = points[at]
        threads = 2 if PAIRS in curve else at
        inputs = point["interval"].get("inputs", point["interval"])
        made.append(
            Residual(
                machine, vendor, curve["kind"], curve["name"], threads, measured,
                point["ns_per_op"], inputs["low"], inputs["high"], bool(curve.get("calibrated")),
            )
        )  # fmt: skip
    return made


def kept_of(curve: dict[str, Any]) -> list[Residual]:
    """Return a curve's residuals in the table if they cover exactly its points, or nothing."""
    mine = [one for one in known_residuals() if one.curve == curve["name"]]
    measured = [one for _, one in curve.get(PAIRS) or curve["points"]]
    same = [f"{one:.5g}" for one in measured] == [f"{one.measured:.5g}" for one in mine]
    return mine if same else []


def score(curve: dict[str, Any], mine: Sequence[Residual], known: Sequence[Residual]) -> Score:
    """Return how good the predictions of one curve are, judged without its machine."""
    others = [one for one in known if one.machine != mine[0].machine]
    factor = estimate(others, curve["kind"]).factor
    inside = 0
    for one in mine:
        low, high = together(min(one.low, one.predicted), one.predicted,
                             max(one.high, one.predicted), factor)  # fmt: skip
        inside += low <= one.measured <= high
    factors = tuple(max(one.measured / one.predicted, one.predicted / one.measured) for one in mine)
    return Score(
        curve["name"], curve["kind"], mine[0].machine, factors, inside,
        bool(curve.get("calibrated")),
    )  # fmt: skip


def lines(scores: Sequence[Score]) -> list[str]:
    """Return the table of all curves, and the sum."""
    made = [
        "| curve | kind | points | median factor | worst | inside |",
        "|---|---|---|---|---|---|",
    ]
    for one in scores:
        name = one.name + (" (calibrated)" if one.calibrated else "")
        made.append(
            f"| {name} | {words(one.kind)} | {len(one.factors)} | "
            f"{statistics.median(one.factors):.2f} | {max(one.factors):.2f} | "
            f"{one.inside} of {len(one.factors)} |"
        )
    chosen = [one for one in scores if one.calibrated]
    others = [one for one in scores if not one.calibrated]
    for name, part in (("calibrated", chosen), ("others", others), ("all", scores)):
        factors = [factor for one in part for factor in one.factors]
        inside = sum(one.inside for one in part)
        if factors:
            made.append(
                f"| {name}: {len(part)} curves | | {len(factors)} | "
                f"{statistics.median(factors):.2f} | {max(factors):.2f} | "
                f"{inside} of {len(factors)}, {inside / len(factors):.0%} |"
            )
    return made


def kinds(known: Sequence[Residual]) -> list[str]:
    """Return the table of kinds, with the model's error factor in the intervals of each."""
    made = [
        "| kind | calibrated curves | others | of machines | of makers | threads | error factor |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind in [*sorted({one.kind for one in known}), "workload"]:
        one = estimate(known, kind)
        made.append(
            f"| {words(kind)} | {one.calibrated} | {one.curves} | {one.machines} | "
            f"{', '.join(one.vendors)} | "
            f"{one.threads or ''} | {one.factor:.2f} |"
        )
    return made


def groupings(known: Sequence[Residual]) -> dict[str, Callable[[Residual], str]]:
    """Return ways to group residuals: a name for each, and the group of a residual."""
    most: dict[str, int] = {}
    for one in known:
        most[one.curve] = max(one.threads, most.get(one.curve, 0))
    return {
        "nothing": lambda _: "all",
        "kind (as used)": lambda one: one.kind,
        f"kind, and threads: to {FEW}, or more": lambda one: f"{one.kind} {one.threads <= FEW}",
        "kind, and threads: to a quarter of the curve's, or more": lambda one: (
            f"{one.kind} {one.threads <= most[one.curve] / 4}"
        ),
        "kind and maker": lambda one: f"{one.kind} {one.vendor}",
        f"kind, maker, and threads: to {FEW}, or more": lambda one: (
            f"{one.kind} {one.vendor} {one.threads <= FEW}"
        ),
    }


def splits(known: Sequence[Residual]) -> list[str]:
    """Return the table of groupings: what intervals hold that were estimated without a machine.

    A group that only the omitted machine has takes its kind's error.
    """
    made = [
        "| residuals grouped by | points inside | if a machine counts once per kind | "
        "mean error factor | loss |",
        "|---|---|---|---|---|",
    ]
    per_machine = Counter((one.kind, one.machine) for one in known)
    for name, group in groupings(known).items():
        errors: dict[tuple[str, str], float] = {}
        inside, weighted, width, loss = 0, 0.0, 0.0, 0.0
        for one in known:
            mine = group(one)
            if (one.machine, mine) not in errors:
                others = [other for other in known if other.machine != one.machine]
                grouped = [replace(other, kind=group(other)) for other in others]
                seen = any(other.kind == mine for other in grouped)
                found = estimate(grouped, mine) if seen else estimate(others, one.kind)
                errors[one.machine, mine] = math.log(found.factor)
            over = one.score - errors[one.machine, mine]
            weight = 1 / per_machine[one.kind, one.machine] / len(per_machine)
            inside += over <= 1e-9
            weighted += weight * (over <= 1e-9)
            width += weight * errors[one.machine, mine]
            loss += weight * (INSIDE * over if over > 0 else (INSIDE - 1) * over)
        made.append(
            f"| {name} | {inside / len(known):.0%} | {weighted:.0%} | {math.exp(width):.2f} | "
            f"{loss:.3f} |"
        )
    return made


def residual_text(curves: Sequence[dict[str, Any]], known: Sequence[Residual]) -> str:
    """Return the residuals as the table that predictions read."""
    made = [
        "# SPDX-License-Identifier: (MIT OR GPL-2.0-only)",
        "# Made by scripts/fidelity.py from curves.toml. points: threads, measured, predicted, and",
        "# the prediction's 90% interval over unknown inputs; all in nanoseconds per operation.",
    ]
    for curve in curves:
        mine = [one for one in known if one.curve == curve["name"]]
        first = mine[0]
        made += ["", "[[curve]]", f'name = "{first.curve}"', f'machine = "{first.machine}"',
                 f'vendor = "{first.vendor}"', f'kind = "{first.kind}"']  # fmt: skip
        made += [*(["calibrated = true"] if curve.get("calibrated") else []), "points = ["]
        points = [
            f"[{one.threads},{one.measured:.5g},{one.predicted:.5g},{one.low:.5g},{one.high:.5g}],"
            for one in mine
        ]
        made += textwrap.wrap(" ".join(points), 98, break_long_words=False)
        made.append("]")
    return "\n".join(made) + "\n"


def page_with(scores: Sequence[Score], known: Sequence[Residual]) -> str:
    """Return the page with new tables."""
    page = PAGE.read_text(encoding="utf-8")
    for begin, made in (
        (BEGIN, [*lines(scores), "", *kinds(known)]),
        (SPLITS_BEGIN, splits(known)),
    ):
        start = page.index(begin) + len(begin)
        page = page[:start] + "\n".join(made) + "\n" + page[page.index(END, start) :]
    return page


def draw(known: Sequence[Residual]) -> None:
    """Write the plot: a dot per point, in the colour of its kind, and lines at factors of two."""
    figure = Figure(figsize=(6.4, 6.0), layout="constrained")
    axes = figure.add_subplot(xscale="log", yscale="log", aspect="equal")
    for kind in sorted({one.kind for one in known}):
        mine = [one for one in known if one.kind == kind]
        axes.plot(
            [one.predicted for one in mine], [one.measured for one in mine], ".", label=words(kind)
        )
    for factor, style in ((0.5, ":"), (1, "-"), (2, ":")):
        axes.axline((1, factor), (10, 10 * factor), color="black", linewidth=0.8, linestyle=style)
    axes.set(xlabel="predicted, ns per operation", ylabel="measured, ns per operation")
    axes.legend(fontsize=8)
    figure.savefig(PLOT, metadata={"Software": None})


def main(arguments: Sequence[str]) -> int:
    """Score all curves, or those of another file; return the exit status."""
    files = [Path(word) for word in arguments if not word.startswith("--")]
    path = files[0] if files else CURVES
    curves = tomllib.loads(path.read_text(encoding="utf-8"))["curve"]
    base = path.parent if files else ROOT / "machines"
    kept = kept_of if "--new" in arguments else lambda _: []
    by_curve = [kept(curve) or residuals_of(curve, base) for curve in curves]
    mine = [one for points in by_curve for one in points]
    known = list(known_residuals()) if files else mine
    scores = [score(*pair, known) for pair in zip(curves, by_curve, strict=True)]
    print("\n".join([*lines(scores), "", *kinds(known)]))
    if files:
        return 0
    page = page_with(scores, known)
    if "--check" in arguments:
        same = page == PAGE.read_text(encoding="utf-8")
        same = same and residual_text(curves, known) == RESIDUALS.read_text(encoding="utf-8")
        return 0 if same else 1
    RESIDUALS.write_text(residual_text(curves, known), encoding="utf-8")
    PAGE.write_text(page, encoding="utf-8")
    draw(known)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
