// SPDX-License-Identifier: GPL-2.0-or-later
#include "title.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

/*
 * What the rules of this file alone would not find, by what comes behind the program's name: the
 * first line that holds is taken.
 */
static const struct known {
	const char *program;
	const char *begins; /* with these words, or */
	const char *has;    /* this is in a word; words behind it say what is done just now */
	const char *role;
} known[] = {
	/* What PostgreSQL's processes add to it is a database, a file or a number. */
	{"postgres", "startup", NULL, "startup"},
	{"postgres", "archiver", NULL, "archiver"},
	{"postgres", "autovacuum worker", NULL, "autovacuum worker"},
	{"postgres", "parallel worker", NULL, "parallel worker"},
	{"postgres", "logical replication worker", NULL, "logical replication worker"},
	{"postgres", "walsender", NULL, "walsender"},
	{"postgres", "walreceiver", NULL, "walreceiver"},
	/* "USER DATABASE [local]" and "USER DATABASE 10.0.0.7(51234)" */
	{"postgres", NULL, "[local]", "backend"},
	{"postgres", NULL, "(", "backend"},
	/* "USER [priv]" and "USER@pts/0" */
	{"sshd", NULL, "[", "connection"},
	{"sshd", NULL, "@", "connection"},
};

enum { KNOWN = sizeof(known) / sizeof(*known) };

static size_t word_bytes(const char *at)
{
	return strcspn(at, " ");
}

static const char *next_word(const char *at)
{
	at += word_bytes(at);
	return at + strspn(at, " ");
}

static bool is_of(const struct known *k, const char *title)
{
	size_t n = strlen(k->program);

	return !strncmp(title, k->program, n) && title[n] == ':';
}

/* What is not ASCII counts as letters. */
static bool is_letter(char c)
{
	return isalpha((unsigned char)c) || (unsigned char)c >= 0x80;
}

static bool is_program(const char *name, size_t bytes)
{
	if (!bytes || !(is_letter(*name) || isdigit((unsigned char)*name)))
		return false;
	for (size_t i = 0; i < bytes; i++)
		if (!is_letter(name[i]) && !isdigit((unsigned char)name[i]) &&
		    !strchr("._-", name[i]))
			return false;
	return true;
}

/* "/etc/x.conf", "(/etc/x.conf)", "-D", "password=x", "amqp://user:x@host" */
static bool is_argument(const char *word, size_t bytes)
{
	size_t open = strspn(word, "([\"'");

	return memchr(word, '=', bytes) || memmem(word, bytes, "://", 3) ||
	       (open < bytes && strchr("-/", word[open]));
}

static bool is_last(const char *title, const char *word, size_t bytes)
{
	for (size_t i = 0; i < KNOWN; i++)
		if (known[i].has && is_of(&known[i], title) &&
		    memmem(word, bytes, known[i].has, strlen(known[i].has)))
			return true;
	return false;
}

void comm_title_of(const char *text, size_t bytes, char ret[COMM_TITLE_BYTES])
{
	char line[COMM_TITLE_TEXT_BYTES] = "";
	size_t n, used = 0, program;
	const char *word;

	memset(ret, 0, COMM_TITLE_BYTES);
	comm_text_clean(text, bytes, line, sizeof(line));
	n = word_bytes(line);
	if (n < 2 || line[n - 1] != ':' || !is_program(line, n - 1) || n >= COMM_TITLE_BYTES)
		return;
	memcpy(ret, line, n);
	used = program = n;
	word = next_word(line);
	/* PostgreSQL's cluster: all processes have it. */
	while ((n = word_bytes(word)) && word[n - 1] == ':')
		word = next_word(word);
	for (; (n = word_bytes(word)) && !is_argument(word, n); word = next_word(word)) {
		if (used + 1 + n >= COMM_TITLE_BYTES)
			break;
		ret[used] = ' ';
		memcpy(ret + used + 1, word, n);
		used += 1 + n;
		if (is_last(line, word, n))
			break;
	}
	/* Of one that says nothing but its name nothing is left. */
	if (used == program)
		memset(ret, 0, COMM_TITLE_BYTES);
}

void comm_title_take(char title[COMM_TITLE_BYTES], const char *reading)
{
	const char *a = title, *b = reading;
	size_t same = 0, n;

	if (!*reading)
		return;
	while ((n = word_bytes(a)) && word_bytes(b) == n && !memcmp(a, b, n)) {
		same = (size_t)(a - title) + n;
		a = next_word(a);
		b = next_word(b);
	}
	if (same > word_bytes(title)) {
		memset(title + same, 0, COMM_TITLE_BYTES - same);
		return;
	}
	memset(title, 0, COMM_TITLE_BYTES);
	memcpy(title, reading, strnlen(reading, COMM_TITLE_BYTES - 1));
}

bool comm_title_fits(const char *title, const char *name)
{
	size_t program = strcspn(title, ":"), n = strlen(name);

	return program && n && (!strncmp(title, name, n) || !strncmp(title, name, program));
}

/* Of letters alone: what has a digit or a sign in it is a number, a name or an address. */
static bool is_plain(const char *word, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (!is_letter(word[i]) && word[i] != '-')
			return false;
	return true;
}

static bool begins(const char *text, const char *with)
{
	size_t n = strlen(with);

	return !strncmp(text, with, n) && (!text[n] || text[n] == ' ');
}

void comm_title_role(const char *title, char ret[COMM_TITLE_BYTES])
{
	const char *rest = next_word(title), *end = rest, *word = rest;
	size_t program = strcspn(title, ":"), n;

	for (size_t i = 0; i < KNOWN; i++) {
		const struct known *k = &known[i];

		if (!is_of(k, title) ||
		    !(k->begins ? begins(rest, k->begins) : strstr(rest, k->has) != NULL))
			continue;
		snprintf(ret, COMM_TITLE_BYTES, "%s: %s", k->program, k->role);
		return;
	}
	for (; (n = word_bytes(word)) && is_plain(word, n); word = next_word(word))
		end = word + n;
	/* Where nothing is left, the name alone is. */
	snprintf(ret, COMM_TITLE_BYTES, "%.*s%s%.*s", (int)program, title, end > rest ? ": " : "",
		 (int)(end - rest), rest);
}
