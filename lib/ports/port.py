#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Fetch a program, build it as it is, port it to the library, and build it again.

usage: port.py async-executor|redis|peers FOLDER BUILD

BUILD is a build of this project. FOLDER gets both programs, "before" and "after". For "peers" it
gets one program, "peers", which measures the library beside pools of crates. cargo fetches the
crate, and apt the source of redis; none of them is in this repository. A port adds a file, and
changes the lines that CHANGES lists.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Of each program: the text in one of its files, how often it occurs, and what replaces it.
CHANGES = {
    "async-executor": (
        ("use slab::Slab;", 1, "mod active;"),
        ("Mutex<Slab<Waker>>", 2, "active::Active"),
        ("&mut Slab<Waker>", 1, "&mut active::Near<'_>"),
        ("Mutex::new(Slab::new())", 1, "active::Active::new()"),
    ),
    "redis": (
        ("atomicIncr(used_memory,(__n))", 1, "memory_count((long)(__n))"),
        ("atomicDecr(used_memory,(__n))", 1, "memory_count(-(long)(__n))"),
        ("static redisAtomic size_t used_memory = 0;", 1, '#include "memory_count.h"'),
        ("atomicGet(used_memory,um);", 1, "um = memory_counted();"),
    ),
}
MANIFEST = """[package]
name = "NAME"
version = "0.0.0"
edition = "2021"

[[bin]]
name = "NAME"
path = "main.rs"

[dependencies]
DEPENDENCIES

[profile.release]
debug = true

[workspace]
"""
SPAWN = MANIFEST.replace("NAME", "spawn").replace(
    "DEPENDENCIES", 'async-executor = "=1.13.1"\nfutures-lite = "2"'
)
PEERS = MANIFEST.replace("NAME", "peers").replace(
    "DEPENDENCIES",
    'crossbeam-queue = "=0.3.11"\nsharded-slab = "=0.1.7"\nschedshard = { path = "RUST" }',
)
RELEASE = "bookworm"
ARCHIVE = "redis_7.0.15.orig.tar.gz"
SHA256 = "4b1dc4ee6d622a09fff9c6777191209750fb5e5a725ef78ea012d6eef4c22982"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"


def run(*argv: str | Path, cwd: Path) -> str:
    """Run a command without showing its output, and return its standard output.

    If it fails, exit with the end of its output as the message.
    """
    done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"port.py: {argv[0]} failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def port(name: str, source: Path, added: str) -> int:
    """Change a program's file, and put a file of ours beside it; return how many lines changed."""
    before = text = source.read_text(encoding="utf-8")
    for old, times, new in CHANGES[name]:
        if text.count(old) != times:
            sys.exit(f'port.py: {source.name} has "{old}" {text.count(old)} times, not {times}')
        text = text.replace(old, new)
    source.write_text(text, encoding="utf-8")
    shutil.copy(HERE / added, source.parent)
    return sum(a != b for a, b in zip(before.splitlines(), text.splitlines(), strict=True))


def peers(folder: Path, build: Path) -> int:
    """Build a program that measures pools of crates beside the library's; it changes nothing."""
    os.environ |= {"SCHEDSHARD_LIB_DIR": str(build / "lib"), "SCHEDSHARD_STATIC": "1"}
    manifest = PEERS.replace("RUST", str(HERE.parents[1] / "rust"))
    (folder / "Cargo.toml").write_text(manifest, encoding="utf-8")
    shutil.copy(HERE / "peers.rs", folder / "main.rs")
    run("cargo", "build", "--release", "--quiet", cwd=folder)
    shutil.copy(folder / "target/release/peers", folder / "peers")
    return 0


def async_executor(folder: Path, build: Path) -> int:
    """Build a program that spawns tasks, with the crate and with its port."""
    os.environ |= {"SCHEDSHARD_LIB_DIR": str(build / "lib"), "SCHEDSHARD_STATIC": "1"}
    program = folder / "program"
    program.mkdir()
    (program / "Cargo.toml").write_text(SPAWN, encoding="utf-8")
    shutil.copy(HERE / "spawn.rs", program / "main.rs")
    config = run("cargo", "vendor", "--quiet", folder / "vendor", cwd=program)
    (program / ".cargo").mkdir()
    (program / ".cargo/config.toml").write_text(config, encoding="utf-8")
    make = ("cargo", "build", "--release", "--offline", "--quiet")
    run(*make, cwd=program)
    shutil.copy(program / "target/release/spawn", folder / "before")
    crate = folder / "async-executor"
    shutil.copytree(folder / "vendor/async-executor", crate)
    (crate / ".cargo-checksum.json").unlink()
    changed = port("async-executor", crate / "src/lib.rs", "active.rs")
    with (crate / "Cargo.toml").open("a", encoding="utf-8") as manifest:
        manifest.write(f'\n[dependencies.schedshard]\npath = "{HERE.parents[1] / "rust"}"\n')
    replaced = f'\n[patch.crates-io]\nasync-executor = {{ path = "{crate}" }}\n'
    (program / "Cargo.toml").write_text(SPAWN + replaced, encoding="utf-8")
    run(*make, cwd=program)
    shutil.copy(program / "target/release/spawn", folder / "after")
    return changed


def redis(folder: Path, build: Path) -> int:
    """Build redis-server of Debian 12 with its own count of its memory, and with ours."""
    (folder / "lists/partial").mkdir(parents=True)
    (folder / "list").write_text(
        f"deb-src [signed-by={KEYS}] http://deb.debian.org/debian {RELEASE} main\n",
        encoding="utf-8",
    )
    apt = ["apt-get", "-q", "-o", f"Dir::Etc::sourcelist={folder / 'list'}"]
    apt += ["-o", "Dir::Etc::sourceparts=-", "-o", f"Dir::State::lists={folder / 'lists'}"]
    run(*apt, "update", cwd=folder)
    run(*apt, "source", "--download-only", f"redis/{RELEASE}", cwd=folder)
    if hashlib.sha256((folder / ARCHIVE).read_bytes()).hexdigest() != SHA256:
        sys.exit(f"port.py: {ARCHIVE} is not the file that was ported")
    run("tar", "-xf", folder / ARCHIVE, cwd=folder)
    tree = folder / ARCHIVE.removesuffix(".orig.tar.gz").replace("_", "-")
    library = f"-Wl,--whole-archive {build / 'lib/libschedshard.a'} -Wl,--no-whole-archive"
    make = ["make", f"-j{os.cpu_count() or 1}", "MALLOC=libc", "BUILD_TLS=no", "USE_SYSTEMD=no"]
    make += [f"REDIS_CFLAGS=-I{build / 'lib/public'}", f"REDIS_LDFLAGS={library}", "redis-server"]
    run(*make, cwd=tree)
    shutil.copy(tree / "src/redis-server", folder / "before")
    changed = port("redis", tree / "src/zmalloc.c", "memory_count.h")
    run(*make, cwd=tree)
    shutil.copy(tree / "src/redis-server", folder / "after")
    return changed


PORTS = {"async-executor": async_executor, "redis": redis, "peers": peers}

if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in PORTS:
        sys.exit("usage: port.py async-executor|redis|peers FOLDER BUILD")
    target, built = (Path(word).resolve() for word in sys.argv[2:])
    target.mkdir(parents=True, exist_ok=True)
    print(f"{PORTS[sys.argv[1]](target, built)} lines changed")
