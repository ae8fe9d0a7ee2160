// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* The cases of the overlay's explorer. */
#include "../../sim/explore/explore_case.h"

extern const struct explore_case overlay_rt_cases[];
extern const struct explore_case overlay_nohz_cases[];

const struct explore_case *const explore_all_cases[] = {
	overlay_rt_cases,
	overlay_nohz_cases,
	NULL,
};
