// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* The same as C++. */
#include "names_test.c" /* NOLINT(bugprone-suspicious-include) */
