# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Another language calls the shared library: every function of plain.h is exported.

usage: plain_ffi.py LIBRARY HEADER
"""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path


def main() -> None:
    """Look all functions up; claim and put from two sets."""
    library = ctypes.CDLL(sys.argv[1])
    header = re.sub(r"/\*.*?\*/", "", Path(sys.argv[2]).read_text(encoding="utf-8"), flags=re.S)
    names = re.findall(r"\b(schedshard_\w+)\(", header)
    assert len(names) > 30
    for name in names:
        assert hasattr(library, name), f"{name} is not exported"
    library.schedshard_set_create.restype = ctypes.c_void_p
    library.schedshard_set_claim.restype = ctypes.c_int64
    idle = ctypes.c_void_p(library.schedshard_set_create(0, False))
    other = ctypes.c_void_p(library.schedshard_set_create(1, False))
    cpus = [cpu for cpu in range(library.schedshard_nr_cpus()) if library.schedshard_has_cpu(cpu)]
    for cpu in cpus:
        library.schedshard_set_put(idle, cpu)
    claimed = [library.schedshard_set_claim(idle, cpus[0]) for _ in cpus]
    assert sorted(claimed) == cpus, claimed
    assert claimed[0] == cpus[0]
    assert library.schedshard_set_claim(idle, cpus[0]) == -1
    assert library.schedshard_set_count(other) == 0
    library.schedshard_set_destroy(idle)
    library.schedshard_set_destroy(other)
    print(f"{len(names)} functions: 1 passed, 0 failed")


if __name__ == "__main__":
    main()
