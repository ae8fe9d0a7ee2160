/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * real.h - the C library's version of a function that this library replaces.
 *
 * Use: REAL(pthread_join)(thread, result); REAL_OF(int, name, (int)) where no header declares it.
 */
#ifndef EXACT_REAL_H
#define EXACT_REAL_H

#include <dlfcn.h>

#define REAL_OF(type, name, args)                                    \
	(({                                                          \
		static type(*found_) args;                           \
		if (!found_)                                         \
			*(void **)&found_ = dlsym(RTLD_NEXT, #name); \
		found_;                                              \
	}))

#define REAL(name) REAL_OF(__typeof__(name), name, )

#endif
