// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Planted fault: this file and circle_there.c use each other; one_direction.py must find that. */
#include "circle.h"

int circle_back(int steps)
{
	return steps ? circle_there(steps - 1) : 0;
}
