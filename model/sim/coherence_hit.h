/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * coherence_hit.h - the part of coherence.c that handles most accesses, inline for the engine. It
 * decides whether a CPU can access a line without leaving its core.
 *
 * How far may a CPU run ahead of the others? All events before some time T are *known*. A request
 * after T takes a line away only when its snoop arrives. A request that no CPU has sent yet needs a
 * request leg and a snoop leg. A request that waits needs a snoop leg once the ordering point is
 * free. An access that ends before the snoop arrives may happen at once. Threads of one core have
 * no legs between them, so accesses to a line that two of them use wait until all events before
 * them are known. A line that is constant (arena_constant()) and shared leaves a core only when
 * another line takes its place in the core's table.
 */
#ifndef SIM_COHERENCE_HIT_H
#define SIM_COHERENCE_HIT_H

#include "line.h"

#define COPY_SLOTS 4096u

/*
 * Make a line's state at the first access to the line. Lines may move: pointers to others become
 * invalid.
 */
void coherence_first_touch(struct coherence *c, uint32_t line);

/* Abort the program, after a write to a constant line. */
_Noreturn void coherence_not_constant(uint32_t line);

/* coherence_hit() for a line that the core owns and that @cpu's sibling wrote last. */
bool coherence_sibling_hit(struct coherence *c, struct line *l, uint32_t cpu, bool write,
			   uint64_t *extra);

/*
 * A plain store to an owned line that the thread's sibling wrote last; called after coherence_hit()
 * returned false. Both threads store into one cache, so the store need not wait. The sibling's next
 * load takes longer instead. A sibling's locked operation that waits for its turn has not locked
 * the line yet, and the line stays in the cache, so the store leaves before that operation.
 */
bool coherence_sibling_store(struct coherence *c, uint32_t cpu, uint32_t core, uint32_t line,
			     uint64_t op, uint64_t now);

static inline struct line *line_of(struct coherence *c, uint32_t line)
{
	if (__builtin_expect(line >= c->lines.n || !c->lines.line[line].known, false))
		coherence_first_touch(c, line);
	return &c->lines.line[line];
}

static inline struct copy *copy_of(const struct coherence *c, uint32_t core, uint32_t line)
{
	return &c->lines.copy[(size_t)core * COPY_SLOTS + line % COPY_SLOTS];
}

static inline bool has_copy(const struct coherence *c, const struct line *l, uint32_t core,
			    uint32_t line)
{
	const struct copy *copy = copy_of(c, core, line);

	return copy->line == line && copy->version == l->version;
}

/* The owner or the sharers give up the line: apply the current request. */
void coherence_handover(struct coherence *c, struct line *l, uint32_t line);

/* Bring the line to its state at @now; all events before @now must have happened. */
static inline void coherence_settle(struct coherence *c, struct line *l, uint32_t line,
				    uint64_t now)
{
	if (l->current != NO_REQ && l->let_go <= now)
		coherence_handover(c, l, line);
}

/* Return the time before which no CPU can take the line away, given all events before @known. */
static inline uint64_t line_safe_until(const struct coherence *c, const struct line *l,
				       uint64_t known)
{
	if (l->current != NO_REQ)
		return l->owner != NO_CORE ? l->lose_at : known;
	if (l->siblings)
		return known;
	if (!l->pending)
		return known + c->reach;
	return (l->free_at > known ? l->free_at : known) + c->model->nearest;
}

/*
 * Let a thread of the owner use the line. False if its sibling wrote the line last; then nothing
 * has happened.
 */
static inline bool line_use(struct line *l, uint32_t line, uint32_t cpu, bool write)
{
	if (__builtin_expect(l->writer != cpu, false)) {
		if (l->writer != NO_CPU)
			return false;
		if (write) {
			if (l->constant)
				coherence_not_constant(line);
			l->writer = cpu;
		}
	}
	if (write) {
		l->dirty = true;
		l->seen = 0;
	}
	return true;
}

/**
 * coherence_hit - can this CPU access the line without leaving its core?
 * @cpu: the CPU
 * @core: its core
 * @write: the access needs the line exclusively
 * @op: picoseconds the access takes; the core must have the line until its end
 * @now: the CPU's clock, picoseconds
 * @known: all events before this time have happened; if it is later than @now, the answer is final
 * @extra: receives the extra picoseconds of a line that a sibling wrote
 *
 * Return: true if the access has happened, false if it misses or the answer is not known yet.
 */
static inline bool coherence_hit(struct coherence *c, uint32_t cpu, uint32_t core, uint32_t line,
				 bool write, uint64_t op, uint64_t now, uint64_t known,
				 uint64_t *extra)
{
	struct line *l = line_of(c, line);

	*extra = 0;
	if (now >= known) {
		if (now + op > line_safe_until(c, l, known))
			return false;
	} else {
		coherence_settle(c, l, line, now);
	}
	if (l->owner == core)
		return now >= l->have_at && now + op <= l->lose_at &&
		       (line_use(l, line, cpu, write) ||
			coherence_sibling_hit(c, l, cpu, write, extra));
	return !write && l->shared && has_copy(c, l, core, line);
}

/*
 * A short path for a hit without extra cost, on a line without waiting requests. False: call
 * coherence_hit().
 */
static inline bool coherence_hit_alone(const struct coherence *c, struct line *l, uint32_t cpu,
				       uint32_t core, uint32_t line, bool write, uint64_t op,
				       uint64_t now, uint64_t known)
{
	if (!write && l->settled)
		return has_copy(c, l, core, line);
	if (l->current != NO_REQ || l->pending || l->siblings || now + op > known + c->reach)
		return false;
	if (l->owner == core)
		return now >= l->have_at && line_use(l, line, cpu, write);
	return !write && l->shared && has_copy(c, l, core, line);
}

#endif
