# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Runs the command line. Every failure becomes one line on stderr and an exit status."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import click
from click.shell_completion import shell_complete

from cli.old_names import renamed
from common.errors import OutputError, UserError, did_you_mean, near_names, os_reason, output_lost
from common.paths import ALONE, PROGRAM, typed
from common.safe import safe_stream

# Variables that Click's completion scripts set.
COMPLETE = "_SCHEDSHARD_COMPLETE"
_ENDS = (signal.SIGTERM, signal.SIGHUP)
_INTERRUPTED = 130
# Seconds after a signal in which further signals do nothing, so that children end and files are
# removed. Later signals end what takes too long.
_UNWINDS = 3.0
_PIPE_CLOSED = 141


class _NeverRaised(click.UsageError):
    """Takes the place of NoArgsIsHelpError where Click is too old to have it."""


_NO_VERB: type[click.UsageError] = getattr(click.exceptions, "NoArgsIsHelpError", _NeverRaised)


class Terminated(BaseException):
    """SIGTERM or SIGHUP came. Unwinds like Ctrl-C: children end, temporary files are removed."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = 128 + number  # as the shell has it


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _defect(error: Exception) -> int:
    place = traceback.extract_tb(error.__traceback__)[-1]
    print(
        f"{PROGRAM}: internal error: {type(error).__name__}: {_one_line(str(error))} "
        f"({Path(place.filename).name}:{place.lineno})",
        file=sys.stderr,
    )
    return 1


def _drop_stdout() -> None:
    """Drop buffered output that cannot be written, about which Python would complain at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _have_streams() -> None:
    """Open /dev/null for closed standard streams, in this process. Children find them closed.

    Bytes of file names that are not text become escapes on standard output, as in written files.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


class _Signalled:
    """When a signal last began to end the command, by the monotonic clock."""

    at = float("-inf")


def _is_first() -> bool:
    now = time.monotonic()
    first = now - _Signalled.at > _UNWINDS
    if first:
        _Signalled.at = now
    return first


def _interrupted(number: int, frame: FrameType | None) -> None:
    if _is_first():
        signal.default_int_handler(number, frame)


def _terminated(number: int, frame: object) -> None:
    if not _is_first():
        return
    for ending in _ENDS:  # the signal may come again, for example to the process group
        signal.signal(ending, signal.SIG_IGN)
    raise Terminated(number)


def unwind_at_signals() -> None:
    """Raise Terminated at SIGTERM and SIGHUP, and KeyboardInterrupt at Ctrl-C.

    Signals that follow soon do nothing. A signal that the caller ignores (nohup, a background job
    of a script) stays ignored.
    """
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, _interrupted)
    for ending in _ENDS:
        if signal.getsignal(ending) != signal.SIG_IGN:
            signal.signal(ending, _terminated)


def _said(error: click.UsageError) -> str:
    """Return Click's message, but suggest only names that did_you_mean() would suggest."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return error.format_message()
    known = [name for param in error.ctx.command.get_params(error.ctx) for name in param.opts]
    near = near_names(error.option_name, [name for name in known if name.startswith("--")])
    return f"no such option: {error.option_name}{f': {did_you_mean(near)}' if near else ''}"


def _seen(context: click.Context | None) -> str:
    """Return where the usage of a command is explained, in parentheses."""
    if context is None:
        return ""
    # A command that runs without its name has the help of its group.
    if context.parent and getattr(context.parent.command, "unnamed", None) is context.command:
        context = context.parent
    words = f"{context.command_path} --help".partition(" ")[2]
    return f" (see '{typed(f'doctor {words}' if ALONE else words)}')"


def _all_verbs() -> click.Command:
    from cli.commands.main import main

    return main


def _lost(error: OSError) -> int:
    """Report that standard output cannot be written. Return the exit status."""
    _drop_stdout()
    if isinstance(error, BrokenPipeError):
        return _PIPE_CLOSED
    print(f"{PROGRAM}: cannot write to standard output: {os_reason(error)}", file=sys.stderr)
    return 2


def run(argv: Sequence[str] | None = None, verbs: click.Command | None = None) -> int:
    """Run the command line, or only ``verbs``. Return the exit status; never raise."""
    _have_streams()
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(safe_stream, streams)
    try:
        return _run_and_flush(argv, verbs)
    finally:
        sys.stdout, sys.stderr = streams


def _run_and_flush(argv: Sequence[str] | None, verbs: click.Command | None) -> int:
    status = _run(argv, verbs)
    try:
        sys.stdout.flush()
    except OSError as error:
        return _lost(error)
    except (KeyboardInterrupt, Terminated) as ended:  # while a full pipe takes nothing
        _drop_stdout()
        return ended.status if isinstance(ended, Terminated) else _INTERRUPTED
    return status


def _run(argv: Sequence[str] | None, verbs: click.Command | None) -> int:
    try:
        verbs = verbs or _all_verbs()
        asked = os.environ.get(COMPLETE)
        if asked is not None:
            return shell_complete(verbs, {}, PROGRAM, COMPLETE, asked)
        # Not main.main(): that prints a newline at Ctrl-C and exits by itself on a closed pipe.
        arguments = renamed(sys.argv[1:] if argv is None else argv)
        with verbs.make_context(PROGRAM, arguments) as context:
            verbs.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    except _NO_VERB as error:
        print(error.format_message())
    except OutputError as error:
        _drop_stdout()
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return error.status
    except UserError as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return error.status
    except click.UsageError as error:
        message = _one_line(_said(error)).rstrip(".")
        print(f"{PROGRAM}: {message}{_seen(error.ctx)}", file=sys.stderr)
        return 2
    except click.ClickException as error:
        print(f"{PROGRAM}: {_one_line(error.format_message())}", file=sys.stderr)
        return 2
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except Terminated as signalled:
        return signalled.status
    except BrokenPipeError as error:
        return _lost(error)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            print(f"{PROGRAM}: a name is too long for a file: shorten it", file=sys.stderr)
            return 2
        return _lost(error) if output_lost(error) else _defect(error)
    except Exception as error:  # a defect of schedshard: also one line, with its place
        return _defect(error)
    return 0
