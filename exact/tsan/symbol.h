/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbols of this process, from the tables of the files that it is mapped from.  Each look-up
 * reads one through: for one a function or variable, not for more.
 */
#ifndef COMM_EXACT_SYMBOL_H
#define COMM_EXACT_SYMBOL_H

#include <stddef.h>
#include <stdint.h>

struct comm_exact_symbol {
	uint64_t start,
		end;	/* of the function, in this process; of pc alone when it is not known */
	char name[252]; /* "module+0x12" when there is no symbol, or "0x12" */
};

void comm_exact_symbol(uint64_t pc, struct comm_exact_symbol *ret);

enum comm_exact_is_variable {
	COMM_EXACT_VARIABLE,
	COMM_EXACT_NO_VARIABLE, /* of a module's data; what is told is the piece between variables */
	COMM_EXACT_NO_DATA,	/* of no module */
};

enum comm_exact_is_variable comm_exact_variable(uint64_t addr, uint64_t *ret_start,
						uint64_t *ret_size_bytes);

#endif
