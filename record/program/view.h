/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* view.h - the folder with the simulated machine's files of /sys and /proc. */
#ifndef RECORD_VIEW_H
#define RECORD_VIEW_H

#define VIEW_PATH 4096u

/** view_path - Return: the machine's file of that path, in @space; @path if there is none. */
const char *view_path(const char *path, char space[VIEW_PATH]);

#endif
