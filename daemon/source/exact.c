// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The source that counts every access: runs a command that is linked with
 * libcomm-exact and counts by itself, or else any command under Valgrind with our
 * tool.  Then imports the result file into the store, a slice for each phase.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "demangle.h"
#include "exact_names.h"
#include "privilege.h"
#include "program.h"
#include "results.h"
#include "session.h"
#include "source.h"
#include "stop.h"
#include "valgrind.h"
#include <comm/comm.h>

enum {
	ROWS_MAX = 1 << 22, /* edges of a slice: folding some would not be exact */
	LOOK_MS = 250,
	NATIVE_GRANULARITY_MAX = 64,
	NAME_BYTES = 512,
	NOTES_BYTES = 512,
};

struct exact {
	const struct comm_options *options;
	struct comm_session session;
	struct comm_exact *result;
	struct comm_function *functions; /* those of the result, with demangled names */
	struct comm_exact_names *names;	 /* of a result that has addresses; else NULL */
	uint64_t *middle_ns;		 /* of each phase, as it is stored */
	char program[PATH_MAX];
	bool native; /* the command counts by itself, without Valgrind */
	char directory[PATH_MAX], out[PATH_MAX];
	char notes[NOTES_BYTES];
	int signals;
	sigset_t old_signals;
	pid_t child; /* 0: not started, or ended */
	int exit_status;
};

static const char native_note[] =
	"counted by the program itself: only its code that was built with "
	"-fsanitize=thread, but no masked, gathered or streamed vectors and no inline assembly; "
	"of libc what copies, compares or searches memory and strings, maps, reads and writes; "
	"of other programs that it starts nothing";
static const char valgrind_note[] =
	"ages count each instruction as a nanosecond, whichever thread's, and a wait of all "
	"threads "
	"as it was: %.1f s, of which the run took %.3g times as long; one thread ran at a time, "
	"under Valgrind; of other programs that it starts nothing is counted%s";
static const char slice_note[] =
	"; slices and rates are by its first process's instructions, a nanosecond each";

/* The edges of one phase. */
struct phase {
	struct comm_edge *edges;
	size_t n, capacity;
	bool failed;
};

static int fail(const char *what, int err, char *why)
{
	if (why)
		fprintf(stderr, "commd: %s\n", why);
	else
		fprintf(stderr, "commd: %s: %s\n", what, strerror(-err));
	free(why);
	return err;
}

static int make_directory(struct exact *exact)
{
	const char *tmp = getenv("TMPDIR");
	int n = snprintf(exact->directory, sizeof(exact->directory), "%s/commd-XXXXXX",
			 tmp && *tmp == '/' ? tmp : "/tmp");

	if (n >= (int)sizeof(exact->directory) || !mkdtemp(exact->directory)) {
		n = fail("cannot make a temporary directory", -errno, NULL);
		*exact->directory = '\0';
		return n;
	}
	n = snprintf(exact->out, sizeof(exact->out), "%s/result", exact->directory);
	return n < (int)sizeof(exact->out) ? 0 : fail("TMPDIR", -ENAMETOOLONG, NULL);
}

/* After a failed exec(), a program continues with a second result file. */
static bool has_second_file(const struct exact *exact, char *ret, size_t size)
{
	return snprintf(ret, size, "%s.2", exact->out) < (int)size && !access(ret, F_OK);
}

static void remove_directory(const struct exact *exact)
{
	char path[PATH_MAX];

	if (!*exact->directory)
		return;
	unlink(exact->out);
	for (unsigned int i = 2;
	     snprintf(path, sizeof(path), "%s.%u", exact->out, i) < PATH_MAX && !unlink(path); i++)
		;
	rmdir(exact->directory);
}

static int catch_signals(struct exact *exact)
{
	static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(caught) / sizeof(*caught); i++)
		sigaddset(&set, caught[i]);
	sigprocmask(SIG_BLOCK, &set, &exact->old_signals);
	exact->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return exact->signals < 0 ? fail("cannot catch signals", -errno, NULL) : 0;
}

