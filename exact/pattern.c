/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pattern.h"

#include "bare_name.h"

enum {
	HEAD_BYTES = 4096,
};

/* Of "[a-z]" or "[!a-z]", from behind its first bracket; *ret_end is behind its last one, NULL: it has none. */
static Bool is_in_set(const HChar *set, HChar c, const HChar **ret_end)
{
	Bool is_not = *set == '!' || *set == '^', found = False;
	const HChar *at = set + is_not;

	*ret_end = NULL;
	do {
		HChar from = *at, to = from;

		if (!from)
			return False;
		if (at[1] == '-' && at[2] && at[2] != ']') {
			to = at[2];
			at += 2;
		}
		at++;
		found |= from <= c && c <= to;
	} while (*at != ']');
	*ret_end = at + 1;
	return found != is_not;
}

/* As fnmatch(3), of which there is none here. */
static Bool matches(const HChar *p, const HChar *name)
{
	const HChar *star = NULL, *from = NULL, *end;

	while (*name) {
		/* Of a bracket that nothing closes: it is a letter. */
		end = NULL;
		if (*p == '*') {
			star = ++p;
			from = name;
			continue;
		}
		if (*p == '[' && is_in_set(p + 1, *name, &end)) {
			p = end;
			name++;
			continue;
		}
		if (*p == '\\' && p[1] && p[1] == *name) {
			p += 2;
			name++;
			continue;
		}
		if (*p && !end && *p != '\\' && (*p == '?' || *p == *name)) {
			p++;
			name++;
			continue;
		}
		if (!star)
			return False;
		/* One letter more for the star that came last. */
		p = star;
		name = ++from;
	}
	while (*p == '*')
		p++;
	return !*p;
}

Bool comm_pattern_has(const HChar *pattern, const HChar *name)
{
	static HChar head[HEAD_BYTES];
	UInt n = 0, bare = comm_bare_bytes(name);

	if (matches(pattern, name))
		return True;
	while (n < sizeof(head) - 1 && n < bare) {
		head[n] = name[n];
		n++;
	}
	head[n] = 0;
	return matches(pattern, head);
}
