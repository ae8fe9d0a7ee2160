// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* names_test.c as C++. */
#include "names_test.c" /* NOLINT(bugprone-suspicious-include) */
