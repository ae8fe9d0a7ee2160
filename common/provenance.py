# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Determines a result's provenance, which suffices to produce the same bytes again."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path
from typing import Any

from common.errors import telling
from common.paths import INSTALLED, ROOT, VERSION, shown


def sha256_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes in hex."""
    digest = hashlib.sha256()
    with telling(f"cannot read {path}"), path.open("rb") as file:
        while part := file.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def _git(*args: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *args],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None


def commit() -> str:
    """Return the commit of this checkout, with '-dirty' if tracked files differ, or 'unknown'."""
    if INSTALLED:
        return "unknown"
    found = _git("rev-parse", "--show-toplevel", "HEAD")
    top, _, head = (found or "").rpartition("\n")
    if not top or Path(top).resolve() != ROOT:
        return "unknown"
    changed = _git("status", "--porcelain", "--untracked-files=no")
    return f"{head}-dirty" if changed else head


def tool_versions() -> dict[str, str]:
    """Return version and commit, which do not depend on the input."""
    return {"version": VERSION, "commit": commit()}


def machine_provenance(
    path: Path, sha256: str, data: dict[str, Any], protocol_calibration: str
) -> dict[str, str]:
    """Return the machine file's identity, and how the numbers predicted on it were calibrated.

    ``data`` is what the file says. Its [source] entries give the origin of latencies and protocol
    constants. Constants that it omits are the simulator's; ``protocol_calibration`` names the data
    on which those were chosen.
    """
    source = data.get("source", {})
    parts = [f"protocol constants: {protocol_calibration}"]
    parts += [
        f"{key}: {text}"
        for key, text in (source.items() if isinstance(source, dict) else ())
        if key.split(".")[0] in ("latency_ns", "tier", "protocol")
    ]
    return {
        "machine_file": shown(path),
        "machine_sha256": sha256,
        "calibration": "; ".join(parts),
    }
