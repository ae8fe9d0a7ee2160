// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The native methods of Window.java.
 */
#include "c2c-mark.h"

void Java_Window_open(void *env, void *in);
void Java_Window_close(void *env, void *in);

void Java_Window_open(void *env, void *in)
{
	(void)env;
	(void)in;
	c2c_open();
}

void Java_Window_close(void *env, void *in)
{
	(void)env;
	(void)in;
	c2c_close();
}
