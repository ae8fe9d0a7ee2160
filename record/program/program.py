# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds the program to record, and checks that the emulator can run it."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from common.errors import UserError, os_reason, printable, telling
from common.paths import INSTALLED, ROOT, typed

EMULATOR = "qemu-x86_64"
_X86_64 = "EM_X86_64"
_JAVA_OPTIONS = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")
_LONGEST = 200  # characters of a command in a report

_PRODUCER = re.compile(rb"(?:GNU [A-Z]|[\w ]*clang version )[^\0]* -[^\0]*")
# Flags that leave the code as it is: for debug information, paths and seeds.
_NO_CODE = re.compile(r" -(g\S*|f\S*prefix-map=\S*|frandom-seed=\S*|[IDUWo]\S*)")


@dataclass(frozen=True)
class Program:
    """The executable and its arguments."""

    path: Path
    argv: tuple[str, ...]
    dynamic: bool
    debug: bool
    compiler: str = ""
    flags: str = ""

    @property
    def words(self) -> str:
        """Return the command in one line, cut if it is long."""
        all_words = " ".join((self.path.name, *self.argv[1:]))
        if len(all_words) > _LONGEST:
            all_words = f"{all_words[:_LONGEST]}... ({len(self.argv) - 1:,} arguments)"
        return printable(" ".join(all_words.split()))


def find_program(argv: Sequence[str]) -> Program:
    """Find the program as a shell does, and check that the emulator can run it."""
    if not argv:
        raise UserError(f"no program: '{typed('record [OPTIONS] -- PROGRAM [ARGUMENT...]')}'")
    name = argv[0]
    location = name if "/" in name else shutil.which(name)
    if location is None:
        raise UserError(f"no program '{name}' in the directories of PATH")
    path = Path(location)
    if not path.is_file():
        raise UserError(f"no program {name}")
    if not os.access(path, os.X_OK):
        raise UserError(f"{name} is not executable")
    return _look(path, tuple(argv))


def advice_at_start(program: Program) -> str | None:
    """Return how to record the program in less time, or None."""
    words = [*program.argv, *(os.environ.get(name, "") for name in _JAVA_OPTIONS)]
    if program.path.name != "java" or re.search(r"-XX:\+Use\w+GC\b", " ".join(words)):
        return None
    return (
        "Java's default collector has many threads, which take several times longer to record: "
        "give java the option -XX:+UseSerialGC"
    )


def _look(path: Path, argv: tuple[str, ...]) -> Program:
    try:
        with path.open("rb") as file:
            start = file.read(256)
            if start.startswith(b"#!"):
                first = start[2:].splitlines() or [b""]
                with_what = first[0].decode("utf-8", "replace").strip()
                raise UserError(
                    f"{path} is a script: record the program it starts, or '{with_what} {path}'"
                )
            if not start.startswith(b"\x7fELF"):
                raise UserError(
                    f"{path} is not an x86-64 ELF program: it is not an ELF file at all"
                )
            elf = ELFFile(file)
            if elf["e_machine"] != _X86_64 or elf.elfclass != 64:
                raise UserError(
                    f"{path} is not an x86-64 ELF program: it is for {elf.get_machine_arch()}"
                )
            if elf["e_type"] not in ("ET_EXEC", "ET_DYN"):
                raise UserError(f"{path} is not an x86-64 ELF program: it cannot be executed")
            return Program(
                path, argv, dynamic=any(s["p_type"] == "PT_INTERP" for s in elf.iter_segments()),
                debug=elf.has_dwarf_info(strict=True), compiler=_compiler(elf), flags=_flags(elf),
            )  # fmt: skip
    except OSError as error:
        raise UserError(f"cannot read {path}: {os_reason(error)}") from error
    except (ELFError, ValueError) as error:
        # ValueError: impossible offsets.
        raise UserError(
            f"{path} is not an x86-64 ELF program: its headers are cut short or damaged"
        ) from error


def _compiler(elf: ELFFile) -> str:
    """Return the compilers that left their names in a program, or ''."""
    section = elf.get_section_by_name(".comment")
    names = set(section.data().split(b"\0")) - {b""} if section is not None else set()
    return printable("; ".join(sorted(name.decode("utf-8", "replace") for name in names)))


def _flags(elf: ELFFile) -> str:
    """Return the compilers' flags that change code, from the debug information, or ''.

    gcc writes them by default, and clang with -grecord-command-line.
    """
    section = elf.get_section_by_name(".debug_str")
    found = _PRODUCER.findall(section.data() if section is not None else b"")
    texts = (_NO_CODE.sub("", text.decode("utf-8", "replace")) for text in found)
    return printable("; ".join(sorted({" ".join(dict.fromkeys(text.split())) for text in texts})))


def find_emulator() -> str:
    """Return an emulator that loads plugins: scripts/emulator's, or else the distribution's."""
    ours = ROOT / "build" / "emulator" / EMULATOR
    if ours.is_file():
        return str(ours)
    emulator = shutil.which(EMULATOR)
    if emulator is not None and _loads_plugins(emulator):
        return emulator
    why = f"{EMULATOR} is missing" if emulator is None else f"{emulator} loads no plugins"
    how = (
        "use schedshard's Debian package, which contains one" if INSTALLED else "run './make build'"
    )
    raise UserError(f"{why}, and record needs an emulator that loads plugins: {how}")


def _loads_plugins(emulator: str) -> bool:
    """Whether an emulator has the option -plugin. Some distributions build it without."""
    with telling(f"cannot run {emulator}"):
        done = subprocess.run(
            [emulator, "--help"], stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    return any(line.startswith(b"-plugin") for line in done.stdout.splitlines())


def package_of(path: Path) -> str | None:
    """Return the Debian package that a file belongs to, or None."""
    try:
        real = path.resolve()
        done = subprocess.run(
            ["dpkg-query", "-S", str(real), str(real).removeprefix("/usr")],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
    except OSError:
        return None
    line = done.stdout.splitlines()[:1]
    return line[0].split(":")[0].split(",")[0] if line else None


def debug_package_of(path: Path) -> str | None:
    """Return the Debian package with a file's debug information, and its archive, or None."""
    package = package_of(path)
    if package is None:
        return None
    if package == "libc6":  # its package is not made automatically
        return "libc6-dbg"
    return f"{package}-dbgsym (Debian's archive debian-debug)"
