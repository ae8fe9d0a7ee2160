#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Record the programs of docs/record.md's table, and print the contended lines of each.

    python3 tests/record/programs/programs.py [--list] [NAME...]

Without a name it records all, one after the other. It names and skips programs that cannot be built
or run here. Not in make check-all: it takes minutes, and needs the programs of `--list`.
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
BUILD = ROOT / "build" / "record-programs"
MACHINE = "epyc-9654-2s"
SHOWN = 4  # contended lines per program


@dataclass(frozen=True)
class Program:
    """How a program is built, recorded and loaded."""

    words: str
    needs: str  # a command, and the package that contains it
    options: str = ""
    build: tuple[str, ...] = ()
    load: str = ""  # arguments of load.py
    native: bool = False  # its output is always the same


STRESS = "stress-ng (package stress-ng)"
SYSBENCH = "sysbench (package sysbench)"
PROGRAMS = {
    "mutex": Program("stress-ng --mutex 2 --mutex-ops 2000", STRESS, "--follow"),
    "atomic": Program("stress-ng --atomic 4 --atomic-ops 40", STRESS, "--follow"),
    "futex": Program("stress-ng --futex 2 --futex-ops 2000", STRESS, "--follow"),
    "cacheline": Program("stress-ng --cacheline 4 --cacheline-ops 4", STRESS, "--follow"),
    "perf": Program("perf bench futex hash -t 8 -f 64 -r 2", "perf (package linux-perf)"),
    "threads": Program(
        "sysbench threads --threads=8 --thread-locks=4 --thread-yields=50 --events=400 --time=0 "
        "run",
        SYSBENCH,
    ),
    "locks": Program(
        "sysbench mutex --threads=8 --mutex-num=4 --mutex-locks=500 --mutex-loops=100 run", SYSBENCH
    ),
    "memcached": Program(
        "memcached -u root -A -t 8 -l 127.0.0.1 -p 21211",
        "memcached (package memcached)",
        "--after 8 --for 8",
        load="memcached 21211 32 20",
    ),
    "redis": Program(
        "redis-server --port 26379 --save '' --io-threads 4 --io-threads-do-reads yes",
        "redis-server (package redis-server)",
        "--after 8 --for 8",
        load="redis 26379 32 20",
    ),
    "java": Program(
        "java -Xmx64m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp {build} Counters 8 5000",
        "javac (package openjdk-17-jdk-headless)",
        "--cpus 32",
        ("javac -d {build} {here}/Counters.java",),
        native=True,
    ),
    "go": Program(
        "{build}/channel 8 4000",
        "go (1.19 or newer)",
        "--cpus 8",
        ("go build -C {here}/channel -buildvcs=false -o {build}/channel .",),
        native=True,
    ),
    "shared_ptr": Program(
        "{build}/shared-ptr 8 1000",
        "g++ (package g++)",
        "--marks",
        (
            "g++ -std=c++17 -g -O2 -pthread -I{root}/kernel/guest {here}/shared_ptr.cc "
            "-o {build}/shared-ptr",
        ),
        native=True,
    ),
    "crossbeam": Program(
        "{build}/release/steal 8 500",
        "cargo (and a registry of crates)",
        "--marks",
        (
            "cp -r {here}/crossbeam {build}",
            "cargo build --quiet --release --manifest-path {build}/crossbeam/Cargo.toml "
            "--target-dir {build}",
        ),
        native=True,
    ),
}


def words_of(text: str) -> list[str]:
    """Return a command as words, with the folders filled in."""
    return shlex.split(text.format(here=HERE, build=BUILD, root=ROOT))


def output(words: list[str]) -> str:
    """Run a command and return its standard output; its errors are shown."""
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def record(name: str, program: Program) -> dict[str, Any]:
    """Record a program and return the report."""
    out = BUILD / f"{name}.json"
    words, options = words_of(program.words), ["--machine", MACHINE, "--placement", "scatter"]
    options += shlex.split(program.options)
    shown = shlex.join(["./schedshard", "c2c", "record", *options, "--", *words])
    print(f"\n{name}: {shown.replace(f'{ROOT}/', '')}", flush=True)
    expected = output(words) if program.native else None
    command = [str(ROOT / "schedshard"), "c2c", "record", *options, "--out", str(out), "--", *words]
    load = None
    if program.load:
        load = subprocess.Popen([sys.executable, str(HERE / "load.py"), *program.load.split()])
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    finally:
        if load is not None:
            load.wait()
    if done.returncode:
        raise SystemExit(f"{name} ended with status {done.returncode}: {done.stderr[-2000:]}")
    if expected is not None and done.stdout != expected:
        raise SystemExit(f"{name} said '{done.stdout}', natively '{expected}'")
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return found


def show(report: dict[str, Any]) -> None:
    """Print the hottest lines and the advice."""
    variant, recording = report["variants"][0], report["recording"]
    print(
        f"  {variant['hitm_total']:,} HITM, {variant['work_cycles']:,.0f} cycles of work, "
        f"{report['program']['threads']} threads; {recording['waits']:,} waits, "
        f"{recording['timeouts']:,} of them timed out"
    )
    for line in variant["lines"][:SHOWN]:
        source = next((a["source"] for a in line["accesses"] if a["source"] != "?"), "?")
        fields = ", ".join(sorted({a["field"] for a in line["accesses"][:3] if a["field"]}))
        print(
            f"  {line['hitm_share']:6.1%} of HITM {line['cycle_share']:6.1%} of cycles  "
            f"{line['sharing']:6} {len(line['threads']):2} threads  {line['object']}"
            f"{line['offset']:+#x} [{fields}] {source}"
        )
    for advice in report["advice"]:
        gains = {name: f"{gain['fewer']:.1%}" for name, gain in advice["machines"].items()}
        print(f"  {advice['words']}: {gains} fewer cycles")
    sys.stdout.flush()


def main() -> None:
    """Build and record each program, and print its lines."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", action="store_true", help="names, commands, what they need")
    parser.add_argument("name", nargs="*", metavar="NAME", help=", ".join(PROGRAMS))
    asked = parser.parse_args()
    for name in asked.name:
        if name not in PROGRAMS:
            parser.error(f"no program {name}: there are {', '.join(PROGRAMS)}")
    BUILD.mkdir(parents=True, exist_ok=True)
    for name, program in PROGRAMS.items():
        if asked.name and name not in asked.name:
            continue
        if asked.list:
            print(f"{name:12}{program.needs}\n{'':12}{program.words}")
        elif shutil.which(program.needs.split()[0]) is None:
            print(f"\n{name}: left out, needs {program.needs}", flush=True)
        else:
            for words in program.build:
                subprocess.run(words_of(words), check=True, env={**os.environ, "GOFLAGS": ""})
            show(record(name, program))


if __name__ == "__main__":
    main()
