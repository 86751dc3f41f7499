// SPDX-License-Identifier: GPL-2.0-or-later
#include "term.h"

#include <ctype.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	TERM_WIDTH = 80,
	TERM_WIDTH_MIN = 40,
	TERM_WIDTH_MAX = 400,
	NUMBER_MAX = 10,
};

void ctl_term_init(struct ctl_term *term)
{
	const char *columns = getenv("COLUMNS"), *no_colour = getenv("NO_COLOR");
	const char *type = getenv("TERM"), *force = getenv("CLICOLOR_FORCE");
	bool is_forced = force && *force && strcmp(force, "0") != 0;
	bool tty = isatty(STDOUT_FILENO);
	struct winsize size;

	term->width = columns ? atoi(columns) : 0;
	if (term->width <= 0 && tty && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		term->width = size.ws_col;
	if (term->width <= 0)
		term->width = TERM_WIDTH;
	if (term->width < TERM_WIDTH_MIN)
		term->width = TERM_WIDTH_MIN;
	if (term->width > TERM_WIDTH_MAX)
		term->width = TERM_WIDTH_MAX;
	term->utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	term->colour = !(no_colour && *no_colour) &&
		       (is_forced || (tty && type && strcmp(type, "dumb") != 0));
}

const char *ctl_style(const struct ctl_term *term, enum ctl_style style)
{
	static const char *const styles[] = {
		[CTL_PLAIN] = "\033[0m",
		[CTL_BOLD] = "\033[1m",
		[CTL_DIM] = "\033[2m",
		[CTL_WARN] = "\033[33m",
	};

	return term->colour ? styles[style] : "";
}

const char *ctl_heat_style(const struct ctl_term *term, int heat)
{
	/* The xterm palette from blue over green and yellow to red. */
	static const char *const styles[] = {
		"\033[38;5;240m", "\033[38;5;25m",  "\033[38;5;31m",  "\033[38;5;36m",
		"\033[38;5;71m",  "\033[38;5;178m", "\033[38;5;208m", "\033[38;5;196m",
	};

	return term->colour && heat >= 0 && heat < 8 ? styles[heat] : "";
}

const char *ctl_heat(const struct ctl_term *term, int heat)
{
	static const char *const utf8[] = {"·", "░", "░", "▒", "▒", "▓", "▓", "█"};
	static const char *const ascii[] = {".", ":", ":", "+", "+", "*", "*", "#"};

	if (heat < 0 || heat > 7)
		return " ";
	return term->utf8 ? utf8[heat] : ascii[heat];
}

const char *ctl_level(const struct ctl_term *term, int level)
{
	static const char *const utf8[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const ascii[] = {" ", ".", ".", ":", "-", "=", "+", "*", "#"};

	if (level < 0 || level > 8)
		return " ";
	return term->utf8 ? utf8[level] : ascii[level];
}

const char *ctl_either(const struct ctl_term *term, const char *utf8, const char *ascii)
{
	return term->utf8 ? utf8 : ascii;
}

/*
 * The number of a thread or process at the end of a name, "/20784", or the place of a function
 * without a name, "+0x81130"; its length, 0: there is none.
 */
static size_t number_at_end(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && isxdigit((unsigned char)text[len - n - 1]))
		n++;
	if (!n || n > NUMBER_MAX)
		return 0;
	if (len > n && text[len - n - 1] == '/' && strspn(text + len - n, "0123456789") == n)
		return n + 1;
	return len > n + 2 && !memcmp(text + len - n - 3, "+0x", 3) ? n + 3 : 0;
}

const char *ctl_clean(char *out, size_t size, const char *text, int width)
{
	size_t len = strlen(text), max = width < 0 ? 0 : width, number;

	if (max > size - 1)
		max = size - 1;
	for (size_t i = 0; i < len && i < max; i++)
		out[i] = text[i] >= 0x20 && text[i] <= 0x7e ? text[i] : '?';
	out[len < max ? len : max] = '\0';
	if (len <= max || max < 4)
		return out;
	/* Of several with one title the number tells which one it is. */
	number = number_at_end(text, len);
	if (number + 4 > max)
		number = 0;
	memcpy(out + max - number - 2, "..", 2);
	memcpy(out + max - number, text + len - number, number);
	return out;
}

void ctl_wrap(const struct ctl_term *term, int column, int indent, const char *text)
{
	ctl_wrap_styled(term, CTL_PLAIN, column, indent, text);
}

void ctl_wrap_styled(const struct ctl_term *term, enum ctl_style style, int column, int indent,
		     const char *text)
{
	const char *on = style == CTL_PLAIN ? "" : ctl_style(term, style);
	const char *off = *on ? ctl_style(term, CTL_PLAIN) : "";
	bool start = true;

	fputs(on, stdout);

	while (*text) {
		size_t word = strcspn(text, " ");

		if (!start && column + 1 + (int)word > term->width) {
			printf("%s\n%*s%s", off, indent, "", on);
			column = indent;
			start = true;
		}
		if (!start) {
			putchar(' ');
			column++;
		}
		for (size_t i = 0; i < word; i++)
			putchar(text[i] >= 0x20 && text[i] <= 0x7e ? text[i] : '?');
		column += word;
		start = false;
		text += word;
		text += strspn(text, " ");
	}
	printf("%s\n", off);
}
