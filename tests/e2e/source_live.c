// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Live checks of the sources: each target is a child whose memory layout and actions
 * are known (live_targets.h), so that a source's events can be compared with the truth.
 * What sources lose, leave out and spend is source_bounds_live.c's.
 */
#include <cpuid.h>
#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "live_session.h"

enum { NOBODY = 65534 };

static const struct comm_source *bpf, *perf;

static void test_samples(const struct comm_source *source)
{
	pid_t pid = start_child(spinner);
	struct seen seen = {.tgid = (uint32_t)pid};
	struct session s;
	double cpu_ns, slack;
	bool ok = started(&s, source, pid, 0, 500);

	check(ok, "a source starts on a process");
	if (ok) {
		uint64_t before = comm_target_cpu_ns(s.target);

		watch(&s, &seen, 2, 400);
		cpu_ns = (double)(comm_target_cpu_ns(s.target) - before);
		printf("# %lu samples stand for %.2f of %.2f s\n", (unsigned long)seen.n[1],
		       seen.period_ns / 1e9, cpu_ns / 1e9);
		check(seen.n[COMM_EV_SAMPLE] > 50, "samples come");
		check(!seen.foreign, "and only the target's");
		check(!seen.no_stack, "each with the stack at its stack pointer");
		slack = 0.1 + 2 / sqrt((double)seen.n[COMM_EV_SAMPLE] + 1);
		check(fabs(seen.period_ns / cpu_ns - 1) < slack,
		      "their periods add up to the target's CPU time");
		check(seen.n[COMM_EV_SWITCH] > 0, "switches come");
		check(seen.n[COMM_EV_RATE] > 0 && seen.n[COMM_EV_COST] > 0,
		      "rate and cost are told");
		if (source == bpf) {
			check(!seen.no_code, "each with the code at its instruction pointer");
			check(!seen.wrong_code, "which is the program's");
		}
	}
	end(&s);
	end_child(pid);
}

/* Whoever waits for the next event is woken by it, and nobody else by any. */
static void test_wake(void)
{
	enum { MOST_MS = 60000, STILL_MS = 300 };
	pid_t pid = start_child(spinner);
	struct seen seen = {0};
	struct session s;

	if (started(&s, bpf, pid, 0, 500)) {
		struct pollfd fd = {.fd = s.sampler->wake(s.handle, false), .events = POLLIN};

		check(!poll(&fd, 1, STILL_MS), "events wake nobody who does not wait");
		kill(pid, SIGSTOP);
		do {
			usleep(STILL_MS * 1000);
			s.sampler->wake(s.handle, true);
		} while (s.sampler->drain(s.handle, see, &seen) > 0);
		check(!poll(&fd, 1, STILL_MS), "nothing wakes who waits beside a stopped target");
		kill(pid, SIGCONT);
		check(poll(&fd, 1, MOST_MS) == 1, "its next event does");
		check(s.sampler->drain(s.handle, see, &seen) > 0, "and is there");
	}
	end(&s);
	end_child(pid);
}

static void test_late_child(const struct comm_source *source)
{
	pid_t pid = start_child(late_parent);
	struct seen seen = {0};
	struct session s;

	attached = have_child;
	if (started(&s, source, pid, 0, 500))
		watch(&s, &seen, 1, 20);
	attached = NULL;
	check(seen.n[COMM_EV_SAMPLE] >= 20,
	      "a child that came before anything was open is sampled");
	end(&s);
	end_child(pid);
}

/* Samples of a child that does nothing but have the kernel copy for it, from its buffer or to it. */
static struct seen watch_copies(void (*run)(void))
{
	pid_t pid = start_child(run);
	struct seen seen = {0};
	struct session s;

	if (started(&s, bpf, pid, 0, 500))
		watch(&s, &seen, 4, 0);
	end(&s);
	end_child(pid);
	return seen;
}

static void test_kernel_copies(void)
{
	struct seen seen = watch_copies(reader);

	check(seen.n[COMM_EV_KCOPY] > 5, "a read is seen as a kernel copy");
	check(seen.kcopy_right == seen.n[COMM_EV_KCOPY], "with the buffer it was given");
	check(!seen.behind_syscall, "no sample is of the kernel's time");
	seen = watch_copies(sender);
	check(seen.n[COMM_EV_KCOPY] > 5, "what is sent is seen as a read of the kernel's");
	check(seen.kcopy_right == seen.n[COMM_EV_KCOPY], "of the buffer that is sent");
}

