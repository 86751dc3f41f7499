/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that is mapped twice, moved, or given back: produce() writes WORDS words, and consume() reads them where
 * the case says.  exact_mapped.sh knows what each must come to.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 1024, BYTES = WORDS * 8 };

#define ALONE __attribute__((noinline, noclone))

static int to_child[2], to_parent[2];

static ALONE void produce(volatile uint64_t *word)
{
	for (size_t i = 0; i < WORDS; i++)
		word[i] = i + 1;
}

static ALONE void consume(const volatile uint64_t *word)
{
	for (size_t i = 0; i < WORDS; i++)
		(void)word[i];
}

static void *must(void *p)
{
	if (p == MAP_FAILED || !p)
		abort();
	return p;
}

static void *map(int flags, int fd, int prot)
{
	return must(mmap(NULL, BYTES, prot, flags, fd, 0));
}

enum { RW = PROT_READ | PROT_WRITE };

static void give(const int fd[2])
{
	if (write(fd[1], "x", 1) != 1)
		abort();
}

static void wait_for(const int fd[2])
{
	char c;

	if (read(fd[0], &c, 1) != 1)
		abort();
}

static int memory_file(void)
{
	int fd = memfd_create("mapped", 0);

	if (fd < 0 || ftruncate(fd, 4 * BYTES))
		abort();
	return fd;
}

static int disk_file(void)
{
	char path[] = "exact_mapped.XXXXXX";
	int fd = mkstemp(path);

	if (fd < 0 || unlink(path) || ftruncate(fd, 4 * BYTES))
		abort();
	return fd;
}

static int posix_file(void)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "/exact_mapped.%d", getpid());
	fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || shm_unlink(name) || ftruncate(fd, 4 * BYTES))
		abort();
	return fd;
}

/* The parent writes before and after the child has mapped the file where the parent has something else. */
static void across(int fd)
{
	uint64_t *word = map(MAP_SHARED, fd, RW);
	pid_t child;

	produce(word);
	child = fork();
	if (!child) {
		uint64_t *other;

		wait_for(to_child);
		map(MAP_PRIVATE | MAP_ANONYMOUS, -1, RW);
		other = map(MAP_SHARED, fd, PROT_READ);
		munmap(word, BYTES);
		consume(other);
		_exit(0);
	}
	produce(word);
	give(to_child);
	waitpid(child, NULL, 0);
}

static void memfd_across(void)
{
	across(memory_file());
}

static void posix_across(void)
{
	across(posix_file());
}

static void file_across(void)
{
	across(disk_file());
}

static void memfd_twice(void)
{
	int fd = memory_file();
	uint64_t *word = map(MAP_SHARED, fd, RW), *again = map(MAP_SHARED, fd, RW);

	produce(word);
	consume(again);
}

/* Back from the child, through memory that it has from its parent. */
static void anonymous_across(void)
{
	uint64_t *word = map(MAP_SHARED | MAP_ANONYMOUS, -1, RW);
	pid_t child = fork();

	if (!child) {
		produce(word);
		give(to_parent);
		_exit(0);
	}
	wait_for(to_parent);
	consume(word);
	waitpid(child, NULL, 0);
}

