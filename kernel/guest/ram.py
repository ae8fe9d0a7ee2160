# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads the memory of a guest that has ended, from the files in which the emulator kept it.

The kernel's addresses must not be randomised. Then a physical address is the virtual address minus
the start of the direct map or of the kernel image.
"""

import mmap
from pathlib import Path
from typing import Self

from common.errors import UserError, os_reason

DIRECT_MAP = 0xFFFF888000000000
DIRECT_MAP_END = 0xFFFFC88000000000
KERNEL_IMAGE = 0xFFFFFFFF80000000
KERNEL_IMAGE_END = 0xFFFFFFFFA0000000
# QEMU's q35 machine with _SPLIT_FROM of memory or more: memory beyond _LOW begins at 4 GiB. Devices
# are below that.
_SPLIT_FROM, _LOW, _HIGH_BASE = 0xB0000000, 0x80000000, 1 << 32


class Ram:
    """The memory of all nodes, one after the other; a context manager."""

    def __init__(self, folder: Path) -> None:
        self._maps: list[tuple[int, int, mmap.mmap]] = []
        base = 0
        try:
            for path in sorted(folder.glob("node*"), key=lambda p: int(p.name[4:])):
                with path.open("rb") as file:
                    area = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                self._maps.append((base, base + len(area), area))
                base += len(area)
        except (OSError, ValueError) as error:
            reason = os_reason(error) if isinstance(error, OSError) else str(error)
            raise UserError(f"cannot read the guest's memory: {reason}") from error
        self._low = _LOW if base >= _SPLIT_FROM else base

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        for _, _, area in self._maps:
            area.close()

    def read(self, address: int, size: int) -> bytes | None:
        """Return bytes at a virtual address of the kernel, or None if they are not in memory."""
        if DIRECT_MAP <= address < DIRECT_MAP_END:
            physical = address - DIRECT_MAP
        elif KERNEL_IMAGE <= address < KERNEL_IMAGE_END:
            physical = address - KERNEL_IMAGE
        else:
            return None
        if physical >= _HIGH_BASE:
            physical -= _HIGH_BASE - self._low
        elif physical >= self._low:
            return None
        for low, high, area in self._maps:
            if low <= physical and physical + size <= high:
                return area[physical - low : physical - low + size]
        return None

    def word(self, address: int) -> int | None:
        """Return the eight bytes at an address as a number, or None."""
        data = self.read(address, 8)
        return int.from_bytes(data, "little") if data is not None else None
