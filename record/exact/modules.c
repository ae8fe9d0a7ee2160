// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Looks up each loaded module (program or library) once, and remembers the answer. */
#include "modules.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

#define MODULES 256u

static struct module {
	uint64_t low, high;
	bool system, hooked;
} module[MODULES];
static uint32_t nr_modules;
static uint64_t *except; /* bases of instrumented modules */
static uint32_t nr_except;

void modules_instrumented(uint64_t base)
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
		w->found = (struct module){ low, low + part->p_memsz, is_system(info->dlpi_name),
					    false };
		for (uint32_t n = 0; n < nr_except; n++)
			w->found.hooked |= except[n] == info->dlpi_addr;
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

bool modules_hooked(const void *pc)
{
	return module_of((uint64_t)(uintptr_t)pc)->hooked;
}

bool modules_system(uint64_t pc)
{
	return module_of(pc)->system;
}