static void two_children(void)
{
	int fd = memory_file();

	if (!fork()) {
		produce(map(MAP_SHARED, fd, RW));
		give(to_child);
		_exit(0);
	}
	if (!fork()) {
		wait_for(to_child);
		map(MAP_PRIVATE | MAP_ANONYMOUS, -1, RW);
		consume(map(MAP_SHARED, fd, RW));
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
}

static void segment_across(void)
{
	int id = shmget(IPC_PRIVATE, BYTES, IPC_CREAT | 0600);
	uint64_t *word;
	pid_t child;

	if (id < 0)
		abort();
	child = fork();
	if (!child) {
		wait_for(to_child);
		map(MAP_PRIVATE | MAP_ANONYMOUS, -1, RW);
		word = must(shmat(id, NULL, 0));
		consume(word);
		shmdt(word);
		_exit(0);
	}
	word = must(shmat(id, NULL, 0));
	produce(word);
	give(to_child);
	waitpid(child, NULL, 0);
	shmctl(id, IPC_RMID, NULL);
	/* Another mapping is new memory where this one was. */
	shmdt(word);
	word = must(mmap(word, BYTES, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	consume(word);
}

/* What a file holds stays while it is mapped nowhere. */
static void file_again(void)
{
	int fd = disk_file();
	uint64_t *word = map(MAP_SHARED, fd, RW);

	produce(word);
	munmap(word, BYTES);
	map(MAP_PRIVATE | MAP_ANONYMOUS, -1, RW);
	consume(map(MAP_SHARED, fd, RW));
}

static void private_reader(void)
{
	int fd = memory_file();
	uint64_t *word = map(MAP_SHARED, fd, RW), *view = map(MAP_PRIVATE, fd, PROT_READ);

	produce(word);
	consume(view);
}

/* A copy of its own has what was there; what is written to it nobody else reads. */
static void private_writer(void)
{
	int fd = memory_file();
	uint64_t *word = map(MAP_SHARED, fd, RW), *own;

	produce(word);
	own = map(MAP_PRIVATE, fd, RW);
	consume(own);
	memset(word, 0, BYTES);
	produce(own);
	consume(word);
}

static void private_later(void)
{
	int fd = memory_file();
	uint64_t *word = map(MAP_SHARED, fd, RW), *own = map(MAP_PRIVATE, fd, PROT_READ);

	if (mprotect(own, BYTES, RW))
		abort();
	produce(own);
	consume(word);
}

static void moved(void)
{
	uint64_t *word = map(MAP_PRIVATE | MAP_ANONYMOUS, -1, RW), *old = word;

	produce(word);
	word = must(mremap(word, BYTES, 4 * BYTES, MREMAP_MAYMOVE | MREMAP_FIXED,
			   (char *)word + (1 << 30)));
	consume(word);
	old = must(mmap(old, BYTES, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	consume(old);
}

static void moved_shared(void)
{
	int fd = memory_file();
	uint64_t *word = map(MAP_SHARED, fd, RW);

	word = must(mremap(word, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED,
			   (char *)word + (1 << 30)));
	produce(word);
	consume(map(MAP_SHARED, fd, RW));
}

static void repeated(void)
{
	uint64_t *word = map(MAP_SHARED | MAP_ANONYMOUS, -1, RW);
	uint64_t *again = mremap(word, 0, BYTES, MREMAP_MAYMOVE);

	produce(word);
	/* Valgrind refuses that. */
	consume(again == MAP_FAILED ? word : again);
}

/* The part that a mapping grows by is the file's next. */
static void grown(void)
{
	int fd = memory_file();
	uint64_t *word = map(MAP_SHARED, fd, RW);

	word = must(mremap(word, BYTES, 4 * BYTES, MREMAP_MAYMOVE));
	produce(word + 2 * WORDS);
	word = must(mmap(NULL, BYTES, RW, MAP_SHARED, fd, 2 * BYTES));
	consume(word);
}

static void given_back(int advice)
{
	uint64_t *word = map(MAP_PRIVATE | MAP_ANONYMOUS, -1, RW);

	produce(word);
	if (madvise(word, BYTES, advice))
		abort();
	consume(word);
}

static void not_needed(void)
{
	given_back(MADV_DONTNEED);
}

static void freed(void)
{
	given_back(MADV_FREE);
}

/* Of shared memory only the pages are let go, not what is in them. */
static void not_needed_here(void)
{
	uint64_t *word = map(MAP_SHARED, memory_file(), RW);

	produce(word);
	if (madvise(word, BYTES, MADV_DONTNEED))
		abort();
	consume(word);
}

static void removed(void)
{
	int fd = memory_file();
	uint64_t *word = map(MAP_SHARED, fd, RW), *again = map(MAP_SHARED, fd, RW);

	produce(word);
	if (madvise(word, BYTES, MADV_REMOVE))
		abort();
	consume(again);
}

static void mapped_anew(void)
{
	uint64_t *word = map(MAP_PRIVATE | MAP_ANONYMOUS, -1, RW);

	produce(word);
	munmap(word, BYTES);
	consume(must(mmap(word, BYTES, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)));
}

#define CASE(name)          \
	{                   \
#name, name \
	}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {
		CASE(memfd_across),
		CASE(posix_across),
		CASE(file_across),
		CASE(memfd_twice),
		CASE(anonymous_across),
		CASE(two_children),
		CASE(segment_across),
		CASE(file_again),
		CASE(private_reader),
		CASE(private_writer),
		CASE(private_later),
		CASE(moved),
		CASE(moved_shared),
		CASE(repeated),
		CASE(grown),
		CASE(not_needed),
		CASE(freed),
		CASE(not_needed_here),
		CASE(removed),
		CASE(mapped_anew),
	};

	if (pipe(to_child) || pipe(to_parent))
		abort();
	for (size_t i = 0; argc == 2 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (!strcmp(argv[1], cases[i].name)) {
			cases[i].run();
			return 0;
		}
	}
	for (size_t i = 0; argc == 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		puts(cases[i].name);
	return argc > 1;
}
