# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Configure a build tree for a stage of scripts/check.py.

configure.py DIR KEY [MESON-OPTION...]    KEY identifies the configuration

A tree with this KEY stays as it is. A tree with another KEY is removed and configured afresh.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path


def main(directory: Path, key: str, options: list[str]) -> int:
    """Return meson's exit status, or 0 when nothing is to do."""
    stamp = directory / "check-options"
    if (directory / "build.ninja").exists():
        if stamp.exists() and stamp.read_text(encoding="ascii") == key:
            return 0
        shutil.rmtree(directory)
    status = subprocess.run(["meson", "setup", str(directory), *options], check=False).returncode
    if status == 0:
        stamp.write_text(key, encoding="ascii")
    return status


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
