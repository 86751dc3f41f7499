// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program of which it is known which instruction touches which address: writes the
 * table to a file, one "ip address bytes flags" a line, then runs for ever.
 *
 *	known FILE
 */
#include <inttypes.h>
#include <stdio.h>

#include "code.h"

enum { INSNS = 512 };

int main(int argc, char **argv)
{
	struct code code = code_make(INSNS);
	FILE *f = argc == 2 ? fopen(argv[1], "we") : NULL;

	if (!f) {
		fprintf(stderr, "usage: known FILE\n");
		return 2;
	}
	for (size_t i = 0; i < code.n; i++)
		fprintf(f, "%" PRIx64 " %" PRIx64 " %" PRIu32 " %u\n", code.truth[i].ip,
			code.truth[i].addr, code.truth[i].size_bytes, code.truth[i].flags);
	fprintf(f, "end\n");
	fclose(f);
	code_run(&code);
	return 0;
}
