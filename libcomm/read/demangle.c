/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "demangle.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

#include "text.h"

enum {
	MANGLED_BYTES_MAX = 4096, /* the demanglers' stack use grows with it */
	BINDER_DIGITS_MAX = 2,	  /* 62 * 62 lifetimes: more than any real name has */
};

struct demangled {
	char *at, *end;
	bool rust;
	jmp_buf full;
};

/*
 * A full output ends the demangling, else a name of a few hundred bytes would take hours.
 * Between two pieces the demanglers hold no memory, so longjmp() may leave them.  Except:
 * Rust's holds the text of an identifier in punycode while it hands that out.  Such text
 * alone is not ASCII in Rust's output: then longjmp() waits for the next piece.
 */
static void add_piece(const char *text, size_t len_bytes, void *ctx)
{
	struct demangled *out = ctx;
	size_t capacity = (size_t)(out->end - out->at);
	size_t n = len_bytes < capacity ? len_bytes : capacity;

	/* For an empty identifier text is NULL. */
	if (n)
		memcpy(out->at, text, n);
	out->at += n;
	if (n == len_bytes)
		return;
	for (size_t i = 0; out->rust && i < len_bytes; i++)
		if ((unsigned char)text[i] >= 0x80)
			return;
	longjmp(out->full, 1);
}

/*
 * Rust mangles "for<'a, 'b>" as a number of lifetimes, FG0_ or DG0_, and libiberty counts up
 * to it, also where it prints nothing, so that add_piece() cannot stop it: FGzzzzzzzzzz_
 * takes years.
 */
static bool has_endless_binder(const char *name)
{
	for (; (name = strchr(name, 'G')); name++) {
		size_t digits = 0;

		if (name[-1] != 'F' && name[-1] != 'D')
			continue;
		while (digits <= BINDER_DIGITS_MAX && isalnum((unsigned char)name[1 + digits]))
			digits++;
		if (digits > BINDER_DIGITS_MAX)
			return true;
	}
	return false;
}

/* On a _Z name that is not old Rust's its demangler fails before any output: then try C++. */
static bool demangle(const char *name, struct demangled *out)
{
	if (setjmp(out->full))
		return true;
	out->rust = true;
	if (rust_demangle_callback(name, DMGL_PARAMS, add_piece, out))
		return true;
	out->rust = false;
	return name[1] == 'Z' && cplus_demangle_v3_callback(name, DMGL_PARAMS, add_piece, out);
}

const char *comm_demangle(const char *name, char *ret, size_t size_bytes)
{
	struct demangled out = {.at = ret};

	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R') || !size_bytes ||
	    strlen(name) > MANGLED_BYTES_MAX || (name[1] == 'R' && has_endless_binder(name)))
		return name;
	out.end = ret + size_bytes - 1;
	if (!demangle(name, &out))
		return name;
	if (out.at == out.end)
		out.at = ret + comm_text_whole(ret, (size_t)(out.at - ret));
	*out.at = 0;
	return ret;
}
