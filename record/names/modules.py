# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds the mapped file of an address, and the name of a function or variable there.

Names come from the symbols and the debug information of the file. If the file contains no debug
information, they also come from a separate file. Distributions install that file in /usr/lib/debug
under the build ID, or the stripped file names it.
"""

import os
import shutil
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any
from zlib import crc32

from elftools.common.exceptions import DWARFError, ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection

from common.errors import UserError
from record.lines.symbols import Frame, resolve
from record.names.elf_symbols import elf_symbols
from record.names.readable import readable

DEBUG_ROOT = Path("/usr/lib/debug/.build-id")
_SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
_PAGE = 4096
# Mappings that had the same addresses one after the other are tenants (record/program/tenants.h).
# Above these bits an address contains the number of its tenant.
TENANT = 1 << 48
_SELF = 2304  # bytes of the C library's description of a thread, to which the pointer points
_OTHER = "llvm-addr2line"
_NODE = {"node", "nodejs"}
_FAULTS = (OSError, ELFError, DWARFError, IndexError)


@dataclass(frozen=True, order=True)
class Named:
    """A symbol. ``address`` is that in the file, or in its part of thread-local memory."""

    address: int
    size: int
    name: str


@dataclass
class Module:
    """One mapped file. ``bias`` plus an address in the file is the address in the process."""

    path: Path
    bias: int
    low: int
    high: int
    debug: Path | None = None  # the file with debug information, which may be ``path``
    part: int = 0  # bytes of its part of each thread's thread-local memory
    distance: int = 0  # of that part from a thread's pointer, if this is the program

    @cached_property
    def _symbols(self) -> tuple[list[Named], ...]:
        """Functions, variables, and thread-local variables. To read them takes long."""
        functions: set[Named] = set()
        objects: set[Named] = set()
        local: set[Named] = set()
        for path in {self.path, self.debug or self.path}:
            with suppress(*_FAULTS), path.open("rb") as file:
                elf = ELFFile(file)
                for entry in chain(elf_symbols(elf, ".symtab"), elf_symbols(elf, ".dynsym")):
                    if entry.name and entry.defined:
                        known = Named(entry.address, entry.size, entry.name.split("@")[0])
                        if entry.is_function:
                            functions.add(known)
                        elif entry.is_object or entry.is_local:
                            (objects if entry.is_object else local).add(known)
        plain = readable(symbol.name for symbol in (*objects, *local))
        variables, own = (
            sorted({replace(s, name=plain.get(s.name, s.name)) for s in symbols})
            for symbols in (objects, local)
        )
        return sorted(functions), variables, own

    @property
    def functions(self) -> list[Named]:
        """The functions, by address."""
        return self._symbols[0]

    @property
    def objects(self) -> list[Named]:
        """The variables, by address."""
        return self._symbols[1]

    @property
    def of_system(self) -> bool:
        """Whether the file is a shared library of the distribution, the loader included."""
        system = any(self.path.is_relative_to(root) for root in _SYSTEM)
        return system and ".so" in self.path.name

    def function(self, address: int) -> str | None:
        """Return the name of the function at an address of the process, or None."""
        symbol = self.code(address - self.bias)
        return symbol.name if symbol is not None else None

    def code(self, address: int) -> Named | None:
        """Return the function at an address of the file, or None."""
        return _around(self.functions, address)

    def variable(self, address: int) -> Named | None:
        """Return the variable at an address of the process, or None."""
        return _around(self.objects, address - self.bias)

    @cached_property
    def _sections(self) -> list[Named]:
        with suppress(*_FAULTS), self.path.open("rb") as file:
            return [
                Named(section["sh_addr"], section["sh_size"], section.name)
                for section in ELFFile(file).iter_sections()
                if section["sh_flags"] & SH_FLAGS.SHF_ALLOC
            ]
        return []

    def part_at(self, address: int) -> Named:
        """Return the section at an address that is in no variable, or else the whole file.

        The name also contains the last variable before the address in that section, as a hint.
        """
        name, at = self.path.name, address - self.bias
        for section in self._sections:
            if section.address <= at < section.address + section.size:
                before = bisect_right(self.objects, at, key=lambda s: s.address) - 1
                near = before >= 0 and self.objects[before].address >= section.address
                hint = f" (after {self.objects[before].name})" if near else ""
                return replace(section, name=f"{name}{hint}: {section.name}")
        return Named(self.low - self.bias, self.high - self.low, name)

    def local(self, offset: int) -> Named | None:
        """Return the thread-local variable at an offset, or None."""
        return _around(self._symbols[2], offset)


def _around(symbols: Sequence[Named], address: int) -> Named | None:
    at = bisect_right(symbols, address, key=lambda s: s.address) - 1
    # Of several symbols at one address the largest counts. A smaller one may lie inside a larger.
    while at >= 0 and at > bisect_right(symbols, address, key=lambda s: s.address) - 8:
        if symbols[at].address <= address < symbols[at].address + max(symbols[at].size, 1):
            return symbols[at]
        at -= 1
    return None


def _build_id(elf: ELFFile) -> str | None:
    for section in elf.iter_sections():
        if isinstance(section, NoteSection):
            for note in section.iter_notes():
                if note["n_type"] == "NT_GNU_BUILD_ID":
                    return str(note["n_desc"])
    return None


def _separate(elf: ELFFile, path: Path) -> Path | None:
    """Return the file with a stripped one's debug information, by build ID or link, or None."""
    build = _build_id(elf)
    if build:
        debug = DEBUG_ROOT / build[:2] / f"{build[2:]}.debug"
        if debug.is_file():
            return debug
    link = elf.get_section_by_name(".gnu_debuglink")
    if link is None:
        return None
    name, _, rest = link.data().partition(b"\0")
    sum_of_bytes = int.from_bytes(rest[-4:], "little")
    if not name or b"/" in name:
        return None
    folder = path.parent
    above = DEBUG_ROOT.parent
    for directory in (folder, folder / ".debug", above / folder.relative_to(folder.anchor)):
        debug = directory / os.fsdecode(name)
        if debug.is_file() and crc32(debug.read_bytes()) == sum_of_bytes:
            return debug
    return None


