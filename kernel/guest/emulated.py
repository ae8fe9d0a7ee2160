# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes the emulator's arguments for a guest's CPUs, memory and nodes."""

from pathlib import Path

from kernel.arch import X86, Arch
from record.shape import Shape, memory_mb


def _backend(node: int, size_mb: int, folder: Path | None) -> str:
    if folder is None:
        return f"memory-backend-ram,id=m{node},size={size_mb}M"
    return f"memory-backend-file,id=m{node},size={size_mb}M,mem-path={folder}/node{node},share=on"


def qemu_topology(
    shape: Shape, extra_mb: int = 0, folder: Path | None = None, arch: Arch = X86
) -> list[str]:
    """Return the emulator's arguments for CPUs, memory and nodes.

    Linux sees a die of the emulator as one last-level cache, because CPUID leaf 4 says so. An Arm
    cluster has one in the device tree. With ``folder``, its file nodeN is the memory of node N.
    """
    dies = shape.nodes * shape.llcs
    memory = memory_mb(shape, extra_mb)
    most = f",maxcpus={shape.places}" if shape.empty else ""
    argv = [
        "-smp",
        f"{shape.places - shape.empty}{most},sockets={shape.packages},{arch.die}={dies},"
        f"cores={shape.cores},threads={shape.threads}",
        "-m",
        str(memory),
    ]
    nodes = shape.packages * shape.nodes
    if nodes + shape.memory_nodes == 1:
        if folder is not None:
            argv += ["-object", _backend(0, memory, folder), "-machine", "memory-backend=m0"]
        return argv
    per_node, full = shape.places // nodes, nodes - shape.bare_nodes
    share = memory // (full + shape.memory_nodes)
    for node in range(nodes + shape.memory_nodes):
        words = [f"node,nodeid={node}"]
        if node < nodes:
            words.append(f"cpus={node * per_node}-{(node + 1) * per_node - 1}")
        if node < full or node >= nodes:
            argv += ["-object", _backend(node, share, folder)]
            words.append(f"memdev=m{node}")
        argv += ["-numa", ",".join(words)]
    return argv