/* Bytes that the process has passed to write(), by the kernel's own count. */
static double passed_by(pid_t pid)
{
	char path[64], line[128];
	unsigned long long bytes = 0;
	FILE *io;

	snprintf(path, sizeof(path), "/proc/%d/io", (int)pid);
	io = fopen(path, "re");
	while (io && fgets(line, sizeof(line), io))
		sscanf(line, "wchar: %llu", &bytes);
	if (io)
		fclose(io);
	return (double)bytes;
}

static bool has_erms(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & 1u << 9;
}

static void test_kernel_reads(void)
{
	struct seen seen = {0};
	struct session s;
	pid_t pid = start_child(writer);
	double before = 0, passed, share;

	if (started(&s, bpf, pid, 0, 500)) {
		before = passed_by(pid);
		watch(&s, &seen, 4, 0);
	}
	passed = passed_by(pid) - before;
	share = seen.passed_bytes / fmax(passed, 1);
	printf("# %lu samples of %.1f GB, %.2f of what was passed\n",
	       (unsigned long)seen.n[COMM_EV_KCOPY], passed / 1e9, share);
	if (!passed)
		skip("a write is seen as a read of the kernel's", "nobody counts /proc/PID/io");
	else if (!has_erms())
		skip("a write is seen as a read of the kernel's", "the processor has no ERMS");
	else
		check(seen.n[COMM_EV_KCOPY] > 5, "a write is seen as a read of the kernel's");
	check(seen.kcopy_right == seen.n[COMM_EV_KCOPY], "of the buffer it was given");
	/* From the first sample to the last one: beside a busy machine there are few. */
	if (passed && has_erms())
		check(share > 0.3 && share < 1.1, "which stands for all that was passed");
	end(&s);
	end_child(pid);
}

/* Sweeps over pages are told as one, whichever way they go. */
static void test_sweep(void (*run)(void), const char *way)
{
	struct seen seen = {0};
	struct session s;
	pid_t pid = start_child(run);

	if (started(&s, bpf, pid, 0, 100))
		watch(&s, &seen, 2, 0);
	end(&s);
	end_child(pid);
	printf("# %s: %lu pages in %lu touches, %lu elsewhere, %lu lost\n", way,
	       (unsigned long)seen.touched_pages, (unsigned long)seen.n[COMM_EV_TOUCH],
	       (unsigned long)seen.touched_elsewhere, (unsigned long)seen.loss[COMM_LOSS_TOUCH]);
	check(seen.touched_pages > TOUCHED_BYTES / 4096 / 2, "first writes of pages come");
	check(seen.n[COMM_EV_TOUCH] < seen.touched_pages / 16, "a sweep over pages is told as one");
	check(seen.filled_pages > seen.touched_pages / 2, "and as filling them");
}

/* Pages that two functions fill by turns, so many each time: none is told to be the other one's. */
static struct seen fill_by_turns(long pages)
{
	struct seen seen = {0};
	struct session s;
	pid_t pid;

	turn_pages = pages;
	pid = start_child(two_fillers);
	if (started(&s, bpf, pid, 0, 100))
		watch(&s, &seen, 2, 0);
	end(&s);
	end_child(pid);
	turn_pages = 0;
	printf("# turns of %ld: %lu pages in %lu touches, %lu filled, %lu of them named wrongly\n",
	       pages, (unsigned long)seen.touched_pages, (unsigned long)seen.n[COMM_EV_TOUCH],
	       (unsigned long)seen.filled_pages, (unsigned long)seen.named_wrongly);
	return seen;
}

static void test_fillers(void)
{
	struct seen seen = fill_by_turns(16);

	check(seen.filled_pages > 1000 && !seen.named_wrongly,
	      "who fills the page behind is not who filled those before");
	check(!seen.loss[COMM_LOSS_TOUCH], "and no page is lost for it");
	seen = fill_by_turns(2);
	check(seen.touched_pages > TOUCHED_BYTES / 4096 / 2 && !seen.filled_pages,
	      "pages of which each has code of its own are not told as filled");
	check(seen.n[COMM_EV_TOUCH] < seen.touched_pages / 16, "nor one by one");
}

