// SPDX-License-Identifier: GPL-2.0-or-later
#include "saved.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool comm_saved_put(int to, const void *from, size_t bytes, uint64_t *offset)
{
	const char *at = from;

	while (bytes) {
		ssize_t n = pwrite(to, at, bytes, (off_t)*offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		bytes -= (size_t)n;
		*offset += (size_t)n;
	}
	return true;
}

int comm_saved_get(int from, void *to, size_t bytes, uint64_t *offset)
{
	char *at = to;

	while (bytes) {
		ssize_t n = pread(from, at, bytes, (off_t)*offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -ENODATA;
		at += n;
		bytes -= (size_t)n;
		*offset += (size_t)n;
	}
	return 0;
}

int comm_saved_array(int from, void *array, size_t n, size_t each_bytes, uint64_t *offset)
{
	void **to = array;

	*to = calloc(n + 1, each_bytes);
	return *to ? comm_saved_get(from, *to, n * each_bytes, offset) : -ENOMEM;
}

int comm_saved_texts(int from, char **texts, size_t bytes, size_t longest, uint64_t *offset)
{
	int err = comm_saved_array(from, texts, bytes, 1, offset);
	const char *at, *nul;
	size_t window;

	/* The last NUL within reach, so that a table of NULs alone takes few steps. */
	for (at = *texts; !err && at < *texts + bytes; at = nul + 1) {
		window = (size_t)(*texts + bytes - at);
		if (window > longest + 1)
			window = longest + 1;
		nul = memrchr(at, 0, window);
		if (!nul)
			return -ENODATA;
	}
	return err;
}
