# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Plant the faults of faults.toml in a copy, one at a time; the tests must notice each.

usage: faults.py [WORD...]    only faults whose file or title contains a WORD

A copy of the tracked files is built in build/faults. The tests must pass there without a fault.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPY = ROOT / "build" / "faults" / "tree"
BUILD = ROOT / "build" / "faults" / "build"


def copy_tree() -> None:
    """Copy the tracked files; unchanged ones keep their time, so that ninja skips them."""
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        source, target = ROOT / name, COPY / name
        if not source.is_file() or source.is_symlink():
            continue
        if target.exists() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def build(targets: list[str]) -> None:
    """Build the test programs; a tree that does not build ends the run."""
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["meson", "setup", "-Dbuildtype=debugoptimized", BUILD, COPY], check=True)
    done = subprocess.run(["ninja", "-C", BUILD, *targets], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout[-4000:])


def failed_test(tests: list[str]) -> str:
    """Run the tests until one fails, and return its name; '' if all pass."""
    for test in tests:
        done = subprocess.run(
            ["meson", "test", "-C", BUILD, "--no-rebuild", test], capture_output=True, text=True
        )
        if done.returncode:
            return test
    return ""


def main(words: list[str]) -> int:
    """Plant the chosen faults, and count those that no test noticed."""
    settings = tomllib.loads((Path(__file__).parent / "faults.toml").read_text("utf-8"))
    faults = [
        fault
        for fault in settings["fault"]
        if not words or any(word in fault["file"] or word in fault["title"] for word in words)
    ]
    copy_tree()
    build(settings["targets"])
    broken = failed_test(sorted({test for fault in faults for test in fault["tests"]}))
    if broken:
        sys.exit(f"{broken} fails without a fault")
    missed = 0
    for fault in faults:
        path = COPY / fault["file"]
        whole = path.read_text("utf-8")
        if whole.count(fault["old"]) != 1:
            sys.exit(f"{fault['file']}: not once: {fault['old']}")
        path.write_text(whole.replace(fault["old"], fault["new"]), "utf-8")
        try:
            build(settings["targets"])
            noticed = failed_test(fault["tests"])
        finally:
            path.write_text(whole, "utf-8")
        missed += not noticed
        print(f"{fault['file']}: {fault['title']}: {noticed or 'NOT NOTICED'}", flush=True)
    print(f"{len(faults)} faults, {missed} not noticed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