/* Passes signals on to the command; true: one of them asks for the run's end. */
static bool pass_signals(struct exact *exact)
{
	struct signalfd_siginfo info;
	bool told = false;

	while (read(exact->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		told = true;
		/* A signal from the terminal (SI_KERNEL) has reached the command already. */
		if (info.ssi_code != SI_KERNEL)
			kill(exact->child, (int)info.ssi_signo);
	}
	return told;
}

/* There is no command any more to pass signals on to: from here on they end commd. */
static int let_signals_end(struct exact *exact)
{
	int err = comm_stop_catch();

	if (err)
		return fail("cannot catch signals", err, NULL);
	sigprocmask(SIG_SETMASK, &exact->old_signals, NULL);
	return 0;
}

static bool has_ended(struct exact *exact)
{
	if (waitpid(exact->child, &exact->exit_status, WNOHANG) != exact->child)
		return false;
	exact->child = 0;
	return true;
}

/* Waits for the command; a command asked to end may take its time, and its result is still read. */
static const char *run_until_over(struct exact *exact)
{
	uint64_t start_ns = comm_clock_now_ns();
	uint64_t duration_ns = exact->options->duration_ns;
	struct pollfd fd = {.fd = exact->signals, .events = POLLIN};
	const char *how = "target exited";
	bool is_over = false;

	while (!has_ended(exact)) {
		uint64_t passed_ns = comm_clock_now_ns() - start_ns;

		if (duration_ns && passed_ns >= duration_ns && !is_over) {
			kill(exact->child, SIGTERM);
			is_over = true;
			how = "duration";
		}
		if (exact->session.progress)
			fprintf(stderr, "\r\033[K%5.0f s %s", (double)passed_ns / 1e9,
				exact->native ? "with libcomm-exact" : "under Valgrind");
		if (poll(&fd, 1, LOOK_MS) <= 0 || !pass_signals(exact))
			continue;
		/* It was told already: who says so twice does not want to wait. */
		if (is_over)
			kill(exact->child, SIGKILL);
		else
			how = "interrupted";
		is_over = true;
	}
	if (exact->session.progress)
		fputs("\r\033[K", stderr);
	return how;
}

/* Thread ids in a result file count from 0, those of edges from 1. */
static const struct comm_thread *thread_at(const void *ctx, uint32_t id)
{
	static const struct comm_thread other = {.name = "(other)"};

	const struct exact *exact = ctx;

	return id == COMM_ID_OTHER ? &other : comm_exact_thread_at(exact->result, id - 1);
}

static const struct comm_function *function_at(const void *ctx, uint32_t id)
{
	const struct exact *exact = ctx;

	return exact->names ? comm_exact_names_function(exact->names, id) : &exact->functions[id];
}

static const struct comm_site *site_at(const void *ctx, uint32_t id)
{
	const struct exact *exact = ctx;

	return exact->names ? comm_exact_names_site(exact->names, id)
			    : comm_exact_site_at(exact->result, id);
}

static const struct comm_object *object_at(const void *ctx, uint32_t id)
{
	const struct exact *exact = ctx;

	return exact->names ? comm_exact_names_object(exact->names, id)
			    : comm_exact_object_at(exact->result, id);
}

static const struct comm_call *call_at(const void *ctx, uint32_t id)
{
	const struct exact *exact = ctx;

	return exact->names ? comm_exact_names_path(exact->names, id)
			    : comm_exact_path_at(exact->result, id);
}

static const struct comm_code_region *region_at(const void *ctx, uint32_t id)
{
	return comm_exact_code_region_at(((const struct exact *)ctx)->result, id);
}

/* Demangles names: libcomm-exact writes them as the linker knows them. */
static int read_names(struct exact *exact)
{
	uint32_t n = comm_exact_run(exact->result)->n_functions;
	char name[NAME_BYTES];

	exact->functions = calloc(n + 1, sizeof(*exact->functions));
	if (!exact->functions)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		exact->functions[i] = *comm_exact_function_at(exact->result, i);
		exact->functions[i].name =
			strdup(comm_demangle(exact->functions[i].name, name, sizeof(name)));
		if (!exact->functions[i].name)
			return -ENOMEM;
	}
	return 0;
}

/* Those of a result that says where its code is, from the files that it is in. */
static int find_names(struct exact *exact)
{
	size_t bytes;

	if (!comm_exact_maps(exact->result, &bytes))
		return 0;
	return comm_exact_names_create(exact->result, &exact->names);
}

static void free_names(struct exact *exact)
{
	uint32_t n = exact->functions ? comm_exact_run(exact->result)->n_functions : 0;

	for (uint32_t i = 0; i < n; i++)
		free((char *)exact->functions[i].name);
	free(exact->functions);
}