/* The first writer of each page is told; what would be too many is counted. */
static void test_touches(void)
{
	struct seen many = {0};
	struct session s;
	pid_t pid;

	touched = mmap(NULL, TOUCHED_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	madvise((void *)touched, TOUCHED_BYTES, MADV_NOHUGEPAGE);
	test_sweep(sweeper, "upwards");
	test_sweep(down_sweeper, "downwards");
	test_fillers();
	pid = start_child(scatterer);
	if (started(&s, bpf, pid, 0, 100))
		watch(&s, &many, 4, 0);
	end(&s);
	end_child(pid);
	check(many.n[COMM_EV_TOUCH] > 0 && many.loss[COMM_LOSS_TOUCH] > 0,
	      "so many at once that some are not told are counted");
	check(!many.filled_pages, "single pages are not told as filled");
	munmap((void *)touched, TOUCHED_BYTES);
}

/* Of threads that end before a sample meets them, and are not told of, the names are kept. */
static void test_ended_names(void)
{
	static const struct comm_sampler_rate untold = {.period = 1000000000};
	char name[16] = "";
	struct seen seen = {0};
	struct session s;
	struct brief last;
	bool ok = false, other, before;
	pid_t pid;

	brief = mmap(NULL, sizeof(*brief), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	pid = start_child(brief_threads);
	if (started(&s, bpf, pid, 0, 1)) {
		s.sampler->set_rate(s.handle, &untold);
		s.sampler->drain(s.handle, see, &seen);
		/* Who was joined has not ended yet for the kernel. */
		for (int i = 0; i < 600 && !ok; i++) {
			kill(pid, SIGCONT);
			usleep(100000);
			kill(pid, SIGSTOP);
			last = *brief;
			ok = s.sampler->ended_name(s.handle, (uint32_t)pid, last.tid, last.time_ns,
						   name);
		}
		other = s.sampler->ended_name(s.handle, (uint32_t)getpid(), last.tid, last.time_ns,
					      name);
		before = s.sampler->ended_name(s.handle, (uint32_t)pid, last.tid,
					       comm_clock_now_ns(), name);
		check(ok && !strcmp(name, "brief"),
		      "a thread that no event was of has its name after its end");
		check(!other && !before, "which is no later thread's, nor another process's");
	}
	end(&s);
	end_child(pid);
	munmap(brief, sizeof(*brief));
}

static void test_life(const struct comm_source *source)
{
	pid_t pid = start_child(lively);
	struct seen seen = {0};
	struct session s;

	if (started(&s, source, pid, 0, 500))
		watch(&s, &seen, 3, 30);
	printf("# %s: fork %lu exec %lu exit %lu rename %lu mmap %lu samples %lu\n", source->name,
	       (unsigned long)seen.n[COMM_EV_FORK], (unsigned long)seen.n[COMM_EV_EXEC],
	       (unsigned long)seen.n[COMM_EV_EXIT], (unsigned long)seen.n[COMM_EV_RENAME],
	       (unsigned long)seen.n[COMM_EV_MMAP], (unsigned long)seen.n[COMM_EV_SAMPLE]);
	check(seen.n[COMM_EV_FORK] > 1 && seen.n[COMM_EV_EXEC] > 1 && seen.n[COMM_EV_EXIT] > 1 &&
		      seen.n[COMM_EV_RENAME] > 1,
	      "fork, exec, exit and renaming come, the children's too");
	check(seen.n[COMM_EV_SAMPLE] > 20, "children are sampled");
	end(&s);
	end_child(pid);
}

static bool no_hooks; /* the kernel attaches no program to a function */

/* These stand before libbpf's functions of the same names. */
int bpf_raw_tracepoint_open(const char *name, int prog_fd)
{
	int (*next)(const char *, int) = dlsym(RTLD_NEXT, "bpf_raw_tracepoint_open");

	if (no_hooks && !name) {
		errno = EBUSY;
		return -EBUSY;
	}
	return next(name, prog_fd);
}

struct bpf_link *bpf_program__attach(const struct bpf_program *prog)
{
	struct bpf_link *(*next)(const struct bpf_program *) = dlsym(RTLD_NEXT, __func__);

	if (no_hooks && !strcmp(bpf_program__name(prog), "mapped")) {
		errno = EBUSY;
		return NULL;
	}
	return next(prog);
}

/* A kernel that lets no program hook into a function, from the start or later. */
static void test_no_hooks(void)
{
	pid_t pid = start_child(spinner);
	struct comm_sampler_info info = {0};
	struct comm_target *target;
	struct seen seen = {0};
	struct session s;
	char *err = NULL;
	void *handle;

	struct comm_sampler_config config = comm_sampler_defaults;

	comm_target_create(COMM_TARGET_PIDS, true, &target);
	comm_target_add_pid(target, (uint32_t)pid, &err);
	config.target = target;
	no_hooks = true;
	check(!bpf->sampler->open(&config, &handle, &err), "a source opens without hooks");
	no_hooks = false;
	bpf->sampler->info(handle, &info);
	printf("# %s\n", info.notes);
	check(!info.sees_maps && strstr(info.notes, "mappings"), "and says what is missing");
	bpf->sampler->close(handle);
	comm_target_destroy(target);

	if (started(&s, bpf, pid, 0, 500)) {
		s.sampler->info(s.handle, &info);
		s.sampler->stop(s.handle);
		no_hooks = true;
		check(!s.sampler->start(s.handle, &err), "a source starts without hooks");
		no_hooks = false;
		watch(&s, &seen, 1, 20);
		check(seen.n[COMM_EV_SAMPLE] > 10, "and samples");
		if (info.sees_maps)
			check(seen.loss[COMM_LOSS_LIFE] == 1, "and counts what it misses");
		else
			skip("and counts what it misses", "this kernel has no such hooks");
	}
	end(&s);
	end_child(pid);
	free(err);
}

/* Whether ticks can be samples is a matter of the kernel, not of how busy the machine is. */
static void test_ticks_found(void)
{
	enum { OPENS = 8, SPINNERS = 4 };
	struct comm_sampler_config config = comm_sampler_defaults;
	struct comm_sampler_info info;
	pid_t pid[SPINNERS];
	char *err = NULL;
	void *handle;
	int found = 0, opened = 0;

	/* Two threads each. */
	for (int i = 0; i < SPINNERS; i++)
		pid[i] = start_child(spinner);
	comm_target_create(COMM_TARGET_PIDS, true, &config.target);
	comm_target_add_pid(config.target, (uint32_t)pid[0], &err);
	for (; opened < OPENS && !bpf->sampler->open(&config, &handle, &err); opened++) {
		bpf->sampler->info(handle, &info);
		found += info.ticks;
		bpf->sampler->close(handle);
	}
	printf("# ticks found %d times of %d\n", found, opened);
	check(opened == OPENS && (!found || found == opened),
	      "a busy machine does not hide the ticks");
	comm_target_destroy(config.target);
	for (int i = 0; i < SPINNERS; i++)
		end_child(pid[i]);
	free(err);
}

static uint64_t cpu_ns(pid_t pid)
{
	struct timespec t = {0};
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* A child that does nothing but string instructions, for so much of its time.  Others' count, too. */
static void test_strings(void)
{
	static const uint64_t FOR_NS = 400000000;
	pid_t pid = start_child(string_filler);
	uint64_t before_ns, from_ns, ns, later_ns;
	struct session s;

	if (!started(&s, bpf, pid, 0, 100)) {
		check(false, "a program of string instructions is sampled");
		end_child(pid);
		return;
	}
	before_ns = bpf->sampler->strings_ns(s.handle, true);
	if (before_ns == UINT64_MAX) {
		skip("string instructions are seen", "this kernel's ticks cannot be hooked");
		end(&s);
		end_child(pid);
		return;
	}
	for (from_ns = cpu_ns(pid); cpu_ns(pid) - from_ns < FOR_NS;)
		usleep(10000);
	bpf->sampler->strings_ns(s.handle, false);
	usleep(10000); /* a tick that is under way counts */
	ns = bpf->sampler->strings_ns(s.handle, false);
	for (from_ns = cpu_ns(pid); cpu_ns(pid) - from_ns < FOR_NS / 4;)
		usleep(10000);
	later_ns = bpf->sampler->strings_ns(s.handle, false);
	printf("# %.0f ms of string instructions in %.0f ms\n", (double)(ns - before_ns) / 1e6,
	       (double)FOR_NS / 1e6);
	check(ns - before_ns > FOR_NS / 2, "string instructions are seen");
	check(later_ns == ns, "while they are watched for, and not later");
	end(&s);
	end_child(pid);
}

static void refused(pid_t pid, int expected, const char *word, const char *name)
{
	struct comm_target *target;
	char *err = NULL;
	int rc;

	comm_target_create(COMM_TARGET_PIDS, true, &target);
	rc = comm_target_add_pid(target, (uint32_t)pid, &err);
	printf("# %s\n", err ? err : "(nothing)");
	check(rc == expected && err && strstr(err, word), name);
	free(err);
	comm_target_destroy(target);
}

static void *outlive(void *unused)
{
	pause();
	return unused;
}

/* The first thread of a process, of which others go on. */
static bool has_left(pid_t pid)
{
	char path[64], text[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return true;
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	fclose(f);
	return strstr(text, ") Z") != NULL;
}

static void test_bad_targets(void)
{
	pid_t zombie = fork(), headless;
	struct comm_target *target;
	char *err = NULL, byte;
	siginfo_t ended;
	pthread_t thread;
	int go[2];

	if (!zombie)
		_exit(0);
	if (pipe(go))
		exit(1);
	headless = fork();
	if (!headless) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pthread_create(&thread, NULL, outlive, NULL);
		close(go[1]);
		if (!read(go[0], &byte, 1))
			pthread_exit(NULL);
		_exit(1);
	}
	comm_target_create(COMM_TARGET_PIDS, true, &target);
	check(!comm_target_add_pid(target, (uint32_t)headless, &err), "a target is taken");
	close(go[0]);
	close(go[1]);
	waitid(P_PID, (id_t)zombie, &ended, WEXITED | WNOWAIT);
	while (!has_left(headless))
		usleep(1000);
	refused(zombie, -ESRCH, "zombie", "a zombie is refused");
	waitpid(zombie, NULL, 0);
	refused(headless, -EOPNOTSUPP, "first thread", "threads without their first are refused");
	check(comm_target_alive(target), "a target lives as long as one of its threads");
	end_child(headless);
	check(!comm_target_alive(target), "and no longer");
	comm_target_destroy(target);
	refused(zombie, -ESRCH, "no process", "a process that is not there is refused");
	refused(getpid(), -EINVAL, "itself", "the profiler itself is refused");
	if (access("/proc/2/stat", R_OK) || getpid() == 2)
		skip("a kernel thread is refused", "none is visible here");
	else
		refused(2, -EINVAL, "kernel thread", "a kernel thread is refused");
}

static void become_nobody(void)
{
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY))
		_exit(2);
	/* Without this, /proc/self would still belong to root. */
	prctl(PR_SET_DUMPABLE, 1);
}

static void as_nobody(void)
{
	struct rlimit few = {40, 40};
	struct seen seen = {0};
	struct session s;
	char *why = NULL;
	pid_t pid;
	int rc;

	become_nobody();
	rc = bpf->probe(&why);
	printf("# %s\n", why ? why : "(nothing)");
	check(rc && why && strstr(why, "CAP_BPF"), "nobody is told which capabilities BPF needs");
	free(why);
	why = NULL;
	if (perf->probe(&why)) {
		printf("# %s\n", why ? why : "(nothing)");
		check(why && strstr(why, "paranoid"), "nobody is told which setting is in the way");
		free(why);
		return;
	}
	pid = start_child(spinner);
	if (started(&s, perf, pid, 0, 200))
		watch(&s, &seen, 2, 20);
	check(seen.n[COMM_EV_SAMPLE] > 10, "nobody may sample a process of his own");
	end(&s);
	end_child(pid);

	rc = begin(&s, perf, 1, 0, 200, &why);
	printf("# %s\n", why ? why : "(nothing)");
	check(rc && why && strstr(why, "another user"), "and is told so for another's");
	free(why);
	why = NULL;
	end(&s);

	pid = start_child(crowd);
	setrlimit(RLIMIT_NOFILE, &few);
	rc = begin(&s, perf, pid, 0, 200, &why);
	printf("# %s\n", why ? why : "(nothing)");
	check(rc == -EMFILE && why && strstr(why, "ulimit -n"),
	      "too few descriptors are explained");
	free(why);
	end(&s);
	end_child(pid);
}

static void test_nobody(void)
{
	int status, counts[2] = {0}, ends[2];
	pid_t pid;

	if (pipe(ends))
		return;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		as_nobody();
		fflush(stdout);
		counts[0] = n_tests;
		counts[1] = n_failed;
		_exit(write(ends[1], counts, sizeof(counts)) != sizeof(counts));
	}
	close(ends[1]);
	if (read(ends[0], counts, sizeof(counts)) == sizeof(counts)) {
		n_tests = counts[0];
		n_failed = counts[1];
	}
	close(ends[0]);
	waitpid(pid, &status, 0);
	check(WIFEXITED(status) && !WEXITSTATUS(status), "the unprivileged checks ran");
}

int main(void)
{
	char *why = NULL;

	bpf = comm_source_find("bpf");
	perf = comm_source_find("perf");
	test_bad_targets();
	test_nobody();
	test_samples(perf);
	test_late_child(perf);
	test_life(perf);
	if (bpf->probe(&why)) {
		skip("everything with BPF", why ? why : "not permitted");
		free(why);
		return n_failed ? 1 : 0;
	}
	test_samples(bpf);
	test_wake();
	test_late_child(bpf);
	test_kernel_copies();
	test_kernel_reads();
	test_touches();
	test_ended_names();
	test_life(bpf);
	test_no_hooks();
	test_ticks_found();
	test_strings();
	return n_failed ? 1 : 0;
}
