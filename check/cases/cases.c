// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* All cases, in the order in which --list shows them. */
#include "cases.h"

const struct explore_case *const explore_all_cases[] = {
	explore_litmus_cases,
	explore_litmus_weak_cases,
	explore_summary_cases,
	explore_summary_posted_cases,
	explore_sbm_cases,
	explore_claim_cases,
	explore_handover_cases,
	explore_counter_cases,
	explore_levels_cases,
	explore_linux_walk_cases,
	explore_stock_cases,
	explore_idle_cases,
	explore_plan_cases,
	explore_wait_cases,
	explore_wakeup_cases,
	explore_order_cases,
	explore_bits_cases,
	explore_summary_no_c3_cases,
	explore_summary_no_s2_cases,
	explore_order_counter_whole_cases,
	explore_order_noted_whole_cases,
	explore_order_counter_no_release_cases,
	explore_order_noted_no_release_cases,
	NULL,
};
