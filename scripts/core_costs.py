# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Keep the costs of operations inside a core the same in all machine files with that core.

core_costs.py           write machines/cores/cores.toml into the machine files that it names
core_costs.py --check   only name machine files that differ; exit status 1 if any do

So a machine file stays complete: it can be copied, sent and sampled alone. Change the costs of a
core only in the table.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tomlkit

MACHINES = Path(__file__).resolve().parent.parent / "machines"
CORES = MACHINES / "cores/cores.toml"


def costs(core: dict[str, Any]) -> dict[str, tuple[Any, str]]:
    """Return the value and source of each cost of a core, by the dotted key of a machine file."""
    return {
        f"{table}.{key}": (node, core["source"][f"{table}.{key}"])
        for table in ("op_cycles", "protocol")
        for key, node in core.get(table, {}).items()
    }


def applied(text: str, core: dict[str, Any]) -> str:
    """Return a machine file's text with the costs of its core."""
    document: Any = tomlkit.parse(text)
    for key, (node, source) in costs(core).items():
        table, _, name = key.partition(".")
        if document[table].get(name) != node:
            value = tomlkit.inline_table() if isinstance(node, dict) else node
            if isinstance(node, dict):
                value.update(node)
            document[table][name] = value
        if document["source"].get(key) != source:
            document["source"][key] = source
    made: str = tomlkit.dumps(document)
    return made


def main(arguments: Sequence[str]) -> int:
    """Check or write all machine files; return the exit status."""
    status = 0
    for name, core in tomllib.loads(CORES.read_text(encoding="utf-8")).items():
        for machine in core["machines"]:
            path = MACHINES / f"{machine}.toml"
            old = path.read_text(encoding="utf-8")
            new = applied(old, core)
            if new == old:
                continue
            if "--check" in arguments:
                print(f"{path.name}: not as core '{name}' says: run scripts/core_costs.py")
                status = 1
            else:
                path.write_text(new, encoding="utf-8")
                print(f"{path.name}: costs of core '{name}'")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
