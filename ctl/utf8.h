/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UTF-8: foreign text without what would change how other text is shown.  A name may hold
 * bytes that are no UTF-8, control characters of ASCII and beyond it (C1, by which some terminals
 * take commands), and characters that turn the order of others around or are not seen at all.
 */
#ifndef CTL_UTF8_H
#define CTL_UTF8_H

#include <stddef.h>

/*
 * The next character of *text, of *ret_length bytes, and moves *text behind it; an escape in place
 * of one that is not to be shown, "\\x1b", "\\u202e" or "\\U000e0001", and of each byte that is no
 * UTF-8, "\\xff": two names stay two.  Valid until the next call.
 */
const char *ctl_utf8_take(const char **text, int *ret_length);
/* The same, of what is not ASCII an escape. */
const char *ctl_utf8_take_ascii(const char **text, int *ret_length);
/* Where the character begins that byte at of text is of. */
size_t ctl_utf8_start(const char *text, size_t at);

#endif
