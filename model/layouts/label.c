// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Passes the names of allocations to the simulator, whose reports show them. */
#include "rd.h"
#include "report_types.h"

void (*rd_label_hook)(const char *name, const char *type);

void rd_label(const char *name, const char *type)
{
	if (rd_label_hook)
		rd_label_hook(name, type);
}
