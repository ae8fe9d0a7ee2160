# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Runs the program in the emulator, with its own input, output and exit status."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.errors import UserError, ending_with, telling
from common.output import read_json
from common.paths import build_dir, remake
from model.machines.presets import Machine
from model.results.raw import WROTE, RecordedRun
from model.results.read import checked
from record.program.interrupts import awaiting, end_of, in_child
from record.program.machine_view import room_for_views, write_view
from record.program.perf_map import perf_map
from record.program.program import Program, find_emulator
from record.program.window import Window
from record.watch import Watch

META = "schedshard/record-meta/2"
_DIVIDES = re.compile(r"[\s:,]")
# No thread runs more instructions than this ahead of the slowest.
QUANTUM = 1000
_PATIENCE = 5.0  # seconds, before a message says what the recorder waits for
_GRACE = 5.0  # seconds between SIGTERM and SIGKILL


@dataclass(frozen=True)
class Emulated:
    """The results of a run in the emulator."""

    status: int  # as a shell reports it: 128 + number after a signal
    signal: str | None
    raw: RecordedRun | None
    meta: dict[str, Any]


def plugin_paths() -> tuple[Path, Path, Path]:
    """Return the paths of the plugin, of the library for the program, and of the model."""
    folder = build_dir() / "record" / "program"
    paths = (
        folder / "libschedshard-qemu-user.so",
        folder / "libschedshard-record.so",
        folder / "schedshard-record-model",
    )
    for path in paths:
        if not path.is_file():
            raise UserError(f"{path} is missing: {remake()}")
    return paths


def _plain(path: Path, folder: Path) -> Path:
    """Return the path, or a link to it below @folder if the path contains a separator.

    The linker splits LD_PRELOAD at spaces and colons, and the emulator splits its option at commas.
    """
    if not _DIVIDES.search(str(path.parent)):
        return path
    if _DIVIDES.search(str(folder)):
        raise UserError(f"{folder} contains a space or a colon, and so does {path}: set TMPDIR")
    link = folder / "parts"
    if not link.is_symlink():
        link.symlink_to(path.parent.resolve(), target_is_directory=True)
    return link / path.name


def _command(
    program: Program, files: tuple[Path, Path, Path, Path, Path], shared: str, window: Window,
    follow: bool,
) -> tuple[list[str], dict[str, str]]:  # fmt: skip
    plugin, library, watch, meta, view = files
    arguments = [f"{plugin}", f"watch={watch}", f"meta={meta}", f"shared={shared}", f"view={view}"]
    if follow:
        arguments.append("follow=on")
    if window.marks:
        arguments.append("marks=on")
    own = os.environ.get("LD_PRELOAD", "")
    inside = f"{library}:{own}" if own else f"{library}"
    command = [find_emulator(), "-L", str(view), "-U", "LD_PRELOAD"]
    if program.dynamic:
        command += ["-E", f"LD_PRELOAD={inside}"]
    path = str(program.path)
    if path.startswith("-"):
        path = f"./{path}"  # not an option of the emulator
    command += ["-0", program.argv[0], "-plugin", ",".join(arguments), path]
    return [*command, *program.argv[1:]], {**os.environ, "LD_PRELOAD": str(plugin)}


def _names_folder(folder: Path) -> Path:
    """Make the folder in which each process writes its names when it ends.

    A process that root started may be another user by then.
    """
    names = folder / "names"
    names.mkdir()
    if os.geteuid() == 0:
        folder.chmod(0o711)
        names.chmod(0o1733)
    return names


