# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Predicts published pairs of whole workloads, and writes predicted beside published.

machines/published/whole.toml has the pairs. The program of a pair (record/tests/whole/pairs.c) runs
before and after the change, under both recorders: on the model's own clock (`record --exact`), and
in the emulator. For a pair of the kernel, kernel/tests/whole/calls.c runs on two built kernels.

    scripts/whole.py                 predict all pairs, and write the predictions and the page
    scripts/whole.py --new           predict pairs without a prediction
    scripts/whole.py --guests        predict the pairs of the kernel, with --new as above
    scripts/whole.py --page          write the page from the predictions that are there
    scripts/whole.py --only CASE     predict and print the pairs of one program; write nothing
"""

import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from model.machines.presets import load_machine  # noqa: E402
from model.run.whole import (  # noqa: E402
    PAIRS,
    PREDICTED,
    RECORDERS,
    Whole,
    effect_of,
    parts,
    read_whole,
    score,
)  # fmt: skip

PAGE = ROOT / "docs/results/whole.md"
PAGES = (PAGE, ROOT / "README.md")
PLOT = ROOT / "docs/pictures/whole.png"
SOURCE = ROOT / "record/tests/whole/pairs.c"
CALLS = ROOT / "kernel/tests/whole/calls.c"
BOOTS = 3  # of each kernel; the mean counts
ROUNDS = 200  # of system calls that each process makes
FLAGS = ("-O2", "-g", "-pthread", "-D_GNU_SOURCE", f"-I{ROOT}/kernel/guest")
SEEDS = (1,)  # of the exact recorder; the median counts
LONG_NS = 500_000  # of private time that a thread does, at least 12 operations, at most 400
OURS = ("ready", "end", "pairs", "me", "__nptl_nthreads")  # objects of the program itself
END = "<!-- end of table -->"


def command(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a verb of the command, and return its output."""
    return subprocess.run(
        [sys.executable, "-m", "cli", *words],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip


def compiled(folder: Path) -> dict[str, Path]:
    """Compile the program for both recorders."""
    made = {"exact": folder / "pairs-exact", "emulator": folder / "pairs"}
    command("cc", *FLAGS, str(SOURCE), "-o", str(made["exact"]))
    subprocess.run(["gcc", *FLAGS, str(SOURCE), "-o", str(made["emulator"])], check=True)
    return made


def run(recorder: str, program: Path, words: Sequence[str], preset: str, seed: int) -> Any:
    """Record the program once. Return nanoseconds per operation of all threads, and the object."""
    options = ["--exact", "--seed", str(seed)] if recorder == "exact" else ["--marks"]
    out = program.parent / "report.json"
    done = command(
        "record", *options, "--no-advice", "--uncertainty", "0", "--machine", preset,
        "--out", str(out), "--", str(program), *words,
    )  # fmt: skip
    match = re.fullmatch(r"operations (\d+) ns (\d+)\n", done.stdout)
    if match is None:
        raise SystemExit(f"whole: {words[0]} printed {done.stdout!r}")
    variant = json.loads(out.read_text(encoding="utf-8"))["variants"][0]
    took = float(match[2]) if recorder == "exact" else variant["model"]["virtual_ns"]
    names = [re.split(r"[.+\[: ]", line["object"])[0] for line in variant["lines"]]
    return took / int(match[1]), next((name for name in names if name not in OURS), "")


def predict(pair: Mapping[str, Any], place: str, programs: Mapping[str, Path]) -> dict[str, Any]:
    """Return the predicted effect and the hottest object before the change, by recorder."""
    preset = pair["preset"]
    mhz = round(load_machine(preset).clock_ghz * 1000)
    times = max(12, min(400, round(LONG_NS / pair["work_ns"])))
    made: dict[str, Any] = {"name": pair["name"]}
    for recorder, program in programs.items():
        ns: dict[str, float] = {}
        objects = []
        for side in ("before", "after"):
            words = [pair["case"], side, place, str(mhz), str(pair["work_ns"]), str(times)]
            runs = [
                run(recorder, program, words, preset, seed)
                for seed in (SEEDS if recorder == "exact" else SEEDS[:1])
            ]
            ns[side] = statistics.median(took for took, _ in runs)
            objects.append(runs[0][1])
        made[recorder] = ns["before"] / ns["after"]
        made[f"{recorder}_object"] = objects[0]
        print(f"{pair['name']}, {recorder}: {made[recorder]:.3f}, {objects[0]}", flush=True)
    return made


def predict_in_guests(pair: Mapping[str, Any], calls: Path) -> dict[str, Any]:
    """Return the predicted effect of a change of the kernel, and its hottest object before."""
    out = calls.parent / "compare.json"
    threads = str(pair["threads"])
    command(
        "kernel", "c2c", "--compare", pair["compare"], "--marks", "--machine", pair["preset"],
        "--cpus", threads, "--runs", str(BOOTS), "--out", str(out),
        "--workload", f"{shlex.quote(str(calls))} {pair['call']} {threads} {ROUNDS}",
    )  # fmt: skip
    compared = json.loads(out.read_text(encoding="utf-8"))
    before = compared["reports"][pair["compare"].split(",")[0]]
    line = before["variants"][0]["lines"][0]
    field = line["accesses"][0]["field"].partition(".")[0]  # of the hottest access
    found = f"{line['object'].removeprefix('kernel: struct ')}.{field}"
    print(f"{pair['name']}: {compared['said']}, {found}", flush=True)
    return {"name": pair["name"], "guest": 1 + compared["change"], "guest_object": found}


def text_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the predictions as a TOML file."""
    lines = [
        "# SPDX-License-Identifier: (MIT OR GPL-2.0-only)",
        "# Made by scripts/whole.py from whole.toml: predicted operations per second, after to",
        "# before, and the hottest object before.",
        "predicted = [",
    ]
    for row in rows:
        cells = ", ".join(
            f"{key} = " + (f"{value:.4f}" if isinstance(value, float) else json.dumps(value))
            for key, value in row.items()
        )
        lines.append(f"{{ {cells} }},")
    return "\n".join([*lines, "]", ""])


def signed(effect: float) -> str:
    """Return a change of operations per second in percent; a large one as a factor."""
    return f"{effect - 1:+.1%}" if effect < 2 else f"x {effect:.2f}"


def table(wholes: Sequence[Whole], heads: Mapping[str, str]) -> list[str]:
    """Return the table of some recorders, with their heads; worst by the first one comes first."""
    columns = "".join(f" {head} | error |" for head in heads.values())
    made = [
        f"| pair | published |{columns} sign | object |",
        "|---|---|" + "---|---|" * len(heads) + "---|---|",
    ]
    first = next(iter(heads))
    mine = [whole for whole in wholes if set(heads) <= set(whole.predicted)]
    for row in sorted(mine, key=lambda row: -row.factor(first)):
        cells = [f"{signed(row.predicted[name])} | {row.factor(name):.2f}" for name in heads]
        signs = ["right" if row.sign_right(name) else "wrong" for name in heads]
        objects = [
            "right"
            if row.object_right(name)
            else f"{row.objects.get(name) or 'none'}, not {row.object}"
            for name in heads
        ]
        cells += ["; ".join(dict.fromkeys(words)) for words in (signs, objects)]
        made.append(
            f"| [{row.name}]({row.link}){' (chosen)' * row.chosen} | {signed(row.published)} | "
            f"{' | '.join(cells)} |"
        )
    return made


def not_run(pairs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the table of the kernel's pairs that were not run."""
    made = ["| pair | machine, workload | published | not run, because |", "|---|---|---|---|"]
    for pair in pairs:
        if "why" in pair:
            sides = (pair["before"], pair["after"])
            both = " -> ".join(side if isinstance(side, str) else f"{side:,}" for side in sides)
            made.append(
                f"| {pair['name']} | {pair['machine']}; {pair['workload']} | {both} | "
                f"{pair['why']} |"
            )
    return made


def page_with(page: str, data: Mapping[str, Any], wholes: Sequence[Whole]) -> str:
    """Return a page in which the tables that it has a place for are new."""
    exact, emulator, guest = (score(wholes, recorder).sentence() for recorder in RECORDERS)
    first = (
        f"On the model's own clock, {exact}. In the emulator, {emulator}. On kernels in guests, "
        f"{guest}. The error is the factor between the predicted and the published ratio of "
        "operations per second."
    )
    made = {
        "whole-first": textwrap.wrap(first, 120),
        "whole-programs": table(wholes, {"exact": "model's clock", "emulator": "emulator"}),
        "whole-guests": table(wholes, {"guest": "predicted"}),
        "whole-kernel": not_run(data["kernel"]),
    }
    for name, lines in made.items():
        begin = f"<!-- table: {name} -->\n"
        if begin not in page:
            continue
        start = page.index(begin) + len(begin)
        page = page[:start] + "\n".join(lines) + "\n" + page[page.index(END, start) :]
    return page


def draw(wholes: Sequence[Whole]) -> None:
    """Write the plot: a dot per pair and recorder."""
    figure = Figure(figsize=(6.4, 6.0), layout="constrained")
    axes = figure.add_subplot(xscale="log", yscale="log", aspect="equal")
    for recorder, mark in zip(RECORDERS, "oxs", strict=True):
        mine = [whole for whole in wholes if recorder in whole.predicted]
        axes.plot(
            [w.predicted[recorder] for w in mine], [w.published for w in mine], mark,
            label=recorder, fillstyle="none" if mark == "s" else "full",
        )  # fmt: skip
    for factor, style in ((1 / 1.5, ":"), (1, "-"), (1.5, ":")):
        axes.axline((1, factor), (10, 10 * factor), color="black", linewidth=0.8, linestyle=style)
    axes.set(xlabel="predicted operations per second, after / before", ylabel="published")
    axes.legend(fontsize=8)
    drawn = BytesIO()
    figure.savefig(drawn, dpi=80)
    Image.open(drawn).convert("RGB").quantize(64).save(PLOT, optimize=True)


def predicted_programs(
    data: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]], only: str | None
) -> Iterator[Mapping[str, Any]]:
    """Predict all pairs of programs, or those of one program, except the known pairs."""
    with tempfile.TemporaryDirectory() as folder:
        programs = compiled(Path(folder))
        for pair in data["pair"]:
            if pair["case"] == (only or pair["case"]):
                row = known.get(pair["name"])
                yield row or predict(pair, data["place"][pair["place"]], programs)


