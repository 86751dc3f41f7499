// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that reads what it wrote in other slices of time, for tests/e2e/slices.sh.  That a slice has ended it sees by the
 * thread of libcomm-exact that cuts them: that has gone to sleep twice more.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 1000, TEXT_BYTES = 4096 };

static volatile uint64_t a[WORDS], b[WORDS];

#define ALONE __attribute__((noipa))

static ALONE void produce(volatile uint64_t *word)
{
	for (int i = 0; i < WORDS; i++)
		word[i] = i;
}

static ALONE void consume(volatile uint64_t *word, int n)
{
	for (int i = 0; i < n; i++)
		(void)word[i];
}

static int read_text(const char *tid, const char *file, char *ret)
{
	char path[64];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%.16s/%s", tid, file);
	f = fopen(path, "r");
	if (!f)
		return 0;
	n = fread(ret, 1, TEXT_BYTES - 1, f);
	ret[n] = 0;
	fclose(f);
	return 1;
}

/* How often it has gone to sleep; -1: there is no such thread. */
static long sleeps(void)
{
	static char text[TEXT_BYTES];
	const struct dirent *entry;
	DIR *tasks = opendir("/proc/self/task");
	long n = -1;

	while (tasks && n < 0 && (entry = readdir(tasks))) {
		const char *line;

		if (!read_text(entry->d_name, "comm", text) || strcmp(text, "comm-exact\n") != 0 ||
		    !read_text(entry->d_name, "status", text))
			continue;
		line = strstr(text, "voluntary_ctxt_switches:");
		n = line ? strtol(strchr(line, ':') + 1, NULL, 10) : -1;
	}
	if (tasks)
		closedir(tasks);
	return n;
}

static void wait_for_slice(void)
{
	long before;

	while ((before = sleeps()) < 0)
		usleep(1000);
	while (sleeps() < before + 2)
		usleep(1000);
}

int main(int argc, char **argv)
{
	(void)argv;
	/* Whether there is one in a run that is not cut. */
	if (argc > 1)
		return sleeps() < 0;
	produce(a);
	wait_for_slice();
	consume(a, 100);
	produce(b);
	wait_for_slice();
	consume(a, 200);
	consume(b, 300);
	wait_for_slice();
	consume(b, 400);
	return 0;
}
