// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The scan of Linux 7.3 limited to a mask of visited CPUs: the kernel variant visited-mask
 * (kernel/cocci/rivals/). Records, locks and fork are Linux 7.3's (scan_records.h). Accounting sets
 * the CPU's bit, before it takes the lock, if the bit is not set. A scan looks at the CPUs of the
 * mask, in all nodes. It clears the bit of a CPU whose share is 0. The share stays 0 until the CPU
 * accounts again, so the sums are those of all CPUs. A CPU that accounts while a scan clears its
 * bit may be missing until it accounts again.
 */
#include "scan_records.h"

#define MASK_MAX_WORDS 128u /* 8,192 CPUs, the maximum of Linux on x86 */

static u32 mask_words(const struct scan_machine *m)
{
	return (m->plan->nr_cpus + 63) / 64;
}

static void end(struct scan_process *p)
{
	port_free(p->mask, mask_words(p->machine) * sizeof(*p->mask));
	records_end(p);
}

/* The mask follows the group, which fills its lines, so no other field is on the mask's lines. */
static struct scan_process *process_mask(struct scan_machine *m, s32 home, u32 epoch)
{
	struct scan_process *p;

	if (mask_words(m) > MASK_MAX_WORDS)
		return NULL;
	p = records_process(m, home, epoch);
	if (!p)
		return NULL;
	p->counts_running = true;
	rd_label("mask of visited CPUs", NULL);
	p->mask = port_alloc(mask_words(m) * sizeof(*p->mask), home);
	if (p->mask)
		return p;
	end(p);
	return NULL;
}

static void account_mask(struct scan_process *p, u32 cpu, u32 epoch, u64 ns)
{
	u64 *word = &p->mask[cpu / 64], bit = 1ull << cpu % 64;

	if (!(READ_ONCE(*word) & bit))
		port_or64(word, bit);
	records_account(p, cpu, epoch, ns);
}

/* The mask is in the group's memory, which a fork zeroes. */
static void fork_mask(struct scan_process *p)
{
	for (u32 w = 0; w < mask_words(p->machine); w++)
		WRITE_ONCE(p->mask[w], 0);
	records_fork(p);
}

/*
 * Look at the shard's CPUs that are in the mask now, and remove all CPUs of the shard from @left.
 * Return: number of running threads.
 */
static u32 scan_shard(struct scan_process *p, const struct shard *shard, u64 *left, u32 epoch,
		      struct scan_result *result)
{
	const struct scan_machine *m = p->machine;
	const u32 *cpus = &m->plan->idx_to_cpu[shard->first_idx];
	u32 running = 0;

	for (u32 i = 0; i < shard->nr_cpus; i++) {
		u64 *word = &p->mask[cpus[i] / 64], bit = 1ull << cpus[i] % 64, part;

		left[cpus[i] / 64] &= ~bit;
		if (!(READ_ONCE(*word) & bit))
			continue;
		result->length++;
		part = records_share(p, cpus[i], epoch);
		scan_sums_add(&result->sums, (s32)shard->llc, part);
		if (!part)
			port_and64(word, ~bit);
		running += READ_ONCE(m->curr[cpus[i]]->process) == p->number + 1;
	}
	return running;
}

/*
 * As the kernel's loop: a copy of the mask determines which LLCs to look at, those with the lowest
 * CPU numbers first; the mask itself determines which of their CPUs.
 */
static bool scan_mask(struct scan_process *p, u32 cpu, u32 epoch, struct scan_result *result)
{
	const struct scan_machine *m = p->machine;
	const struct shard *shard, *past = m->plan->shard + m->plan->nr_shards;
	u64 left[MASK_MAX_WORDS];
	u32 words = mask_words(m), running = 0, llc;
	s32 present;

	if (!records_begin(p, epoch, &present, result))
		return false;
	scan_sums_begin(&result->sums, present);
	for (u32 w = 0; w < words; w++)
		left[w] = READ_ONCE(p->mask[w]) & m->online[w];
	for (u32 w = 0; w < words; w++) {
		while (left[w]) {
			u32 at = w * 64 + (u32)__builtin_ctzll(left[w]);

			shard = &m->plan->shard[m->plan->slot[at].shard];
			llc = shard->llc;
			while (shard > m->plan->shard && shard[-1].llc == llc)
				shard--;
			for (; shard < past && shard->llc == llc; shard++)
				running += scan_shard(p, shard, left, epoch, result);
		}
	}
	WRITE_ONCE(p->mm->running, running);
	records_prefer(p, result);
	return true;
}

static size_t bytes_mask(const struct scan_process *p)
{
	return records_bytes(p) + mask_words(p->machine) * sizeof(*p->mask);
}

const struct scan_ops scan_linux73_mask = {
	.name = "linux73-mask",
	.create = records_create,
	.destroy = records_destroy,
	.process = process_mask,
	.end = end,
	.fork = fork_mask,
	.run = records_run,
	.account = account_mask,
	.due = records_due,
	.scan = scan_mask,
	.bytes = bytes_mask,
};
