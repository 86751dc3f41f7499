/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A budget as a user writes it, of the command line or in a command: a percentage. */
#ifndef COMMD_OVERHEAD_H
#define COMMD_OVERHEAD_H

#define COMM_OVERHEAD_WANTED "overhead wants a number from 0.01 to 50"

/* As a share, which 0.01 is of "1" and of "1%".  0 or -EINVAL. */
int comm_overhead_parse(const char *text, double *ret);

#endif
