/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * trace.h - actions of guest CPUs in a file.
 *
 * The file is gzip of: 8 bytes "SCHSHTR1", the number of CPUs, then items until the end. Numbers
 * are of variable length: 7 bits per byte, lowest first, bit 7 of a byte says that another follows;
 * at most 10 bytes. An item is
 *
 *	CPU number
 *	kind (enum item_kind) + 8 * log2 of the size
 *	instructions since this CPU's last item
 *	place  \ minus that of this CPU's last item; then doubled, and inverted if negative;
 *	pc     / not there for ITEM_IDLE and ITEM_TIME
 *
 * Items of different CPUs have the order in which the model processed them. A file that was cut
 * short is good up to the cut.
 *
 * Concurrency: one thread per file.
 */
#ifndef PLUGIN_TRACE_H
#define PLUGIN_TRACE_H

#include <stddef.h>

#include "item.h"

#define TRACE_MAX_CPUS 1024u

struct trace_error {
	char text[256];
};

struct trace_writer;

/** trace_create - Return: a new file, or NULL with one line in @err. */
struct trace_writer *trace_create(const char *path, uint32_t nr_cpus, struct trace_error *err);

/**
 * trace_write - append an item of @cpu; trace_close() reports a failure.
 */
void trace_write(struct trace_writer *w, uint32_t cpu, const struct item *item);

/**
 * trace_close - Return: 0, or -1 if not everything was written.
 */
int trace_close(struct trace_writer *w);

/**
 * trace_read - call a function for every item of a file
 * @begin: receives the number of CPUs; returns 0 to continue
 * @item: receives every item; returns 0 to continue
 * @cut: receives: did the file end within an item?
 *
 * Return: 0; -1 with one line in @err: the file is not a trace, damaged, or a function refused.
 */
int trace_read(const char *path, int (*begin)(void *arg, uint32_t nr_cpus),
	       int (*item)(void *arg, uint32_t cpu, const struct item *item), void *arg, bool *cut,
	       struct trace_error *err);

struct trace_reader;

/**
 * trace_open, trace_next, trace_shut - as trace_read(), one item at a time
 *
 * trace_open() returns NULL with one line in @err; @err must live until trace_shut(). trace_next()
 * returns 1 with an item, 0 at the end, -1 with one line in @err.
 */
struct trace_reader *trace_open(const char *path, uint32_t *nr_cpus, struct trace_error *err);
int trace_next(struct trace_reader *t, uint32_t *cpu, struct item *item, bool *cut);
void trace_shut(struct trace_reader *t);

/**
 * trace_parse - as trace_read(), for an unpacked trace in memory; errors call it @name.
 */
int trace_parse(const void *data, size_t size, const char *name,
		int (*begin)(void *arg, uint32_t nr_cpus),
		int (*item)(void *arg, uint32_t cpu, const struct item *item), void *arg, bool *cut,
		struct trace_error *err);

#endif
