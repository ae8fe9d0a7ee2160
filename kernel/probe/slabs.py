# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds the slab cache of an allocated object in a guest's memory, and where the object begins.

The descriptor of a page names the cache whose objects the page contains (struct slab). The guest
boots with slab_nomerge, so that a cache contains objects of no other cache.
"""

from typing import NamedTuple

from elftools.dwarf.die import DIE

from kernel.guest.ram import DIRECT_MAP, DIRECT_MAP_END, Ram
from model.lines.dwarf import die_name, member_start

# The structures that caches with other names contain.
STRUCTS = {
    "filp": "file", "inode_cache": "inode", "files_cache": "files_struct", "fs_cache": "fs_struct",
    "signal_cache": "signal_struct", "sighand_cache": "sighand_struct", "cred_jar": "cred",
    "shmem_inode_cache": "shmem_inode_info", "mnt_cache": "mount", "dentry": "dentry",
    "mm_struct": "mm_struct", "task_struct": "task_struct", "vm_area_struct": "vm_area_struct",
}  # fmt: skip
_VMEMMAP = 0xFFFFEA0000000000  # where the page descriptors begin, without randomised addresses
_DESCRIPTOR = 64  # bytes
_MASKS = 0xFFFFFFFF00000000  # above all page descriptors
_PRESENT, _LARGE, _FRAME = 1, 0x80, 0x000F_FFFF_FFFF_F000


class Slot(NamedTuple):
    """An object of a slab cache."""

    cache: str
    start: int
    size: int


def _member(die: DIE, name: str) -> int:
    return next(member_start(child) for child in die.iter_children() if die_name(child) == name)


class Slabs:
    """Finds the slab objects at addresses of a guest's direct map."""

    def __init__(self, ram: Ram, tables: int, slab: DIE, cache: DIE) -> None:
        """Take the address of the kernel's page tables, and the types of a slab and of a cache."""
        self._ram, self._tables = ram, tables
        self._cache, self._name = _member(slab, "slab_cache"), _member(cache, "name")
        self._step, self._size = _member(cache, "size"), _member(cache, "object_size")

    def _number(self, address: int, size: int = 8) -> int:
        """Return a number in memory; 0 if the address is not in memory."""
        return int.from_bytes(self._ram.read(address, size) or b"", "little")

    def _mapped(self, address: int) -> int:
        """Translate an address by the page tables into the direct map. Return 0 if not mapped."""
        table = self._tables
        for shift in (39, 30, 21, 12):
            entry = self._number(table + 8 * (address >> shift & 511))
            if not entry & _PRESENT:
                return 0
            table = DIRECT_MAP + (entry & _FRAME)
            if shift == 12 or (shift < 39 and entry & _LARGE):
                return table | address & ((1 << shift) - 1)
        return 0

    def at(self, address: int) -> Slot | None:
        """Return the object that contains an address, or None."""
        if not DIRECT_MAP <= address < DIRECT_MAP_END:
            return None
        descriptor = _VMEMMAP + (address - DIRECT_MAP) // 4096 * _DESCRIPTOR
        first = self._number(self._mapped(descriptor) + 8)
        if first & 1:  # this page is not the first one of its slab
            # CONFIG_HUGETLB_PAGE_OPTIMIZE_VMEMMAP: 7.3 stores a mask for the address.
            descriptor = descriptor & first if first >= _MASKS else first - 1
        cache = self._number(self._mapped(descriptor) + self._cache)
        name = (self._ram.read(self._number(cache + self._name), 32) or b"").split(b"\0")[0]
        step, size = self._number(cache + self._step, 4), self._number(cache + self._size, 4)
        text = name.decode("latin-1")
        if not 0 < size <= step or not text.isprintable() or not text:
            return None
        base = DIRECT_MAP + (descriptor - _VMEMMAP) // _DESCRIPTOR * 4096
        start = address - (address - base) % step
        return Slot(text, start, size) if address < start + size else None