static void take_edge(void *ctx, const struct comm_edge *edge)
{
	struct phase *phase = ctx;

	if (phase->n == phase->capacity) {
		size_t capacity = phase->capacity ? 2 * phase->capacity : 1024;
		struct comm_edge *grown = reallocarray(phase->edges, capacity, sizeof(*grown));

		if (!grown) {
			phase->failed = true;
			return;
		}
		phase->edges = grown;
		phase->capacity = capacity;
	}
	phase->edges[phase->n++] = *edge;
}

/* Sum of the bytes of the edges of all phases. */
static double counted_bytes(const struct exact *exact)
{
	const struct comm_exact_run *run = comm_exact_run(exact->result);
	double bytes = 0;

	for (uint32_t i = 0; i < run->n_phases; i++) {
		const struct comm_exact_phase *phase = comm_exact_phase_at(exact->result, i);

		for (size_t j = 0; j < phase->n_edges; j++)
			bytes += (double)phase->edge[j].bytes;
	}
	return bytes;
}

/* Of the frames: as samples have them, of the main thread. */
static struct comm_count count_frames(const struct exact *exact)
{
	const struct comm_exact_run *run = comm_exact_run(exact->result);
	struct comm_count frames = {.thread = COMM_ID_OTHER,
				    .counter = COMM_EXACT_COUNTED_FRAMES,
				    .value = (double)run->n_frames};

	for (uint32_t i = 0; i < run->n_threads; i++)
		if (comm_exact_thread_at(exact->result, i)->tid == run->pid)
			frames.thread = i + 1;
	return frames;
}

struct span {
	uint64_t start_ns, end_ns;
};

/* Under Valgrind slices that were to have a length have one of so many instructions, a nanosecond each, whenever these were executed. */
static struct span span_of(const struct exact *exact, uint32_t index)
{
	const struct comm_exact_phase *phase = comm_exact_phase_at(exact->result, index);
	uint64_t origin = comm_exact_phase_at(exact->result, 0)->start_instruction;
	uint64_t run_ns = comm_exact_run(exact->result)->start_ns;
	struct span when = {phase->start_ns, phase->end_ns};

	if (exact->options->slice_given && !exact->native)
		when = (struct span){run_ns + phase->start_instruction - origin,
				     run_ns + phase->end_instruction - origin};
	if (when.end_ns <= when.start_ns)
		when.end_ns = when.start_ns + 1;
	return when;
}

static int store_phase(struct exact *exact, uint32_t index)
{
	static const char *const counters[COMM_EXACT_COUNTERS] = {
		[COMM_EXACT_COUNTED_INSTRUCTIONS] = COMM_COUNTER_INSTRUCTIONS,
		[COMM_EXACT_COUNTED_FRAMES] = COMM_COUNTER_FRAMES,
		[COMM_EXACT_COUNTED_ACCESSES] = COMM_COUNTER_ACCESSES,
	};
	const struct comm_exact_run *run = comm_exact_run(exact->result);
	const struct span when = span_of(exact, index);
	struct comm_naming naming = {
		.ctx = exact,
		.n_threads = run->n_threads + 1,
		.n_functions = run->n_functions,
		.n_sites = run->n_sites,
		.n_objects = run->n_objects,
		.n_regions = run->n_regions,
		.thread_at = thread_at,
		.function_at = function_at,
		.site_at = site_at,
		.object_at = object_at,
		.region_at = region_at,
		.n_calls = run->n_paths,
		.call_at = call_at,
	};
	struct comm_slice_info info = {
		.start_ns = when.start_ns,
		.end_ns = when.end_ns,
		/* Accesses and frames are counted for the run as a whole: the last slice has them. */
		.accesses = index + 1 == run->n_phases ? run->accesses : 0,
		.counter = counters,
		.n_counters = COMM_EXACT_COUNTERS,
	};
	const struct comm_census *census;
	const struct comm_dates *dates;
	struct comm_placement *places = NULL;
	struct comm_count *count = NULL;
	struct phase phase = {0};
	int err;

	if (exact->names) {
		naming.n_functions = comm_exact_names_functions(exact->names);
		naming.n_sites = comm_exact_names_sites(exact->names);
		naming.n_objects = comm_exact_names_objects(exact->names);
		info.loss[COMM_LOSS_FILES] =
			index + 1 == run->n_phases ? comm_exact_names_unread(exact->names) : 0;
	}
	err = comm_exact_slice(exact->result, index, take_edge, &phase, &info.unwritten);
	if (!err && phase.failed)
		err = -ENOMEM;
	if (!err)
		err = comm_exact_slice_writes(exact->result, index, &info.written);
	/* Accesses of the functions that were asked for, and writes of all others, are no length. */
	if (!err && !(exact->native && exact->options->function))
		err = comm_exact_slice_lengths(exact->result, index, &info.lengths);
	if (!err)
		err = comm_exact_slice_instructions(exact->result, index, &count, &info.n_counts);
	if (!err && index + 1 == run->n_phases && run->n_frames)
		count[info.n_counts++] = count_frames(exact);
	info.count = count;
	if (!err)
		err = comm_exact_slice_places(exact->result, index, &places, &info.n_placements);
	info.placement = places;
	if (!err)
		err = comm_exact_slice_dates(exact->result, index, exact->middle_ns, &dates);
	if (!err) {
		info.date = dates->date;
		if (run->n_phases > 1 || exact->options->slice_given)
			info.n_dates = dates->n;
		err = comm_exact_slice_census(exact->result, index, &census);
	}
	if (!err) {
		info.census = census->cell;
		info.n_census = census->n;
	}
	if (!err)
		err = comm_store_write_slice(exact->session.store, &info, phase.edges, phase.n,
					     &naming);
	free(count);
	free(places);
	free(phase.edges);
	return err;
}

