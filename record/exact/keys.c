// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Implements thread-specific data: pthread_key_create() and its kin. The C library would call the
 * destructors in the real thread, outside of simulated time. So this file stores the values of
 * recorded threads, and calls the destructors itself. The C library still creates each key, so that
 * this file and the C library use the same key numbers.
 */
#include "keys.h"

#include <errno.h>
#include <stdlib.h>

#include "exact.h"
#include "real.h"

#define KEYS   1024u /* PTHREAD_KEYS_MAX */
#define ROUNDS 4     /* PTHREAD_DESTRUCTOR_ITERATIONS */

static void (*destructor[KEYS])(void *);

API int pthread_key_create(pthread_key_t *key, void (*at_end)(void *))
{
	int failed = REAL(pthread_key_create)(key, exact_on() ? NULL : at_end);

	if (!failed && *key < KEYS && exact_on()) {
		destructor[*key] = at_end;
		for (uint32_t i = 0; i < exact.nr_threads; i++)
			if (exact.threads[i]->key)
				exact.threads[i]->key[*key] = NULL;
	}
	return failed;
}

API int pthread_key_delete(pthread_key_t key)
{
	if (key < KEYS)
		destructor[key] = NULL;
	return REAL(pthread_key_delete)(key);
}

API int pthread_setspecific(pthread_key_t key, const void *value)
{
	struct thread *t = exact_self;

	if (!exact_on())
		return REAL(pthread_setspecific)(key, value);
	if (key >= KEYS)
		return EINVAL;
	if (!t->key)
		t->key = calloc(KEYS, sizeof(*t->key));
	if (!t->key)
		return ENOMEM;
	t->key[key] = value;
	return 0;
}

API void *pthread_getspecific(pthread_key_t key)
{
	const struct thread *t = exact_self;

	if (!exact_on())
		return REAL(pthread_getspecific)(key);
	if (t->key && key < KEYS && t->key[key])
		return (void *)(uintptr_t)t->key[key];
	/* The value may have been set before the recording began. */
	return REAL(pthread_getspecific)(key);
}

void keys_end(struct thread *t)
{
	void (*local)(void) = NULL;

	/* Destructors of C++'s thread_local objects come first. */
	*(void **)&local = dlsym(RTLD_DEFAULT, "__call_tls_dtors");
	if (local)
		local();
	for (int round = 0; t->key && round < ROUNDS; round++) {
		bool any = false;

		for (uint32_t i = 0; i < KEYS; i++) {
			void *value = (void *)(uintptr_t)t->key[i];

			t->key[i] = NULL;
			if (value && destructor[i]) {
				any = true;
				destructor[i](value);
			}
		}
		if (!any)
			break;
	}
}
