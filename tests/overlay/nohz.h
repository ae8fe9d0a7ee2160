/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Linux's idle load balancing around the overlay's nohz_idle.h: entry and exit of CPUs, kicks and
 * balances, with only the order of accesses that fair.c has with kernel/cocci/. Every time is due.
 */
#ifndef OVERLAY_NOHZ_H
#define OVERLAY_NOHZ_H

#include "sched.h"

#include "nohz_idle.h"

struct nohz {
	struct sbm *idle_cpus_mask;
	u32 has_blocked port_cacheline_aligned;
	u32 needs_update;
};

extern struct nohz *nohz;

bool nohz_machine(const struct shard_plan *plan);

/* The CPU goes idle and stops its tick; it has its first busy tick after that. */
void nohz_enter(struct rq *rq);
void nohz_exit(struct rq *rq);

/* A busy CPU's tick. Return: the CPU that it sent an interrupt to, -1: none. */
s32 nohz_kick(struct rq *rq);

/* The interrupt; calls @looked for each CPU that it balances for. */
void nohz_kicked(struct rq *rq, void (*looked)(struct rq *rq));

#endif
