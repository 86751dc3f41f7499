/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much the debug sections of an ELF file would take, which may be compressed. */
#ifndef COMM_DEBUG_SIZE_H
#define COMM_DEBUG_SIZE_H

#include <libelf.h>
#include <stdbool.h>

/* False: unpacked they are more than is read of one file, or they cannot be looked at. */
bool comm_debug_size_fits(Elf *elf);

#endif
