# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Entry point of `python -m schedshard`."""

import signal
import sys


def start() -> int:
    """Load and run the command line; returns the exit status."""
    # While the libraries load, Ctrl-C ends this process as it ends a C program: quietly.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from schedshard.entry import run, terminated

    signal.signal(signal.SIGTERM, terminated)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return run()


if __name__ == "__main__":
    sys.exit(start())
