# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Machine files by name or path, and the list of them.

lib/schedshard-topo is the one judge of whether a machine file is right; here it is only found,
shown and hashed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedshard.common.errors import UserError, unknown_name
from schedshard.common.output import read_toml
from schedshard.common.paths import MACHINES, topo_binary, typed
from schedshard.common.tool import run_json
from schedshard.machines.hostfile import host_path
from schedshard.machines.numbers import value_of

HOST = "host"


@dataclass(frozen=True)
class Machine:
    """A machine file: its path and its contents."""

    name: str
    path: Path
    data: dict[str, Any]

    @property
    def title(self) -> str:
        """The machine in words."""
        return str(self.data.get("title", self.name))

    @property
    def kind(self) -> str:
        """measured, estimate or hypothetical."""
        return str(self.data.get("kind", "unknown"))

    @property
    def clock_ghz(self) -> float:
        """The clock in which cycles are given."""
        return value_of(self.data.get("clock_ghz", 0.0), "clock_ghz")


def preset_names() -> list[str]:
    """Names of the machine files that come with the project, and of this host's when measured."""
    names = {path.stem for path in MACHINES.glob("*.toml")}
    if host_path().is_file():
        names.add(HOST)
    return sorted(names)


def machine_path(name: str) -> Path:
    """The machine file of a preset name, or the file itself when a path to a .toml is given."""
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
    """Find and parse a machine file (syntax only: the C tools validate its contents)."""
    path = machine_path(name)
    data = read_toml(path, "machine file")
    return Machine(name=str(data.get("name", path.stem)), path=path, data=data)


def machine_topology(machine: Machine, cap: int | None = None) -> dict[str, Any]:
    """The CPUs and the shard plan of a machine file, read and validated by schedshard-topo."""
    size = ["--cap", str(cap)] if cap is not None else []
    result = run_json([str(topo_binary()), "--machine", str(machine.path), *size])
    if not isinstance(result, dict) or not isinstance(result.get("cpus"), list):
        raise UserError(f"{topo_binary().name} printed no topology", status=1)
    return result


def cpu_count(machine: Machine) -> int:
    """How many CPUs the machine has."""
    return len(machine_topology(machine)["cpus"])
