// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * truth-kernels NAME: runs one kernel until told to stop and prints its matrix.
 *
 * The main thread only waits for signals.  What workers read of this file's is
 * no part of the matrix; so that an exact tracer agrees, it is never
 * instrumented.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sync.h"

enum { PAGE_BYTES = 4096, BEGIN_MS_MAX = 10000 };

/* On memory that processes share. */
struct truth_run {
	struct truth_sync sync;
	const struct truth_kernel *kernel __attribute__((aligned(TRUTH_LINE_BYTES)));
	struct truth_thread config;
	uint64_t *shared, start_ns, end_ns;
	struct truth_thread thread[TRUTH_THREADS_MAX] __attribute__((aligned(PAGE_BYTES)));
};

struct options {
	double seconds;
	const char *out, *pid_file;
	bool wait;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* Between pages that nobody can touch, lest the kernel join it with its neighbours. */
static void *map(size_t bytes, int flags)
{
	size_t inner = (bytes + PAGE_BYTES - 1) & -(size_t)PAGE_BYTES;
	char *p = mmap(NULL, inner + 2 * PAGE_BYTES, PROT_NONE, flags | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + PAGE_BYTES, inner, PROT_READ | PROT_WRITE)) {
		perror("truth-kernels: no memory");
		exit(1);
	}
	return p + PAGE_BYTES;
}

void truth_fail(const struct truth_thread *t, const char *what)
{
	fprintf(stderr, "truth-kernels: worker %u, turn %llu: %s\n", t->id,
		(unsigned long long)t->turn, what);
	_exit(1);
}

static void work(struct truth_run *run, uint32_t id)
{
	const struct truth_kernel *k = run->kernel;
	struct truth_thread *t = &run->thread[id];
	char name[16];

	/*
	 * Written by the worker itself, so that it reads nothing of main's later;
	 * word by word, for a tracer sees memcpy() here too.
	 */
	t->n = run->config.n;
	t->words = run->config.words;
	t->work = run->config.work;
	t->phase_turns = run->config.phase_turns;
	t->sync_words = &run->sync;
	t->id = id;
	t->shared = run->shared;
	t->tid = syscall(SYS_gettid);
	t->random = 0x9e3779b97f4a7c15u * (id + 1);
	t->from_turn = 1;
	if (k->own_words)
		t->own = map(k->own_words(t) * TRUTH_WORD_BYTES, MAP_PRIVATE);
	snprintf(name, sizeof(name), "%.10s-%u", k->name, id);
	prctl(PR_SET_NAME, name);
	k->run(t);
}

struct start {
	struct truth_run *run;
	uint32_t id;
};

static void *thread_main(void *arg)
{
	struct start start = *(struct start *)arg;

	work(start.run, start.id);
	return NULL;
}

/* Off the diagonal the counters must equal the formula. */
static const char *compare_with_formula(const struct truth_run *run)
{
	const struct truth_kernel *k = run->kernel;
	unsigned int n = run->config.n, src, dst;
	uint64_t period = k->period ? k->period(&run->config) : 1;

	if (!k->expect)
		return "none";
	for (dst = 0; dst < n; dst++) {
		const struct truth_thread *t = &run->thread[dst];
		uint64_t turns = t->turn + 1 - t->from_turn;

		for (src = 0; src < n; src++) {
			uint64_t bytes = 0, first = 0, i;

			if (src == dst)
				continue;
			for (i = 0; i < period; i++) {
				uint64_t b = 0, f = 0;
				/* How many of the turns fall on this place of the period. */
				uint64_t times = (turns + period - 1 - i) / period;

				k->expect(t, src, dst, t->from_turn + i, &b, &f);
				bytes += b * times;
				first += f * times;
			}
			if (bytes != t->bytes[src + 1] || first != t->first[src + 1])
				return "DIFFERENT";
		}
	}
	return "equal";
}

/* Row and column of who wrote: the workers, then main. */
static uint32_t writer_tid(const struct truth_run *run, unsigned int src)
{
	return src < run->config.n ? run->thread[src].tid : (uint32_t)getpid();
}

static void print_row(FILE *f, const struct truth_run *run, unsigned int src, unsigned int dst)
{
	const struct truth_thread *t = &run->thread[dst];
	unsigned int tag = (src < run->config.n ? src : TRUTH_MAIN) + 1;

	if (!t->bytes[tag] && !t->sync[tag])
		return;
	fprintf(f, "%u,%u,%llu,%llu,%llu,%llu\n", writer_tid(run, src), t->tid,
		(unsigned long long)(t->bytes[tag] + t->sync[tag]),
		(unsigned long long)(t->first[tag] + t->sync_first[tag]),
		(unsigned long long)t->sync[tag], (unsigned long long)t->sync_first[tag]);
}

