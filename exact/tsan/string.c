// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libc's functions of memory and strings, which move and read the program's data where the compiler cannot see it.
 * What one needs to look at for its answer is read by the calling thread where it calls, and no more: libc's own
 * read whole words beyond.
 */
#include <ctype.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "note.h"

/* The compiler's own declarations use its built-in types. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define MAX SIZE_MAX

typedef unsigned char byte;

void __chk_fail(void) __attribute__((noreturn));

/* Not counted; up to n. */
static size_t length(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && s[i])
		i++;
	return i;
}

/* Counted, with the NUL, where it is among the first n. */
static inline size_t read_string(const char *s, size_t n, uint64_t pc)
{
	size_t len = length(s, n);

	comm_note_read(s, len < n ? len + 1 : len, pc);
	return len;
}

static void copy_bytes(void *dst, const void *src, size_t n)
{
	__asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(n) : : "memory");
}

/* Up to the first that differs, or after a NUL where that ends it. */
static inline int compare(const void *a, const void *b, size_t n, int is_string, int (*fold)(int c),
			  uint64_t pc)
{
	const byte *x = a, *y = b;
	size_t i = 0;
	int d = 0;

	for (; i < n && !d; i++) {
		d = fold ? fold(x[i]) - fold(y[i]) : x[i] - y[i];
		if (is_string && !x[i]) {
			i++;
			break;
		}
	}
	comm_note_read(a, i, pc);
	comm_note_read(b, i, pc);
	return d;
}

int memcmp(const void *a, const void *b, size_t n)
{
	return compare(a, b, n, 0, NULL, COMM_NOTE_PC);
}

int bcmp(const void *a, const void *b, size_t n)
{
	return compare(a, b, n, 0, NULL, COMM_NOTE_PC);
}

int strcmp(const char *a, const char *b)
{
	return compare(a, b, MAX, 1, NULL, COMM_NOTE_PC);
}

int strncmp(const char *a, const char *b, size_t n)
{
	return compare(a, b, n, 1, NULL, COMM_NOTE_PC);
}

int strcasecmp(const char *a, const char *b)
{
	return compare(a, b, MAX, 1, tolower, COMM_NOTE_PC);
}

int strncasecmp(const char *a, const char *b, size_t n)
{
	return compare(a, b, n, 1, tolower, COMM_NOTE_PC);
}

size_t strlen(const char *s)
{
	return read_string(s, MAX, COMM_NOTE_PC);
}

size_t strnlen(const char *s, size_t n)
{
	return read_string(s, n, COMM_NOTE_PC);
}

/* The first such byte among n; a string ends with its NUL. */
static inline void *find(const void *p, int c, size_t n, int is_string, uint64_t pc)
{
	const byte *s = p;
	size_t i = 0;

	while (i < n && s[i] != (byte)c && !(is_string && !s[i]))
		i++;
	comm_note_read(p, i < n ? i + 1 : n, pc);
	return i < n && s[i] == (byte)c ? (void *)(s + i) : NULL;
}

static inline void *find_last(const void *p, int c, size_t n, uint64_t pc)
{
	const byte *s = p;
	size_t i = n;

	while (i && s[i - 1] != (byte)c)
		i--;
	comm_note_read(s + (i ? i - 1 : 0), n - (i ? i - 1 : 0), pc);
	return i ? (void *)(s + i - 1) : NULL;
}

void *memchr(const void *p, int c, size_t n)
{
	return find(p, c, n, 0, COMM_NOTE_PC);
}

void *rawmemchr(const void *p, int c)
{
	return find(p, c, MAX, 0, COMM_NOTE_PC);
}

void *memrchr(const void *p, int c, size_t n)
{
	return find_last(p, c, n, COMM_NOTE_PC);
}

char *strchr(const char *s, int c)
{
	return find(s, c, MAX, 1, COMM_NOTE_PC);
}

char *index(const char *s, int c)
{
	return find(s, c, MAX, 1, COMM_NOTE_PC);
}

char *strchrnul(const char *s, int c)
{
	char *found = find(s, c, MAX, 1, COMM_NOTE_PC);

	return found ? found : (char *)s + length(s, MAX);
}

/* All of it is looked at. */
static char *last_in_string(const char *s, int c, uint64_t pc)
{
	size_t i = read_string(s, MAX, pc) + 1;

	while (i && s[i - 1] != (char)c)
		i--;
	return i ? (char *)s + i - 1 : NULL;
}

