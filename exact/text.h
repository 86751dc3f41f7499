/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts that all processes which came from one by fork() can read, at one address, until they end.
 */
#ifndef COMM_EXACT_TEXT_H
#define COMM_EXACT_TEXT_H

void comm_text_init(void);
/* A copy. */
const char *comm_text_keep(const char *text);

#endif
