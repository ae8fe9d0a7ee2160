# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds machine files by name or path, and lists them.

Only lib/schedshard-topo validates machine files. Here they are found, shown and hashed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.errors import UserError, unknown_name
from common.output import read_toml
from common.paths import MACHINES, topo_binary, typed
from common.tool import run_json
from model.machines.hostfile import host_path
from model.machines.numbers import value_of

HOST = "host"


@dataclass(frozen=True)
class Machine:
    """A machine file: its path and its contents."""

    name: str
    path: Path
    data: dict[str, Any]

    @property
    def title(self) -> str:
        """Return the machine's title."""
        return str(self.data.get("title", self.name))

    @property
    def kind(self) -> str:
        """Return the kind of the file: measured, estimate or hypothetical."""
        return str(self.data.get("kind", "unknown"))

    @property
    def clock_ghz(self) -> float:
        """Return the clock in GHz that relates cycles to time."""
        return value_of(self.data.get("clock_ghz", 0.0), "clock_ghz")


def preset_names() -> list[str]:
    """Return the names of the project's machine files, and of this host's if it exists."""
    names = {path.stem for path in MACHINES.glob("*.toml")}
    if host_path().is_file():
        names.add(HOST)
    return sorted(names)


def machine_path(name: str) -> Path:
    """Return the path of a machine file, for the name of a preset or a path to a .toml file."""
    if name.endswith(".toml") or "/" in name:
        path = Path(name)
        if not path.is_file():
            raise UserError(f"no machine file {name}: give a preset name or an existing .toml file")
        return path
    path = host_path() if name == HOST else MACHINES / f"{name}.toml"
    if name and path.is_file():
        return path
    if name == HOST:
        raise UserError(f"this host has no machine file yet: '{typed('machine measure')}' makes it")
    raise unknown_name("machine", name, preset_names())


def load_machine(name: str) -> Machine:
    """Find and parse a machine file. Only its syntax is checked: the C tools validate it."""
    path = machine_path(name)
    data = read_toml(path, "machine file")
    return Machine(name=str(data.get("name", path.stem)), path=path, data=data)


def machine_topology(machine: Machine, cap: int | None = None) -> dict[str, Any]:
    """Return CPUs and shard plan of a machine file, as read and validated by schedshard-topo."""
    size = ["--cap", str(cap)] if cap is not None else []
    result = run_json([str(topo_binary()), "--machine", str(machine.path), *size])
    if not isinstance(result, dict) or not isinstance(result.get("cpus"), list):
        raise UserError(f"{topo_binary().name} printed no topology", status=1)
    return result


def cpu_count(machine: Machine) -> int:
    """Return the number of the machine's CPUs."""
    return len(machine_topology(machine)["cpus"])
