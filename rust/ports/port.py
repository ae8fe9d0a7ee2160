#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Fetch async-executor, port a copy of it to schedshard, and build one program with each.

usage: SCHEDSHARD_LIB_DIR=... port.py FOLDER

The script makes FOLDER/before and FOLDER/after, each with the program "spawn". Cargo fetches the
sources from crates.io; none are in this repository. The port adds a file, and changes the lines
that CHANGES lists. SCHEDSHARD_LIB_DIR names the folder of libschedshard.so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent / "async-executor"
# Text in the crate's lib.rs, how often it occurs, and what replaces it.
CHANGES = (
    ("use slab::Slab;", 1, "mod active;"),
    ("Mutex<Slab<Waker>>", 2, "active::Active"),
    ("&mut Slab<Waker>", 1, "&mut active::Near<'_>"),
    ("Mutex::new(Slab::new())", 1, "active::Active::new()"),
)
MANIFEST = """[package]
name = "spawn"
version = "0.0.0"
edition = "2021"
rust-version = "1.79"

[[bin]]
name = "spawn"
path = "main.rs"

[dependencies]
async-executor = "=1.13.1"
futures-lite = "2"

[profile.release]
debug = true

[workspace]
"""


def cargo(folder: Path, *arguments: str) -> str:
    """Run cargo in a folder; return what it prints."""
    command = ["cargo", *arguments]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def ported(source: str) -> tuple[str, int]:
    """Return the crate's lib.rs after the port, and the number of changed lines."""
    text = source
    for old, times, new in CHANGES:
        if text.count(old) != times:
            sys.exit(f'port.py: lib.rs has "{old}" {text.count(old)} times, {times} were expected')
        text = text.replace(old, new)
    pairs = zip(source.splitlines(), text.splitlines(), strict=True)
    return text, sum(before != after for before, after in pairs)


def program(folder: Path, manifest: str) -> None:
    """Write a program's sources."""
    folder.mkdir(parents=True)
    (folder / "Cargo.toml").write_text(manifest, encoding="utf-8")
    shutil.copy(HERE / "main.rs", folder)
    shutil.copy(HERE / "Cargo.lock", folder)


def vendor(folder: Path, target: Path) -> str:
    """Fetch the locked versions of the crate's dependencies, or others if crates.io lacks one."""
    try:
        return cargo(folder, "vendor", "--locked", "--quiet", str(target))
    except subprocess.CalledProcessError:
        print("port.py: not all versions of Cargo.lock are there: cargo chooses", file=sys.stderr)
        (folder / "Cargo.lock").unlink()
        return cargo(folder, "vendor", "--quiet", str(target))


def main(target: Path) -> int:
    """Make both programs; return the number of changed lines of the crate."""
    before, after = target / "before", target / "after"
    program(before, MANIFEST)
    config = vendor(before, target / "vendor")
    crate = target / "async-executor"
    shutil.copytree(target / "vendor/async-executor", crate)
    (crate / ".cargo-checksum.json").unlink()
    text, changed = ported((crate / "src/lib.rs").read_text(encoding="utf-8"))
    (crate / "src/lib.rs").write_text(text, encoding="utf-8")
    shutil.copy(HERE / "active.rs", crate / "src")
    with (crate / "Cargo.toml").open("a", encoding="utf-8") as manifest:
        manifest.write(f'\n[dependencies.schedshard]\npath = "{HERE.parents[1]}"\n')
    replaced = f'\n[patch.crates-io]\nasync-executor = {{ path = "{crate}" }}\n'
    program(after, MANIFEST + replaced)
    shutil.copy(before / "Cargo.lock", after)  # the versions that were fetched
    shared = target / "target"
    os.environ["SCHEDSHARD_STATIC"] = "1"  # the programs run from anywhere
    for folder in (before, after):
        (folder / ".cargo").mkdir()
        (folder / ".cargo/config.toml").write_text(config, encoding="utf-8")
        cargo(folder, "build", "--release", "--offline", "--quiet", "--target-dir", str(shared))
        shutil.copy(shared / "release/spawn", folder / "spawn")
    return changed


if __name__ == "__main__":
    if len(sys.argv) != 2 or "SCHEDSHARD_LIB_DIR" not in os.environ:
        sys.exit("usage: SCHEDSHARD_LIB_DIR=... port.py FOLDER")
    print(f"{main(Path(sys.argv[1]).resolve())} lines of the crate changed")
