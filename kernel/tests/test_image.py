# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A kernel image gives symbols, and its types give names to objects in a guest's memory.

The image is a small program with a root domain, linked at a kernel's address. The guest's memory
contains the program and the objects to which the program's pointers lead.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from common.errors import UserError
from kernel.guest.ram import DIRECT_MAP, KERNEL_IMAGE, Ram
from kernel.probe.image import Image
from kernel.probe.objects import Objects

SOURCE = """
struct cpumask { unsigned long bits[8]; };
struct vec { int count; struct cpumask *mask; };
struct cpupri { struct vec pri_to_cpu[3]; int *cpu_to_pri; };
struct root_domain { int refcount; struct cpumask *rto_mask; struct cpupri cpupri; };
struct sched_domain { int level; };
struct rq { int nr_running; struct root_domain *rd; struct sched_domain *sd; };
__attribute__((section(".percpu"), used)) struct rq runqueues;
unsigned long __per_cpu_offset[2] = { 0xffff888000200000, 0xffff888000210000 };
struct { struct cpumask *idle_cpus_mask; int nr_cpus; } nohz;
__attribute__((noinline, cold)) int unlikely_part(int i) { return i * 7; }
static inline __attribute__((always_inline)) int set(int *p, int i)
{
	if (i > 5)
		return unlikely_part(i);
	return __atomic_fetch_or(p, i, __ATOMIC_RELAXED);
}
int work(int *p, int i) { return set(p, i) + 1; }
int twice(int *p, int i) { return set(p, i) ^ set(p + 1, i); }
struct file { int mode; long count; };
struct dentry { long hash; int count; };
struct slab { long flags; struct kmem_cache *slab_cache; } slab;
struct kmem_cache { unsigned size, object_size; const char *name; };
struct kmem_cache dentries = { 24, 16, "dentry" }, sizes = { 32, 32, "kmalloc-32" };
struct dentry *first;
unsigned long init_top_pgt[512], lower[512], middle[512];
void put_file(struct file *f) { __atomic_fetch_sub(&f->count, 1, __ATOMIC_RELAXED); }
void _start(void) { nohz.nr_cpus = work(&nohz.nr_cpus, 3); }
"""
HEAP = 0x300000  # physical
RUNQUEUES = 0x200000
SLABS, DESCRIPTORS = 0x500000, 0x600000
VMEMMAP = 0xFFFFEA0000000000


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("image")
    source = folder / "kernel" / "sched" / "core.c"
    source.parent.mkdir(parents=True)
    source.write_text(SOURCE)
    made = folder / "vmlinux"
    subprocess.run(
        [
            "gcc", "-O2", "-g", "-gdwarf-5", "-static", "-nostdlib", "-fno-pie", "-no-pie",
            "-mcmodel=kernel", "-Wl,--build-id=none", "-Wl,--section-start=.percpu=0",
            "-Wl,--defsym=__per_cpu_start=0", "-Wl,--defsym=__per_cpu_end=0x1000",
            "-Wl,-Ttext=0xffffffff81000000",
            "-Wl,-Tdata=0xffffffff81100000", "-Wl,-Tbss=0xffffffff81180000",
            "-Wl,--defsym=_stext=0xffffffff81000000", "-Wl,--defsym=_etext=0xffffffff81010000",
            "-o", str(made), str(source),
        ],
        check=True,
    )  # fmt: skip
    return made


def test_symbols(path: Path) -> None:
    with Image(path) as image:
        assert image.text() == (0xFFFFFFFF81000000, 0xFFFFFFFF81010000)
        ranges = image.function("work")  # its main part first, then the cold one if there is one
        assert 1 <= len(ranges) <= 2
        assert all(image.text()[0] <= low < high < image.text()[1] for low, high in ranges)
        main = image.find("work")
        assert main is not None
        assert ranges[0][0] == main.address
        assert image.function("no_such") == []
        offset = image.find("__per_cpu_offset")
        assert offset is not None
        assert offset.size == 16
        assert image.variable_at(offset.address + 15) == offset
        assert image.variable_at(offset.address + 16) != offset
        with pytest.raises(UserError, match="has no symbol 'jiffies'"):
            image.address("jiffies")


