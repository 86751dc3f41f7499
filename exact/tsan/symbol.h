/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for code of this process, from the symbol tables of the files that it
 * is mapped from.  For a few hundred look-ups at exit, not for more.
 */
#ifndef COMM_EXACT_SYMBOL_H
#define COMM_EXACT_SYMBOL_H

#include <stddef.h>
#include <stdint.h>

/*
 * "function", or "module+0x12" when there is no symbol, or "0x12"; the path of
 * the module, "" when there is none.  Returns the file's own address, or pc.
 */
uint64_t comm_exact_symbol(uint64_t pc, char *ret, size_t size, char *ret_module,
			   size_t module_size);

#endif
