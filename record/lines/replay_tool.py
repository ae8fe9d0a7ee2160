# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Runs the tool that replays a trace."""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from common.errors import UserError, telling
from common.inputs import open_input
from common.output import read_json
from common.paths import build_dir, remake
from model.results.raw import Run
from model.results.read import checked


def replay_trace(trace: Path, watch: Callable[[Path], str]) -> Run:
    """Return the result of a replay. ``watch`` returns the watch file's text for a result path."""
    tool = build_dir() / "record" / "plugin" / "schedshard-replay"
    if not tool.is_file():
        raise UserError(f"{tool} is missing: {remake()}")
    open_input(trace, "trace", sys.maxsize).close()
    with tempfile.TemporaryDirectory(prefix="schedshard-") as folder:
        result, file = Path(folder) / "result.json", Path(folder) / "watch"
        with telling(f"cannot write {file}"):
            file.write_text(watch(result), encoding="utf-8")
        with telling(f"cannot run {tool}", status=1):
            done = subprocess.run(
                [str(tool), str(file), str(trace)], stdin=subprocess.DEVNULL, capture_output=True,
                text=True, check=False,
            )  # fmt: skip
        if done.returncode:
            messages = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
            raise UserError(messages[-1].removeprefix("schedshard: "))
        return checked(read_json(result, "result"), f"the result of {tool}", Run.of)