def test_what_is_no_image(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no image")
    with pytest.raises(UserError, match="is not an ELF image"):
        Image(tmp_path / "text")
    with pytest.raises(UserError, match="cannot read"):
        Image(tmp_path / "none")
    subprocess.run(["cp", "/bin/true", str(tmp_path / "stripped")], check=True)
    with pytest.raises(UserError, match="has no symbols"):
        Image(tmp_path / "stripped")


def _memory(path: Path, folder: Path) -> Path:
    """The guest's memory: the image where it was loaded, and objects on the heap."""
    size = 0x1200000
    area = bytearray(size)

    def put(physical: int, value: int) -> None:
        area[physical : physical + 8] = value.to_bytes(8, "little")

    with path.open("rb") as file:
        for segment in ELFFile(file).iter_segments("PT_LOAD"):
            address = segment["p_vaddr"]
            if address >= KERNEL_IMAGE:
                start = address - KERNEL_IMAGE
                area[start : start + segment["p_filesz"]] = segment.data()
    domain, mask, levels = HEAP + 0x40, HEAP + 0x1008, HEAP + 0x2000
    for cpu in range(2):
        put(RUNQUEUES + 0x10000 * cpu + 8, DIRECT_MAP + domain)
    put(domain + 8, DIRECT_MAP + mask)
    for level in range(3):
        put(domain + 16 + 16 * level + 8, DIRECT_MAP + mask + 0x10 + 8 * level)
    put(domain + 16 + 48, DIRECT_MAP + levels)
    # The second slab has two pages, whose second descriptor leads to the first.
    with Image(path) as image:
        tables, *caches = map(image.address, ("init_top_pgt", "dentries", "sizes"))
        lower, middle = (image.address(name) - KERNEL_IMAGE for name in ("lower", "middle"))
    put(tables - KERNEL_IMAGE + 8 * (VMEMMAP >> 39 & 511), lower | 1)
    put(lower, middle | 1)
    put(middle, DESCRIPTORS | 0x81)
    for page, word in enumerate((caches[0], caches[1], (VMEMMAP + 64 * (SLABS // 4096 + 1)) | 1)):
        put(DESCRIPTORS + 64 * (SLABS // 4096 + page) + 8, word)
    # The third slab has two pages, too; this kernel stores a mask in the second descriptor.
    put(DESCRIPTORS + 64 * (SLABS // 4096 + 4) + 8, caches[0])
    put(DESCRIPTORS + 64 * (SLABS // 4096 + 5) + 8, (1 << 64) - 127)
    # Two nodes, the second one small: objects lie in the first.
    (folder / "node0").write_bytes(area)
    (folder / "node1").write_bytes(bytes(4096))
    return folder


def test_what_lies_where(path: Path, tmp_path: Path) -> None:
    with Ram(_memory(path, tmp_path)) as ram, Image(path) as image:
        nohz = image.address("nohz")
        second = DIRECT_MAP + RUNQUEUES + 0x10000
        objects = Objects(image, ram, 2, [nohz, second])

        def named(address: int) -> tuple[str, str, str]:
            thing = objects.name_of(address)
            assert thing is not None
            return (
                thing.name,
                thing.kind,
                objects.layouts.field(thing.type, address - thing.address),
            )

        heap = DIRECT_MAP + HEAP
        assert named(nohz + 8) == ("nohz", "nohz", "nr_cpus")
        assert named(second) == ("runqueues[1]", "runqueues", "nr_running")
        assert named(heap + 0x40 + 8) == ("root_domain", "root_domain", "rto_mask")
        assert named(heap + 0x40 + 32) == (
            "root_domain", "root_domain", "cpupri.pri_to_cpu[1].count",
        )  # fmt: skip
        assert named(heap + 0x1008)[0] == "root_domain.rto_mask"
        # The number of CPUs determines the size of a mask, and so where the next one begins.
        assert named(heap + 0x1020)[:2] == (
            "root_domain.cpupri.pri_to_cpu[1].mask", "root_domain.cpupri.pri_to_cpu.mask",
        )  # fmt: skip
        assert named(heap + 0x2004)[0] == "root_domain.cpupri.cpu_to_pri"
        assert objects.name_of(heap + 0x2008) is None
        assert objects.name_of(heap) is None
        # No variable leads to this object. The instruction that accesses it has its address.
        objects.learn([(image.address("put_file"), heap + 0x4008)])
        assert named(heap + 0x4008) == ("struct file", "struct file", "count")
        assert objects.name_of(heap + 0x4010) is None
        slabs = DIRECT_MAP + SLABS
        # Of a slab cache with objects of many types, the instruction has the type.
        objects.learn([(image.address("put_file"), slabs + at) for at in (32, 4096 + 40)])
        objects.learn([(0, slabs + 8192 + 4080)])
        assert named(slabs + 32) == ("struct dentry", "struct dentry", "count")
        assert objects.name_of(slabs + 44) is None  # between two objects
        assert named(slabs + 4096 + 40) == ("struct file", "struct file", "count")
        objects.learn([(0, slabs + 0x5008)])
        assert named(slabs + 0x5008) == ("struct dentry", "struct dentry", "hash")
        assert named(slabs + 8192 + 4080)[:2] == ("kmalloc-32", "kmalloc-32")


def test_memory_beyond_the_devices(tmp_path: Path) -> None:
    (tmp_path / "node0").write_bytes(bytes(range(256)) * 32)
    with Ram(tmp_path) as ram:
        assert ram.word(DIRECT_MAP + 8) == ram.word(KERNEL_IMAGE + 8) == 0x0F0E0D0C0B0A0908
        assert ram.word(DIRECT_MAP + 8188) is None
        assert ram.word(0x1000) is None
    half, gib = 3 << 29, 1 << 30
    for node in range(2):
        with (tmp_path / f"node{node}").open("wb") as file:
            file.truncate(half)
            file.seek(half - 8)
            file.write(bytes([node + 1] * 8))
    with Ram(tmp_path) as ram:
        assert ram.word(DIRECT_MAP + half - 8) == 0x0101010101010101
        # 2 GiB lie below the devices, the last one at 4 GiB.
        assert ram.word(DIRECT_MAP + 2 * gib - 8) == 0
        assert ram.word(DIRECT_MAP + 2 * gib) is None
        assert ram.word(DIRECT_MAP + 2 * half - 8) is None
        assert ram.word(DIRECT_MAP + 4 * gib) == 0
        assert ram.word(DIRECT_MAP + 5 * gib - 8) == 0x0202020202020202
        assert ram.word(DIRECT_MAP + 5 * gib) is None
