# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines the architectures for which kernels are built, and the emulator's machine for each."""

from collections.abc import Mapping
from dataclasses import dataclass

from common.errors import check_names


@dataclass(frozen=True)
class Arch:
    """An architecture whose kernels are built, and boot in the emulator: the values of --arch."""

    name: str  # ARCH of the kernel's make
    cross: str  # prefix of the compiler's tools; "" for this host's
    image: str  # what boots, in a build tree
    debian: str  # name of the architecture in Debian
    qemu: str
    machine: tuple[str, ...]
    parameters: tuple[str, ...]  # of the kernel
    die: str  # -smp's name for a group of CPUs with one last-level cache
    own_programs: bool = True  # guests have this host's programs
    device_tree: bool = False  # the guest needs a device tree that describes caches

    @property
    def compiler(self) -> str:
        """Return the name of the C compiler."""
        return f"{self.cross}gcc"

    @property
    def target(self) -> str:
        """Return the target of make that makes the image."""
        return self.image.rpartition("/")[2]


# An Intel processor whose caches, dies and nodes inside a socket Linux accepts as given. Features
# that the emulation lacks are removed, because Linux would complain about them for every CPU.
_LACKING = (
    "pcid,x2apic,tsc-deadline,invpcid,rtm,hle,rdseed,avx512f,avx512dq,avx512cd,avx512bw,avx512vl,"
    "xsavec,3dnowprefetch"
)
_SKYLAKE = "Skylake-Server-v1," + ",".join(f"{feature}=off" for feature in _LACKING.split(","))

X86 = Arch(
    name="x86",
    image="arch/x86/boot/bzImage",
    cross="",
    debian="amd64",
    qemu="qemu-system-x86_64",
    # No HPET: as clock source it is one device that all CPUs read under one lock of the emulator.
    machine=("-machine", "q35,hpet=off", "-cpu", _SKYLAKE),
    parameters=("console=ttyS0", "clocksource=tsc", "tsc=reliable", "no_timer_check"),
    die="dies",
)
ARM64 = Arch(
    name="arm64",
    image="arch/arm64/boot/Image",
    cross="aarch64-linux-gnu-",
    debian="arm64",
    qemu="qemu-system-aarch64",
    machine=("-machine", "virt,gic-version=3", "-cpu", "neoverse-n1"),
    parameters=("console=ttyAMA0",),
    die="clusters",
    own_programs=False,
    device_tree=True,
)
ARCHES: Mapping[str, Arch] = {arch.name: arch for arch in (X86, ARM64)}


def find_arch(name: str) -> Arch:
    """Return the architecture with a name."""
    check_names("architecture", [name], ARCHES)
    return ARCHES[name]
