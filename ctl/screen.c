// SPDX-License-Identifier: GPL-2.0-or-later
#include "screen.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
	SCREEN_TITLE = 10, /* width of the titles */
	SCREEN_LINES = 25, /* what is longer scrolls away */
};

static int column_of(const struct ctl_overview_line *line)
{
	return *line->share ? SCREEN_TITLE + CTL_OVERVIEW_SHARE - 1 : SCREEN_TITLE;
}

/* How many lines ctl_wrap() makes of it. */
static size_t height_of(const struct ctl_term *term, const struct ctl_overview_line *line)
{
	int column = column_of(line), word;
	const char *at = line->text;
	size_t n = 1;

	while (*at) {
		word = (int)strcspn(at, " ");
		if (column + word > term->width && column > SCREEN_TITLE) {
			column = SCREEN_TITLE;
			n++;
		}
		column += word + 1;
		at += word;
		at += strspn(at, " ");
	}
	return n;
}

/* Takes the last row of the part that has most of them; false: there are only sentences left. */
static bool drop_row(struct ctl_overview *overview)
{
	size_t rows = 0, most = 0, at = 0;

	for (size_t i = 0; i < overview->n; i++) {
		rows = *overview->line[i].title ? 0 : rows;
		rows += *overview->line[i].share != '\0';
		if (*overview->line[i].share && rows >= most) {
			most = rows;
			at = i;
		}
	}
	if (!most || *overview->line[at].title)
		return false;
	memmove(&overview->line[at], &overview->line[at + 1],
		(--overview->n - at) * sizeof(*overview->line));
	return true;
}

/* Long names take lines of their own: then there are fewer rows. */
static void fit(struct ctl_overview *overview, const struct ctl_term *term)
{
	size_t n;

	do {
		n = 2;
		for (size_t i = 0; i < overview->n; i++)
			n += height_of(term, &overview->line[i]);
	} while (n > SCREEN_LINES && drop_row(overview));
}

void ctl_screen_print_line(const struct ctl_term *term, const struct ctl_overview_line *line)
{
	printf("%s%-*s%s", ctl_style(term, CTL_BOLD), SCREEN_TITLE, line->title,
	       ctl_style(term, CTL_PLAIN));
	if (*line->share)
		printf("%-*s ", CTL_OVERVIEW_SHARE - 2, line->share);
	ctl_wrap(term, column_of(line), SCREEN_TITLE, line->text);
}

void ctl_screen_print(struct ctl_overview *overview)
{
	struct ctl_term term;
	int capacity;

	ctl_term_init(&term);
	fit(overview, &term);
	capacity = term.width - ctl_columns(overview->run);
	printf("%s%s%s", ctl_style(&term, CTL_BOLD), overview->run, ctl_style(&term, CTL_PLAIN));
	if (capacity > (int)strlen(overview->cost) + 1)
		printf("%*s\n", capacity - 1, overview->cost);
	else
		printf("\n%s\n", overview->cost);
	for (size_t i = 0; i < overview->n; i++)
		ctl_screen_print_line(&term, &overview->line[i]);
}