static void note_function(struct exact *exact)
{
	size_t n = strlen(exact->notes);

	if (exact->options->function)
		snprintf(exact->notes + n, sizeof(exact->notes) - n,
			 "; " COMM_NOTE_ONLY "%.64s' reads is counted", exact->options->function);
}

static void write_notes(struct exact *exact)
{
	const struct comm_exact_run *run = comm_exact_run(exact->result);
	double clock_s = (double)run->clock_ns / 1e9, wall_s = (double)run->wall_ns / 1e9;

	if (exact->native)
		snprintf(exact->notes, sizeof(exact->notes), "%s", native_note);
	else
		snprintf(exact->notes, sizeof(exact->notes), valgrind_note, clock_s,
			 clock_s > 0 ? wall_s / clock_s : 0,
			 exact->options->slice_given ? slice_note : "");
	note_function(exact);
}

/* By which edges are dated; of a run that is one slice nothing would be told. */
static int find_middles(struct exact *exact)
{
	const struct comm_exact_run *run = comm_exact_run(exact->result);

	exact->middle_ns = calloc(run->n_phases + 1, sizeof(*exact->middle_ns));
	if (!exact->middle_ns)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->n_phases; i++) {
		const struct span span = span_of(exact, i);

		exact->middle_ns[i] = span.start_ns + (span.end_ns - span.start_ns) / 2;
	}
	return 0;
}

static int store_run(struct exact *exact, const char *how, uint64_t *ret_end_ns)
{
	const struct comm_exact_run *run = comm_exact_run(exact->result);
	struct comm_session *session = &exact->session;
	uint64_t end_ns = exact->options->slice_given && !exact->native
				  ? run->start_ns
				  : run->start_ns + run->wall_ns;
	struct utsname host;
	int err;

	uname(&host);
	write_notes(exact);
	err = read_names(exact);
	if (!err)
		err = find_names(exact);
	if (!err)
		err = find_middles(exact);
	if (err)
		return err;
	err = comm_store_begin_run(
		session->store,
		&(struct comm_run_info){
			.source = "exact",
			.event = exact->native ? "every instrumented access" : "every access",
			.estimator = "exact",
			.error_model = &(struct comm_error_model){0},
			.command = run->command,
			.label = session->options->label,
			.host = host.nodename,
			.start_ns = run->start_ns,
			.start_unix_ns = run->start_unix_ns,
			.granularity_bytes = run->granularity_bytes,
			.notes = exact->notes,
		},
		&session->run);
	for (uint32_t i = 0; i < run->n_phases && !err; i++) {
		err = store_phase(exact, i);
		if (span_of(exact, i).end_ns > end_ns)
			end_ns = span_of(exact, i).end_ns;
	}
	if (!err)
		err = comm_store_end_run(session->store, end_ns, how);
	*ret_end_ns = end_ns;
	return err;
}

