// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Which code has no hooks (unseen.h), by loaded module. Each module is looked up once. */
#include "unseen.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "order.h"

#define MODULES 256u
#define CALLS	16u

_Thread_local uint32_t unseen_now, unseen_calls;
/* The frames of the hooks of such calls; deeper ones are not followed. */
static _Thread_local uintptr_t called[CALLS] __attribute__((tls_model("initial-exec")));

static struct module {
	uint64_t low, high;
	bool seen, system, hooked;
} module[MODULES];
static uint32_t nr_modules;
static uint64_t *except; /* bases of instrumented modules */
static uint32_t nr_except;

void unseen_except(uint64_t base)
{
	uint64_t *more = realloc(except, (nr_except + 1) * sizeof(*except));

	if (!more)
		abort();
	except = more;
	except[nr_except++] = base;
}

/* Does the file's name begin with one of these? */
static bool begins(const char *path, const char *const *names, unsigned int n)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	for (unsigned int i = 0; i < n; i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

static bool known(const char *path)
{
	static const char *const names[] = {
		"libc.",     "libm.",	    "libstdc++.", "libc++.",	"libc++abi.",
		"libgcc_s.", "libpthread.", "ld-linux",	  "linux-vdso", "libschedshard-exact."
	};

	/* The program has no name. */
	return !*path || begins(path, names, sizeof(names) / sizeof(*names));
}

/* Code that this library executes as well. */
static bool is_system(const char *path)
{
	static const char *const names[] = {
		"libc.",       "libpthread.",	      "ld-linux", "linux-vdso", "libgcc_s.",
		"libjansson.", "libschedshard-exact."
	};

	return begins(path, names, sizeof(names) / sizeof(*names));
}

struct wanted {
	uint64_t at;
	struct module found;
};

static int has(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct wanted *w = arg;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uint64_t low = info->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD || w->at < low || w->at >= low + part->p_memsz)
			continue;
		w->found = (struct module){ low, low + part->p_memsz, known(info->dlpi_name),
					    is_system(info->dlpi_name), false };
		for (uint32_t n = 0; n < nr_except; n++)
			w->found.hooked |= except[n] == info->dlpi_addr;
		w->found.seen |= w->found.hooked;
		return 1;
	}
	return 0;
}

static const struct module *module_of(uint64_t at)
{
	struct wanted w = { .at = at, .found = { .low = at, .high = at + 1 } };

	for (uint32_t i = 0; i < nr_modules; i++)
		if (at >= module[i].low && at < module[i].high)
			return &module[i];
	dl_iterate_phdr(has, &w);
	if (nr_modules == MODULES)
		nr_modules--;
	module[nr_modules] = w.found;
	return &module[nr_modules++];
}

void unseen_caller(const void *pc, const void *frame)
{
	if (module_of((uint64_t)(uintptr_t)pc)->seen)
		return;
	order_all();
	if (unseen_calls < CALLS)
		called[unseen_calls++] = (uintptr_t)frame;
}

/* Stacks grow down: functions that this one called, and those that a jump left, lie below it. */
void unseen_left(const void *frame)
{
	while (unseen_calls && called[unseen_calls - 1] <= (uintptr_t)frame) {
		unseen_calls--;
		unseen_now = true;
	}
}

bool unseen_hooked(const void *pc)
{
	return module_of((uint64_t)(uintptr_t)pc)->hooked;
}

bool unseen_system(uint64_t pc)
{
	return module_of(pc)->system;
}

void unseen_block(bool has)
{
	if (unseen_now)
		order_all();
	unseen_now = has;
}
