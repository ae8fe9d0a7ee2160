#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Record programs modelled on published cases, before and after the published change.

    python3 tests/record/published/published.py [--list] [NAME...]

It prints the best advice for the original program, and what the changed program takes when it is
recorded too. docs/record.md contains the published figures. A case whose compiler is missing here
is left out. Not in make check-all: it takes minutes, and fetches crates.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BUILD = ROOT / "build" / "record-published"
MACHINE = "xeon-8358-2s"
JAVA = (
    "java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -Xmx64m -XX:+UseSerialGC "
    "-XX:TieredStopAtLevel=1 -Dwindow={build}/libwindow.so -cp {build}"
)
CXX = "g++ -std=c++17 -g -O2 -pthread -I{root}/kernel/guest"
MADE_JAVA = (
    "javac -d {build} {here}/Window.java {here}/ReaderWriter.java {here}/Range.java",
    "cc -shared -fPIC -O2 -I{root}/kernel/guest {here}/window.c -o {build}/libwindow.so",
)


@dataclass(frozen=True)
class Case:
    """How both programs of a case are built and started."""

    needs: str
    build: tuple[str, ...]
    before: str
    after: str
    options: str = ""


def _twice(name: str, arguments: str) -> Case:
    """A program in C++, with and without -DAPART."""
    source, to = f"{{here}}/{name}.cc", f"{{build}}/{name}"
    return Case(
        "g++",
        (f"{CXX} {source} -o {to}", f"{CXX} -DAPART {source} -o {to}-apart"),
        f"{to} {arguments}",
        f"{to}-apart {arguments}",
    )


def _crate(name: str, program: str, before: str, after: str) -> Case:
    """A program in Rust with two versions of a crate."""
    made = tuple(
        command
        for version in (before, after)
        for command in (
            f"cp -r {{here}}/{name}/. {{build}}/{name}-{version}",
            f"sed -i s/={after}/={version}/ {{build}}/{name}-{version}/Cargo.toml",
            f"cargo build --quiet --release --manifest-path {{build}}/{name}-{version}/Cargo.toml",
        )
    )
    to = [
        f"{{build}}/{name}-{version}/target/release/{program} 8 1000" for version in (before, after)
    ]
    return Case("cargo", made, *to)


def _go(name: str, arguments: str) -> Case:
    made = f"go build -C {{here}}/{name} -buildvcs=false -o {{build}}/{name}.go ."
    program = f"{{build}}/{name}.go {arguments}"
    return Case("go", (made,), program, f"{program} apart", "--cpus 9")


def _java(name: str, arguments: str) -> Case:
    program = f"{JAVA} {name} {arguments}"
    return Case("javac", MADE_JAVA, program, f"{program} apart", "--cpus 32")


CASES = {
    "linear-regression": _twice("linear_regression", "8 5000"),
    "spinlock-pool": _twice("spinlock_pool", "8 2000"),
    "streamcluster": _twice("streamcluster", "8 2000"),
    "pi": Case(
        "gcc",
        tuple(
            f"gcc {more} -g -O2 -fopenmp -I{{root}}/kernel/guest {{here}}/pi.c -o {{build}}/{to}"
            for more, to in (("", "pi"), ("-DAPART", "pi-apart"))
        ),
        "{build}/pi 8 40000",
        "{build}/pi-apart 8 40000",
    ),
    "dashmap": _crate("dashmap", "shards", "5.5.3", "6.1.0"),
    "crossbeam-epoch": _crate("epoch", "pins", "0.9.15", "0.9.16"),
    "opentelemetry": Case(
        "cargo",
        (
            "cargo build --quiet --release --target-dir {build}/otel "
            "--manifest-path {here}/otel/Cargo.toml",
        ),
        "{build}/otel/release/adds 8 1000",
        "{build}/otel/release/adds 8 1000 apart",
    ),
    "concurrent-map": _go("concurrent-map", "3000"),
    "centrifugo": _go("centrifugo", "8 2000"),
    "reader-writer": _java("ReaderWriter", "20000"),
    "range": _java("Range", "8 2000"),
}


def words_of(text: str) -> list[str]:
    """Return a command as words, with the folders filled in."""
    return shlex.split(text.format(here=HERE, build=BUILD, root=ROOT))


def built(command: str) -> bool:
    """Whether a command of the build succeeded; an older compiler may refuse a program."""
    environment = {**os.environ, "GOFLAGS": ""}
    return subprocess.run(words_of(command), check=False, env=environment).returncode == 0


def record(name: str, command: str, options: str) -> dict[str, Any]:
    """Record one program and return the report."""
    out = BUILD / f"{name}.json"
    words = [
        str(ROOT / "schedshard"), "c2c", "record", "--machine", MACHINE, "--marks",
        "--uncertainty", "0", "--out", str(out), *shlex.split(options), "--", *words_of(command),
    ]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} ended with status {done.returncode}: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return found


def show(name: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Print the hottest line, the predicted gain, and the gain of the changed program."""
    variant, changed = before["variants"][0], after["variants"][0]
    line = variant["lines"][0]
    print(
        f"\n{name}: {variant['hitm_total']:,} HITM, then {changed['hitm_total']:,}\n"
        f"  hottest: {line['object']}, {line['type'] or 'no type'}, {line['sharing']}, "
        f"{line['cycle_share']:.1%} of cycles, {line['accesses'][0]['symbol']}"
    )
    for advice in before["advice"][:2]:
        print(f"  {advice['words']}: {advice['machines'][MACHINE]['fewer']:.1%} fewer cycles")
    fewer = 1 - changed["work_cycles"] / variant["work_cycles"]
    print(f"  recorded again: {fewer:.1%} fewer cycles", flush=True)


def main() -> None:
    """Build and record both programs of each case, and print what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", action="store_true", help="names, and what they need")
    parser.add_argument("name", nargs="*", metavar="NAME", help=", ".join(CASES))
    asked = parser.parse_args()
    for name in asked.name:
        if name not in CASES:
            parser.error(f"no case {name}: there are {', '.join(CASES)}")
    BUILD.mkdir(parents=True, exist_ok=True)
    for name, case in CASES.items():
        if asked.name and name not in asked.name:
            continue
        if asked.list:
            print(f"{name:20}{case.needs}")
        elif shutil.which(case.needs) is None:
            print(f"\n{name}: left out, needs {case.needs}", flush=True)
        else:
            failed = next((words for words in case.build if not built(words)), None)
            if failed:
                print(f"\n{name}: left out, '{failed}' failed", flush=True)
                continue
            reports = (
                record(f"{name}-{which}", command, case.options)
                for which, command in (("before", case.before), ("after", case.after))
            )
            show(name, *reports)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
