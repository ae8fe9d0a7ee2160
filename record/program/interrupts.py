# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Leaves SIGINT and SIGTERM to the recorded program, whose reaction is part of the recording.

Ctrl-C makes the kernel signal every process in the terminal's foreground, also the program. A
signal that another process sends to this one is passed on, whatever terminals there are.
"""

import contextlib
import ctypes
import signal
import subprocess
from collections.abc import Callable, Iterator

_FROM_KERNEL = 0x80  # si_code of SI_KERNEL
_END_WITH_PARENT = 1
_PASSED = (signal.SIGINT, signal.SIGTERM)
_AWAITED = (*_PASSED, signal.SIGCHLD)
_MOST = 1.0  # seconds until the child is looked at: a parent may have had SIGCHLD ignored


@contextlib.contextmanager
def awaiting() -> Iterator[None]:
    """Keep the signals for end_of(). Start the program inside, with in_child() as preexec_fn."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def in_child() -> None:
    """Let SIGINT end the program, unless it decides otherwise, and the end of this process, too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _AWAITED)
    ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)


def end_of(child: subprocess.Popen[bytes], look: Callable[[], None] = lambda: None) -> int:
    """Wait for the program, call ``look`` meanwhile, and return the status as Popen does."""
    while (status := child.poll()) is None:
        look()
        received = signal.sigtimedwait(_AWAITED, _MOST)
        if received is None or received.si_signo not in _PASSED:
            continue
        if received.si_code != _FROM_KERNEL:
            child.send_signal(received.si_signo)
    while signal.sigtimedwait(_PASSED, 0) is not None:
        pass  # it has ended the program already
    return status
