/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM sched_cache

#if !defined(_TRACE_SCHED_CACHE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_SCHED_CACHE_H

#include <linux/sched.h>
#include <linux/tracepoint.h>

/* The macros are a language of their own. */
/* clang-format off */

/* A scan of the CPUs of a process: the number of scanned CPUs, the preferred LLC. */
TRACE_EVENT(sched_cache_scan,

	TP_PROTO(struct task_struct *p, unsigned int scan, int preferred, u64 ns),

	TP_ARGS(p, scan, preferred, ns),

	TP_STRUCT__entry(
		__array(char, comm, TASK_COMM_LEN)
		__field(pid_t, pid)
		__field(unsigned int, scan)
		__field(int, preferred)
		__field(u64, ns)
	),

	TP_fast_assign(
		memcpy(__entry->comm, p->comm, TASK_COMM_LEN);
		__entry->pid = p->pid;
		__entry->scan = scan;
		__entry->preferred = preferred;
		__entry->ns = ns;
	),

	TP_printk("comm=%s pid=%d scan=%u preferred=%d ns=%llu", __entry->comm, __entry->pid,
		  __entry->scan, __entry->preferred, __entry->ns)
);

#endif /* _TRACE_SCHED_CACHE_H */

/* This part must be outside protection */
#include <trace/define_trace.h>
