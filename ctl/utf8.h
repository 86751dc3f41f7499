/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UTF-8: which bytes of a foreign text are valid. */
#ifndef CTL_UTF8_H
#define CTL_UTF8_H

/*
 * Length of the valid sequence that text begins with; 0: none.  Overlong forms,
 * surrogates and code points past U+10FFFF are not valid.
 */
int ctl_utf8_length(const char *text);

#endif
