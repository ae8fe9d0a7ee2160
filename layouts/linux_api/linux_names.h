/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* linux_names.h - core/ has a map of levels of the same name for programs. No include guard. */
#define cpupri		    linux_cpupri
#define cpupri_find	    linux_cpupri_find
#define cpupri_find_fitness linux_cpupri_find_fitness
#define cpupri_set	    linux_cpupri_set
#define cpupri_init	    linux_cpupri_init
#define cpupri_cleanup	    linux_cpupri_cleanup
