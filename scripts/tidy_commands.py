# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reduce a build tree's compile commands to one per file: tidy_commands.py FROM_DIR TO_DIR.

core/ is compiled a dozen times, for each port and each planted bug, and clang-tidy would check each
file as many times. The first command in the database is the library's.

kernel/guest/ is compiled by `kernel test`, so its commands are made here.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(source: Path, target: Path) -> None:
    """Write the reduced database."""
    commands = json.loads((source / "compile_commands.json").read_text(encoding="utf-8"))
    first: dict[str, object] = {}
    for command in commands:
        first.setdefault(command["file"], command)
    for file in sorted(Path("kernel/guest").resolve().glob("*.c")):
        words = ["clang", "-std=gnu11", "-D_GNU_SOURCE", "-c", str(file)]
        first[str(file)] = {"directory": str(file.parent), "file": str(file), "arguments": words}
    target.mkdir(parents=True, exist_ok=True)
    text = json.dumps(list(first.values()), indent=1)
    (target / "compile_commands.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
