// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
// The marks of kernel/guest/c2c-mark.h: no-operations that open and close the window.

#include "textflag.h"

TEXT ·openWindow(SB), NOSPLIT, $0-0
	BYTE $0x0f; BYTE $0x1f; BYTE $0x80; LONG $0x53c2c001
	RET

TEXT ·closeWindow(SB), NOSPLIT, $0-0
	BYTE $0x0f; BYTE $0x1f; BYTE $0x80; LONG $0x53c2c002
	RET
