// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Live check of windows by debug registers: a child's threads take turns at words, so that it is known who wrote
 * last before each read.  Runs where debug registers trap, and in the VM of tests/vm, where they do.
 *
 * Each line is one check, as tests/vm/nest.sh takes them.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "register_window.h"

enum {
	MS = 1000 * 1000,
	LAG_NS = 100 * MS,
	LONG_LAG_NS = 400 * MS, /* of the word that is read often */
	WINDOWS = 6,		/* with a read in each, of each word */
	TRIES = 100,		/* windows on it, at most */
};

enum thread { PARSER, MATCHER, JOURNAL, THREADS };
static const char *const name_of[] = {"parser", "matcher", "journal"};

/* Words, each with a page of its own: an emulator is slow in one that has a watched word. */
enum word { BOX, BLOCK, COUNTER, FILLED, SENT, OFTEN, CONSTANT, WORDS };
static const char *const word_name[] = {
	"a box",
	"a block that is recycled",
	"a counter",
	"what read() fills",
	"what write() sends",
	"a word that is read often",
	"a word that nobody writes",
};

static struct {
	_Alignas(4096) uint64_t word;
} data[WORDS];

/* What the child tells; of both processes. */
static struct {
	_Atomic uint32_t tid[THREADS];
	_Atomic unsigned int turn;
} * shared;

/* Code whose place is known: the label is at the instruction. */
#define READ_AT(label, address)                                            \
	({                                                                 \
		uint64_t value_;                                           \
		asm volatile(".globl " #label "\n" #label ": mov (%1), %0" \
			     : "=r"(value_)                                \
			     : "r"(address)                                \
			     : "memory");                                  \
		value_;                                                    \
	})
#define WRITE_AT(label, address) \
	asm volatile(".globl " #label "\n" #label ": movq $1, (%0)" : : "r"(address) : "memory")
#define COUNT_AT(label, address) \
	asm volatile(".globl " #label "\n" #label ": lock incq (%0)" : : "r"(address) : "memory")

extern const char box_fill[], box_check[], block_free[], block_malloc[], block_fill[],
	block_check[], block_match[], count_1[], count_2[], filled_check[], sent_fill[],
	sent_check[], often_fill[], often_check[], constant_check[];

/* Waits for its turn; the threads' turns go round. */
static void turn_of(unsigned int turn)
{
	while (atomic_load(&shared->turn) != turn)
		sched_yield();
}

static void next_turn(void)
{
	atomic_fetch_add(&shared->turn, 1);
}

static int pipe_to[2];

static void *parser(void *arg)
{
	(void)arg;
	shared->tid[PARSER] = (uint32_t)syscall(SYS_gettid);
	for (unsigned int round = 0;; round++) {
		turn_of(0);
		WRITE_AT(box_fill, &data[BOX].word);
		WRITE_AT(sent_fill, &data[SENT].word);
		if (write(pipe_to[1], &data[SENT].word, 8) != 8)
			_exit(1);
		COUNT_AT(count_1, &data[COUNTER].word);
		/* More reads than a window has traps. */
		if (round % 32 == 0)
			WRITE_AT(often_fill, &data[OFTEN].word);
		next_turn();
		turn_of(2);
		READ_AT(block_malloc, &data[BLOCK].word);
		WRITE_AT(block_fill, &data[BLOCK].word);
		READ_AT(block_check, &data[BLOCK].word);
		next_turn();
		turn_of(4);
		usleep(300);
		atomic_store(&shared->turn, 0);
	}
	return NULL;
}

static void *journal(void *arg)
{
	(void)arg;
	shared->tid[JOURNAL] = (uint32_t)syscall(SYS_gettid);
	for (;;) {
		turn_of(1);
		WRITE_AT(block_free, &data[BLOCK].word);
		if (read(pipe_to[0], &data[FILLED].word, 8) != 8)
			_exit(1);
		next_turn();
	}
	return NULL;
}

static void *matcher(void *arg)
{
	(void)arg;
	shared->tid[MATCHER] = (uint32_t)syscall(SYS_gettid);
	for (;;) {
		turn_of(3);
		READ_AT(box_check, &data[BOX].word);
		READ_AT(block_match, &data[BLOCK].word);
		COUNT_AT(count_2, &data[COUNTER].word);
		READ_AT(filled_check, &data[FILLED].word);
		READ_AT(sent_check, &data[SENT].word);
		READ_AT(constant_check, &data[CONSTANT].word);
		READ_AT(often_check, &data[OFTEN].word);
		next_turn();
	}
	return NULL;
}

static void program(void)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pipe(pipe_to) || pthread_create(&thread, NULL, parser, NULL) ||
	    pthread_create(&thread, NULL, journal, NULL) ||
	    pthread_create(&thread, NULL, matcher, NULL))
		_exit(1);
	for (;;)
		pause();
}

