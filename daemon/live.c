// SPDX-License-Identifier: GPL-2.0-or-later
/* A live run, wired: source -> merge -> engine, with the pace and companions beside it. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "budget.h"
#include "calibrate.h"
#include "clock.h"
#include "companion.h"
#include "control.h"
#include "counter_event.h"
#include "cycles.h"
#include "held.h"
#include "live_events.h"
#include "live_source.h"
#include "live_target.h"
#include "numa.h"
#include "pace.h"
#include "parser.h"
#include "preflight.h"
#include "priority.h"
#include "privilege.h"
#include "recording.h"
#include "session.h"
#include "stall.h"
#include "stop.h"
#include "supervisor.h"
#include "trigger.h"
#include "unread_debug.h"

enum {
	PREFETCH_NS = 1000 * 1000 * 1000, /* that a start waits for files of all processes, twice */
	NAMES_NS = 1000 * 1000 * 1000,	  /* that an end waits for names of code */
	LOOK_NS = 500 * 1000 * 1000,	  /* interval of asking whether the target still lives */
	/* Nothing tells that a cgroup was made again; and who looks on wants to see the time pass. */
	WAIT_LESS_MS = 1000,
	READ_MS = 1,	      /* between pieces of mappings */
	WAIT_READS_MS = 2000, /* while files are read, which goes on when time for it is granted */
	NOTES_BYTES = 512,
	STATUS_BYTES = 128,
	NO_DATA = 3, /* exit status */
};

static const uint64_t COUNT_MOST_NS = 5000000000u;

