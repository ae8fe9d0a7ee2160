// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Watches the guest's accesses, and finds their places in memory.
 *
 * A locked instruction counts as one access, whichever way the emulator performs it. With one
 * thread per vCPU the emulator reports it as one read-modify-write, otherwise as a load and a
 * store. A callback for stores is called once in both cases, so the plugin asks only for stores.
 */
#include "access.h"
#include "vcpu.h"

#define KERNEL_HALF 0xffff800000000000ull
/* Direct map, vmalloc, vmemmap; above them are the image and fixed mappings. */
#define VMALLOC 0xffffc90000000000ull
#define IMAGE	0xffffffff80000000ull
#define FIXED	0xffffffffff000000ull

/*
 * The physical address of a program's byte. If each node has memory of its own, QEMU 7.2 adds the
 * start of that memory to addresses which include it already. So it reports the memory from LOW on
 * as if it began at 2 LOW. Nodes do not overlap there. Newer versions report the address itself.
 */
static uint64_t physical(uint64_t told)
{
	const struct feed_setup *s = &plugin.watch.setup;

	for (uint32_t i = 0; i < s->nr_nodes && api_node_twice(); i++) {
		uint64_t low = s->node[i].low;

		if (told - 2 * low < s->node[i].high - low)
			return told - low;
	}
	return told;
}

/* Devices are not memory. Return: false for them. */
static bool place_of(qemu_plugin_meminfo_t info, uint64_t vaddr, uint64_t *place)
{
	struct qemu_plugin_hwaddr *where;

	*place = vaddr & ITEM_PLACE_MASK;
	if (vaddr >= KERNEL_HALF && (vaddr < VMALLOC || (vaddr >= IMAGE && vaddr < FIXED)))
		return true;
	if (vaddr >= FIXED)
		return false;
	where = qemu_plugin_get_hwaddr(info, vaddr);
	if (where && qemu_plugin_hwaddr_is_io(where))
		return false;
	/* Programs share memory at different addresses: its physical address identifies it. */
	if (vaddr < KERNEL_HALF && where)
		*place = physical(qemu_plugin_hwaddr_phys_addr(where)) & (ITEM_PLACE_MASK >> 1);
	return true;
}

static void on_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	uint64_t place;

	if (!window_is_open())
		return;
	if (!place_of(info, vaddr, &place)) {
		plugin.vcpu[vcpu].device_accesses++;
		return;
	}
	access_report(vcpu, access_lines(place, vcpu), place, (uint64_t)(uintptr_t)data,
		      qemu_plugin_mem_is_store(info), qemu_plugin_mem_size_shift(info));
}

void access_watch_by(struct qemu_plugin_insn *handle, const struct insn *insn, uint64_t pc,
		     api_mem_cb cb)
{
	uint64_t data = insn->locked ? pc ^ ACCESS_LOCKED : pc;

	if (insn->stack)
		return;
	qemu_plugin_register_vcpu_mem_cb(handle, cb, API_NO_REGS,
					 insn->locked ? API_MEM_W : API_MEM_RW,
					 (void *)(uintptr_t)data);
}

void access_watch(struct qemu_plugin_insn *handle, const struct insn *insn, uint64_t pc)
{
	access_watch_by(handle, insn, pc, on_access);
}
