// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program with one object of each kind, and known reads of each by a thread that did not write it.
 * Built with libcomm-exact.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { COUNTS = 1000, LARGE = 100000, PAIRS = 100, WORDS = 512, LOCAL = 64 };

struct pair {
	int key;
	double value;
};

static long counts[COUNTS], large[LARGE];
static struct pair *pairs[PAIRS];
static long *mapped, *of_file, *local, copied[WORDS];
static volatile double sink;

static __attribute__((noinline)) struct pair *make_pair(int key)
{
	struct pair *p = malloc(sizeof(*p));

	if (!p)
		abort();
	p->key = key;
	p->value = key;
	return p;
}

static __attribute__((noinline)) long add_up(const long *of, int n)
{
	long sum = 0;

	for (int i = 0; i < n; i++)
		sum += of[i];
	return sum;
}

static void *read_all(void *unused)
{
	long *words = mapped, *words_of_file = of_file, *words_of_stack = local;

	(void)unused;
	sink = add_up(counts, COUNTS) + add_up(large, LARGE) + add_up(words, WORDS) +
	       add_up(words_of_stack, LOCAL);
	for (int i = 0; i < PAIRS; i++) {
		sink += pairs[i]->key;
		sink += pairs[i]->value;
	}
	memcpy(copied, words_of_file, sizeof(copied));
	return NULL;
}

int main(void)
{
	const char *directory = getenv("TMPDIR");
	pthread_t thread;
	long on_stack[LOCAL];
	int fd;

	if (!directory || chdir(directory))
		return 1;
	fd = open("exact_named_file", O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(copied)))
		return 1;
	of_file = mmap(NULL, sizeof(copied), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	mapped = mmap(NULL, sizeof(copied), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	if (of_file == MAP_FAILED || mapped == MAP_FAILED)
		return 1;
	local = on_stack;
	for (int i = 0; i < COUNTS; i++)
		counts[i] = i;
	for (int i = 0; i < LARGE; i++)
		large[i] = i;
	for (int i = 0; i < WORDS; i++)
		mapped[i] = of_file[i] = i;
	for (int i = 0; i < LOCAL; i++)
		on_stack[i] = i;
	for (int i = 0; i < PAIRS; i++)
		pairs[i] = make_pair(i);
	if (pthread_create(&thread, NULL, read_all, NULL))
		return 1;
	pthread_join(thread, NULL);
	unlink("exact_named_file");
	return 0;
}
