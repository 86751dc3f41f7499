// SPDX-License-Identifier: GPL-2.0-or-later
#include "term.h"

#include <ctype.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "utf8.h"

enum {
	TERM_WIDTH = 80,
	TERM_WIDTH_MIN = 40,
	TERM_WIDTH_MAX = 400,
	NUMBER_MAX = 10,
	FIT_MIN = 4, /* columns of a text that is marked as cut */
};

static bool terminal_is_utf8(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

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
	term->utf8 = terminal_is_utf8();
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

/* The next character as this terminal shows it; *ret_columns: how many it takes. */
static const char *take(const char **text, int *ret_bytes, int *ret_columns)
{
	const char *shown;
	wchar_t wide;

	if (!terminal_is_utf8()) {
		shown = ctl_utf8_take_ascii(text, ret_bytes);
		*ret_columns = *ret_bytes;
		return shown;
	}
	shown = ctl_utf8_take(text, ret_bytes);
	*ret_columns = *ret_bytes;
	if (*shown & 0x80) {
		bool known = mbrtowc(&wide, shown, (size_t)*ret_bytes, &(mbstate_t){0}) <=
			     (size_t)*ret_bytes;
		int columns = known ? wcwidth(wide) : 1;

		*ret_columns = columns < 0 ? 1 : columns;
	}
	return shown;
}

int ctl_columns(const char *text)
{
	int all = 0, bytes, columns;

	while (*text) {
		take(&text, &bytes, &columns);
		all += columns;
	}
	return all;
}

size_t ctl_bytes_in(const char *text, int columns)
{
	const char *at = text, *fits = text;
	int bytes, more;

	while (*at) {
		take(&at, &bytes, &more);
		columns -= more;
		if (columns < 0)
			break;
		fits = at;
	}
	return (size_t)(fits - text);
}

int ctl_field(const char *clean, int width)
{
	return width + (int)strlen(clean) - ctl_columns(clean);
}

typedef const char *take_fn(const char **text, int *ret_bytes, int *ret_columns);

static const char *take_utf8(const char **text, int *ret_bytes, int *ret_columns)
{
	const char *shown = ctl_utf8_take(text, ret_bytes);

	*ret_columns = *ret_bytes;
	return shown;
}

/* Copies as many characters as fit into capacity bytes, with a NUL, and max columns; returns their bytes. */
static size_t copy(take_fn *next, char *out, size_t capacity, const char **text, int max)
{
	int bytes, columns;
	size_t n = 0;

	for (const char *at = *text; *at; *text = at) {
		const char *shown = next(&at, &bytes, &columns);

		max -= columns;
		if (max < 0 || n + (size_t)bytes >= capacity)
			break;
		memcpy(out + n, shown, (size_t)bytes);
		n += (size_t)bytes;
	}
	out[n] = '\0';
	return n;
}

static const char *fit(take_fn *next, char *out, size_t size, const char *text, int max)
{
	size_t len = strlen(text), number = number_at_end(text, len), n;
	const char *rest = text;

	copy(next, out, size, &rest, max);
	if (!*rest || max < FIT_MIN || size <= FIT_MIN)
		return out;
	/* Of several with one title the number tells which one it is. */
	if (number + FIT_MIN > (size_t)max || number + FIT_MIN > size)
		number = 0;
	n = copy(next, out, size - number - 2, &text, max - (int)number - 2);
	out[n] = out[n + 1] = '.';
	memcpy(out + n + 2, rest + strlen(rest) - number, number + 1);
	return out;
}

const char *ctl_clean(char *out, size_t size, const char *text, int width)
{
	return fit(take, out, size, text, width < 0 ? 0 : width);
}

const char *ctl_shown(char *out, size_t size, const char *text)
{
	return fit(take_utf8, out, size, text, (int)size - 1);
}

static int columns_until(const char *text, const char *end)
{
	int all = 0, bytes, columns;

	while (text < end) {
		take(&text, &bytes, &columns);
		all += columns;
	}
	return all;
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
		const char *end = text + strcspn(text, " ");
		int word = columns_until(text, end), bytes, columns;

		if (!start && column + 1 + word > term->width) {
			printf("%s\n%*s%s", off, indent, "", on);
			column = indent;
			start = true;
		}
		if (!start) {
			putchar(' ');
			column++;
		}
		while (text < end) {
			const char *shown = take(&text, &bytes, &columns);

			fwrite(shown, 1, (size_t)bytes, stdout);
		}
		column += word;
		start = false;
		text += strspn(text, " ");
	}
	printf("%s\n", off);
}
