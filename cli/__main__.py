# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Starts the command as `python -I .../cli/__main__.py`, or by start() of an installed package.

With -I Python searches neither the current directory nor PYTHONPATH, where others may have put
files of the names that are imported here.
"""

import signal
import sys
from pathlib import Path

# The folder that contains the project's packages, which import each other by name. Beside the
# folder of an installed command are the other packages that the command needs. Python finds those
# of a wheel by itself.
_ROOMS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(_ROOMS))
if (_ROOMS / "common" / "VERSION").is_file() and str(_ROOMS.parent) not in sys.path:
    sys.path.insert(1, str(_ROOMS.parent))


def start() -> int:
    """Load and run the command line; returns the exit status."""
    # While the libraries load, Ctrl-C ends this process as it ends a C program: quietly.
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from cli.entry import run, unwind_at_signals

    unwind_at_signals()
    return run()


if __name__ == "__main__":
    sys.exit(start())