def predicted_kernels(
    data: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]
) -> Iterator[Mapping[str, Any]]:
    """Predict the kernel's pairs that have variants, except the known pairs."""
    with tempfile.TemporaryDirectory() as folder:
        calls = Path(folder) / "calls"
        subprocess.run(["gcc", "-static", *FLAGS, str(CALLS), "-o", str(calls)], check=True)
        for pair in data["kernel"]:
            if "compare" in pair:
                yield known.get(pair["name"]) or predict_in_guests(pair, calls)


def main(arguments: Sequence[str]) -> None:
    """Predict, and write or print."""
    only = dict(pairwise(arguments)).get("--only")
    data = tomllib.loads(PAIRS.read_text(encoding="utf-8"))
    known = {row["name"]: row for row in tomllib.loads(PREDICTED.read_text())["predicted"]}
    if only:
        effects = {pair["name"]: effect_of(pair) for pair in data["pair"]}
        for row in predicted_programs(data, {}, only):
            print(f"{row['name']}: published {signed(effects[row['name']])}, predicted "
                  f"{signed(row['exact'])} and {signed(row['emulator'])}")  # fmt: skip
        return
    old = known if "--new" in arguments else {}
    made = (
        predicted_kernels(data, old)
        if "--guests" in arguments
        else predicted_programs(data, old, None)
    )
    for row in () if "--page" in arguments else made:
        known[row["name"]] = row
        PREDICTED.write_text(text_of(list(known.values())), encoding="utf-8")
    wholes = read_whole(data, tomllib.loads(PREDICTED.read_text(encoding="utf-8")))  # as rounded
    for path in PAGES:
        page = page_with(path.read_text(encoding="utf-8"), data, wholes)
        path.write_text(page, encoding="utf-8")
    draw(wholes)
    print("\n".join(f"{name}: {value}" for name, value in parts(wholes).items()))


if __name__ == "__main__":
    main(sys.argv[1:])