struct live {
	struct comm_session session;
	const struct comm_options *options;
	struct comm_live_target target;
	struct comm_live_source source;
	struct comm_companions *companions;
	struct comm_calibration calibration;
	struct comm_pace *pace;
	struct comm_stall stall;
	struct comm_supervisor supervisor;
	struct comm_control *control;
	uint64_t delayed_ns; /* when sampling will be enabled by itself; UINT64_MAX: never */
	bool stopped;	     /* by a command */
	struct comm_live_events events;
	struct comm_unread_debug unread_debug;
	struct comm_inspect processes, inspect; /* inspect also records, with --record */
	uint64_t generated_ns;			/* charged so far, see inspect.h */
	uint64_t count_from_ns, count_ns;	/* threads are counted next at count_ns */
	int failed;				/* -errno of the source, or of waiting for it */
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

static int open_control(struct live *live)
{
	char *why = NULL;
	int err = 0;

	if (live->options->control)
		err = comm_control_open(live->options->control, &live->control, &why);
	return err ? fail("cannot take commands", err, why) : 0;
}

static int check_events(struct live *live)
{
	const struct comm_counter_list *events = &live->options->counters;
	char *why = NULL;
	int err = 0;

	for (unsigned int i = 0; i < events->n && !err; i++)
		err = comm_counter_event_try(events->name[i], &why);
	return err ? fail("cannot count", err, why) : 0;
}

static void burst_done(void *ctx, const struct comm_event *event, const struct comm_burst *burst)
{
	struct live *live = ctx;

	comm_companions_burst(live->companions, event, burst);
	if (live->source.sampler->burst)
		live->source.sampler->burst(live->source.handle, event, burst);
}

/* The run goes on without what it says is missing. */
static int try_memory(struct live *live)
{
	char *why = NULL;

	for (int i = 0; i < live->options->n_pids; i++) {
		if (comm_preflight_memory((uint32_t)live->options->pid[i], &why))
			fprintf(stderr, "commd: %s\n", why ? why : "the target cannot be read");
		free(why);
		why = NULL;
	}
	return 0;
}

static bool is_shared(void *ctx, uint32_t tgid, uint64_t addr)
{
	return comm_engine_is_shared(((struct live *)ctx)->session.engine, tgid, addr);
}

/* Must come before privileges are dropped. */
static int open_companions(struct live *live)
{
	const struct comm_companion_config config = {
		.options = live->options,
		.sampler = live->source.sampler,
		.handle = live->source.handle,
		.target = live->target.target,
		.inspect = &live->processes,
		.interrupt_ns = live->calibration.interrupt_ns,
		.trigger = live->source.info.trigger,
		.is_shared = is_shared,
		.shared_ctx = live,
	};
	char *why = NULL;
	int err = comm_companions_open(&config, &live->companions, &why);

	live->events.companions = live->companions;
	if (err)
		return fail("cannot set up what was asked for beside the source", err, why);
	live->session.is_live = true;
	live->session.burst_done = burst_done;
	live->session.burst_ctx = live;
	return 0;
}

/* The overhead that the budget allows the run up to now. */
static uint64_t budget_ns(const struct live *live)
{
	struct comm_pace_totals totals;

	comm_pace_totals(live->pace, &totals);
	return totals.allowed_ns;
}

static void prefetch(struct live *live)
{
	uint64_t stop_ns = comm_clock_now_ns() + PREFETCH_NS;
	const uint32_t *pid;
	size_t n = comm_target_pids(live->target.target, &pid);

	/* A command's process is a fork of this one until its program begins. */
	for (size_t i = 0; i < n && !comm_stop_told(); i++)
		comm_inspect_live_prefetch(&live->processes, pid[i], live->options->command,
					   stop_ns);
}

/* Slow preparations that need no run yet: a run begins when sampling does. */
static int prepare(struct live *live)
{
	int err = comm_inspect_live_create(&live->processes);

	if (err)
		return fail("cannot look at processes", err, NULL);
	comm_inspect_live_tell_unread(&live->processes, comm_unread_debug_say, &live->unread_debug);
	prefetch(live);
	comm_calibrate(&live->calibration);
	/* What did not come in the first time may have, meanwhile. */
	prefetch(live);
	return 0;
}

static void tell_marks(void *ctx, uint32_t tgid, const struct comm_marks_place *place)
{
	struct live *live = ctx;

	live->source.sampler->marks(live->source.handle, tgid, place);
}

static void tell_object(void *ctx, uint32_t tgid, uint32_t slot, uint64_t start,
			uint64_t size_bytes, uint64_t name)
{
	const struct comm_event event = {
		.kind = COMM_EV_OBJECT,
		.time_ns = comm_clock_now_ns(),
		.tgid = tgid,
		.tid = tgid,
		.object = {start, size_bytes, name, slot},
	};
	struct live *live = ctx;

	comm_live_events_push(&live->events, &event);
}

static void name_probed(struct live *live)
{
	const struct comm_region_probe_list *probes = &live->options->probes;

	for (uint32_t i = 0; i < probes->n; i++) {
		struct comm_event event = {
			.kind = COMM_EV_PROBED,
			.time_ns = comm_clock_now_ns(),
			.probed = {.id = i + 1},
		};

		strcpy(event.probed.name, probes->region[i].name);
		comm_live_events_push(&live->events, &event);
	}
}

static int find_marks(struct live *live)
{
	comm_inspect_live_tell_objects(&live->processes, tell_object, live);
	comm_inspect_live_tell_marks(&live->processes, tell_marks, live);
	return 0;
}

/* Last before the start, so that the cost of setting up is not charged to the budget. */
static int set_pace(struct live *live)
{
	int err = comm_pace_create(
		&(struct comm_pace_config){.sampler = live->source.sampler,
					   .handle = live->source.handle,
					   .target = live->target.target,
					   .inspect = &live->processes,
					   .overhead = live->options->overhead,
					   .floor = live->options->overhead_floor,
					   .daemon_cpu = live->options->daemon_cpu,
					   .rate_hz = live->options->rate_hz,
					   .interrupt_ns = live->calibration.interrupt_ns},
		&live->pace);

	return err ? fail("cannot set the rate", err, NULL) : 0;
}

/* What was spent since then starts the source, or stops it. */
static void set_apart(struct live *live, uint64_t since_ns)
{
	comm_pace_set_apart(live->pace, comm_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - since_ns);
}

static void count_until(struct live *live, uint64_t time_ns)
{
	if (live->source.sampler->count)
		live->source.sampler->count(live->source.handle, time_ns, comm_live_events_push,
					    &live->events);
}

/* All events that are there have been drained. */
static void enable(struct live *live, bool wanted, uint64_t now_ns)
{
	live->delayed_ns = UINT64_MAX;
	/* Whoever writes commands may write the same one for ever. */
	if (live->events.gate.is_shut != wanted)
		return;
	/* What was counted up to now is of the state up to now. */
	count_until(live, now_ns - 1);
	comm_gate_set(&live->events.gate, !wanted, now_ns);
	/* As with any rate: a CPU that does not take it goes on with its own. */
	(void)comm_pace_enable(live->pace, wanted, now_ns, comm_live_events_push, &live->events);
}

/* Before the start, when no sample can have been taken yet. */
static int delay(struct live *live)
{
	uint64_t delay_ns = live->options->delay_ns, now_ns = comm_clock_now_ns();

	if (!delay_ns)
		return 0;
	enable(live, false, now_ns);
	if (delay_ns != UINT64_MAX)
		live->delayed_ns = now_ns + delay_ns;
	return 0;
}

static const char *obey(void *ctx, enum comm_command command, double overhead)
{
	struct live *live = ctx;

	switch (command) {
	case COMM_COMMAND_ENABLE:
	case COMM_COMMAND_DISABLE:
		enable(live, command == COMM_COMMAND_ENABLE, comm_clock_now_ns());
		return NULL;
	case COMM_COMMAND_STOP:
		live->stopped = true;
		return NULL;
	case COMM_COMMAND_OVERHEAD:
		return comm_budget_change(live->pace, live->companions, overhead,
					  comm_live_events_push, &live->events);
	default:
		return NULL;
	}
}

/* A part of a slice: the engine remembers a thread that has ended for 10 s. */
static uint64_t count_interval_ns(const struct live *live)
{
	uint64_t slice_ns = live->options->slice_ns;

	return slice_ns / (1 + (slice_ns - 1) / COUNT_MOST_NS);
}

static int begin(struct live *live)
{
	const struct comm_options *options = live->options;
	const struct comm_est_config est = {
		.granularity_bytes = options->granularity_bytes,
		.cycles_per_ns = comm_cycles_per_ns(),
	};
	struct comm_run_info info = {0};
	const char *note = comm_companions_note(live->companions);
	char numa[COMM_NUMA_BYTES], notes[NOTES_BYTES];
	struct utsname host;
	int err;

	uname(&host);
	snprintf(notes, sizeof(notes), "%s%s%s", live->source.info.notes,
		 *live->source.info.notes && *note ? "; " : "", note);
	comm_numa_read(COMM_NUMA_SYSFS, numa);
	info = (struct comm_run_info){
		.source = live->source.source->name,
		.event = live->source.info.event,
		.estimator = comm_estimator()->name,
		.error_model = &comm_estimator()->error_model,
		.command = live->target.name,
		.host = host.nodename,
		.start_ns = comm_clock_now_ns(),
		.start_unix_ns = comm_clock_ns(CLOCK_REALTIME),
		.overhead_limit = options->overhead,
		.floor = comm_pace_floor_ns_per_s(options->overhead_floor, options->overhead) / 1e9,
		.granularity_bytes = options->granularity_bytes,
		.notes = notes,
		.numa = numa,
	};
	live->inspect = live->processes;
	if (options->record) {
		err = comm_recording_create(&live->session, &info, est.cycles_per_ns,
					    &live->events.record);
		if (err)
			return err;
		comm_record_inspect(live->events.record, &live->processes, &live->inspect);
	}
	err = comm_live_events_open(&live->events);
	if (err)
		return fail("cannot set up the merge", err, NULL);
	name_probed(live);
	if (options->duration_ns)
		live->events.end_ns = info.start_ns + options->duration_ns;
	live->count_from_ns = info.start_ns;
	live->count_ns =
		options->counters.wanted ? info.start_ns + count_interval_ns(live) : UINT64_MAX;
	return comm_session_begin(&live->session, &info, &live->inspect, &est, options->slice_ns);
}

/* Reads the counters at the end of a slice, as part of it. */
static void count(struct live *live, uint64_t now_ns)
{
	uint64_t interval_ns = count_interval_ns(live), past;

	if (now_ns < live->count_ns)
		return;
	past = (now_ns - live->count_from_ns) / interval_ns * interval_ns;
	count_until(live, live->count_from_ns + past - 1);
	live->count_ns = live->count_from_ns + past + interval_ns;
}

/* Tells a service manager how the run goes. */
static void report(struct live *live, uint64_t now_ns)
{
	char lines[STATUS_BYTES] = "STATUS=";
	size_t n = strlen(lines);

	if (!comm_supervisor_listens(&live->supervisor, now_ns))
		return;
	comm_session_status(&live->session, now_ns, lines + n, sizeof(lines) - n);
	comm_supervisor_tell(&live->supervisor, lines);
}

/*
 * One round: all events that are there go through the merge into the engine.  Returns how
 * many there were.
 */
static int pump(struct live *live)
{
	uint64_t cut_ns = comm_clock_now_ns();
	int err;

	count(live, cut_ns);
	comm_inspect_live_await_marks(&live->processes);
	err = live->source.sampler->drain(live->source.handle, comm_live_events_push,
					  &live->events);
	comm_pace_charge(live->pace, comm_companions_drain(live->companions, cut_ns,
							   comm_live_events_push, &live->events));
	comm_pace_add_children(live->pace, comm_inspect_live_generated_ns(&live->processes) -
						   live->generated_ns);
	live->generated_ns = comm_inspect_live_generated_ns(&live->processes);
	/*
	 * A CPU on which setting the new period fails loses nothing: its samples
	 * carry the period they have.
	 */
	(void)comm_pace_tick(live->pace, cut_ns, comm_live_events_push, &live->events);
	comm_live_events_lost(&live->events, cut_ns, COMM_LOSS_FILES,
			      comm_inspect_live_unread(&live->processes));
	comm_live_events_cut(&live->events, cut_ns);
	comm_companions_turn(live->companions, cut_ns, budget_ns(live));
	comm_session_progress(&live->session, cut_ns);
	report(live, cut_ns);
	comm_live_events_lost(&live->events, cut_ns, COMM_LOSS_RECORD,
			      comm_recording_look(live->events.record, live->options->record,
						  live->events.told[COMM_LOSS_RECORD]));
	if (err < 0 && !live->failed)
		live->failed = err;
	return err > 0 ? err : 0;
}

/*
 * How long to wait for the next event, ms, if none comes by itself for now; 0: look for one after the usual
 * time.
 */
static int wait_ms(const struct live *live)
{
	int ms = comm_pace_wait_ms(live->pace);

	if (!live->source.sampler->wake)
		return 0;
	/* Of what nothing comes from nobody waits for the names: children that read may have no CPU for long. */
	if (ms > WAIT_READS_MS && comm_inspect_live_reads(&live->processes))
		ms = WAIT_READS_MS;
	if (ms > WAIT_LESS_MS &&
	    (live->session.progress || comm_target_kind(live->target.target) == COMM_TARGET_CGROUP))
		ms = WAIT_LESS_MS;
	return ms;
}

static const char *run_until_over(struct live *live)
{
	struct pollfd fds[] = {
		{.fd = comm_stop_fd(), .events = POLLIN},
		{.events = POLLIN},
		{.fd = comm_target_command_fd(live->target.target), .events = POLLIN},
		{.events = POLLIN}};
	uint64_t looked_ns = 0;
	int drained = 0, waits_ms = 0, wake = -1, ready;
	const char *gone;
	bool reads = false;

	for (;;) {
		uint64_t now_ns = comm_clock_now_ns();
		int sleep_ms = comm_pace_sleep_ms(live->pace, drained);
		bool waits = waits_ms && !drained;

		if (waits)
			sleep_ms = waits_ms;
		sleep_ms = comm_companions_turn_ms(live->companions, sleep_ms);
		if (reads && sleep_ms > READ_MS)
			sleep_ms = READ_MS;
		fds[1].fd = waits ? wake : live->source.sampler->fd(live->source.handle);

		if (now_ns >= live->events.end_ns)
			return "duration";
		sleep_ms = comm_clock_until_ms(live->events.end_ns, now_ns, sleep_ms);
		if (live->delayed_ns <= now_ns)
			enable(live, true, now_ns);
		else
			sleep_ms = comm_clock_until_ms(live->delayed_ns, now_ns, sleep_ms);
		fds[3].fd = comm_control_fd(live->control, now_ns, &sleep_ms);
		sleep_ms = comm_clock_until_ms(live->count_ns, now_ns, sleep_ms);
		sleep_ms = comm_supervisor_alive(&live->supervisor, now_ns, sleep_ms);
		comm_stall_sleep(&live->stall, comm_clock_now_ns());
		/* A descriptor of -1 is passed over. */
		ready = poll(fds, sizeof(fds) / sizeof(*fds), sleep_ms);
		if (ready < 0 && errno != EINTR) {
			live->failed = -errno;
			return "error";
		}
		if (comm_stop_told())
			return "interrupted";
		waits_ms = wait_ms(live);
		if (live->source.sampler->wake)
			wake = live->source.sampler->wake(live->source.handle, waits_ms > 0);
		comm_stall_read(&live->stall, comm_clock_now_ns(), sleep_ms);
		reads = comm_inspect_live_turn(&live->processes);
		drained = pump(live);
		if (live->failed)
			return "error";
		if (comm_session_lost(&live->session))
			return comm_session_lost(&live->session);
		comm_control_take(live->control, comm_clock_now_ns(), obey, live);
		if (live->stopped)
			return "stopped";
		if (ready > 0 && fds[2].revents) {
			comm_target_command_ended(live->target.target);
			fds[2].fd = -1;
		} else if (now_ns - looked_ns < LOOK_NS) {
			continue;
		}
		looked_ns = now_ns;
		gone = comm_live_target_gone(&live->target);
		if (gone)
			return gone;
	}
}

/* This process may end no helper.  One that somebody has stopped goes on, and ends, when this has (parent.h).  False: there is none. */
static bool say_stopped(pid_t command)
{
	char path[64], name[32];
	bool is_any = false;
	int status;
	FILE *file;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WUNTRACED | WNOHANG)) > 0) {
		if (!WIFSTOPPED(status) || pid == command)
			continue;
		is_any = true;
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		file = fopen(path, "re");
		if (!file || fscanf(file, "%31s", name) != 1)
			snprintf(name, sizeof(name), "a helper");
		if (file)
			fclose(file);
		fprintf(stderr,
			"commd: %s was stopped: it ends with this process; if it does not, end "
			"process %d (kill -KILL %d)\n",
			name, pid, pid);
	}
	return is_any;
}

