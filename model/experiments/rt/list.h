/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* list.h - a circular list in simulated memory. The caller holds the lock that protects it. */
#ifndef EXPERIMENTS_RT_LIST_H
#define EXPERIMENTS_RT_LIST_H

#include "port.h"

struct rt_list {
	struct rt_list *next, *prev;
};

static inline void rt_list_init(struct rt_list *l)
{
	l->next = l;
	l->prev = l;
}

static inline bool rt_list_empty(const struct rt_list *l)
{
	return l->next == l;
}

/* Insert @item before @at; if @at is the head, as the last item. */
static inline void rt_list_add_before(struct rt_list *item, struct rt_list *at)
{
	struct rt_list *prev = at->prev;

	item->prev = prev;
	item->next = at;
	prev->next = item;
	at->prev = item;
}

static inline void rt_list_del(struct rt_list *item)
{
	struct rt_list *prev = item->prev, *next = item->next;

	prev->next = next;
	next->prev = prev;
}

#define rt_list_item(l, type, member) ((type *)((char *)(l)-offsetof(type, member)))

#endif
