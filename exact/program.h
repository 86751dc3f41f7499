/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program that is run: what it was started by, which may be a link to its file. */
#ifndef COMM_EXACT_PROGRAM_H
#define COMM_EXACT_PROGRAM_H

#include "pub_tool_basics.h"

/* Base name of a file; of the program's, if it was started by a link, the link's.  Valid until the next call. */
const HChar *comm_program_called(const HChar *file);
/* Base name of what it was started by, as the kernel calls its first thread. */
const HChar *comm_program_name(void);

#endif
