# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Runs the workloads in the trial's own system, starts the other kernel, and keeps the results.

Each kernel passes the log to the next in the initial file system, so no disk is needed. If there is
a partition with the label LABEL, the log is also written there, and the trial continues after a
boot by hand. The partition is mounted only for each write. No other disk and no network is used.
"""

import ctypes
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel.guest.cpio import archive, plain
from kernel.trial import facts
from kernel.trial.log import Log, console_text, order_of, parse, seconds_of, settings_of
from kernel.trial.running import run_turn
from kernel.trial.workloads import chosen, commands
from trial.compare import comparison
from trial.form import Cpu, Trial, trial_text
from trial.host import Machine
from trial.measuring import Watch
from trial.page import page

LABEL = "SCHEDTRIAL"
SETTINGS = Path("/etc/trial.json")
LOG, INITRD, FOLDER = Path("/results/log"), Path("/sys/firmware/initrd"), Path("/mnt")
_CONSOLE, _KMSG = Path("/dev/console"), Path("/dev/kmsg")
_PRINTK = Path("/proc/sys/kernel/printk")
_LIBC = ctypes.CDLL(None, use_errno=True)
_KEXEC_FILE_LOAD, _RB_KEXEC = 320, 0x45584543  # of x86-64
_STICK_SECONDS, _IDLE_SECONDS = 10, 2


def say(text: str) -> None:
    """Print a line on all consoles."""
    # One record: the kernel's own messages do not cut it.
    with _KMSG.open("w", encoding="utf-8") as kmsg:
        kmsg.write(f"<5>trial: {text[:700]}\n")


def _call(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False)


class Partition:
    """The partition with the label, if there is one."""

    def __init__(self, wait: bool) -> None:
        self.device = ""
        until = time.monotonic() + (_STICK_SECONDS if wait else 0)
        while not self.device:
            self.device = _call("findfs", f"LABEL={LABEL}").stdout.strip()
            if time.monotonic() >= until:
                break
            time.sleep(1)

    @contextmanager
    def mounted(self, how: str) -> Iterator[Path | None]:
        """Yield the folder where the partition is mounted; None if it cannot be."""
        FOLDER.mkdir(exist_ok=True)
        if self.device:
            options = f"{how},noexec,nosuid"
            done = _call("mount", "-t", "vfat", "-o", options, self.device, str(FOLDER))
            if done.returncode:
                say(f"{self.device} cannot be used: {done.stderr.strip()}: is it FAT?")
                self.device = ""
        yield FOLDER if self.device else None
        if self.device:
            _call("umount", str(FOLDER))

    def read(self, name: str) -> str:
        """Return the text of a file there; nothing if there is none."""
        with self.mounted("ro") as folder:
            return facts.text_of(folder / name) if folder else ""

    def write(self, files: Mapping[str, str]) -> None:
        """Write files, each complete or not at all."""
        with self.mounted("rw") as folder:
            for name, text in files.items() if folder else ():
                part = FOLDER / f"{name}.new"
                try:
                    with part.open("w", encoding="utf-8") as file:
                        file.write(text)
                        file.flush()
                        os.fsync(file.fileno())
                    part.replace(FOLDER / name)
                except OSError as error:
                    say(f"cannot write {name} to {self.device}: {error.strerror}")


@dataclass
class System:
    """The running trial."""

    settings: Mapping[str, Any]  # of the boot file
    parameters: Mapping[str, str]  # of this boot
    partition: Partition
    log: Log

    @property
    def kernel(self) -> str:
        """Return the running kernel's name in the trial."""
        return self.parameters.get("kernel", self.settings["kernels"][0])

    @property
    def order(self) -> list[str]:
        """Return the kernel of each turn."""
        return order_of(self.settings["kernels"], self.settings["pairs"])

    def plan(self) -> tuple[Sequence[Cpu], list[str], int]:
        """Return the CPUs, the workloads, and the seconds of each in one turn."""
        cpus = facts.read_host().cpus
        names = chosen(cpus, self.settings["workloads"])
        return cpus, names, seconds_of(self.settings["minutes"], len(self.order), len(names))

    def trial(self, ended: str) -> Trial:
        """Return the trial so far."""
        return self.log.trial(self.settings["version"], facts.read_host(), self.order, ended)

    def save(self, ended: str) -> Trial:
        """Write the result so far to the partition, marked as incomplete until the end."""
        made = self.trial(ended)
        self.partition.write(
            {
                "trial.log": self.log.text(), "trial.json": trial_text(made),
                "trial.txt": shown(made),
            }
        )  # fmt: skip
        return made


def shown(made: Trial) -> str:
    """Return the text for a reader: a comparison as soon as there are two kernels."""
    return comparison([("this machine", made)]) if len(made.kernels) > 1 else page(made)


def _load(kernel: Path, initrd: Path, words: str = "") -> str:
    """Load another kernel. Return why the running one refuses, or ""."""
    with kernel.open("rb") as image, initrd.open("rb") as files:
        numbers = image.fileno(), files.fileno()
        size, line, flags = ctypes.c_ulong(len(words) + 1), words.encode(), ctypes.c_ulong(0)
        if _LIBC.syscall(_KEXEC_FILE_LOAD, *numbers, size, line, flags) == 0:
            return ""
    return f"kexec_file_load: {os.strerror(ctypes.get_errno())}"


