# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Names a guest's lines and code.

The recording contains the names of the kernel's lines and code, which were found in the guest's
memory when the recording was made. The program's code is named by its virtual addresses. Physical
addresses identify the memory of programs, because several programs may share it. From
kernel/profile/program.py come the page frames of the one recorded program, with their virtual
addresses, which have names.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from model.machines.presets import Machine, machine_topology
from record.lines.symbols import Frame
from record.names.memory import Memory
from record.names.modules import Modules
from record.names.objects import Objects
from record.names.things import Thing
from record.shape import Shape
from record.watch import Node, map_cpus, map_nodes

KERNEL = 0xFFFF_8000_0000_0000
_PAGE = 4096


def guest_words(guest: Mapping[str, Any]) -> str:
    """Return the number of the guest's CPUs and their shape as text."""
    return f"{Shape(**guest['shape']).words} (guest)"


def guest_places(guest: Mapping[str, Any], machines: Sequence[Machine]) -> list[tuple[int, ...]]:
    """Return for each machine the CPUs that the guest's CPUs stand for."""
    shape = Shape(**guest["shape"])
    return [tuple(map_cpus(shape, machine_topology(m), m.name)) for m in machines]


def guest_nodes(
    guest: Mapping[str, Any] | None, machines: Sequence[Machine], cpus: Sequence[tuple[int, ...]]
) -> list[tuple[Node, ...]]:
    """Return the nodes of each machine that a guest's memory represents; empty without a guest."""
    if guest is None:
        return [() for _ in machines]
    shape, extra = Shape(**guest["shape"]), int(guest["extra_mb"])
    return [
        tuple(map_nodes(shape, extra, where, machine_topology(m)))
        for m, where in zip(machines, cpus, strict=True)
    ]


class GuestObjects(Objects):
    """Finds the object of the kernel or of the program that a line belongs to."""

    def __init__(self, meta: Mapping[str, Any], modules: Modules) -> None:
        super().__init__(meta, modules)
        guest = meta["guest"]
        self._kernel_lines: Mapping[str, Any] = guest["lines"]
        self._areas = [(int(low), int(high), str(name)) for low, high, name in guest["areas"]]
        self._virtual = {int(physical): int(virtual) for virtual, physical in guest["pages"]}

    def _translate(self, address: int) -> int | None:
        page = self._virtual.get(address - address % _PAGE)
        return None if page is None else page + address % _PAGE

    def has(self, address: int) -> bool:
        """Whether an address belongs to the program."""
        return self._translate(address) is not None

    def learn(
        self, uses: Mapping[int, frozenset[int]], accesses: Sequence[tuple[int, int]] = ()
    ) -> None:
        """Read the debug information for those addresses that belong to the program."""
        translated = {self._translate(at): sizes for at, sizes in uses.items() if at < KERNEL}
        pairs = [(pc, self._translate(at)) for pc, at in accesses if max(pc, at) < KERNEL]
        super().learn(
            {at: sizes for at, sizes in translated.items() if at is not None},
            [(pc, at) for pc, at in pairs if at is not None],
        )

    def name_of(self, address: int) -> Thing | None:
        """Return the object that contains a byte."""
        if address >= KERNEL:
            return self._of_kernel(address)
        virtual = self._translate(address)
        if virtual is None:
            # Memory of another process, or a page that the program freed.
            return Thing("memory of programs", "unknown", address - address % _PAGE, _PAGE)
        thing = super().name_of(virtual)
        for low, high, name in self._areas:
            if low <= virtual < high:
                thing = Thing(name.strip("[]"), "mapped", low, high - low)
        if thing is None:
            return None
        return replace(thing, address=thing.address - virtual + address)

    def _of_kernel(self, address: int) -> Thing | None:
        line = address - address % 64
        kept = self._kernel_lines.get(f"{line:#x}")
        if kept is None or not kept["kind"]:
            return Thing(f"kernel memory at {line:#x}", "unknown", line, 64)
        fields = kept["fields"]
        start = line - int(kept["offset"])
        return Thing(
            f"kernel: {kept['object']}", "kernel", start, 0, kept["type"],
            lambda offset: fields.get(str(offset - (line - start)), ""),
        )  # fmt: skip


class GuestMemory(Memory):
    """Names everything in a guest, which runs one program whose addresses are known."""

    def __init__(self, meta: Mapping[str, Any]) -> None:
        super().__init__(meta)
        self._guest = GuestObjects(
            {**meta["processes"][0], "guest": meta["guest"]}, self.modules(0)
        )
        self._code_of_kernel: Mapping[str, Any] = meta["guest"]["code"]

    def close(self) -> None:
        """Close all files."""
        self._guest.close()
        super().close()

    def frames(self, pcs: Iterable[int]) -> dict[int, tuple[Frame, ...]]:
        """Return functions and lines: the kernel's as saved, the program's from its files."""
        wanted = set(pcs)
        frames = super().frames({pc for pc in wanted if pc < KERNEL})
        for pc in wanted - set(frames):
            kept = self._code_of_kernel.get(f"{pc:#x}", [])
            frames[pc] = tuple(Frame(name, source) for name, source in kept)
        return frames

    def learn(
        self, uses: Mapping[int, frozenset[int]], accesses: Sequence[tuple[int, int]] = ()
    ) -> None:
        """Read the debug information for all these bytes at once, as Memory.learn() does."""
        self._guest.learn(uses, accesses)

    def name_of(self, place: int) -> Thing | None:
        """Return the object that contains a byte."""
        return self._guest.name_of(place)

    def process(self, place: int) -> int | None:
        """Return process 0 for the program's memory, None for that of others and of the kernel."""
        return 0 if place < KERNEL and self._guest.has(place) else None
