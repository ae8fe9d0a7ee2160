#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Record a published case of false sharing before and after its fix.

The regex crate keeps scratch memory of its searches in a pool. Version 1.9.5 (regex-automata 0.3.8)
gave the pool eight stacks, each behind a mutex, and each mutex its own line. 1.9.4 has one stack. A
third variant is 0.3.8 without the attribute that aligns the stacks to lines.

    python3 tests/record/regex/regex_versions.py [--machine M...] [--threads N] [--searches N]
        [--build FOLDER]

Needs cargo, a registry of crates, and a build of the project. Takes minutes; not in make check-all.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
ALIGNED = "#[repr(C, align(64))]\n    struct CacheLine"
BESIDE = "#[repr(C)]\n    struct CacheLine"
OLD = {"=1.9.5": "=1.9.4", "=0.3.8": "=0.3.7"}
VARIANTS = ("one stack (1.9.4)", "side by side", "a line each (1.9.5)")


def fail(why: str) -> None:
    """Print one line, and end with the status of bad input."""
    print(f"regex_versions.py: {why}", file=sys.stderr)
    raise SystemExit(2)


def cargo(folder: Path, target: Path, *words: str) -> str:
    """Run cargo and return its output; its errors are shown."""
    return subprocess.run(
        ["cargo", *words],
        cwd=folder,
        env={**os.environ, "CARGO_TARGET_DIR": str(target)},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


def crate_source(folder: Path, target: Path, name: str) -> Path:
    """Return the folder into which cargo unpacked a crate that the program uses."""
    told = json.loads(cargo(folder, target, "metadata", "--format-version", "1"))
    for package in told["packages"]:
        if package["name"] == name:
            return Path(package["manifest_path"]).parent
    raise AssertionError(name)


def build(work: Path) -> dict[str, Path]:
    """Build the three variants of the program, and return their paths by name."""
    target, found = work / "target", {}
    for variant, slug in zip(VARIANTS, ("old", "beside", "aligned"), strict=True):
        folder = work / slug
        shutil.copytree(HERE / "src", folder / "src", dirs_exist_ok=True)
        manifest = (HERE / "Cargo.toml").read_text(encoding="utf-8")
        if slug == "old":
            for new, old in OLD.items():
                manifest = manifest.replace(new, old)
        (folder / "Cargo.toml").write_text(manifest, encoding="utf-8")
        if slug == "beside":
            crate = folder / "regex-automata"
            if not crate.is_dir():
                shutil.copytree(crate_source(folder, target, "regex-automata"), crate)
            pool = crate / "src" / "util" / "pool.rs"
            text = pool.read_text(encoding="utf-8")
            if text.count(ALIGNED) + text.count(BESIDE) != 1:
                fail(f"{pool} has no attribute that aligns the stacks")
            pool.write_text(text.replace(ALIGNED, BESIDE), encoding="utf-8")
            patch = '[patch.crates-io]\nregex-automata = { path = "regex-automata" }\n'
            (folder / "Cargo.toml").write_text(f"{manifest}{patch}", encoding="utf-8")
        cargo(folder, target, "build", "--release", "--quiet")
        found[variant] = work / slug / "regex-pool"
        shutil.copy(target / "release" / "regex-pool", found[variant])
    return found


def record(program: Path, which: str, asked: argparse.Namespace, out: Path) -> list[dict[str, Any]]:
    """Record a program; return the report's variants, one per machine."""
    machines = [word for machine in asked.machine for word in ("--machine", machine)]
    command = [
        *(str(ROOT / "schedshard"), "c2c", "record", *machines, "--marks", "--out", str(out)),
        *("--placement", "compact", "--cpus", str(asked.cpus), "--"),
        *(str(program), which, str(asked.threads), str(asked.searches)),
    ]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    expected = str(asked.threads * asked.searches)
    if done.stdout.strip() != expected:
        fail(f"{program} found '{done.stdout.strip()}', not {expected}")
    report = json.loads(out.read_text(encoding="utf-8"))
    for advice in report["advice"]:
        print(f"  {program.parent.name}: {advice['words']}", end="")
        gains = {name: f"{gain['fewer']:.0%}" for name, gain in advice["machines"].items()}
        print(f": {gains} fewer cycles", flush=True)
    variants: list[dict[str, Any]] = report["variants"]
    return variants


def main() -> None:
    """Build and record the variants, and print a comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--machine", action="append", default=[], help="repeatable")
    parser.add_argument("--threads", type=int, default=24)
    parser.add_argument("--searches", type=int, default=1000)
    parser.add_argument("--cpus", type=int, default=24)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "record-regex")
    asked = parser.parse_args()
    asked.machine = asked.machine or ["xeon-8358-2s"]
    if shutil.which("cargo") is None:
        fail("cargo is missing")
    programs = build(asked.build)
    searches = asked.threads * asked.searches
    runs = [(variant, "shared") for variant in VARIANTS] + [(VARIANTS[-1], "cloned")]
    print(f"{'':32}{'machine':16}{'HITM/search':>12}{'cycles/search':>15}{'virtual ms':>12}")
    for variant, which in runs:
        name = f"{which}, {variant}"
        report = record(programs[variant], which, asked, asked.build / "report.json")
        for each in report:
            print(
                f"{name:32}{each['name']:16}{each['hitm_total'] / searches:12.2f}"
                f"{each['work_cycles'] / searches:15.0f}"
                f"{each['model']['virtual_ns'] / 1e6:12.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