def _refusal() -> str:
    # The kernel is only loaded here, not started, so any file can serve as its first file system.
    return _load(next(Path("/boot").iterdir()), Path("/init"))


def _switch(system: System, name: str) -> None:
    """Start another kernel with the log; return only if that fails."""
    say(f"starting {name}")
    copy = Path("/tmp/initrd")
    try:
        initrd = INITRD.read_bytes()
    except OSError as error:
        say(f"this kernel did not keep its initrd: {error.strerror}: use Linux 6.12")
        return
    with copy.open("wb") as out:
        out.write(initrd)
        out.write(bytes(-out.tell() % 4))
        out.writelines(archive({str(LOG): plain(system.log.text().encode())}))
    words = [
        word
        for word in facts.text_of(Path("/proc/cmdline")).split()
        if not word.startswith(("BOOT_IMAGE=", "initrd=", "trial.kernel=", "trial.stick="))
    ]
    stick = "there" if system.partition.device else "none"
    words += [f"trial.kernel={name}", f"trial.stick={stick}"]
    refused = _load(Path("/boot") / name, copy, " ".join(words))
    if not refused:
        os.sync()
        _LIBC.reboot(_RB_KEXEC)
        refused = os.strerror(ctypes.get_errno())
    say(f"{name} did not start: {refused}")


def _turn(system: System, turn: int) -> None:
    """Run what is left of a turn."""
    machine = Machine()
    cpus, names, seconds = system.plan()
    load, battery = machine.load(_IDLE_SECONDS), machine.battery()
    system.log.boot(facts.read_kernel(system.kernel), load, battery)
    left = [name for name in names if name not in system.log.done(turn)]
    say(f"turn {turn + 1} of {len(system.order)}: {system.kernel}")
    watch = Watch(machine, busy=True)
    run_turn(system.log, turn, left, cpus, seconds, watch, say, lambda: system.save("power failed"))


def _missing(system: System) -> list[int]:
    names = set(system.plan()[1])
    return [at for at in range(len(system.order)) if names - system.log.done(at)]


def _print(made: Trial) -> None:
    # Hide the kernel's messages, which would stand between the lines.
    _PRINTK.write_text("1", encoding="ascii")
    with _CONSOLE.open("w", encoding="ascii", errors="replace") as console:
        console.write(console_text(made))
    _PRINTK.write_text("6", encoding="ascii")
    for line in shown(made).splitlines():
        say(line)


def _finish(system: System) -> None:
    _print(system.save(""))
    where = f"on {system.partition.device}" if system.partition.device else "above"
    say(f"the trial is finished; its result is {where}")


def _plan(system: System) -> None:
    say(f"order: {' '.join(system.order)}; as root:")
    for line in commands(*system.plan()):
        say(f"  {line}")
    say(f"written to: {system.partition.device or f'no disk, as no partition is labelled {LABEL}'}")


def _go_on(system: System) -> None:
    missing = _missing(system)
    if not missing:
        say("this trial is finished: remove the stick, or delete trial.log on it for a new trial")
        time.sleep(60)
        return
    refused = "switched off in the menu" if system.parameters.get("kexec") == "off" else _refusal()
    if not refused:
        # Measure no kernel that the boot menu started: all must be started by kexec.
        if system.parameters.get("stick") is None:
            _switch(system, system.order[missing[0]])
        while missing and system.order[missing[0]] == system.kernel:
            _turn(system, missing.pop(0))
            if missing:
                _switch(system, system.order[missing[0]])
        if not missing:
            _finish(system)
        return
    if not system.partition.device:
        say(f"no FAT partition has the label {LABEL}: the next boot loses this boot's figures")
    own = [turn for turn in missing if system.order[turn] == system.kernel]
    say(f"one kernel cannot start the other ({refused}): boot twice instead")
    if own:
        _turn(system, own[0])
    if not (left := _missing(system)):
        _finish(system)
        return
    system.save("interrupted")
    if system.partition.device:
        say(f"boot again, and choose only {system.order[left[0]]} in the menu")
    else:
        _print(system.trial("interrupted"))


def main() -> int:
    """Run the trial of this boot. Return the exit status, which nobody reads."""
    settings = json.loads(SETTINGS.read_text(encoding="ascii"))
    parameters = settings_of(facts.text_of(Path("/proc/cmdline")))
    partition = Partition(wait=parameters.get("stick") is None)
    kept = partition.read("trial.log")
    log = parse(facts.text_of(LOG), settings["id"]) or parse(kept, settings["id"])
    if log is None and kept:
        say(f"{partition.device} has the log of another trial: nothing is written there")
        partition.device = ""
    if facts.read_host().virtual:
        say("NOT A MEASUREMENT: this machine is a guest")
    system = System(settings, parameters, partition, log or Log(settings["id"]))
    (_plan if parameters.get("dry") else _go_on)(system)
    return 0


if __name__ == "__main__":
    sys.exit(main())
