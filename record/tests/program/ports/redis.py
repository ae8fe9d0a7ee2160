#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Fetch redis of Debian 12, and build it as it is and with schedshard's count of its memory.

usage: redis.py FOLDER INCLUDE LIBRARY

FOLDER gets both programs, "before" and "after". INCLUDE contains the public headers, LIBRARY is
libschedshard.a. apt fetches the source; none of it is in this repository. The port adds a file, and
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
RELEASE = "bookworm"
ARCHIVE = "redis_7.0.15.orig.tar.gz"
SHA256 = "4b1dc4ee6d622a09fff9c6777191209750fb5e5a725ef78ea012d6eef4c22982"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
# Texts of zmalloc.c, each found there once, and their replacements.
CHANGES = (
    ("atomicIncr(used_memory,(__n))", "memory_count((long)(__n))"),
    ("atomicDecr(used_memory,(__n))", "memory_count(-(long)(__n))"),
    ("static redisAtomic size_t used_memory = 0;", '#include "memory_count.h"'),
    ("atomicGet(used_memory,um);", "um = memory_counted();"),
)


def run(*argv: str | Path, cwd: Path) -> None:
    """Run a command that prints only when it fails."""
    done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"redis.py: {argv[0]} failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")


def fetch(folder: Path) -> None:
    """Fetch the source with apt; its package lists are in the folder too."""
    (folder / "lists/partial").mkdir(parents=True)
    (folder / "list").write_text(
        f"deb-src [signed-by={KEYS}] http://deb.debian.org/debian {RELEASE} main\n",
        encoding="utf-8",
    )
    apt = ["apt-get", "-q", "-o", f"Dir::Etc::sourcelist={folder / 'list'}"]
    apt += ["-o", "Dir::Etc::sourceparts=-", "-o", f"Dir::State::lists={folder / 'lists'}"]
    run(*apt, "update", cwd=folder)
    run(*apt, "source", "--download-only", f"redis/{RELEASE}", cwd=folder)
    archive = folder / ARCHIVE
    if hashlib.sha256(archive.read_bytes()).hexdigest() != SHA256:
        sys.exit(f"redis.py: {ARCHIVE} is not the file that was ported")
    run("tar", "-xf", archive, cwd=folder)


def ported(source: str) -> tuple[str, int]:
    """Return the ported text of zmalloc.c, and how many lines changed."""
    text = source
    for old, new in CHANGES:
        if text.count(old) != 1:
            sys.exit(f'redis.py: zmalloc.c has "{old}" {text.count(old)} times, once was expected')
        text = text.replace(old, new)
    pairs = zip(source.splitlines(), text.splitlines(), strict=True)
    return text, sum(before != after for before, after in pairs)


def main(folder: Path, include: Path, library: Path) -> int:
    """Build both; return how many lines changed."""
    folder.mkdir(parents=True, exist_ok=True)
    fetch(folder)
    tree = folder / ARCHIVE.removesuffix(".orig.tar.gz").replace("_", "-")
    whole = f"-Wl,--whole-archive {library} -Wl,--no-whole-archive"
    make = ["make", f"-j{os.cpu_count() or 1}", "MALLOC=libc", "BUILD_TLS=no", "USE_SYSTEMD=no"]
    make += [f"REDIS_CFLAGS=-I{include}", f"REDIS_LDFLAGS={whole}", "redis-server"]
    run(*make, cwd=tree)
    shutil.copy(tree / "src/redis-server", folder / "before")
    source = tree / "src/zmalloc.c"
    text, changed = ported(source.read_text(encoding="utf-8"))
    source.write_text(text, encoding="utf-8")
    shutil.copy(HERE / "memory_count.h", tree / "src")
    run(*make, cwd=tree)
    shutil.copy(tree / "src/redis-server", folder / "after")
    return changed


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: redis.py FOLDER INCLUDE LIBRARY")
    print(f"{main(*(Path(word).resolve() for word in sys.argv[1:]))} lines of zmalloc.c changed")
