# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Hot operations execute the locked instructions that the model charges: one, or none.

usage: locked.py LIBRARY

A loop of compare-and-swap takes the line twice, where the simulated machine charges it once. gcc
makes such a loop of an atomic operation whose old value is used, unless it sees that only one bit
is used. The test is for gcc on x86-64 without sanitizers.
"""

from __future__ import annotations

import re
import subprocess
import sys

# Function: its locked instructions, in order.
LOCKED = {
    "sbm_set": [],
    "sbm_clear": ["and"],
    "sbm_set_release": [],
    "sbm_test_and_clear": ["btr"],
    "sbm_test_and_set": ["bts"],
    "counter_add": ["add"],
    "cpu_counter_add": [],
    "cpu_counter_add_any": ["xadd"],
}
# With a summary these execute more locked instructions, such as full barriers.
SUMMARY = {"sbm_set", "sbm_set_release", "sbm_test_and_set"}
# Searches, which must not contain loops of compare-and-swap.
CLAIMS = ("slot_claim_near",)


def locked(library: str, function: str) -> list[str]:
    """Return a function's locked instructions in order, without suffixes for the size."""
    done = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", f"--disassemble=schedshard_{function}", library],
        capture_output=True,
        text=True,
        check=True,
    )
    if f"<schedshard_{function}" not in done.stdout:
        sys.exit(f"{library}: no function schedshard_{function}")
    return re.findall(r"\block ([a-z]+?)[lq]?\s", done.stdout)


def main() -> None:
    """Compare all functions."""
    library = sys.argv[1]
    for function, expected in LOCKED.items():
        instructions = locked(library, function)
        if function in SUMMARY:
            first = expected[:1] or ["or"]
            right = instructions[:1] == first and "cmpxchg" not in instructions
        else:
            right = instructions == expected
        if not right:
            sys.exit(f"{function}: locked instructions {instructions}, must be {expected}")
    for function in CLAIMS:
        instructions = locked(library, function)
        if "btr" not in instructions or "cmpxchg" in instructions:
            sys.exit(f"{function}: locked instructions {instructions}, must be btr")
    print(f"{len(LOCKED) + len(CLAIMS)} functions: 1 passed, 0 failed")


if __name__ == "__main__":
    main()