char *strrchr(const char *s, int c)
{
	return last_in_string(s, c, COMM_NOTE_PC);
}

char *rindex(const char *s, int c)
{
	return last_in_string(s, c, COMM_NOTE_PC);
}

/* Where the m bytes begin among the n, as far as those are looked at; nul: of strings, that end both. */
static void *find_bytes(const void *in, size_t n, const void *what, size_t m, size_t nul,
			int (*fold)(int c), uint64_t pc)
{
	const byte *s = in, *w = what;
	size_t i, k = 0;

	comm_note_read(what, m + nul, pc);
	for (i = 0; m <= n && i <= n - m; i++) {
		for (k = 0; k < m && (fold ? fold(s[i + k]) == fold(w[k]) : s[i + k] == w[k]); k++)
			;
		if (k == m)
			break;
	}
	comm_note_read(in, k == m && m <= n ? i + m : n + nul, pc);
	return k == m && m <= n ? (void *)(s + i) : NULL;
}

void *memmem(const void *in, size_t n, const void *what, size_t m)
{
	return find_bytes(in, n, what, m, 0, NULL, COMM_NOTE_PC);
}

char *strstr(const char *in, const char *what)
{
	return find_bytes(in, length(in, MAX), what, length(what, MAX), 1, NULL, COMM_NOTE_PC);
}

char *strcasestr(const char *in, const char *what)
{
	return find_bytes(in, length(in, MAX), what, length(what, MAX), 1, tolower, COMM_NOTE_PC);
}

/* How many are (is_in), or are not, one of these. */
static size_t span(const char *s, const char *of, int is_in, uint64_t pc)
{
	size_t i = 0, n = read_string(of, MAX, pc), k;

	for (; s[i]; i++) {
		for (k = 0; k < n && of[k] != s[i]; k++)
			;
		if ((k < n) != is_in)
			break;
	}
	comm_note_read(s, i + 1, pc);
	return i;
}

size_t strspn(const char *s, const char *of)
{
	return span(s, of, 1, COMM_NOTE_PC);
}

size_t strcspn(const char *s, const char *of)
{
	return span(s, of, 0, COMM_NOTE_PC);
}

char *strpbrk(const char *s, const char *of)
{
	size_t i = span(s, of, 0, COMM_NOTE_PC);

	return s[i] ? (char *)s + i : NULL;
}

/* The next part that none of these divides; what divides it from the rest becomes a NUL. */
static char *token(char *s, const char *by, char **rest, uint64_t pc)
{
	char *end;

	if (!s)
		s = *rest;
	if (!s)
		return NULL;
	s += span(s, by, 1, pc);
	if (!*s) {
		*rest = NULL;
		return NULL;
	}
	end = s + span(s, by, 0, pc);
	*rest = *end ? end + 1 : NULL;
	if (*end) {
		comm_note_write(end, 1, pc);
		*end = '\0';
	}
	return s;
}

char *strtok_r(char *s, const char *by, char **rest)
{
	return token(s, by, rest, COMM_NOTE_PC);
}

char *strtok(char *s, const char *by)
{
	static char *rest;

	return token(s, by, &rest, COMM_NOTE_PC);
}

/* Returns the end. */
static inline char *put(void *dst, const void *src, size_t n, uint64_t pc)
{
	comm_note_read(src, n, pc);
	comm_note_write(dst, n, pc);
	copy_bytes(dst, src, n);
	return (char *)dst + n;
}

static inline char *put_string(char *dst, const char *src, size_t capacity, uint64_t pc)
{
	size_t n = length(src, MAX) + 1;

	if (n > capacity)
		__chk_fail();
	return put(dst, src, n, pc) - 1;
}

/* n bytes, NUL after the string's end; returns where that is. */
static inline char *put_padded(char *dst, const char *src, size_t n, size_t capacity, uint64_t pc)
{
	size_t len = length(src, n), i;

	if (n > capacity)
		__chk_fail();
	comm_note_read(src, len < n ? len + 1 : n, pc);
	comm_note_write(dst, n, pc);
	copy_bytes(dst, src, len);
	for (i = len; i < n; i++)
		dst[i] = '\0';
	return dst + len;
}

static inline char *append(char *dst, const char *src, size_t n, size_t capacity, uint64_t pc)
{
	size_t had = read_string(dst, MAX, pc), len = length(src, n);

	if (had + len + 1 > capacity)
		__chk_fail();
	comm_note_read(src, len < n ? len + 1 : n, pc);
	comm_note_write(dst + had, len + 1, pc);
	copy_bytes(dst + had, src, len);
	dst[had + len] = '\0';
	return dst;
}

