# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Runs a measuring tool that reports its progress as lines 'progress DONE TOTAL' on stderr."""

import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from common.errors import UserError, telling
from common.paths import remake
from common.progress import Ticker, silent, ticking


def run_followed(argv: Sequence[str], title: str) -> Any:
    """Run the tool, show its progress under ``title``, and return its JSON.

    The JSON goes through a file, because this process reads only the progress pipe while the tool
    runs. A second pipe might fill up.
    """
    tool = Path(argv[0])
    if not tool.is_file():
        raise UserError(f"{tool} is missing: {remake()}")
    with telling(f"cannot run {tool}", status=1), tempfile.TemporaryFile() as output:
        child = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE
        )
        message, status = _follow(child, title)
        output.seek(0)
        text = output.read()
    if status != 0:
        what = message.removeprefix(f"{tool.name}: ") or f"ended with status {status}"
        raise UserError(f"{tool.name}: {what}", status=2 if status == 2 else 1)
    try:
        return json.loads(text)
    except ValueError as error:
        raise UserError(f"{tool.name} did not print complete JSON: {error}", status=1) from error


def _follow(child: subprocess.Popen[bytes], title: str) -> tuple[str, int]:
    """Show the tool's progress until it ends. Return its last other line (the error) and status."""
    assert child.stderr is not None
    try:
        first = child.stderr.readline()
        _, total = _progress(first)
        if total:
            with ticking(title, total) as tick:
                message = _last(first, child.stderr, tick)
        else:
            message = _last(first, child.stderr, silent)
        return message, child.wait()
    except BaseException:
        child.kill()
        child.wait()
        raise


def _last(first: bytes, stream: IO[bytes], tick: Ticker) -> str:
    message = ""
    shown = 0
    for line in [first, *stream]:
        done, total = _progress(line)
        if not total:
            message = line.decode("utf-8", "replace").strip() or message
        for _ in range(shown, done):
            tick("")
        shown = max(shown, done)
    return message


def _progress(line: bytes) -> tuple[int, int]:
    words = line.split()
    if len(words) == 3 and words[0] == b"progress" and words[1].isdigit() and words[2].isdigit():
        return int(words[1]), int(words[2])
    return 0, 0
