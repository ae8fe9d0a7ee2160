/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * c2c-mark.h - marks by which a program tells the emulator's plugin about its measured window.
 *
 * Each mark is a no-op whose address operand has a value that no compiler emits
 * (record/plugin/insn.h). Without the plugin a mark does nothing.
 */
#ifndef C2C_MARK_H
#define C2C_MARK_H

/* How long before the window to call c2c_prepare(), so that all CPUs notice the call in time. */
#define C2C_PREPARE_US 20000

static inline void c2c_prepare(void)
{
	__asm__ volatile("nopl 0x53c2c004(%%rax)" ::: "memory");
}

/* The window opens here; only the first one of a boot counts. */
static inline void c2c_open(void)
{
	__asm__ volatile("nopl 0x53c2c001(%%rax)" ::: "memory");
}

/* The window closes here. */
static inline void c2c_close(void)
{
	__asm__ volatile("nopl 0x53c2c002(%%rax)" ::: "memory");
}

/* One operation of the workload is done. */
static inline void c2c_operation(void)
{
	__asm__ volatile("nopl 0x53c2c003(%%rax)" ::: "memory");
}

#endif
