# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds the process, address and object behind a recording's number of a byte or instruction.

For the program that was started first, the number of a byte is its address. The recorder numbers
the pages of other processes and of shared memory, and lists their owners (record/program/pages.c).
If something else replaced a mapped file, the upper bits of an address say which
(record/program/tenants.h).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from record.lines.symbols import Frame
from record.names.modules import TENANT, Module, Modules
from record.names.objects import Objects
from record.names.things import Thing

_PAGE = 4096
_PRIVATE, _SHARED, _CODE = 1, 2, 3
_ANONYMOUS = "/dev/zero"
# A page's owner is a number of an image or program, plus its tenant times this
# (record/program/pages.c).
_TENANT = 1 << 14
# The numbers of pages that the recorder chose (record/program/pages.c). The first program may have
# pages above them.
_TABLE = range(0x610000000000, 0x610000000000 + (_PAGE << 22))


def _owner(of: int, page: int, byte: int) -> tuple[int, int]:
    """Return a page's image or program, and the address that a byte of the page has in it."""
    tenant, owner = divmod(of, _TENANT)
    return owner, tenant * TENANT + page * _PAGE + byte % _PAGE


@dataclass(frozen=True)
class Where:
    """A byte of a process: its address there, and whether the memory is shared."""

    image: int
    address: int
    low: int  # the start of the mapping in the process; 0 if not shared
    shared: bool


def member_of(thing: Thing, path: str) -> str:
    """Return a member's name after its type, or after the object if the type has no usable name."""
    owner = thing.type.removesuffix("[]").removeprefix("variable ")  # a kernel's variable
    if not owner or "{" in owner or owner.startswith(("pthread_", "common /")):
        owner = thing.name
    # Without the index of its element.
    plain = re.sub(r"^\[\d+\]", "", path).removeprefix(".").removeprefix("+")
    return f"{owner}.{plain}" if plain else thing.name


def field_of(thing: Thing | None, address: int, of: Thing | None) -> str:
    """Return the name of the member at an address, with its variable if there is one.

    ``of``: the object that names the line. The member of another allocated object has its type
    before it.
    """
    if thing is None or thing.kind not in ("variable", "local", "heap", "shared", "kernel"):
        return ""
    member = thing.field(address - thing.address)
    if thing.kind in ("variable", "local"):
        return f"{thing.name}{member}" if thing.size else ""
    return member_of(thing, member) if _differs(thing, of) else member.removeprefix(".")


def others_of(of: Thing | None, things: Iterable[Thing | None]) -> list[Thing]:
    """Return a line's heap objects that differ from ``of``, its main one; one per name and type."""
    others = {(t.name, t.type): t for t in things if t is not None and _differs(t, of)}
    return list(others.values())


def _differs(thing: Thing, of: Thing | None) -> bool:
    """Whether a thing is a heap or kernel object with another name or type than ``of``."""
    return thing.kind in ("heap", "kernel") and (
        of is None or (thing.name, thing.type) != (of.name, of.type)
    )


