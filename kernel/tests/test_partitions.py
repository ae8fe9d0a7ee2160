# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""In a guest of the kernel that SCHEDSHARD_GUESTS names, doctor makes and undoes partitions."""

import importlib.util
import marshal
import os
import subprocess
import sys
from pathlib import Path

import pytest

from common.paths import ROOT
from common.programs import libraries
from kernel.guest.boot import BootRequest, Emulator, Limits, Step, boot, kernel_image
from kernel.guest.cpio import Entry, plain
from kernel.source.base import layout_for
from record.shape import usual_shape

VARIANT = os.environ.get("SCHEDSHARD_GUESTS", "")
pytestmark = pytest.mark.skipif(not VARIANT, reason="SCHEDSHARD_GUESTS names no built kernel")

SCRIPT = Path(__file__).resolve().parent / "partitions_guest.py"
_MODULES = """
import sys
sys.path[:0] = sys.argv[1:]
import encodings.ascii, encodings.latin_1, encodings.utf_8
import partitions_guest
print("\\n".join({each.__file__ for each in sys.modules.values() if getattr(each, "__file__", 0)}))
"""


def python_files() -> dict[str, Entry]:
    """Python, and the modules that the guest's program imports, at their paths on this host."""
    python = Path(sys.executable).resolve()
    command = [sys.executable, "-c", _MODULES, str(ROOT), str(SCRIPT.parent)]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")
    paths = [python, ROOT / "VERSION", *(Path(name) for name in names if name)]
    for path in [path for path in paths if path == python or path.suffix == ".so"]:
        paths += libraries(path)
    files = {str(path): plain(path, executable=True) for path in paths}
    # Compiled here, because a guest takes as long for that as for all the rest.
    for path in {path for path in paths if path.suffix == ".py" and path != SCRIPT}:
        del files[str(path)]
        code = marshal.dumps(compile(path.read_bytes(), path, "exec"))
        files[f"{path}c"] = plain(importlib.util.MAGIC_NUMBER + bytes(12) + code)
    return {**files, "/bin/python3": plain(python, executable=True)}


def test_partitions_are_made_refused_cut_off_and_undone() -> None:
    layout = layout_for(os.environ.get("SCHEDSHARD_LINUX"))
    path = f"PYTHONPATH={ROOT}:{SCRIPT.parent}"
    argv = ("/bin/env", path, "PYTHONHOME=/usr", "/bin/python3", "-S", "-u", str(SCRIPT))
    named = os.environ.get("SCHEDSHARD_GUEST_KERNEL")
    kernel = Path(named) if named else kernel_image(layout, VARIANT, "lab")
    request = BootRequest(
        kernel, "partitions", usual_shape(16), steps=(Step("partitions", argv, 900),),
        parameters=("isolcpus=2-3",), files=python_files(), emulator=Emulator(extra_mb=512),
        limits=Limits(total=1500.0),
    )  # fmt: skip
    booted = boot(layout, request)
    console = "\n".join(booted.lines[-60:])
    assert "all partitions as they should be" in console, console
    assert not any("[ cut here ]" in line for line in booted.lines), console