void *mempcpy(void *restrict dst, const void *restrict src, size_t n)
{
	return put(dst, src, n, COMM_NOTE_PC);
}

void *__mempcpy_chk(void *dst, const void *src, size_t n, size_t capacity)
{
	if (n > capacity)
		__chk_fail();
	return put(dst, src, n, COMM_NOTE_PC);
}

void *memccpy(void *restrict dst, const void *restrict src, int c, size_t n)
{
	const byte *s = src;
	size_t i = 0;

	while (i < n && s[i] != (byte)c)
		i++;
	put(dst, src, i < n ? i + 1 : n, COMM_NOTE_PC);
	return i < n ? (byte *)dst + i + 1 : NULL;
}

char *strcpy(char *restrict dst, const char *restrict src)
{
	put_string(dst, src, MAX, COMM_NOTE_PC);
	return dst;
}

char *__strcpy_chk(char *dst, const char *src, size_t capacity)
{
	put_string(dst, src, capacity, COMM_NOTE_PC);
	return dst;
}

char *stpcpy(char *restrict dst, const char *restrict src)
{
	return put_string(dst, src, MAX, COMM_NOTE_PC);
}

char *__stpcpy_chk(char *dst, const char *src, size_t capacity)
{
	return put_string(dst, src, capacity, COMM_NOTE_PC);
}

char *strncpy(char *restrict dst, const char *restrict src, size_t n)
{
	put_padded(dst, src, n, MAX, COMM_NOTE_PC);
	return dst;
}

char *__strncpy_chk(char *dst, const char *src, size_t n, size_t capacity)
{
	put_padded(dst, src, n, capacity, COMM_NOTE_PC);
	return dst;
}

char *stpncpy(char *restrict dst, const char *restrict src, size_t n)
{
	return put_padded(dst, src, n, MAX, COMM_NOTE_PC);
}

char *__stpncpy_chk(char *dst, const char *src, size_t n, size_t capacity)
{
	return put_padded(dst, src, n, capacity, COMM_NOTE_PC);
}

char *strcat(char *restrict dst, const char *restrict src)
{
	return append(dst, src, MAX, MAX, COMM_NOTE_PC);
}

char *__strcat_chk(char *dst, const char *src, size_t capacity)
{
	return append(dst, src, MAX, capacity, COMM_NOTE_PC);
}

char *strncat(char *restrict dst, const char *restrict src, size_t n)
{
	return append(dst, src, n, MAX, COMM_NOTE_PC);
}

char *__strncat_chk(char *dst, const char *src, size_t n, size_t capacity)
{
	return append(dst, src, n, capacity, COMM_NOTE_PC);
}

void bzero(void *dst, size_t n)
{
	byte *d = dst;

	comm_note_write(dst, n, COMM_NOTE_PC);
	while (n--)
		d[n] = 0;
}

void explicit_bzero(void *dst, size_t n)
{
	byte *d = dst;

	comm_note_write(dst, n, COMM_NOTE_PC);
	while (n--)
		d[n] = 0;
	__asm__ volatile("" : : "r"(dst) : "memory");
}

void bcopy(const void *src, void *dst, size_t n)
{
	const byte *s = src;
	byte *d = dst;

	comm_note_read(src, n, COMM_NOTE_PC);
	comm_note_write(dst, n, COMM_NOTE_PC);
	if ((uintptr_t)dst - (uintptr_t)src >= n) {
		copy_bytes(dst, src, n);
		return;
	}
	while (n--)
		d[n] = s[n];
}

static char *duplicate(const char *s, size_t n, uint64_t pc)
{
	size_t len = length(s, n);
	char *copy = comm_note_malloc(len + 1, pc);

	if (!copy)
		return NULL;
	comm_note_read(s, len < n ? len + 1 : n, pc);
	comm_note_write(copy, len + 1, pc);
	copy_bytes(copy, s, len);
	copy[len] = '\0';
	return copy;
}

char *strdup(const char *s)
{
	return duplicate(s, MAX, COMM_NOTE_PC);
}

char *__strdup(const char *s)
{
	return duplicate(s, MAX, COMM_NOTE_PC);
}

char *strndup(const char *s, size_t n)
{
	return duplicate(s, n, COMM_NOTE_PC);
}
