# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The hosts that guests imitate: setups of kernel/guest/host.sh, boot options, and load."""

from collections.abc import Mapping
from dataclasses import dataclass

from schedshard.kernel.guest.topology import Shape
from schedshard.kernel.guest.workload import isolated_groups


@dataclass(frozen=True)
class Case:
    """One host.

    Adjacent cases with the same boot options and processor run one after the other in one guest.
    ``load`` is an argument of host.sh. ``apart`` gives each CPU its own package, and so its own
    cache.
    """

    setup: str
    boot: str = ""  # {first}-{last} and {half} stand for CPUs
    load: str = "no"
    apart: bool = False

    def parameters(self, cpus: int) -> tuple[str, ...]:
        """Return the parameters for the kernel's command line."""
        first = isolated_groups(cpus)[0].partition("-")[0]
        return (self.boot.format(first=first, half=cpus // 2, last=cpus - 1),) if self.boot else ()

    def shape(self, usual: Shape) -> Shape:
        """Return the shape of the guest."""
        return Shape(packages=usual.cpus) if self.apart else usual


_ISOLCPUS, _HALF = "isolcpus=domain,{first}-{last}", "{half}-{last}"

# Hosts of 16 CPUs whose root domains are set up in different ways. A guest tries its cases of
# cgroup v1 last.
ROOT_DOMAINS: Mapping[str, Case] = {
    "plain": Case("plain"),
    "members": Case("members"),
    "root": Case("root"),
    "isolated": Case("isolated"),
    "mixed": Case("mixed"),
    "nested": Case("nested"),
    "nested-isolated": Case("nested_isolated"),
    "nested-all": Case("nested_all"),
    "invalid": Case("invalid"),
    "overlap": Case("overlap"),
    "remote": Case("remote"),
    "remote-isolated": Case("remote_isolated"),
    "offline": Case("offline"),
    "online-again": Case("online_again"),
    "offline-all": Case("offline_all"),
    "v1": Case("v1"),
    "v1-two": Case("v1_two"),
    "v1-overlap": Case("v1_overlap"),
    "isolcpus": Case("plain", f"isolcpus=domain,{_HALF}"),
    "isolcpus-root": Case("root", f"isolcpus=domain,{_HALF}"),
    "isolcpus-isolated": Case("isolated", f"isolcpus=domain,{_HALF}"),
    "isolcpus-offline": Case("offline", f"isolcpus=domain,{_HALF}"),
    "isolcpus-v1-two": Case("v1_two", f"isolcpus=domain,{_HALF}"),
    "isolcpus-short": Case("root", f"isolcpus={_HALF}"),
    "isolcpus-managed": Case("root", f"isolcpus=managed_irq,{_HALF}"),
}

# Hosts that doctor judges, with any number of CPUs.
VERDICTS: Mapping[str, Case] = {
    "idle": Case("plain"),
    "pinned": Case("members", load="cgroups"),
    "isolated": Case("isolated", load="cgroups"),
    "root": Case("root", load="cgroups"),
    "container": Case("container", load="cgroups"),
    "isolcpus": Case("plain", _ISOLCPUS, load="cpus"),
    "false-caches": Case("members", load="cgroups", apart=True),
    # These need a kernel with PSI and namespaces, such as Debian's own (--bzimage). With counted
    # instructions, Debian's 6.1 brought up no second CPU within minutes: use --slow.
    "psimon": Case("monitors", load="cgroups"),
    "container-threads": Case("container_of_threads"),
}