static int print(const struct truth_run *run, const char *path)
{
	const struct truth_thread *c = &run->config;
	const char *formula = compare_with_formula(run);
	uint64_t total = 0, sync = 0, unwritten = 0;
	FILE *f = path ? fopen(path, "w") : stdout;
	unsigned int src, dst;

	if (!f) {
		fprintf(stderr, "truth-kernels: %s: %s\n", path, strerror(errno));
		return 1;
	}
	for (dst = 0; dst < c->n; dst++) {
		const struct truth_thread *t = &run->thread[dst];

		for (src = 0; src < TRUTH_WRITERS; src++) {
			total += t->bytes[src] + t->sync[src];
			sync += t->sync[src];
		}
		unwritten += t->bytes[0] + t->sync[0];
	}
	fprintf(f, "# kernel=%s threads=%u words=%llu compute=%u\n", run->kernel->name, c->n,
		(unsigned long long)c->words, c->work);
	fprintf(f, "# start_ns=%llu end_ns=%llu turns=%llu\n", (unsigned long long)run->start_ns,
		(unsigned long long)run->end_ns,
		(unsigned long long)(run->thread[0].turn + 1 - run->thread[0].from_turn));
	fprintf(f, "# total_read_bytes=%llu unwritten_bytes=%llu sync_bytes=%llu formula=%s\n",
		(unsigned long long)total, (unsigned long long)unwritten, (unsigned long long)sync,
		formula);
	fprintf(f, "# main=%d tids=", getpid());
	for (dst = 0; dst < c->n; dst++)
		fprintf(f, "%s%u", dst ? ":" : "", run->thread[dst].tid);
	/* bytes and first_bytes are all there is, sync the part of them in sync.h's words. */
	fprintf(f, "\nsrc_tid,dst_tid,bytes,first_bytes,sync_bytes,sync_first_bytes\n");
	for (dst = 0; dst < c->n; dst++)
		for (src = 0; src <= c->n; src++)
			print_row(f, run, src, dst);
	if (path ? fclose(f) : fflush(f)) {
		fprintf(stderr, "truth-kernels: %s: %s\n", path ? path : "stdout", strerror(errno));
		return 1;
	}
	return strcmp(formula, "DIFFERENT") == 0;
}

static int usage(FILE *f)
{
	const struct truth_kernel *k;

	fprintf(f, "usage: truth-kernels NAME [--threads N] [--seconds S] [--words W]\n"
		   "       [--compute K] [--phase TURNS] [--out FILE] [--pid-file FILE] [--wait]\n"
		   "       truth-kernels --list\n\n"
		   "Prints its pid at once.  --wait: begins at a line on stdin or at SIGUSR1.\n"
		   "SIGUSR1 sets all counters to zero, SIGUSR2 ends the run as --seconds does.\n"
		   "The matrix goes to FILE or stdout.\n\n");
	for (k = truth_regular; k->name; k++)
		fprintf(f, "  %-12s%s\n", k->name, k->help);
	for (k = truth_irregular; k->name; k++)
		fprintf(f, "  %-12s%s\n", k->name, k->help);
	return f == stderr ? 2 : 0;
}

static int list(void)
{
	const struct truth_kernel *k;

	for (k = truth_regular; k->name; k++)
		puts(k->name);
	for (k = truth_irregular; k->name; k++)
		puts(k->name);
	return 0;
}

static const struct truth_kernel *find(const char *name)
{
	const struct truth_kernel *k;

	for (k = truth_regular; k->name; k++)
		if (!strcmp(k->name, name))
			return k;
	for (k = truth_irregular; k->name; k++)
		if (!strcmp(k->name, name))
			return k;
	return NULL;
}

/* The next signal; 0: a line on stdin or the deadline. */
static int wait_signal(int fd, bool with_stdin, uint64_t deadline_ns)
{
	struct pollfd p[2] = {{.fd = fd, .events = POLLIN},
			      {.fd = with_stdin ? 0 : -1, .events = POLLIN}};
	struct signalfd_siginfo info;
	char line[256];

	for (;;) {
		uint64_t now = now_ns();
		int ms = -1;

		if (deadline_ns && now >= deadline_ns)
			return 0;
		if (deadline_ns)
			ms = (deadline_ns - now) / 1000000 + 1;
		if (poll(p, 2, ms) <= 0)
			continue;
		if (p[0].revents && read(fd, &info, sizeof(info)) == sizeof(info))
			return info.ssi_signo;
		if (p[1].revents & POLLIN && read(0, line, sizeof(line)) > 0)
			return 0;
		/* Nobody is at the other end: only a signal can come. */
		if (p[1].revents)
			p[1].fd = -1;
	}
}

