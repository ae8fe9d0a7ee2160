// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#include "rd.h"
#include "rd_layouts.h"

#define DECLARE(layout, name) extern const struct rd_ops rd_##layout;
#define ENTRY(layout, name)   &rd_##layout,

RD_LAYOUTS(DECLARE)

const struct rd_ops *const rd_layouts[] = { RD_LAYOUTS(ENTRY) NULL };
