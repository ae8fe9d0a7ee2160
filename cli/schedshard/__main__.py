# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Entry point: every way to fail becomes one line and an exit status."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

import click

from schedshard.cli import main
from schedshard.errors import UserError

_INTERRUPTED = 130
_PIPE_CLOSED = 141


def _one_line(text: str) -> str:
    return " ".join(text.split())


def run(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status and never raises."""
    try:
        code = main.main(
            args=list(sys.argv[1:] if argv is None else argv),
            prog_name="schedshard",
            standalone_mode=False,
        )
        sys.stdout.flush()
    except UserError as error:
        print(f"schedshard: {error}", file=sys.stderr)
        return error.status
    except click.UsageError as error:
        hint = f" (see './{error.ctx.command_path} --help')" if error.ctx is not None else ""
        print(f"schedshard: {_one_line(error.format_message()).rstrip('.')}{hint}", file=sys.stderr)
        return 2
    except click.ClickException as error:
        print(f"schedshard: {_one_line(error.format_message())}", file=sys.stderr)
        return 2
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader is gone. Python would complain again when it closes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE_CLOSED
    except Exception as error:  # a defect of ours: still one line, with the place to look at
        place = traceback.extract_tb(error.__traceback__)[-1]
        print(
            f"schedshard: internal error: {type(error).__name__}: {_one_line(str(error))} "
            f"({Path(place.filename).name}:{place.lineno})",
            file=sys.stderr,
        )
        return 1
    return code if isinstance(code, int) else 0


if __name__ == "__main__":
    sys.exit(run())
