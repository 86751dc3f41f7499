/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "demangle.h"

#include <setjmp.h>
#include <string.h>

enum {
	MANGLED_BYTES_MAX = 4096, /* the demangler's stack use grows with it */
};

/*
 * Of libsupc++.a.  __cxa_demangle() is the documented entry, but it grows its
 * output without limit; this one hands out pieces, allocates nothing, and so
 * may be left by longjmp().
 */
int __gcclibcxx_demangle_callback(const char *mangled, void (*piece)(const char *, size_t, void *),
				  void *ctx);

struct output {
	char *at, *end;
	jmp_buf full;
};

static void piece(const char *text, size_t len_bytes, void *ctx)
{
	struct output *out = ctx;
	size_t room = (size_t)(out->end - out->at);
	size_t n = len_bytes < room ? len_bytes : room;

	memcpy(out->at, text, n);
	out->at += n;
	if (n < len_bytes)
		longjmp(out->full, 1);
}

const char *comm_demangle(const char *name, char *ret, size_t size_bytes)
{
	struct output out;

	if (name[0] != '_' || name[1] != 'Z' || strlen(name) > MANGLED_BYTES_MAX || !size_bytes)
		return name;
	out.at = ret;
	out.end = ret + size_bytes - 1;
	if (!setjmp(out.full) && __gcclibcxx_demangle_callback(name, piece, &out))
		return name;
	*out.at = 0;
	return ret;
}