/* Another process writes its own data, at the same addresses. */
static void stranger(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		data[BOX].word++;
		usleep(5000);
	}
}

static pid_t start(void (*run)(void))
{
	pid_t pid = fork();

	if (!pid) {
		run();
		_exit(1);
	}
	return pid;
}

static ssize_t read_code(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t bytes)
{
	struct iovec here = {buf, bytes}, there = {(void *)addr, bytes};
	ssize_t n = process_vm_readv((pid_t)tgid, &here, 1, &there, 1, 0);

	(void)ctx;
	return n < 0 ? -errno : n;
}

/* All data are each process's own. */
static bool is_shared(void *ctx, uint32_t tgid, uint64_t addr)
{
	(void)ctx;
	(void)tgid;
	(void)addr;
	return false;
}

/* What may be told of a word: which code reads what which code writes.  ip 0: the kernel. */
static const struct answer {
	enum word word;
	enum thread writer, reader;
	const char *write, *read;
} truth[] = {
	{BOX, PARSER, MATCHER, box_fill, box_check},
	{BLOCK, JOURNAL, PARSER, block_free, block_malloc},
	{BLOCK, PARSER, PARSER, block_fill, block_check},
	{BLOCK, PARSER, MATCHER, block_fill, block_match},
	{COUNTER, PARSER, MATCHER, count_1, count_2},
	{COUNTER, MATCHER, PARSER, count_2, count_1},
	{FILLED, JOURNAL, MATCHER, NULL, filled_check},
	{SENT, PARSER, MATCHER, sent_fill, sent_check},
	{OFTEN, PARSER, MATCHER, often_fill, often_check},
};
enum { ANSWERS = sizeof(truth) / sizeof(truth[0]) };

static struct {
	double by[ANSWERS];
	double wrong;
	unsigned int windows, nobody, lost;
	uint32_t last;
	char what[160]; /* is wrong */
} told;

static void on_event(void *ctx, const struct comm_event *event)
{
	enum word word = *(const enum word *)ctx;

	if (event->kind == COMM_EV_LOSS) {
		told.lost += (unsigned int)event->count;
		return;
	}
	/* Where no read was seen it is the drawn one, which nobody made. */
	if (event->fed.write.flags && !event->fed.read_ns)
		return;
	if (!event->fed.write.flags) {
		told.nobody++;
		return;
	}
	told.windows += event->fed.window != told.last;
	told.last = event->fed.window;
	for (unsigned int i = 0; i < ANSWERS; i++)
		if (truth[i].word == word && event->tid == shared->tid[truth[i].writer] &&
		    event->fed.read_tid == shared->tid[truth[i].reader] &&
		    event->fed.write.ip == (uint64_t)truth[i].write &&
		    event->fed.read.ip == (uint64_t)truth[i].read &&
		    !(event->fed.write.flags & COMM_ACCESS_KERNEL) == !!truth[i].write) {
			told.by[i] += event->fed.stands_for;
			return;
		}
	told.wrong += event->fed.stands_for;
	snprintf(told.what, sizeof(told.what), "%#lx of %u > %#lx of %u, flags %#x, %#x",
		 (unsigned long)event->fed.write.ip, event->tid, (unsigned long)event->fed.read.ip,
		 event->fed.read_tid, event->fed.write.flags, event->fed.read.flags);
}

static bool check(bool ok, const char *what)
{
	printf("%s registers: %s", ok ? "ok" : "not ok", what);
	return ok;
}

