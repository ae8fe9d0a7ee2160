// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* What happens when no thread of the program can run. */
#include "exact.h"

bool outside_stuck(void)
{
	result_deadlock();
}
