# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Another language calls the shared library: inline functions are exported symbols as well.

usage: ffi.py LIBRARY
"""

from __future__ import annotations

import ctypes
import sys


def main() -> None:
    """Claim from one set, use another one, and count."""
    library = ctypes.CDLL(sys.argv[1])
    library.schedshard_sbm_create.restype = ctypes.c_void_p
    library.schedshard_slot_set_create.restype = ctypes.c_void_p
    library.schedshard_cpu_counter_create.restype = ctypes.c_void_p
    library.schedshard_slot_claim_near.restype = ctypes.c_int64
    library.schedshard_cpu_counter_sum.restype = ctypes.c_int64
    plan = ctypes.c_void_p()
    assert library.schedshard_plan_here(ctypes.byref(plan), None) == 0
    count = library.schedshard_plan_nr_cpus(plan)
    slots = ctypes.c_void_p(library.schedshard_slot_set_create(3))
    other = ctypes.c_void_p(library.schedshard_sbm_create())
    cpus = [cpu for cpu in range(count) if library.schedshard_plan_has_cpu(plan, cpu)]
    claimed = [library.schedshard_slot_claim_near(slots, cpus[0]) for _ in range(4)]
    assert sorted(claimed) == [-1, 0, 1, 2], claimed
    library.schedshard_slot_put(slots, 1)
    assert library.schedshard_slot_claim_near(slots, cpus[0]) == 1
    assert library.schedshard_sbm_weight(other) == 0
    library.schedshard_sbm_set(other, cpus[0])
    assert library.schedshard_sbm_weight(other) == 1
    counter = ctypes.c_void_p(library.schedshard_cpu_counter_create(0))
    library.schedshard_cpu_counter_add(counter, cpus[0], ctypes.c_int64(-5))
    assert library.schedshard_cpu_counter_sum(counter) == -5
    library.schedshard_slot_set_destroy(slots)
    library.schedshard_sbm_destroy(other)
    library.schedshard_cpu_counter_destroy(counter)
    print("1 passed, 0 failed")


if __name__ == "__main__":
    main()
