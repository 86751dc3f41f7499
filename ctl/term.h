/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The terminal: how wide it is, which characters it has, whether it has
 * colours.  Names from a store are hostile here: an escape sequence in one
 * must not reach the terminal, so text goes out through ctl_clean().
 */
#ifndef CTL_TERM_H
#define CTL_TERM_H

#include <stdbool.h>
#include <stddef.h>

struct ctl_term {
	int width;
	bool utf8;
	bool colour;
};

enum ctl_style {
	CTL_PLAIN,
	CTL_BOLD,
	CTL_DIM,
	CTL_WARN,
};

void ctl_term_init(struct ctl_term *term);
/* Escape sequences, "" without colours.  CTL_PLAIN ends the others. */
const char *ctl_style(const struct ctl_term *term, enum ctl_style style);
/* Escape sequence for heat 0 to 7, cold to hot. */
const char *ctl_heat_style(const struct ctl_term *term, int heat);
/* One character for heat 0 (nothing) to 7. */
const char *ctl_heat(const struct ctl_term *term, int heat);
/* One character for a level of 0 (nothing) to 8. */
const char *ctl_level(const struct ctl_term *term, int level);
/* Returns utf8 if the terminal has UTF-8, else ascii. */
const char *ctl_either(const struct ctl_term *term, const char *utf8, const char *ascii);

/*
 * Copies text as this terminal can show it (utf8.h); marked where cut to width columns, of a name
 * that ends in the number of a thread before that.  out is not text.  Returns out.
 */
const char *ctl_clean(char *out, size_t size, const char *text, int width);
/* The same as UTF-8, cut to size bytes, for what is not printed on a terminal. */
const char *ctl_shown(char *out, size_t size, const char *text);
/* How many columns text takes on this terminal. */
int ctl_columns(const char *text);
/* How many bytes of text fit into so many columns. */
size_t ctl_bytes_in(const char *text, int columns);
/* The bytes that printf() is to fill so that clean text takes width columns. */
int ctl_field(const char *clean, int width);
/*
 * Prints a paragraph, words wrapped at the width.  The cursor is at column already;
 * further lines begin at indent.
 */
void ctl_wrap(const struct ctl_term *term, int column, int indent, const char *text);
/* The same in a style, which each line sets and ends: a pager may show any of them first. */
void ctl_wrap_styled(const struct ctl_term *term, enum ctl_style style, int column, int indent,
		     const char *text);

#endif