/* On a busy machine a short run might end before it has begun. */
static void wait_for_reads(const struct truth_run *run)
{
	unsigned int ms, dst, src;

	for (ms = 0; ms < BEGIN_MS_MAX; ms++) {
		for (dst = 0; dst < run->config.n; dst++)
			for (src = 0; src <= run->config.n; src++)
				if (__atomic_load_n(&run->thread[dst].bytes[src], __ATOMIC_RELAXED))
					return;
		usleep(1000);
	}
}

static struct truth_run *prepare(const struct truth_kernel *k, const struct truth_thread *config)
{
	struct truth_run *run = map(sizeof(*run), MAP_SHARED);

	run->kernel = k;
	run->config.n = config->n;
	run->config.words = config->words;
	run->config.work = config->work;
	run->config.phase_turns = config->phase_turns;
	if (k->shared_words)
		run->shared = map(k->shared_words(config) * TRUTH_WORD_BYTES,
				  k->processes ? MAP_SHARED : MAP_PRIVATE);
	return run;
}

static void start_process(struct truth_run *run, uint32_t id)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0) {
		perror("truth-kernels: fork");
		exit(1);
	}
	if (pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	work(run, id);
	exit(0);
}

static int run_kernel(const struct truth_kernel *k, const struct truth_thread *config,
		      const struct options *options)
{
	struct truth_run *run = prepare(k, config);
	struct start start[TRUTH_THREADS_MAX];
	pthread_t thread[TRUTH_THREADS_MAX];
	int fd, signal, status, failed = 0;
	sigset_t set;
	unsigned int i;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (fd < 0) {
		perror("truth-kernels: signalfd");
		return 1;
	}
	printf("pid %d\n", getpid());
	fflush(stdout);
	if (options->pid_file) {
		FILE *f = fopen(options->pid_file, "w");

		if (!f || fprintf(f, "%d\n", getpid()) < 0 || fclose(f)) {
			perror("truth-kernels: --pid-file");
			return 1;
		}
	}
	if (options->wait) {
		signal = wait_signal(fd, true, 0);
		if (signal && signal != SIGUSR1)
			return 1;
	}
	run->start_ns = now_ns();
	for (i = 0; i < config->n; i++) {
		start[i] = (struct start){run, i};
		if (k->processes) {
			start_process(run, i);
		} else if (pthread_create(&thread[i], NULL, thread_main, &start[i])) {
			fprintf(stderr, "truth-kernels: cannot make thread %u\n", i);
			exit(1);
		}
	}
	while (wait_signal(fd, false, run->start_ns + options->seconds * 1e9) == SIGUSR1) {
		run->start_ns = now_ns();
		truth_sync_reset(&run->sync);
	}
	wait_for_reads(run);
	run->end_ns = now_ns();
	truth_sync_stop(&run->sync);
	for (i = 0; i < config->n; i++) {
		if (!k->processes)
			pthread_join(thread[i], NULL);
		else if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
			/* The others would wait for it for ever. */
			_exit(1);
	}
	failed = print(run, options->out);
	return failed;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{"threads", 1, NULL, 't'},  {"seconds", 1, NULL, 's'}, {"words", 1, NULL, 'w'},
		{"compute", 1, NULL, 'k'},  {"phase", 1, NULL, 'p'},   {"out", 1, NULL, 'o'},
		{"pid-file", 1, NULL, 'P'}, {"wait", 0, NULL, 'W'},    {"list", 0, NULL, 'l'},
		{"help", 0, NULL, 'h'},	    {NULL, 0, NULL, 0},
	};
	struct truth_thread config = {.n = 4, .words = 8192, .phase_turns = 4096};
	struct options options = {.seconds = 5};
	const struct truth_kernel *k;
	int c;

	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		switch (c) {
		case 't':
			config.n = strtoul(optarg, NULL, 0);
			break;
		case 's':
			options.seconds = strtod(optarg, NULL);
			break;
		case 'w':
			config.words = strtoull(optarg, NULL, 0);
			break;
		case 'k':
			config.work = strtoul(optarg, NULL, 0);
			break;
		case 'p':
			config.phase_turns = strtoull(optarg, NULL, 0);
			break;
		case 'o':
			options.out = optarg;
			break;
		case 'P':
			options.pid_file = optarg;
			break;
		case 'W':
			options.wait = true;
			break;
		case 'l':
			return list();
		case 'h':
			return usage(stdout);
		default:
			return usage(stderr);
		}
	}
	k = optind + 1 == argc ? find(argv[optind]) : NULL;
	if (!k || config.n < 2 || config.n > TRUTH_THREADS_MAX || options.seconds <= 0 ||
	    config.words < 256 || config.words > 1 << 24 || (config.words & (config.words - 1)) ||
	    !config.phase_turns)
		return usage(stderr);
	return run_kernel(k, &config, &options);
}
