# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Make the tables of docs/ that come from the simulation, as docs/results/tables.toml lists them.

result_tables.py            run what is missing, and write the tables into the pages
result_tables.py TABLE...   only these

build/results keeps a run as long as its simulator, machine file and experiment file stay the same.
So an interrupted program continues where it stopped. In a page, the table stands between the lines
`<!-- table: NAME -->` and `<!-- end of table -->`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from model.machines.presets import load_machine  # noqa: E402
from model.run.common_entries import experiment_sha256  # noqa: E402

TABLES = ROOT / "docs/results/tables.toml"
KEPT = ROOT / "build/results"
Run = dict[str, Any]
Spec = dict[str, Any]


def build() -> Path:
    """Return the build tree whose simulator runs."""
    return Path(os.environ.get("SCHEDSHARD_BUILD") or ROOT / "build/release")


def seeds(run: Run) -> list[int]:
    """Return the seeds of a run. A run with samples has only the first seed."""
    return [1] if run.get("samples") else list(range(1, run.get("seeds", 1) + 1))


def command(run: Run, variants: Sequence[str], seed: int) -> list[str]:
    """Return the words after ./schedshard."""
    words = ["run", run["experiment"], "--seed", str(seed)]
    words += ["--machine", run["machine"]]
    words += [word for name in variants for word in ("--variant", name)]
    words += [word for value in run.get("set", []) for word in ("--set", value)]
    if samples := run.get("samples"):
        words += ["--uncertainty", str(samples)]
    return words


def result(run: Run, variants: Sequence[str], seed: int) -> dict[str, Any]:
    """Return a run's result, kept or new."""
    words = command(run, variants, seed)
    key = hashlib.sha256(" ".join(words).encode())
    key.update((build() / "model/experiments/schedshard-sim").read_bytes())
    key.update(load_machine(run["machine"]).sha256.encode())
    key.update(experiment_sha256(ROOT / f"model/experiments/{run['experiment']}.toml").encode())
    path = KEPT / f"{run['experiment']}-{key.hexdigest()[:16]}.json"
    if not path.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        print(f"results: ./schedshard {' '.join(words)}", file=sys.stderr)
        python = [sys.executable, "-m", "cli", *words, "--out", str(path)]
        env = {**os.environ, "PYTHONPATH": str(ROOT), "SCHEDSHARD_BUILD": str(build())}
        subprocess.run(python, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, check=True)
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def of(table: Any, figure: str) -> Any:
    """Return one figure of a table by name, or the value itself if there is only one figure."""
    return table.get(figure) if isinstance(table, dict) and "median" not in table else table


class Cells:
    """The figures of one table's runs."""

    def __init__(self, table: Spec) -> None:
        self.runs: dict[str, Run] = table["run"]
        self.variants: list[str] = table["variants"]
        self.kept: dict[str, list[dict[str, Any]]] = {}

    def results(self, name: str, variant: str) -> list[dict[str, Any]]:
        """Return a variant's results for all seeds of a run."""
        run = self.runs[name]
        variants: list[str] = run.get("variants") or self.variants
        if name not in self.kept:
            self.kept[name] = [result(run, variants, seed) for seed in seeds(run)]
        return [v for r in self.kept[name] for v in r["variants"] if v["name"] == variant]

    def figures(self, row: Spec, variant: str) -> list[float]:
        """Return a figure for all seeds, perhaps as a fraction of another variant's mean."""
        results = self.results(row["run"], variant)
        values = [v.get(row["figure"], v["metrics"].get(row["figure"])) for v in results]
        numbers = [value for value in values if value is not None]
        if "against" not in row:
            return numbers
        alone = {key: value for key, value in row.items() if key != "against"}
        mean = self.mean(alone, row["against"])
        return [number / mean for number in numbers] if mean else []

    def mean(self, row: Spec, variant: str) -> float | None:
        """Return the mean over the seeds."""
        numbers = self.figures(row, variant)
        return statistics.fmean(numbers) if numbers else None

    def half_spread(self, row: Spec, variant: str) -> float:
        """Return half of the range over the seeds."""
        numbers = self.figures(row, variant)
        return (max(numbers) - min(numbers)) / 2 if numbers else 0

    def published(self, row: Spec, variant: str) -> float | None:
        """Return what others measured."""
        runs = self.results(row["run"], variant)
        value: float | None = of(runs[0].get("published"), row["figure"]) if runs else None
        return value

    def interval(self, row: Spec, variant: str) -> dict[str, float] | None:
        """Return the median and 90% interval from the run with samples, if it has the variant."""
        name: str = row["samples"] if "samples" in row else row["run"]
        runs = self.results(name, variant)
        if not runs:
            return None
        first = runs[0]
        value: dict[str, float] | None = of(first.get("interval"), row["figure"])
        if value is None and isinstance(first.get("intervals"), dict):
            value = first["intervals"].get(row["figure"])
        return value


