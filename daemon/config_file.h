/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A configuration file: options of the command line without their dashes, one a line, as
 *
 *	# what it may cost
 *	overhead = 0.5
 *	counters
 *
 * It becomes words of a command line, so that one parser checks both.  Not for what is to be profiled by a
 * command.
 */
#ifndef COMMD_CONFIG_FILE_H
#define COMMD_CONFIG_FILE_H

#include <argp.h>
#include <stddef.h>

struct comm_config_file {
	char **word; /* n of them, "--name" or "--name=value"; they are never freed */
	int *line;   /* where each stands, from 1 */
	size_t n;
	char **all; /* words of the command line with these among them, as long as these are */
};

/*
 * options: those that there are, ended by one that is all zero; except: the long name of one that is not taken.
 * 0, or -errno with a sentence in *why (malloc'ed), which begins with the file and the line.
 */
int comm_config_file_read(const char *path, const struct argp_option *options, const char *except,
			  struct comm_config_file *ret, char **why);

#endif
