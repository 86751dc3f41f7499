// SPDX-License-Identifier: GPL-2.0-or-later
/* Two threads that feed each other, in a process of so many mappings, the program's code before them and its stack behind them. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE_BYTES = 4096, WORDS = 512 };

static _Atomic long word[WORDS];

static void *write_mapped(void *unused)
{
	for (long n = 0;; n++)
		atomic_store(&word[n % WORDS], n);
	return unused;
}

__attribute__((noinline)) static long read_mapped(void)
{
	long sum = 0;

	for (size_t n = 0;; n++)
		sum += atomic_load(&word[n % WORDS]);
	return sum;
}

int main(int argc, char **argv)
{
	size_t pages = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	char *at = mmap(NULL, pages * PAGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t writer;

	if (at == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < pages; i += 2)
		if (mprotect(at + i * PAGE_BYTES, PAGE_BYTES, PROT_NONE))
			return 1;
	if (pthread_create(&writer, NULL, write_mapped, NULL))
		return 1;
	puts("mapped");
	fflush(stdout);
	return (int)read_mapped();
}