class Memory:
    """Names the bytes and instructions of all processes of a recording."""

    def __init__(self, meta: Mapping[str, Any]) -> None:
        self._pages = {at: (kind, of, page) for at, kind, of, page in meta["pages"]}
        self._processes = {int(process["image"]): process for process in meta["processes"]}
        self._programs = [int(program) for _, program, _, _ in meta["images"]]
        maps: dict[int, list[Sequence[Any]]] = {}
        code: dict[int, list[Sequence[Any]]] = {}
        gone: dict[int, list[Sequence[Any]]] = {}
        for process in meta["processes"]:
            maps.setdefault(int(process["program"]), []).extend(process["maps"])
            code.setdefault(int(process["program"]), []).extend(process.get("code", ()))
            gone.setdefault(int(process["program"]), []).extend(process.get("gone", ()))
        self._modules = {
            program: Modules(maps[program], code[program], gone[program]) for program in maps
        }
        self._none = Modules(())
        self._objects: dict[int, Objects] = {}

    @property
    def damaged(self) -> list[str]:
        """Files whose debug information could not be read whole."""
        return sorted({path for objects in self._objects.values() for path in objects.damaged})

    @property
    def cut(self) -> list[str]:
        """Files with more debug information than was read (MOST_BYTES)."""
        return sorted({path for objects in self._objects.values() for path in objects.cut})

    def close(self) -> None:
        """Close all files."""
        for objects in self._objects.values():
            objects.close()

    # ---- code ----

    def _code(self, pc: int) -> tuple[int, int]:
        page = self._pages.get(pc // _PAGE * _PAGE)
        if page is None or page[0] != _CODE:
            return 0, pc
        return _owner(page[1], page[2], pc)

    def modules(self, program: int) -> Modules:
        """Return the mapped files of a program."""
        return self._modules.get(program, self._none)

    def modules_at(self, pcs: Iterable[int]) -> list[Module]:
        """Return the files that contain these instructions."""
        modules: dict[str, Module] = {}
        for pc in pcs:
            program, address = self._code(pc)
            module = self.modules(program).at(address)
            if module is not None:
                modules.setdefault(str(module.path), module)
        return list(modules.values())

    def frames(self, pcs: Iterable[int]) -> dict[int, tuple[Frame, ...]]:
        """Return functions and source lines, by the number of the instruction."""
        by_program: dict[int, dict[int, int]] = {}
        for pc in pcs:
            program, address = self._code(pc)
            by_program.setdefault(program, {})[address] = pc
        by_pc: dict[int, tuple[Frame, ...]] = {}
        for program, wanted in by_program.items():
            for address, frames in self.modules(program).frames(wanted).items():
                by_pc[wanted[address]] = frames
        return by_pc

    def instruction(self, pc: int) -> tuple[str, int]:
        """Return the file and the address there, equal in all programs that map the file."""
        program, address = self._code(pc)
        module = self.modules(program).at(address)
        return (str(module.path), address - module.bias) if module is not None else ("", pc)

    def made_code(self, pcs: Iterable[int]) -> set[str]:
        """Return the runtimes that compiled some of these instructions and did not name them."""
        runtimes = set()
        for pc in pcs:
            program, address = self._code(pc)
            modules = self.modules(program)
            if modules.at(address) is None and modules.made(address) is None:
                runtimes.add(modules.runtime)
        return runtimes

    # ---- data ----

    def where(self, place: int) -> list[Where]:
        """Return the processes that have a byte, each with its address there."""
        page = self._pages.get(place // _PAGE * _PAGE)
        if page is None:
            known = self._processes and place not in _TABLE
            return [Where(self._witness(0), place, 0, False)] if known else []
        kind, of, number = page
        if kind == _PRIVATE:
            return [Where(*_owner(of, number, place), 0, False)]
        return [
            Where(image, low + (number - first) * _PAGE + place % _PAGE, low, True)
            for image, process in sorted(self._processes.items())
            for low, high, first, thing in process["shared"]
            if thing == of and first <= number < first + (high - low) // _PAGE
        ]

    def _witness(self, image: int) -> int:
        """Return the process that knows this one's memory: itself or one of the same program."""
        if image in self._processes or image >= len(self._programs):
            return image
        same = [n for n in self._processes if self._programs[n] == self._programs[image]]
        return min(same, default=image)

    def _objects_of(self, image: int) -> Objects | None:
        witness = self._witness(image)
        if witness not in self._processes:
            return None
        if witness not in self._objects:
            modules = self.modules(self._programs[witness])
            self._objects[witness] = Objects(self._processes[witness], modules)
        return self._objects[witness]

    def learn(
        self, uses: Mapping[int, frozenset[int]], accesses: Sequence[tuple[int, int]] = ()
    ) -> None:
        """Read the debug information for all these bytes at once: it is read from its beginning.

        ``uses``: bytes, each with the sizes of its accesses. ``accesses``: pairs of instruction and
        accessed byte, those with most accesses first.
        """
        wanted: dict[int, dict[int, frozenset[int]]] = {}
        for place, sizes in uses.items():
            for where in self.where(place)[:1]:
                of = wanted.setdefault(self._witness(where.image), {})
                of[where.address] = of.get(where.address, frozenset()) | sizes
        pairs: dict[int, list[tuple[int, int]]] = {}
        for pc, place in accesses:
            program, instruction = self._code(pc)
            for where in self.where(place)[:1]:
                image = self._witness(where.image)
                if image < len(self._programs) and self._programs[image] == program:
                    pairs.setdefault(image, []).append((instruction, where.address))
        for image, addresses in wanted.items():
            objects = self._objects_of(image)
            if objects is not None:
                objects.learn(addresses, pairs.get(image, ()))

    def name_of(self, place: int) -> Thing | None:
        """Return the object at a byte, or None. The object's address is a byte's number as well."""
        for where in self.where(place)[:1]:
            objects = self._objects_of(where.image)
            thing = objects.name_of(where.address) if objects is not None else None
            if thing is None and where.shared:
                thing = Thing("shared memory", "shared", where.low, 0)
            if thing is not None:
                moved = replace(thing, address=thing.address - where.address + place)
                return self._shared(moved, where) if where.shared else moved
        return None

    def process(self, place: int) -> int | None:
        """Return the process that owns a byte; None if it is unknown or shared."""
        owners = self.where(place)
        return owners[0].image if len(owners) == 1 and not owners[0].shared else None

    def _shared(self, thing: Thing, where: Where) -> Thing:
        if thing.kind == "heap":
            name = thing.name.replace("heap", "shared memory", 1)
            return replace(thing, name=name, kind="shared")
        for low, high, _, path in self._processes[where.image]["maps"]:
            if low <= where.address < high and not str(path).startswith(_ANONYMOUS):
                name = f"shared memory: {str(path).removesuffix(' (deleted)')}"
                return replace(thing, name=name, kind="shared")
        return replace(thing, kind="shared")
