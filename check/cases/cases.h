/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* cases.h - the lists of cases, one per file. A list ends with a case without a name. */
#ifndef SIM_CASES_H
#define SIM_CASES_H

#include "../explore/explore_case.h"

extern const struct explore_case explore_litmus_cases[];
extern const struct explore_case explore_litmus_weak_cases[];
extern const struct explore_case explore_summary_cases[];
extern const struct explore_case explore_sbm_cases[];
extern const struct explore_case explore_claim_cases[];
extern const struct explore_case explore_handover_cases[];
extern const struct explore_case explore_counter_cases[];
extern const struct explore_case explore_levels_cases[];
extern const struct explore_case explore_linux_walk_cases[];
extern const struct explore_case explore_stock_cases[];
extern const struct explore_case explore_idle_cases[];
extern const struct explore_case explore_plan_cases[];
extern const struct explore_case explore_wait_cases[];
extern const struct explore_case explore_wakeup_cases[];
extern const struct explore_case explore_order_cases[];
extern const struct explore_case explore_bits_cases[];

/* Variants of summary.c and summary_planted.c, see meson.build. */
extern const struct explore_case explore_summary_posted_cases[];
extern const struct explore_case explore_summary_no_c3_cases[];
extern const struct explore_case explore_summary_no_s2_cases[];

/* Variants of order_planted.c, see meson.build. */
extern const struct explore_case explore_order_counter_whole_cases[];
extern const struct explore_case explore_order_noted_whole_cases[];
extern const struct explore_case explore_order_counter_no_release_cases[];
extern const struct explore_case explore_order_noted_no_release_cases[];

#endif
