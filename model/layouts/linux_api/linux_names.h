/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * linux_names.h - renames the priority map of core/sched/, because core/cpupri.h uses the same
 * names. No include guard.
 */
#define cpupri		    linux_cpupri
#define cpupri_find	    linux_cpupri_find
#define cpupri_find_fitness linux_cpupri_find_fitness
#define cpupri_set	    linux_cpupri_set
#define cpupri_init	    linux_cpupri_init
#define cpupri_cleanup	    linux_cpupri_cleanup
