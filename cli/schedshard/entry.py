# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Running the command line: every way to fail becomes one line and an exit status."""

import errno
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

import click
from click.shell_completion import shell_complete

from schedshard.commands.main import main
from schedshard.common.errors import UserError, os_reason

# Variables that Click's completion scripts set.
COMPLETE = "_SCHEDSHARD_COMPLETE"
_INTERRUPTED = 130
_TERMINATED = 143
_PIPE_CLOSED = 141
_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


class Terminated(BaseException):
    """SIGTERM: unwinds like Ctrl-C, so that children end and temporary files go."""


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _defect(error: Exception) -> int:
    place = traceback.extract_tb(error.__traceback__)[-1]
    print(
        f"schedshard: internal error: {type(error).__name__}: {_one_line(str(error))} "
        f"({Path(place.filename).name}:{place.lineno})",
        file=sys.stderr,
    )
    return 1


def _drop_stdout() -> None:
    """Drop buffered output that cannot be written; Python would complain again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def terminated(number: int, frame: object) -> None:
    """Handle SIGTERM."""
    raise Terminated


def run(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status and never raises."""
    try:
        asked = os.environ.get(COMPLETE)
        if asked is not None:
            return shell_complete(main, {}, "schedshard", COMPLETE, asked)
        # Not main.main(): that prints a newline at Ctrl-C and exits by itself on a closed pipe.
        arguments = list(sys.argv[1:] if argv is None else argv)
        with main.make_context("schedshard", arguments) as context:
            main.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
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
    except Terminated:
        return _TERMINATED
    except BrokenPipeError:
        _drop_stdout()
        return _PIPE_CLOSED
    except OSError as error:
        if error.errno not in _WRITING or error.filename is not None:
            return _defect(error)
        _drop_stdout()
        print(f"schedshard: cannot write to standard output: {os_reason(error)}", file=sys.stderr)
        return 2
    except Exception as error:  # a defect of ours: still one line, with the place to look at
        return _defect(error)
    return 0