def shown(value: float | None, row: Spec) -> str:
    """Return a number in the format of its row."""
    if value is None:
        return ""
    return format(value * row.get("scale", 1), row["form"])


def cell(cells: Cells, row: Spec, variant: str, kind: str) -> str:
    """Return one cell of a table."""
    if kind == "interval":
        interval = cells.interval(row, variant)
        if interval is None or interval["low"] == interval["high"]:
            return ""
        low, high = shown(interval["low"], row), shown(interval["high"], row)
        return f"{shown(interval['median'], row)} ({low} to {high})"
    predicted = kind in ("predicted", "spread")
    value = cells.mean(row, variant) if predicted else cells.published(row, variant)
    if kind == "spread":
        spread = shown(cells.half_spread(row, variant), row).rstrip("%")
        return f"{shown(value, row)} ±{spread}" if value is not None else ""
    if kind != "error":
        return shown(value, row)
    mine = cells.mean(row, variant)
    if value is None or mine is None:
        return ""
    if row.get("points"):
        return f"{(mine - value) * 100:+.1f} points"
    return f"{mine / value - 1:+.0%}"


def lines(table: Spec) -> list[str]:
    """Return a table as Markdown."""
    cells = Cells(table)
    kinds: list[str] = table.get("kinds") or []
    named: dict[str, str] = table.get("heads") or {}
    heads: list[str] = table.get("titles") or [named.get(v, v) for v in cells.variants]
    made = ["| | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for row in table["row"]:
        if kinds:
            cells_of_row = [cell(cells, row, row["variant"], kind) for kind in kinds]
        else:
            cells_of_row = [cell(cells, row, name, row["kind"]) for name in cells.variants]
        made.append("| " + " | ".join([row["title"], *cells_of_row]) + " |")
    return made


def all_tables() -> list[Spec]:
    """Return all tables, each row with what its table's `each` says."""
    tables: list[Spec] = tomllib.loads(TABLES.read_text(encoding="utf-8"))["table"]
    for table in tables:
        table["row"] = [table.get("each", {}) | row for row in table["row"]]
    return tables


def place(name: str) -> re.Pattern[str]:
    """Return the pattern that finds a table in a page."""
    begin, end = f"<!-- table: {re.escape(name)} -->\n", "<!-- end of table -->"
    return re.compile(rf"({begin}).*?({end})", re.DOTALL)


def main(arguments: Sequence[str]) -> int:
    """Make the tables with these names, or all; return the exit status."""
    tables = all_tables()
    if unknown := set(arguments) - {table["name"] for table in tables}:
        known = ", ".join(table["name"] for table in tables)
        print(f"results: no table {sorted(unknown)[0]!r}, only {known}", file=sys.stderr)
        return 2
    for table in tables:
        if arguments and table["name"] not in arguments:
            continue
        made = "\n".join(lines(table)) + "\n"
        for page in table["pages"]:
            path = ROOT / page
            old = path.read_text(encoding="utf-8")
            match = place(table["name"]).search(old)
            if match is None:
                print(f"results: {page} has no place for {table['name']}", file=sys.stderr)
                return 2
            new = old[: match.end(1)] + made + old[match.start(2) :]
            if new != old:
                print(f"results: {page}: {table['name']} is new")
                path.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