/* Returns the exit status. */
static int deinit(struct live *live, int status)
{
	pid_t command = (pid_t)live->target.command_pid;
	struct comm_parser_end files;

	comm_control_close(live->control);
	comm_companions_close(live->companions);
	comm_live_source_close(&live->source);
	comm_pace_destroy(live->pace);
	status = comm_session_deinit(&live->session, status);
	comm_live_events_close(&live->events);
	comm_record_destroy(live->events.record);
	comm_inspect_destroy(&live->processes);
	comm_live_target_deinit(&live->target);
	comm_supervisor_close(&live->supervisor);
	comm_stall_close(&live->stall);
	files = comm_parser_end();
	if (files.left)
		fprintf(stderr,
			"commd: commd-files was stopped: it ends with this process; if it does "
			"not, "
			"end process %d (kill -KILL %d)\n",
			files.left, files.left);
	if (files.was_killed)
		fprintf(stderr, "commd: commd-files was killed: from then on no file and no memory "
				"of the target was read\n");
	if (say_stopped(command))
		return 1;
	return files.left || files.was_killed ? 1 : status;
}

/* Not undone by itself, and it holds for everybody: worth a sentence. */
static void say_lowered(unsigned int before)
{
	unsigned int now = comm_perf_max_rate();

	if (before && now && now < before)
		fprintf(stderr,
			"commd: during this run the kernel lowered "
			"kernel.perf_event_max_sample_rate from %u to %u, for all users of perf, "
			"since interrupts took too long: allow less --overhead\n",
			before, now);
}