def _load(path: Path, low: int, offset: int) -> Module | None:
    """Return the file that is mapped at ``low`` from ``offset`` on; None if it is not ELF."""
    try:
        with path.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                return None
            elf = ELFFile(file)
            loads = [s for s in elf.iter_segments() if s["p_type"] == "PT_LOAD"]
            first = next((s for s in loads if s["p_offset"] // _PAGE * _PAGE == offset), loads[0])
            bias = low - first["p_vaddr"] // _PAGE * _PAGE
            module = Module(
                path, bias, bias + min(s["p_vaddr"] for s in loads) // _PAGE * _PAGE,
                bias + max(s["p_vaddr"] + s["p_memsz"] for s in loads),
            )  # fmt: skip
            for segment in elf.iter_segments("PT_TLS"):
                module.part, align = segment["p_memsz"], max(segment["p_align"], 1)
                # The linker computes the distance in this way: the part ends at the thread pointer.
                module.distance = -(-module.part // align * -align)
            if elf.has_dwarf_info(strict=True):
                module.debug = path
                return module
            separate = _separate(elf, path)
    except _FAULTS:
        return None
    if separate is not None:
        with suppress(*_FAULTS), separate.open("rb") as file:
            ELFFile(file)
            module.debug = separate
    return module


def _file_name(entry: object) -> str:
    """Return a file's name from the kernel's list of mappings, which escapes line feeds."""
    name = str(entry).removesuffix(" (deleted)")
    if r"\012" in name and not os.path.lexists(name):
        return name.replace(r"\012", "\n")
    return name


class Modules:
    """The mapped files of a process."""

    def __init__(
        self, maps: Iterable[Sequence[Any]], code: Iterable[Sequence[Any]] = (),
        gone: Iterable[Sequence[Any]] = (),
    ) -> None:  # fmt: skip
        """Load all files. ``gone`` is as ``maps``, but begins with the unmapping call's number."""
        self.modules: list[Module] = []
        self._runtime: str | None = None
        self._made = sorted(Named(int(at), int(size), str(name)) for at, size, name in code)
        first: dict[str, tuple[int, int]] = {}
        for low, _, offset, path in maps:
            name = _file_name(path)
            if name not in first or int(low) < first[name][0]:
                first[name] = (int(low), int(offset))
        for name, (low, offset) in first.items():
            module = _load(Path(name), low, offset)
            if module is not None:
                self.modules.append(module)
        self.modules.sort(key=lambda module: module.low)
        # The mapping that was unmapped last has precedence.
        for name, low, offset in dict.fromkeys(reversed(self._gone(gone))):
            module = _load(Path(name), low, offset)
            if module is not None:
                self.modules.append(module)

    def _gone(self, gone: Iterable[Sequence[Any]]) -> list[tuple[str, int, int]]:
        """Return each file that a call unmapped, its first address, and the offset mapped there."""
        first: dict[tuple[int, str], tuple[int, int]] = {}
        for call, low, _, offset, path in gone:
            key = int(call), _file_name(path)
            if key not in first or int(low) < first[key][0]:
                first[key] = (int(low), int(offset))
        return [(path, low, offset) for (_, path), (low, offset) in first.items()]

    def at(self, address: int) -> Module | None:
        """Return the file that an address belongs to, or None."""
        for module in self.modules:
            if module.low <= address < module.high:
                return module
        return None

    @property
    def runtime(self) -> str:
        """The runtime that manages memory or compiles code: 'Java', 'Go', 'Node', or ''."""
        if self._runtime is None:
            names = {module.path.name for module in self.modules}
            own = [m for m in self.modules if not m.of_system]
            go = any(f.name == "runtime.mallocgc" for m in own for f in m.functions)
            known = {"Java": "libjvm.so" in names, "Go": go, "Node": bool(names & _NODE)}
            self._runtime = next((name for name, present in known.items() if present), "")
        return self._runtime

    def made(self, address: int) -> str | None:
        """Return the name of the function that a runtime compiled to an address, or None."""
        function = _around(self._made, address % TENANT)
        return function.name if function is not None else None

    def frames(self, addresses: Iterable[int]) -> Mapping[int, tuple[Frame, ...]]:
        """Return functions and source lines at addresses, inlined functions first."""
        by_module: dict[int, set[int]] = {}
        frames: dict[int, tuple[Frame, ...]] = {}
        for address in set(addresses):
            module = self.at(address)
            if module is None:
                frames[address] = (Frame(self.made(address) or f"{address % TENANT:#x}", "?"),)
            else:
                by_module.setdefault(self.modules.index(module), set()).add(address)
        for index, wanted in by_module.items():
            frames.update(_frames_of(self.modules[index], wanted))
        return _readable(frames)


@dataclass(frozen=True)
class Copy:
    """A thread's copy of a thread-local variable, or other bytes of its thread-local memory."""

    thread: str
    address: int  # of the variable, or of the whole thread-local memory
    size: int
    variable: Named | None = None
    module: Module | None = None


class ThreadLocal:
    """The thread-local memory of a process's threads."""

    def __init__(
        self, modules: Modules, threads: Iterable[tuple[int, Sequence[int], str]],
        parts: Iterable[Sequence[int]],
    ) -> None:  # fmt: skip
        """Find the files' parts. ``parts``: pairs of a file's bias and its part's distance.

        A static program reports no parts. It is the only file, and its linker has chosen the place.
        """
        # If several threads had the same pointer in turn, the first one counts.
        self._threads = {
            local: who for _, pointers, who in reversed([*threads]) for local in pointers if local
        }
        self._pointers = sorted(self._threads)
        distances = {int(bias): int(distance) for bias, distance in parts}
        self._parts = [
            (distances.get(module.bias, module.distance), module)
            for module in modules.modules
            if module.part and (not distances or module.bias in distances)
        ]
        self._low = min((distance for distance, _ in self._parts), default=0)

    def at(self, address: int) -> Copy | None:
        """Return the copy that contains a byte, or None if no thread-local memory does."""
        at = bisect_right(self._pointers, address - _SELF)
        if at == len(self._pointers) or address < self._pointers[at] + self._low:
            return None
        pointer = self._pointers[at]
        thread = self._threads[pointer]
        for distance, module in self._parts:
            part = pointer + distance
            symbol = module.local(address - part) if part <= address < part + module.part else None
            if symbol is not None:
                return Copy(thread, part + symbol.address, symbol.size, symbol, module)
        return Copy(thread, pointer + self._low, _SELF - self._low)


def _readable(by_pc: dict[int, tuple[Frame, ...]]) -> dict[int, tuple[Frame, ...]]:
    """Return the same frames, with names as in the source in place of mangled ones."""
    plain = readable(frame.function for frames in by_pc.values() for frame in frames)
    return {
        pc: tuple(replace(f, function=plain.get(f.function, f.function)) for f in frames)
        for pc, frames in by_pc.items()
    }


def _resolve(debug: Path, wanted: set[int]) -> dict[int, tuple[Frame, ...]]:
    """Return functions and lines, by LLVM's tool if binutils' finds no lines (Go's DWARF 5)."""
    by_pc = resolve(debug, wanted)
    lines = [frame.source for frames in by_pc.values() for frame in frames]
    if shutil.which(_OTHER) and not any(line.rpartition(":")[2].isdigit() for line in lines):
        return resolve(debug, wanted, _OTHER)
    return by_pc


def _frames_of(module: Module, wanted: set[int]) -> dict[int, tuple[Frame, ...]]:
    resolved: dict[int, tuple[Frame, ...]] = {}
    if module.debug is not None:
        try:
            resolved = _resolve(module.debug, {address - module.bias for address in wanted})
        except UserError:
            resolved = {}  # no addr2line, or it cannot read the file: use symbols
    by_address = {}
    for address in wanted:
        frames = resolved.get(address - module.bias, ())
        if not frames or frames[0].function == "?":
            name = module.function(address)
            known = name if name is not None else f"{address - module.bias:#x}"
            frames = (Frame(known, module.path.name),)
        by_address[address] = frames
    return by_address
