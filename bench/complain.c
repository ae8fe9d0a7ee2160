// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#include "complain.h"

#include <err.h>
#include <stdarg.h>

int complain(int status, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vwarnx(fmt, args);
	va_end(args);
	return status;
}
