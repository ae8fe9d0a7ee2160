/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * real.h - the C library's version of a function that this library replaces.
 *
 * Use: REAL(int, pthread_join, (pthread_t, void **))(thread, result)
 */
#ifndef EXACT_REAL_H
#define EXACT_REAL_H

#include <dlfcn.h>

#define REAL(type, name, args)                                       \
	(({                                                          \
		static type(*found_) args;                           \
		if (!found_)                                         \
			*(void **)&found_ = dlsym(RTLD_NEXT, #name); \
		found_;                                              \
	}))

#endif