static int read_result(struct exact *exact)
{
	char *why = NULL;
	int err;

	if (access(exact->out, F_OK)) {
		fprintf(stderr, "commd: %s left no result: %s\n", exact->options->command[0],
			exact->native ? "it was killed, or became another program by exec()"
				      : "Valgrind could not run it, or was killed");
		return -ENOENT;
	}
	err = comm_exact_open(exact->out, &exact->result, &why);
	return err ? fail("cannot read the result", err, why) : 0;
}

/* Of the calls that were to be told apart. */
static void say_calls(const struct exact *exact)
{
	const struct comm_exact_run *run = comm_exact_run(exact->result);
	const char *wanted = exact->options->calls;

	if (!wanted)
		return;
	if (!run->n_calls)
		fprintf(stderr,
			"commd: no call of '%s' was seen: such functions were inlined, %s, or "
			"there are none\n",
			wanted,
			exact->native ? "were not built with -fsanitize=thread" : "have no symbol");
	else if (run->n_later_calls)
		fprintf(stderr,
			"commd: the first %" PRIu64 " calls of '%s' are told apart, and %" PRIu64
			" later ones not\n",
			run->n_calls, wanted, run->n_later_calls);
}

static void say_slices(const struct exact *exact)
{
	const struct comm_exact_run *run = comm_exact_run(exact->result);

	if (run->uncut_ns > run->start_ns)
		fprintf(stderr,
			"commd: slices took too much memory: all after the first %.1f s is one of "
			"them; take longer ones\n",
			(double)(run->uncut_ns - run->start_ns) / 1e9);
}

static void say_forgotten(const struct exact *exact)
{
	const uint64_t bytes = comm_exact_run(exact->result)->forgotten_bytes;

	if (bytes)
		fprintf(stderr,
			"commd: %" PRIu64
			" bytes in pipes and sockets were more than there is memory "
			"to follow: who wrote what was read of them is not told\n",
			bytes);
}

/* Returns commd's exit status. */
static int import(struct exact *exact, const char *how)
{
	const struct comm_options *options = exact->options;
	const struct comm_exact_run *run;
	char second[PATH_MAX];
	uint64_t end_ns;
	int err, status = 0;

	if (read_result(exact))
		return 1;
	run = comm_exact_run(exact->result);
	err = store_run(exact, how, &end_ns);
	if (err) {
		fprintf(stderr, "commd: cannot write the run to %s: %s\n", options->store,
			strerror(-err));
		return 1;
	}
	if (has_second_file(exact, second, sizeof(second)))
		fprintf(stderr, "commd: the command failed to execute another program; what it did "
				"after that is left out\n");
	say_calls(exact);
	say_slices(exact);
	say_forgotten(exact);
	if (!options->quiet)
		fprintf(stderr, "%.1f s (%s), %.4g bytes read, all counted%s; run %lld in %s\n",
			(double)(end_ns - run->start_ns) / 1e9, how, counted_bytes(exact),
			exact->native ? " by the program itself" : "",
			(long long)exact->session.run, options->store);
	if (!(counted_bytes(exact) > 0)) {
		fprintf(stderr, "commd: no memory access of the target was seen\n");
		status = 3;
	}
	return strcmp(how, "target exited")
		       ? status
		       : comm_session_command(&exact->session, exact->exit_status, status);
}

static void deinit(struct exact *exact)
{
	free_names(exact);
	free(exact->middle_ns);
	comm_exact_close(exact->result);
	comm_exact_names_destroy(exact->names);
	remove_directory(exact);
	/* It removes what is beside its store by itself. */
	(void)comm_session_deinit(&exact->session, 0);
	if (exact->signals >= 0)
		close(exact->signals);
}

