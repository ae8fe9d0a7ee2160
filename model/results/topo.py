# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The types that `machine topology` saves."""

from typing import Annotated

from msgspec import Meta

from model.results.saved import Count, Few, Place, Saved


class Cpu(Saved, kw_only=True):
    """A CPU and where it is; -1: unknown."""

    cpu: Count
    package: Place = -1
    node: Place = -1
    llc: Place = -1
    core: Place = -1
    thread: Place = -1
    possible: bool = True


class Shard(Saved, kw_only=True):
    """CPUs that share a line."""

    shard: Count
    package: Place
    node: Place
    llc: Place
    cpus: Annotated[list[Count], Meta(min_length=1)]


class Plan(Saved, kw_only=True):
    """A shard plan: all shards."""

    level: str
    cap: Few
    split_llc: Count | None = None
    shards: Annotated[list[Shard], Meta(min_length=1)]


class Source(Saved, kw_only=True):
    """The machine, unless the topology is this host's."""

    name: str | None = None
    title: str | None = None


class Topo(Saved, kw_only=True):
    """A topology: CPUs and shard plan."""

    source: str | None = None
    machine: Source | None = None
    cpus: Annotated[list[Cpu], Meta(min_length=1)]
    plan: Plan
    provenance: dict[str, str | int | None]

    def __post_init__(self) -> None:
        known = {each.cpu for each in self.cpus}
        planned = [cpu for shard in self.plan.shards for cpu in shard.cpus]
        if len(known) != len(self.cpus) or len(set(planned)) != len(planned):
            raise ValueError("a CPU is listed twice")
        if not known.issuperset(planned):
            raise ValueError("a shard contains a CPU that is not one of cpus")