static int start_storing(void *ctx)
{
	struct live *live = ctx;
	int err = live->events.record ? comm_record_start(live->events.record) : 0;

	return err ? err : comm_session_start_storing(&live->session);
}

static int choose_target(struct live *live)
{
	char *why = NULL;
	int err = comm_live_target_choose(&live->target, live->options, &why);

	return err ? fail("cannot attach", err, why) : 0;
}

static int name_target(struct live *live)
{
	comm_live_target_name(&live->target, live->options, &live->processes);
	return 0;
}

static int choose_source(struct live *live)
{
	char *why = NULL;
	int err = comm_live_source_choose(&live->source, live->options, &why);

	return err ? fail("no source", err, why) : 0;
}

static int open_source(struct live *live)
{
	char *why = NULL;
	int err = comm_live_source_open(&live->source, live->options, live->target.target,
					&live->processes, (uint32_t)live->calibration.interrupt_ns,
					&why);

	return err ? fail("cannot open the source", err, why) : 0;
}

static int open_store(struct live *live)
{
	return comm_session_open_store(&live->session, live->options);
}

/* Of a run with a command: commd's exit status, which is the command's if that has ended. */
static int command_status(const struct live *live, int status)
{
	int ended;

	if (waitpid((pid_t)live->target.command_pid, &ended, WNOHANG) ==
	    (pid_t)live->target.command_pid)
		return comm_session_command(&live->session, ended, status);
	if (!live->options->quiet)
		fprintf(stderr, "commd: %s goes on, as process %u\n", live->options->command[0],
			live->target.command_pid);
	return status;
}

