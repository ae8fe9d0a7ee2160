/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* The port of core/ to user space: gcc or clang, POSIX threads. */
#ifndef SCHEDSHARD_PORT_H
#define SCHEDSHARD_PORT_H

#if defined(__x86_64__)
#define PORT_TSO 1
#else
#define PORT_TSO 0
#endif

#include "gcc_atomics.h"
#include "warn.h"

/**
 * port_alloc() - zeroed memory that starts on a cache line
 * @size: bytes, more than 0
 * @node: preferred NUMA node, -1: any
 *
 * lib/alloc.c implements it, and a small stand-in in core/tests/unit.
 *
 * Return: the memory, or NULL if there is none. If @node is full or unknown, the memory may be on
 * another node. Context: may sleep.
 */
void *port_alloc(size_t size, int node);

/**
 * port_free() - free memory of port_alloc()
 * @ptr: from port_alloc(), or NULL
 * @size: the size passed to port_alloc()
 */
void port_free(void *ptr, size_t size);

/*
 * A full barrier of all threads of the process, which costs microseconds. Together with the other
 * side's port_light_barrier() it orders like two full barriers. Use it only where
 * port_has_heavy_barrier() is true.
 */
void port_heavy_barrier(void);
bool port_has_heavy_barrier(void);

static port_always_inline void port_light_barrier(void)
{
	port_compiler_barrier();
}

static port_always_inline void cpu_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ __volatile__("yield" ::: "memory");
#else
	port_compiler_barrier();
#endif
}

#endif /* SCHEDSHARD_PORT_H */
