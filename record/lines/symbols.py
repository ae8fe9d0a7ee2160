# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds functions and source lines of program counters, with one addr2line process for all."""

import re
import subprocess
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from common.errors import UserError, os_reason
from common.paths import ROOT
from model.results import c2c

_ADDRESS = re.compile(r"^0x[0-9a-f]+$")
_PLACE_ENDS = re.compile(r":(\d+|\?)( \(discriminator \d+\))?\Z")
# Libraries that a compiler puts into programs of C++, Rust and Go, and those of their packages.
_OF_LIBRARIES = re.compile(
    r"<*(std|core|alloc|hashbrown|__gnu_cxx)::.*|(runtime|sync|internal)[./].*"
    r"|_start|__libc_start.*"
)
PATHS_OF_LIBRARIES = re.compile(
    r"(/usr/|/rustc/|\./).*|.*/(\.cargo/(registry|git)|rustlib/src|go/pkg/mod|include/c\+\+)/.*"
)


@dataclass(frozen=True)
class Frame:
    """One function at a program counter. Inlined functions come before their callers.

    ``path`` is the whole path of the source, as the debug information contains it.
    """

    function: str
    source: str
    path: str = ""

    @property
    def own(self) -> bool:
        """Whether the function is the program's own, judged by its path or its name."""
        if self.path:
            return not PATHS_OF_LIBRARIES.fullmatch(self.path)
        return not _OF_LIBRARIES.fullmatch(self.function)

    @property
    def shown(self) -> c2c.Frame:
        """Return the part that reports show. It does not depend on the folder of compilation."""
        return c2c.Frame(function=self.function, source=self.source)


def _source(text: str) -> str:
    """Return file:line relative to the project, or '?' if the debug information lacks it."""
    text = text.split(" (discriminator", 1)[0]
    name, _, line = text.rpartition(":")
    if text.startswith("??") or not name:
        return "?"
    path = Path(name)
    try:
        # The compiler recorded the path from the build directory. It need not exist here.
        place = f"{Path(path).resolve().relative_to(ROOT)}:{line}"
    except (ValueError, FileNotFoundError):  # the latter: the current directory was removed
        place = f"{path.name}:{line}"
    return place.replace("\n", "\\n")


def _path(text: str) -> str:
    """Return the file in 'file:line', or '' if the file is unknown."""
    return "" if text.startswith("??") else text.split(" (discriminator", 1)[0].rpartition(":")[0]


def parse_addr2line(text: str, wanted: Collection[int]) -> dict[int, tuple[Frame, ...]]:
    """Parse the output of `addr2line -a -f -i`: an address, then two lines per frame.

    The second line is a path and a number; a path that contains line feeds takes several lines.
    Such a line may look like an address, but hardly like a ``wanted`` one.
    """
    frames: dict[int, tuple[Frame, ...]] = {}
    address, function, source = -1, "", ""
    for line in text.split("\n"):
        if _ADDRESS.match(line) and int(line, 16) in wanted:
            address, function, source = int(line, 16), "", ""
            frames[address] = ()
        elif address < 0:
            continue  # a message of the tool
        elif not function:
            function = line
        elif not _PLACE_ENDS.search(line):
            source += f"{line}\n"
        else:
            name, place = "?" if function == "??" else function, source + line
            frames[address] = (*frames[address], Frame(name, _source(place), _path(place)))
            function = source = ""
    return frames


def resolve(
    binary: Path, addresses: Iterable[int], tool: str = "addr2line"
) -> dict[int, tuple[Frame, ...]]:
    """Return the frames of every address. ``tool`` is addr2line, or a program with its options."""
    wanted = sorted(set(addresses))
    if not wanted:
        return {}
    try:
        done = subprocess.run(
            [tool, "-a", "-f", "-i", "-e", str(binary)],
            input="".join(f"{address:#x}\n" for address in wanted),
            capture_output=True,
            text=True,
            errors="backslashreplace",
            check=False,
        )
    except OSError as error:
        raise UserError(f"cannot run {tool}: {os_reason(error)}; install binutils") from error
    if done.returncode != 0:
        messages = done.stderr.strip().splitlines()
        raise UserError(messages[-1] if messages else f"{tool} failed on {binary}", status=1)
    return parse_addr2line(done.stdout, set(wanted))