/* Why there may have been nothing to see. */
static void say_held(const struct comm_target *target)
{
	struct comm_held held = {0};
	const uint32_t *pid;
	char sentence[256];
	size_t n = comm_target_pids(target, &pid);

	for (size_t i = 0; i < n; i++)
		comm_held_add(&held, pid[i]);
	comm_held_sentence(&held, sentence, sizeof(sentence));
	if (*sentence)
		fprintf(stderr, "commd: %s\n", sentence);
}

int comm_live(const struct comm_options *options)
{
	static int (*const setting_up[])(struct live * live) = {
		check_events, open_control, choose_target, open_store, choose_source,
		prepare,      name_target,  open_source,   try_memory, open_companions,
		find_marks,   begin,	    set_pace,	   delay,
	};
	struct live live = {
		.options = options,
		.events = {.source = &live.source, .session = &live.session, .end_ns = UINT64_MAX},
		.delayed_ns = UINT64_MAX};
	char *why = NULL;
	const char *how;
	unsigned int max_rate;
	uint64_t end_ns, spent_ns;
	int err, status = 1;

	err = comm_supervisor_open(&live.supervisor);
	if (err) {
		fprintf(stderr, "commd: cannot reach the service manager at $NOTIFY_SOCKET: %s\n",
			strerror(-err));
		return 1;
	}
	comm_stall_open(&live.stall);
	comm_priority_raise();
	comm_priority_allow_return();
	if (comm_privilege_become_user(options->store, !options->command)) {
		fprintf(stderr, "commd: cannot become the user behind sudo\n");
		return 1;
	}
	err = comm_stop_catch();
	if (err) {
		fail("cannot catch signals", err, NULL);
		goto out;
	}
	for (size_t i = 0; i < sizeof(setting_up) / sizeof(*setting_up); i++) {
		if (comm_stop_told() && !live.session.run) {
			fprintf(stderr, "commd: told to end before the run began\n");
			goto out;
		}
		if (setting_up[i](&live))
			goto out;
	}
	max_rate = comm_perf_max_rate();
	spent_ns = comm_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (live.source.sampler->start(live.source.handle, &why)) {
		fail("cannot start the source", -EIO, why);
		comm_session_forget(&live.session);
		goto out;
	}
	err = options->command ? comm_target_release(live.target.target) : 0;
	if (err) {
		fprintf(stderr, "commd: cannot run %s: %s\n", options->command[0], strerror(-err));
		comm_session_forget(&live.session);
		goto out;
	}
	if (comm_privilege_drop(options->store,
				live.source.info.per_cpu ? COMM_REST_CPUS : COMM_REST_THREADS,
				start_storing, &live))
		goto out;
	set_apart(&live, spent_ns);
	comm_supervisor_tell(&live.supervisor, "READY=1");
	how = run_until_over(&live);
	comm_supervisor_tell(&live.supervisor, "STOPPING=1");
	/* From here on all is bounded: by what the rings hold, and by LAST_NS. */
	comm_priority_yield(false);
	comm_stop_ending();
	comm_inspect_live_until(&live.processes, comm_clock_now_ns() + COMM_LIVE_LAST_NS);
	count_until(&live, comm_clock_now_ns());
	spent_ns = comm_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	live.source.sampler->stop(live.source.handle);
	set_apart(&live, spent_ns);
	say_lowered(max_rate);
	comm_companions_end(live.companions);
	pump(&live);
	end_ns = comm_live_events_finish(&live.events);
	/* Of a short run much may still be without a name. */
	comm_inspect_live_finish(&live.processes, end_ns + NAMES_NS);
	live.session.stall = &live.stall;
	status = comm_session_end(&live.session, end_ns, how);
	if (status == NO_DATA)
		say_held(live.target.target);
	if (live.failed) {
		fail("the source could not be read any more", live.failed, NULL);
		status = 1;
	}
	if (options->verbose && !options->quiet)
		comm_companions_say(live.companions, stderr);
	if (live.events.record) {
		comm_record_end(live.events.record, end_ns,
				comm_session_patience_ns(&live.session));
		status = comm_recording_look(live.events.record, options->record,
					     live.events.told[COMM_LOSS_RECORD])
				 ? 1
				 : status;
	}
	if (options->command)
		status = command_status(&live, status);
out:
	return deinit(&live, status);
}
