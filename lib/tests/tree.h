/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * tree.h - captured trees of /sys, written in few lines and expanded for a test.
 *
 * One line per file, path below sys/devices/system, "=", contents:
 *
 *   # two cores
 *   cpu/possible=0-1
 *   cpu/cpu{0-1}/topology/physical_package_id=0
 *   cpu/cpu{0-1}/cache/index3/level=3
 *   node/node0/
 *
 * {LIST} stands for each of its numbers, a path that ends in "/" for a directory.
 */
#ifndef TREE_H
#define TREE_H

#include <stdio.h>
#include "port.h"
#include "shard_topo.h"

/**
 * tree_make() - make an empty root directory
 * @root: receives its path, 64 bytes
 *
 * Return: true; false when the directory could not be made.
 */
bool tree_make(char *root);

/* Removes a root directory and all below it. */
void tree_remove(const char *root);

/**
 * tree_write() - make the files and directories that a text lists
 * @root: from tree_make()
 * @text: lines "PATH=CONTENT" for files, and "PATH/" for directories; paths start in
 *	sys/devices/system
 * @len: the length of @text in bytes
 * @max_files: the largest number of files to write
 *
 * Ignores all other lines, so a fuzzer may pass any text.
 *
 * Return: files and directories written.
 */
u32 tree_write(const char *root, const char *text, size_t len, u32 max_files);

/**
 * tree_print_records() - write a topology as the text of a tree
 * @out: receives the text
 * @cpu: records, by CPU number; package, node, llc, l2 and core are ids, or -1 if unknown
 * @nr_cpus: the number of records
 */
void tree_print_records(FILE *out, const struct shard_cpu *cpu, u32 nr_cpus);

#endif
