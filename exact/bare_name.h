/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What people call a function: its name without the parameters of C++ and without what compilers add to it.  For patterns
 * of functions, not for reports.  Also compiled where there is no libc.
 */
#ifndef COMM_EXACT_BARE_NAME_H
#define COMM_EXACT_BARE_NAME_H

static inline int comm_bare_begins(const char *text, const char *with)
{
	while (*with && *text == *with) {
		text++;
		with++;
	}
	return !*with;
}

static inline int comm_bare_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * Whether this is what a compiler adds: ".isra.0", ".cold", ".1".  Go has dots in names, as in "main.part": but for
 * "cold" all have a number.
 */
static inline int comm_bare_is_added(const char *text)
{
	static const char *const numbered[] = {".constprop.", ".isra.", ".part.",
					       ".lto_priv.",  ".cold.", "."};

	if (comm_bare_begins(text, ".cold") && (!text[5] || text[5] == ' '))
		return 1;
	for (unsigned long i = 0; i < sizeof(numbered) / sizeof(*numbered); i++) {
		const char *with = numbered[i], *at = text;

		if (!comm_bare_begins(at, with))
			continue;
		while (*with++)
			at++;
		if (!comm_bare_is_digit(*at))
			continue;
		while (comm_bare_is_digit(*at))
			at++;
		if (!*at || *at == '.' || *at == ' ')
			return 1;
	}
	return 0;
}

/*
 * How many bytes of the name that is.  Parameters are in the last brackets, if at most "const" or "[clone .cold]" stands
 * behind these; not so "(anonymous namespace)::parse", "operator()" and Go's "main.(*T).get".
 */
static inline unsigned long comm_bare_bytes(const char *name)
{
	static const char operator_of[] = "operator";
	enum { OPERATOR_BYTES = sizeof(operator_of) - 1 };
	unsigned long bytes = 0, from, depth = 0;

	while (name[bytes])
		bytes++;
	for (from = bytes; from && name[from - 1] != ')'; from--)
		;
	if (from && (!name[from] || name[from] == ' ')) {
		do {
			from--;
			depth += name[from] == ')';
			depth -= name[from] == '(';
		} while (from && depth);
		if (!depth && from &&
		    (from < OPERATOR_BYTES || name[from + 1] != ')' ||
		     !comm_bare_begins(name + from - OPERATOR_BYTES, operator_of)))
			bytes = from;
	}
	for (unsigned long i = 1; i < bytes; i++)
		if (name[i] == '.' && comm_bare_is_added(name + i))
			return i;
	return bytes;
}

#endif
