/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* command_line.h - parses the options of schedshard's own C programs; a mistake gives one line. */
#ifndef SCHEDSHARD_COMMAND_LINE_H
#define SCHEDSHARD_COMMAND_LINE_H

#include <argp.h>
#include <stdint.h>

/**
 * command_line - parse all arguments
 * @argp: options, parser and texts of --help; without children
 * @argc, @argv: the arguments of main()
 *
 * A mistake, such as an argument that the parser does not know, ends the program with status 2;
 * --help ends it with status 0.
 */
void command_line(const struct argp *argp, int argc, char **argv, void *input);

/**
 * whole_number - the value of an option
 * @what: name of the option, for an error's message
 *
 * Return: the number in @text. If @text is not a number from @least to @most, the program ends with
 * status 2.
 */
uint64_t whole_number(const char *what, const char *text, uint64_t least, uint64_t most);

#endif
