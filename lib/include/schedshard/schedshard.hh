/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * schedshard.hh - create.h for C++17: it returns std::unique_ptr, and throws std::system_error
 * where create.h returns NULL. With -fno-exceptions it returns an empty pointer then, and errno has
 * the error. All other operations are the C functions:
 *
 *	schedshard::Set idle = schedshard::make_set();
 *
 *	sbm_set(idle.get(), cpu);
 */
#ifndef SCHEDSHARD_SCHEDSHARD_HH
#define SCHEDSHARD_SCHEDSHARD_HH

#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

#include "schedshard.h"

namespace schedshard
{

struct Destroy {
	void operator()(sbm *b) const noexcept
	{
		sbm_destroy(b);
	}
	void operator()(shard_counter *c) const noexcept
	{
		shard_counter_destroy(c);
	}
	void operator()(cpu_counter *c) const noexcept
	{
		cpu_counter_destroy(c);
	}
	void operator()(slot_set *s) const noexcept
	{
		slot_set_destroy(s);
	}
	void operator()(shard_wait *w) const noexcept
	{
		shard_wait_free(w);
	}
};

using Set = std::unique_ptr<sbm, Destroy>;
using Counter = std::unique_ptr<shard_counter, Destroy>;
using CpuCounter = std::unique_ptr<cpu_counter, Destroy>;
using SlotSet = std::unique_ptr<slot_set, Destroy>;
using Waiters = std::unique_ptr<shard_wait, Destroy>;

/* Return an owner of @created; throw the error in errno if it is NULL. */
template <typename T> std::unique_ptr<T, Destroy> owned(T *created, const char *what)
{
#ifdef __cpp_exceptions
	if (!created)
		throw std::system_error(errno, std::generic_category(), what);
#endif
	(void)what;
	return std::unique_ptr<T, Destroy>(created);
}

inline Set make_set()
{
	return owned(sbm_create(), "sbm_create");
}

/* Waiters for a set of slots; @plan is the plan of that set. */
inline Waiters make_waiters(const struct shard_plan *plan)
{
	struct shard_wait *w = shard_wait_alloc(plan);

	if (!w)
		errno = ENOMEM;
	return owned(w, "shard_wait_alloc");
}

inline Counter make_counter()
{
	return owned(shard_counter_create(), "shard_counter_create");
}

inline CpuCounter make_cpu_counter(u32 batch = 0)
{
	return owned(cpu_counter_create(batch), "cpu_counter_create");
}

/* @follow: homes follow the last user. @empty: no slot is free before its first put. */
inline SlotSet make_slot_set(u32 nr, bool follow = false, bool empty = false)
{
	struct shard_create_opts opts = {};

	opts.follow = follow;
	opts.empty = empty;
	return owned(slot_set_create_opts(nr, &opts), "slot_set_create");
}

/*
 * A claimed slot, or no slot if @nr is negative. The destructor puts the slot, and with @w wakes a
 * waiter.
 */
class Slot
{
      public:
	Slot(struct slot_set *set, s64 nr, struct shard_wait *w = nullptr) noexcept
	    : set_(set), w_(w), nr_(nr)
	{
	}
	Slot(Slot &&other) noexcept : set_(other.set_), w_(other.w_), nr_(other.release())
	{
	}
	Slot &operator=(Slot &&other) noexcept
	{
		std::swap(set_, other.set_);
		std::swap(w_, other.w_);
		std::swap(nr_, other.nr_);
		return *this;
	}
	~Slot()
	{
		if (nr_ >= 0 && w_)
			slot_put_wake(set_, w_, static_cast<u32>(nr_), shard_this_cpu());
		else if (nr_ >= 0)
			slot_put(set_, static_cast<u32>(nr_));
	}
	explicit operator bool() const noexcept
	{
		return nr_ >= 0;
	}
	s64 number() const noexcept
	{
		return nr_;
	}
	/* Return the number; the caller puts the slot. */
	s64 release() noexcept
	{
		s64 nr = nr_;

		nr_ = -1;
		return nr;
	}

      private:
	struct slot_set *set_;
	struct shard_wait *w_;
	s64 nr_;
};

} // namespace schedshard

#endif
