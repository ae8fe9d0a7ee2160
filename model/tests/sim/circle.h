/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* circle.h - the functions of a planted circle of two files. */
#ifndef TESTS_SIM_CIRCLE_H
#define TESTS_SIM_CIRCLE_H

int circle_there(int steps);
int circle_back(int steps);

#endif
