// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#include <string.h>

#include "names.h"
#include "primitive.h"

#define DECLARE(id, name) extern const struct primitive id;
#define ENTRY(id, name)	  &(id),

PRIMITIVES(DECLARE)

const struct primitive *const primitives[] = { PRIMITIVES(ENTRY) NULL };

void (*primitive_label_hook)(const char *name, const char *type);

const struct primitive *primitive_find(const char *name)
{
	for (const struct primitive *const *p = primitives; *p; p++)
		if (!strcmp((*p)->name, name))
			return *p;
	return NULL;
}
