# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Check three rules that no other linter knows, for every file that git tracks or would track.

Every source file names its licence in its first lines. No file names a path that exists only on one
developer's machine. Lines of C have at most 100 columns (the formatter ignores comments).
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

SUFFIXES = re.compile(
    r"\.(build|c|cc|cocci|cpp|css|h|hh|hpp|in|inc|ini|j2|js|py|sh|supp|toml|txt|ya?ml)$"
)
NAMES = frozenset(("Makefile", ".clang-format", ".clang-tidy", ".clangd", ".editorconfig"))
# Test inputs are data: output of a program or a machine, byte for byte.
DATA = re.compile(r"(^|/)(data|corpus|captures|golden)/")
EXEMPT = re.compile(r"^LICENSES/")
C_SUFFIXES = frozenset((".c", ".h", ".inc"))
C_COLUMNS = 100
TAG = "SPDX-License-" + "Identifier: "
HOME = re.compile(rb"(?<![\w.$}>-])/(?:home|root|Users|work|workspace)/[\w.-]+")


def tracked(*patterns: str, root: Path = Path()) -> list[str]:
    """Return the files of a project that match, tracked or about to be."""
    argv = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns]
    listing = subprocess.run(argv, check=True, capture_output=True, text=True, cwd=root).stdout
    return sorted(name for name in listing.split("\0") if name and (root / name).is_file())


def is_source(path: Path, text: bytes) -> bool:
    """Tell whether a file is program text, by its name or by its first line."""
    return bool(SUFFIXES.search(path.name)) or path.name in NAMES or text.startswith(b"#!")


def faults(path: Path) -> list[str]:
    """Return the errors of one file, one line each."""
    text = path.read_bytes()
    errors = []
    if is_source(path, text) and not DATA.search(str(path)):
        head = text[:512].decode("utf-8", "replace").splitlines()[:4]
        if not any(TAG in line for line in head):
            errors.append(f"{path}:1: no {TAG.strip()} line at its top")
    for number, line in enumerate(text.splitlines(), 1):
        match = HOME.search(line)
        if match and b"\0" not in text:
            errors.append(f"{path}:{number}: names a path of one workplace: {match[0].decode()}")
        if path.suffix in C_SUFFIXES and (columns := len(line.expandtabs(8))) > C_COLUMNS:
            errors.append(f"{path}:{number}: {columns} columns, {C_COLUMNS} at most")
    return errors


def main() -> int:
    """Check all files; print the faults; return the exit status."""
    paths = [Path(name) for name in tracked() if not EXEMPT.match(name)]
    errors = [fault for path in paths for fault in faults(path)]
    print("\n".join(errors) if errors else f"{len(paths)} files, nothing found")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