/* Starts the unchanged command, with the path of its result file in the environment. */
static int start_native(struct exact *exact, char **why)
{
	const struct comm_options *options = exact->options;
	char granularity[16], callers[16], slice_ns[24];
	int err;

	snprintf(granularity, sizeof(granularity), "%u", options->granularity_bytes);
	snprintf(callers, sizeof(callers), "%u", options->callers);
	snprintf(slice_ns, sizeof(slice_ns), "%" PRIu64, options->slice_ns);
	if (options->granularity_bytes > NATIVE_GRANULARITY_MAX)
		return comm_source_fail(why, -EINVAL,
					"%s counts by itself, with libcomm-exact, which knows "
					"--granularity up to %d",
					options->command[0], NATIVE_GRANULARITY_MAX);
	if (setenv("COMM_EXACT_RESULT", exact->out, 1) ||
	    setenv("COMM_EXACT_GRANULARITY", granularity, 1) ||
	    (options->calls && setenv("COMM_EXACT_CALLS", options->calls, 1)) ||
	    (options->function && setenv("COMM_EXACT_FUNCTION", options->function, 1)) ||
	    (options->callers && setenv("COMM_EXACT_CALLERS", callers, 1)) ||
	    (options->slice_given && setenv("COMM_EXACT_SLICE_NS", slice_ns, 1)))
		return -errno;
	err = comm_program_spawn(exact->program, options->command, &exact->old_signals,
				 &exact->child);
	if (err)
		comm_source_fail(why, err, "cannot run %s: %s", exact->program, strerror(-err));
	return err;
}

static int start(struct exact *exact, const struct comm_valgrind *valgrind)
{
	char *why = NULL;
	int err;

	if (exact->native)
		err = start_native(exact, &why);
	else
		err = comm_valgrind_start(valgrind, exact->options, exact->out, &exact->old_signals,
					  &exact->child, &why);
	return err ? fail("cannot start the command", err, why) : 0;
}

/* Chooses how to run the command: *valgrind is set unless the command counts by itself. */
static int choose(struct exact *exact, struct comm_valgrind *valgrind)
{
	const char *name = exact->options->command[0];
	uint32_t version = 0;
	char *why = NULL;
	int err = comm_program_find(name, exact->program);

	exact->native = !err && comm_program_counts(exact->program, &version);
	if (exact->native && version > COMM_EXACT_VERSION) {
		fprintf(stderr, "commd: the libcomm-exact in %s is newer than this commd\n", name);
		return -EPROTO;
	}
	if (exact->options->callers && exact->options->calls) {
		fprintf(stderr, "commd: --source exact takes either --calls or --callers\n");
		return -EINVAL;
	}
	if (exact->native)
		return 0;
	if (comm_valgrind_find(valgrind, &why))
		return fail("no exact source", -ENOENT, why);
	if (err)
		fprintf(stderr, "commd: cannot run %s: %s\n", name, strerror(-err));
	return err;
}

static int run(const struct comm_options *options)
{
	struct exact exact = {.options = options,
			      .session = {.row_cap = ROWS_MAX, .removes = true},
			      .signals = -1};
	struct comm_valgrind valgrind;
	const char *how;
	int err, status = 1;

	err = comm_privilege_become_user(options->store, false);
	if (err) {
		fail("cannot become the user behind sudo", err, NULL);
		return 1;
	}
	if (choose(&exact, &valgrind))
		return 1;
	if (catch_signals(&exact) || comm_session_open_store(&exact.session, options) ||
	    make_directory(&exact))
		goto out;
	if (start(&exact, &valgrind))
		goto out;
	how = run_until_over(&exact);
	if (comm_privilege_drop(options->store, COMM_REST_RESULT, NULL, NULL) ||
	    let_signals_end(&exact))
		goto out;
	status = import(&exact, how);
out:
	deinit(&exact);
	return status;
}

/*
 * Probes Valgrind only: a program that counts by itself needs none, but the command
 * is not known yet.
 */
static int probe(char **why)
{
	struct comm_valgrind valgrind;

	return comm_valgrind_find(&valgrind, why);
}

static int check(const struct comm_options *options, char **why)
{
	if (options->watch_per_s)
		return comm_source_fail(why, -EINVAL, "--watch is for live runs");
	if (options->n_pids || options->cgroup || options->container || options->record ||
	    options->accesses || options->rate_hz > 0 || options->overhead > 0)
		return comm_source_fail(
			why, -EINVAL,
			"exact counts all that -- COMMAND does: it goes with no "
			"--pid, --cgroup, --container, --record, --accesses, --overhead "
			"or --rate");
	if (!options->command)
		return comm_source_fail(why, -EINVAL, "name one target: -- COMMAND");
	return 0;
}

const struct comm_source comm_source_exact = {
	.name = "exact",
	.help = "every access of a command, under Valgrind: exact and slow; on request",
	.probe = probe,
	.tells_calls = true,
	.check = check,
	.run = run,
};