def emulate(
    program: Program, machine: Machine, cpus: Sequence[int], trace: Path, folder: Path, *,
    window: Window, follow: bool, stacks: bool, output_to_stderr: bool,
) -> Emulated:  # fmt: skip
    """Run the program to its end, and with @follow all processes that it started."""
    if "," in str(folder):
        raise UserError(
            f"{folder} contains a comma, at which the emulator splits its arguments: set TMPDIR"
        )
    result, file = folder / "result.json", folder / "watch"
    watch = Watch(result, machine=machine.flat, cpus=cpus, quantum=QUANTUM, trace=trace)
    with telling(f"cannot write in {folder}"):
        meta = _names_folder(folder) / "meta.json"
        file.write_text(watch.lines(), encoding="utf-8")
    plugin, library, _ = (_plain(path, folder) for path in plugin_paths())
    began = file.stat().st_mtime  # the clock of files
    with room_for_views(folder) as views, _model(file, meta, window, stacks) as (model, shared):
        with telling(f"cannot write in {views}"):
            view = write_view(views / "machine", machine, cpus)
        files = (plugin, library, file, meta, view)
        command, environment = _command(program, files, shared, window, follow)
        with awaiting():
            with telling(f"cannot run {command[0]}"):
                child = subprocess.Popen(
                    command, env=environment, stdout=sys.stderr if output_to_stderr else None,
                    preexec_fn=in_child,
                )  # fmt: skip
            try:
                code = end_of(child)
            except BaseException:
                child.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(_GRACE)
                child.kill()
                child.wait()
                raise
        _wait_for_the_others(model, follow)
        fault = _fault(model)
    with ending_with(128 - code if code < 0 else code):
        if fault:
            raise UserError(fault, status=1)
        return _read_results(code, meta, result, began)


def _read_results(code: int, meta: Path, result: Path, began: float) -> Emulated:
    """Read what the processes and the model wrote."""
    if not meta.is_file() or not meta.with_name(f"{meta.name}.0").is_file():
        raise UserError(
            f"the emulator ended with status {code} before anything was recorded"
            if code >= 0
            else f"{signal.Signals(-code).name} ended the emulator: nothing was recorded",
            status=1,
        )
    facts = dict(read_json(meta, WROTE, links=False))
    facts["processes"] = [
        read_json(path, WROTE, links=False)
        for number in range(len(facts["images"]))
        if (path := meta.with_name(f"{meta.name}.{number}")).is_file()
    ]
    for process in facts["processes"]:
        for part in process["maps"]:
            # A name that is not valid text is a list of bytes.
            part[3] = part[3] if isinstance(part[3], str) else os.fsdecode(bytes(part[3]))
        process["code"] = perf_map(int(process["pid"]), began)
    raw = None
    if result.is_file():
        raw = checked(read_json(result, WROTE), f"{WROTE}, {result},", RecordedRun.of)
    name = signal.Signals(-code).name if code < 0 else None
    return Emulated(128 - code if code < 0 else code, name, raw, facts)


@contextlib.contextmanager
def _model(
    watch: Path, meta: Path, window: Window, stacks: bool
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the model. Yield its process, and the name of the memory that it shares."""
    command = [str(plugin_paths()[2]), str(watch), str(meta)]
    if window.after:
        command.append(f"after={round(window.after * 1000)}")
    if window.lasts is not None:
        command.append(f"for={max(10, round(window.lasts * 1000))}")
    if window.marks:
        command.append("marks=on")
    if stacks:
        command.append("stacks=on")
    with telling(f"cannot run {command[0]}"):
        model = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, start_new_session=True,
        )  # fmt: skip
    assert model.stdin is not None
    assert model.stdout is not None
    assert model.stderr is not None
    try:
        word, _, shared = model.stdout.readline().strip().partition(" ")
        if word != "ready":
            raise UserError(_fault(model) or "the model did not start", status=1)
        yield model, shared
    finally:
        if model.poll() is None:
            model.kill()
        model.wait()
        model.stdout.close()
        model.stderr.close()
        with contextlib.suppress(OSError):
            model.stdin.close()


def _fault(model: subprocess.Popen[str]) -> str:
    """Return the first thing that the model, which has ended, said of a fault, or ''."""
    assert model.stderr is not None
    return model.stderr.readline().removeprefix("schedshard: ").strip()


def _wait_for_the_others(model: subprocess.Popen[str], follow: bool) -> None:
    """Wait for the model, and with ``follow`` for processes that the ended program started."""
    assert model.stdin is not None
    with contextlib.suppress(OSError):
        model.stdin.close()
    try:
        model.wait(_PATIENCE if follow else None)
    except subprocess.TimeoutExpired:
        print(
            "schedshard: the program has ended, but processes that it started still run: Ctrl-C "
            "ends the recording",
            file=sys.stderr,
        )
        try:
            model.wait()
        except KeyboardInterrupt:
            model.send_signal(signal.SIGTERM)
            model.wait()
