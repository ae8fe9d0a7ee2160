# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The ACPI table of a guest's caches (PPTT). The emulator's own table contains no caches.

Linux takes this table from the front of the first file system, instead of the emulator's. For that
it needs the emulator's names and a newer revision
(Documentation/admin-guide/acpi/initrd_table_override.rst of Linux). Every core gets caches of the
first two levels, and every LLC of the shape one of the third level.
"""

import struct

from record.shape import Shape

# The path at which Linux looks for this table, in an uncompressed initramfs archive.
PPTT_PATH = "kernel/firmware/acpi/pptt.aml"

_HEADER = struct.Struct("<4sIBB6s8sI4sI")
_PROCESSOR = struct.Struct("<BBHIIII")
_CACHE = struct.Struct("<BBHIIIIBBHI")
_REVISION = 3  # that of ACPI 6.4
_NEWER = 2  # the emulator's table has revision 1
# A processor's flags: package, valid id, thread, leaf, and identical caches below.
_PACKAGE, _VALID, _THREAD, _LEAF, _ALIKE = 1, 2, 4, 8, 16
# All fields of a cache are valid, with its policies and its id.
_KNOWN = 0xFF
_DATA, _INSTRUCTIONS, _UNIFIED = 0 << 2, 1 << 2, 2 << 2
_LINE, _WAYS = 64, 8


class _Table:
    """A table that grows at its end. A place is an offset in the table."""

    def __init__(self) -> None:
        self.body = b""
        self._caches = 0

    def _add(self, entry: bytes) -> int:
        place = _HEADER.size + len(self.body)
        self.body += entry
        return place

    def cache(self, kind: int, kilobytes: int, below: int = 0) -> int:
        """Add a cache and return its place.

        ``below`` is the next level's place, 0 for none here.
        """
        self._caches += 1
        size = kilobytes * 1024
        sets = size // _LINE // _WAYS
        return self._add(
            _CACHE.pack(
                1, _CACHE.size, 0, _KNOWN, below, size, sets, _WAYS, kind, _LINE, self._caches
            )
        )

    def processor(self, flags: int, parent: int, number: int, caches: tuple[int, ...] = ()) -> int:
        """Add a processor, or a group of processors, and return its place."""
        size = _PROCESSOR.size + 4 * len(caches)
        entry = _PROCESSOR.pack(0, size, 0, flags, parent, number, len(caches))
        return self._add(entry + struct.pack(f"<{len(caches)}I", *caches))

    def core_caches(self) -> tuple[int, ...]:
        """Add the caches of one core and return their places."""
        second = self.cache(_UNIFIED, 1024)
        return self.cache(_DATA, 64, second), self.cache(_INSTRUCTIONS, 64, second), second

    def bytes(self) -> bytes:
        """Return the table with its checksum, so that all bytes add up to 0."""
        size = _HEADER.size + len(self.body)
        fields = (b"BOCHS ", b"BXPC    ", _NEWER, b"SSHD", 1)
        bare = _HEADER.pack(b"PPTT", size, _REVISION, 0, *fields) + self.body
        return _HEADER.pack(b"PPTT", size, _REVISION, -sum(bare) % 256, *fields) + self.body


def cache_table(shape: Shape) -> bytes:
    """Return the table of a shape. The emulator numbers processors as Linux does."""
    table = _Table()
    cpus = iter(range(shape.places))
    for package in range(shape.packages):
        socket = table.processor(_PACKAGE, 0, package)
        for llc in range(shape.nodes * shape.llcs):
            cluster = table.processor(_ALIKE, socket, llc, (table.cache(_UNIFIED, 32 * 1024),))
            for core in range(shape.cores):
                caches = table.core_caches()
                if shape.threads == 1:
                    table.processor(_VALID | _LEAF, cluster, next(cpus), caches)
                    continue
                above = table.processor(0, cluster, core, caches)
                for _ in range(shape.threads):
                    table.processor(_VALID | _THREAD | _LEAF, above, next(cpus))
    return table.bytes()