/* Code that reads the word, another one each time, where there are several. */
static uint64_t reads_in_turn(enum word word, unsigned int turn)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < ANSWERS; i++)
		n += truth[i].word == word;
	for (unsigned int i = 0, nth = n ? turn % n : 0; i < ANSWERS; i++)
		if (truth[i].word == word && !nth--)
			return (uint64_t)truth[i].read;
	return (uint64_t)constant_check;
}

static const struct comm_window_means unbound = {INFINITY, INFINITY};

/* Opens windows on a word, until so many were told of. */
static void watch(struct comm_register_windows *w, enum word word, pid_t pid)
{
	struct comm_live_word live = {
		.tgid = (uint32_t)pid,
		.tid = shared->tid[MATCHER],
		.addr = (uint64_t)&data[word].word,
		.size_bytes = 8,
		.lag_ns = word == OFTEN ? LONG_LAG_NS : LAG_NS,
		.stands_for = 1,
	};

	memset(&told, 0, sizeof(told));
	for (unsigned int i = 0; i < TRIES; i++) {
		if ((word == CONSTANT ? told.nobody : told.windows) >= WINDOWS)
			break;
		live.ip = live.code_ip = reads_in_turn(word, i);
		comm_register_windows_offer(w, &live);
		comm_register_windows_turn(w, comm_clock_now_ns(), &unbound, &unbound);
		do {
			int ms = comm_register_windows_turn_ms(w);

			usleep(ms > 100 ? 1000 : (unsigned int)ms * 1000);
			comm_register_windows_collect(w, comm_clock_now_ns(), on_event, &word);
		} while (comm_register_windows_turn_ms(w) != INT32_MAX);
	}
}

static int judge(enum word word)
{
	bool ok = told.wrong == 0 && (word == CONSTANT ? told.nobody : told.windows) >= WINDOWS;

	for (unsigned int i = 0; i < ANSWERS; i++)
		ok &= truth[i].word != word || told.by[i] > 0;
	ok = check(ok, word_name[word]);
	printf(" # %u windows, %u lost, %u that nobody wrote in, wrong %.2f %s", told.windows,
	       told.lost, told.nobody, told.wrong, told.what);
	for (unsigned int i = 0; i < ANSWERS; i++)
		if (truth[i].word == word)
			printf(", %s > %s %.2f", name_of[truth[i].writer], name_of[truth[i].reader],
			       told.by[i]);
	puts("");
	return !ok;
}

int main(void)
{
	struct comm_register_windows_config config = {
		.slots = 2, .trap_ns = 12000, .is_shared = is_shared, .read_code = read_code};
	struct comm_register_windows_stats stats;
	struct comm_register_windows *w = NULL;
	struct comm_target *target = NULL;
	pid_t pid, other;
	char *why = NULL;
	int failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (comm_register_windows_probe(&why)) {
		printf("skip registers # %s\n", why);
		return 77;
	}
	free(why);
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || comm_target_create(COMM_TARGET_PIDS, false, &target))
		return 1;
	config.target = target;
	if (comm_register_windows_create(&config, &w, &why)) {
		printf("not ok registers: open # %s\n", why);
		return 1;
	}
	pid = start(program);
	other = start(stranger);
	for (int i = 0; i < THREADS; i++)
		while (!shared->tid[i])
			usleep(1000);
	for (enum word word = 0; word < WORDS; word++) {
		watch(w, word, pid);
		failed += judge(word);
	}
	comm_register_windows_stats(w, &stats);
	failed += !check(stats.unknown == 0 && stats.foreign > 0, "which way each access went");
	printf(" # %lu traps, %lu of them unknown, %lu of another process, %lu windows\n",
	       (unsigned long)stats.traps, (unsigned long)stats.unknown,
	       (unsigned long)stats.foreign, (unsigned long)stats.begun);
	comm_register_windows_destroy(w);
	comm_target_destroy(target);
	kill(pid, SIGKILL);
	kill(other, SIGKILL);
	waitpid(pid, NULL, 0);
	waitpid(other, NULL, 0);
	return failed != 0;
}
