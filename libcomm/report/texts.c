// SPDX-License-Identifier: GPL-2.0-or-later
#include "texts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS_FIRST = 64 };

/* Takes over a malloc'ed text, or NULL when its allocation failed. */
static const char *own(struct comm_texts *texts, char *text)
{
	if (text && texts->n == texts->capacity) {
		size_t capacity = texts->capacity ? 2 * texts->capacity : TEXTS_FIRST;
		char **grown = reallocarray(texts->text, capacity, sizeof(*grown));

		if (!grown) {
			free(text);
			text = NULL;
		} else {
			texts->text = grown;
			texts->capacity = capacity;
		}
	}
	if (!text) {
		texts->failed = true;
		return "";
	}
	texts->text[texts->n++] = text;
	return text;
}

const char *comm_texts_keep(struct comm_texts *texts, sqlite3_stmt *stmt, int column)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	return text && *text ? own(texts, strdup(text)) : "";
}

void *comm_texts_alloc(struct comm_texts *texts, size_t bytes)
{
	char *capacity = calloc(1, bytes);

	return own(texts, capacity) == capacity ? capacity : NULL;
}

const char *comm_texts_format(struct comm_texts *texts, const char *format, ...)
{
	va_list args;
	char *text;
	int len;

	va_start(args, format);
	len = vasprintf(&text, format, args);
	va_end(args);
	return own(texts, len < 0 ? NULL : text);
}

void comm_texts_deinit(struct comm_texts *texts)
{
	for (size_t i = 0; i < texts->n; i++)
		free(texts->text[i]);
	free(texts->text);
}
