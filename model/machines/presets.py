# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds machine files by name or path, and lists them."""

from __future__ import annotations

import hashlib
import json
import tempfile
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import count
from pathlib import Path
from typing import Any

from common.errors import UserError, telling, unknown_name
from common.output import read_toml
from common.paths import MACHINES, topo_binary, typed
from common.provenance import sha256_file
from common.tool import run_json
from model.machines.cores import with_core
from model.machines.flat import flat_text
from model.machines.hostfile import host_path
from model.machines.numbers import value_of
from model.machines.places import Places, places

HOST = "host"
_numbers = count()


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

    @cached_property
    def sha256(self) -> str:
        """Return the SHA-256 in hex of the file, or of its content with the core that it names."""
        data = read_toml(self.path, "machine file")
        if "core" not in data:
            return sha256_file(self.path)
        return hashlib.sha256(json.dumps(with_core(data, str(self.path))).encode()).hexdigest()

    @cached_property
    def flat_text(self) -> str:
        """Return the machine in the form that the tools in C read, which checks the file."""
        return flat_text(self.data, str(self.path))

    @cached_property
    def flat(self) -> Path:
        """Return the path of a file in that form. It exists as long as this process."""
        with telling("cannot write a temporary file", status=1):
            path = _scratch() / f"{next(_numbers)}-{self.data.get('name')}.machine"
            path.write_text(self.flat_text, encoding="utf-8")
        return path

    @cached_property
    def places(self) -> Places:
        """Return the place of each CPU, by its number."""
        self.flat_text  # noqa: B018 - refuses a file that is not right
        return places(self.data["topology"])

    @property
    def cpus(self) -> list[dict[str, int]]:
        """Return a row per CPU with the ids of its place, as schedshard-topo prints them."""
        return [{"cpu": cpu, **place._asdict()} for cpu, place in self.places.items()]


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="schedshard-")


def _scratch() -> Path:
    return Path(_folder().name)


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
    """Find and parse a machine file. Only its syntax is checked: its use checks the rest."""
    path = machine_path(name)
    data = read_toml(path, "machine file")
    named = str(data.get("name", path.stem))
    return Machine(name=named, path=path, data=with_core(data, str(path)))


def machine_topology(machine: Machine) -> dict[str, Any]:
    """Return CPUs and shard plan of a machine file, as schedshard-topo prints them."""
    result = run_json([str(topo_binary()), "--machine", str(machine.flat)])
    if not isinstance(result, dict) or not isinstance(result.get("cpus"), list):
        raise UserError(f"{topo_binary().name} printed no topology", status=1)
    return result


def cpu_count(machine: Machine) -> int:
    """Return the number of the machine's CPUs."""
    return len(machine.places)
