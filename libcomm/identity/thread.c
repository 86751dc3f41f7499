// SPDX-License-Identifier: GPL-2.0-or-later
#include "thread.h"

#include "hash.h"
#include "process_title.h"
#include "role.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TIDS_MAX = 4 << 20,	    /* the kernel's PID_MAX_LIMIT */
	UNFILED = COMM_THREADS_MAX, /* in of_tid: the thread got no id, it is "(other)" */
};

/*
 * The last switch of a thread, and what a watchpoint tells of it, come after its exit.  So soon no
 * tid is given to another thread of the same process, or its fork is told (comm_threads_begin()).
 */
static const uint64_t LINGER_NS = 10 * 1000000000ull;

enum { TITLE_BYTES = 15 }; /* of a title that make a role, as many as a name has */

struct comm_threads {
	const struct comm_inspect *inspect;
	/*
	 * An array mapped at full size: the kernel allocates a page when it is first
	 * touched, and pointers handed out stay valid.
	 */
	struct comm_thread *thread;
	uint32_t n;
	uint32_t *creator; /* by place: comm_threads_creator() */
	uint64_t *look_ns; /* by place: when to look at its process's title, and its given name */
	/* By place: what the kernel calls a thread that has the name that its program gave it; else "". */
	char (*kernel_name)[COMM_THREAD_NAME_BYTES];
	struct comm_process_titles *titles;
	uint32_t *of_tid; /* places; 0: none */
	uint32_t *ended;  /* places in a ring, those whose threads ended first are first */
	uint32_t first_ended, n_ended;
	uint64_t stored_ns;
	uint64_t n_unfiled;
};

int comm_threads_create(const struct comm_inspect *inspect, struct comm_threads **ret)
{
	struct comm_threads *threads = calloc(1, sizeof(*threads));

	if (!threads)
		return -ENOMEM;
	threads->inspect = inspect;
	threads->thread = calloc(COMM_THREADS_MAX, sizeof(*threads->thread));
	threads->look_ns = calloc(COMM_THREADS_MAX, sizeof(*threads->look_ns));
	threads->kernel_name = calloc(COMM_THREADS_MAX, sizeof(*threads->kernel_name));
	threads->creator = calloc(COMM_THREADS_MAX, sizeof(*threads->creator));
	threads->of_tid = calloc(TIDS_MAX, sizeof(*threads->of_tid));
	threads->ended = calloc(COMM_THREADS_MAX, sizeof(*threads->ended));
	if (!threads->thread || !threads->creator || !threads->look_ns || !threads->kernel_name ||
	    !threads->of_tid || !threads->ended ||
	    comm_process_titles_create(inspect, &threads->titles)) {
		comm_threads_destroy(threads);
		return -ENOMEM;
	}
	strcpy(threads->thread[threads->n++].name, "(other)");
	*ret = threads;
	return 0;
}

void comm_threads_destroy(struct comm_threads *threads)
{
	if (!threads)
		return;
	comm_process_titles_destroy(threads->titles);
	free(threads->thread);
	free(threads->creator);
	free(threads->look_ns);
	free(threads->kernel_name);
	free(threads->of_tid);
	free(threads->ended);
	free(threads);
}

static void clean_name(const char *name, size_t bytes, char ret[COMM_THREAD_NAME_BYTES])
{
	memset(ret, 0, COMM_THREAD_NAME_BYTES);
	comm_text_clean(name, bytes, ret, COMM_THREAD_NAME_BYTES);
}

/* The kernel's name; one that it had before takes none away that the program gave. */
static void set_name(struct comm_threads *threads, struct comm_thread *t, const char name[16])
{
	char *kernel_name = threads->kernel_name[t - threads->thread], clean[sizeof(t->name)];

	clean_name(name, 16, clean);
	if (*kernel_name && !strcmp(kernel_name, clean))
		return;
	*kernel_name = 0;
	memcpy(t->name, clean, sizeof(clean));
}

static void ask_name(struct comm_threads *threads, struct comm_thread *t)
{
	const struct comm_inspect *inspect = threads->inspect;
	char name[16] = "";

	/* A thread that has ended already gets its process's name. */
	if (inspect->ops->thread_name(inspect->ctx, t->tgid, t->tid, name) < 0 &&
	    inspect->ops->thread_name(inspect->ctx, t->tgid, t->tgid, name) < 0) {
		if (!t->name[0])
			strcpy(t->name, "?");
		return;
	}
	set_name(threads, t, name);
}

/*
 * A place for a thread: a new one while there are any, then one whose thread has ended and is
 * stored with its end.  COMM_ID_OTHER: there is none.
 */
static uint32_t find_place(struct comm_threads *threads, uint64_t *ret_round)
{
	uint32_t place = threads->ended[threads->first_ended];
	const struct comm_thread *t = &threads->thread[place];

	*ret_round = 0;
	if (threads->n < COMM_THREADS_MAX)
		return threads->n++;
	if (!threads->n_ended || t->end_ns + LINGER_NS >= threads->stored_ns)
		return COMM_ID_OTHER;
	threads->first_ended = (threads->first_ended + 1) % COMM_THREADS_MAX;
	threads->n_ended--;
	if (threads->of_tid[t->tid] == place)
		threads->of_tid[t->tid] = 0;
	*ret_round = t->round + 1;
	return place;
}

/* "python3.11" */
static bool is_interpreter(const char *name)
{
	static const char python[] = "python";
	const char *version = name + strlen(python);

	return !strncmp(name, python, strlen(python)) &&
	       version[strspn(version, "0123456789.")] == 0;
}

/* Whether a thread's name is the one that it began with: its process's, or that of an interpreter. */
static bool is_inherited(const struct comm_threads *threads, const struct comm_thread *t,
			 const char *name)
{
	const struct comm_inspect *inspect = threads->inspect;
	uint32_t first = comm_threads_find(threads, t->tgid, t->tgid);
	char told[16] = "", process[COMM_THREAD_NAME_BYTES];

	if (is_interpreter(name))
		return true;
	if (first)
		return !strcmp(threads->thread[comm_thread_place(first)].name, name);
	if (inspect->ops->thread_name(inspect->ctx, t->tgid, t->tgid, told) < 0)
		return false;
	clean_name(told, sizeof(told), process);
	return !strcmp(process, name);
}

/* A process's first thread has its name; one that has a name of its own from the kernel keeps it. */
static void look_at_given_name(struct comm_threads *threads, uint32_t place)
{
	const struct comm_inspect *inspect = threads->inspect;
	struct comm_thread *t = &threads->thread[place];
	char *kernel_name = threads->kernel_name[place], given[COMM_THREAD_NAME_BYTES];

	if (!inspect->ops->given_name || t->tid == t->tgid ||
	    inspect->ops->given_name(inspect->ctx, t->tgid, t->tid, given) < 0 || !*given)
		return;
	if (!*kernel_name) {
		if (!is_inherited(threads, t, t->name))
			return;
		memcpy(kernel_name, t->name, sizeof(t->name));
	}
	clean_name(given, sizeof(given), t->name);
}

static void look(struct comm_threads *threads, uint32_t place, uint64_t now_ns)
{
	struct comm_thread *t = &threads->thread[place];
	const char *title;

	if (now_ns < threads->look_ns[place] || !t->tgid || t->end_ns)
		return;
	threads->look_ns[place] = now_ns + comm_process_titles_wait_ns(now_ns - t->start_ns);
	look_at_given_name(threads, place);
	title = comm_process_titles_get(threads->titles, t->tgid, now_ns);
	memset(t->title, 0, sizeof(t->title));
	if (!*threads->kernel_name[place] && comm_title_fits(title, t->name))
		memcpy(t->title, title, strlen(title));
}

static uint32_t find_or_add(struct comm_threads *threads, uint32_t tgid, uint32_t tid,
			    uint64_t now_ns)
{
	struct comm_thread *t;
	uint64_t round;
	uint32_t place;

	if (!tid || tid >= TIDS_MAX)
		return COMM_ID_OTHER;
	place = threads->of_tid[tid];
	if (place == UNFILED)
		return COMM_ID_OTHER;
	t = &threads->thread[place];
	if (place && (t->tgid == tgid || !tgid) && (!t->end_ns || now_ns < t->end_ns + LINGER_NS))
		return comm_thread_id(place, t->round);
	/* Another tgid: the tid was reused, and the exit may have been lost. */
	if (place)
		comm_threads_exit(threads, tid, now_ns);
	place = find_place(threads, &round);
	if (!place) {
		threads->of_tid[tid] = UNFILED;
		threads->n_unfiled++;
		return COMM_ID_OTHER;
	}
	t = &threads->thread[place];
	*t = (struct comm_thread){.tgid = tgid, .tid = tid, .start_ns = now_ns, .round = round};
	*threads->kernel_name[place] = 0;
	ask_name(threads, t);
	threads->look_ns[place] = 0;
	threads->creator[place] = COMM_ID_OTHER;
	if (tid == tgid)
		comm_process_titles_forget(threads->titles, tgid);
	threads->of_tid[tid] = place;
	return comm_thread_id(place, round);
}

uint32_t comm_threads_get(struct comm_threads *threads, uint32_t tgid, uint32_t tid,
			  uint64_t now_ns)
{
	uint32_t id = find_or_add(threads, tgid, tid, now_ns);

	look(threads, comm_thread_place(id), now_ns);
	return id;
}

uint32_t comm_threads_find(const struct comm_threads *threads, uint32_t tgid, uint32_t tid)
{
	uint32_t place = tid < TIDS_MAX ? threads->of_tid[tid] : 0;
	const struct comm_thread *t = &threads->thread[place == UNFILED ? 0 : place];

	return place && place != UNFILED && t->tgid == tgid ? comm_thread_id(place, t->round)
							    : COMM_ID_OTHER;
}

uint32_t comm_threads_role(const struct comm_threads *threads, uint32_t id)
{
	const struct comm_thread *t = comm_threads_at(threads, comm_thread_place(id));
	char role[COMM_ROLE_BYTES], name[COMM_THREAD_NAME_BYTES];
	uint64_t word, hash = t->tid == t->tgid;

	if (id == COMM_ID_OTHER)
		return 0;
	/* Of a title as much as of a name: what is behind that is one process's alone. */
	if (t->title[0])
		snprintf(name, sizeof(name), "%.*s", TITLE_BYTES, t->title);
	else
		memcpy(name, t->name, sizeof(name));
	comm_role_of(name, role);
	for (size_t i = 0; i < sizeof(role); i += sizeof(word)) {
		memcpy(&word, role + i, sizeof(word));
		hash = comm_hash_mix(hash, word);
	}
	return (uint32_t)hash | 1;
}

void comm_threads_stored(struct comm_threads *threads, uint64_t end_ns)
{
	threads->stored_ns = end_ns;
}

void comm_threads_exit(struct comm_threads *threads, uint32_t tid, uint64_t now_ns)
{
	uint32_t place = tid < TIDS_MAX ? threads->of_tid[tid] : 0;
	struct comm_thread *t = &threads->thread[place];

	if (place == UNFILED)
		threads->of_tid[tid] = 0;
	if (!place || place == UNFILED || t->end_ns)
		return;
	t->end_ns = now_ns;
	if (t->round + 1 < COMM_THREAD_ROUNDS_MAX)
		threads->ended[(threads->first_ended + threads->n_ended++) % COMM_THREADS_MAX] =
			place;
}

uint32_t comm_threads_begin(struct comm_threads *threads, uint32_t tgid, uint32_t tid,
			    uint64_t now_ns)
{
	uint32_t id, place;

	if (tid < TIDS_MAX && threads->of_tid[tid] && threads->of_tid[tid] != UNFILED &&
	    threads->thread[threads->of_tid[tid]].end_ns)
		threads->of_tid[tid] = 0;
	id = find_or_add(threads, tgid, tid, now_ns);
	/* So far it can only have its parent's title, and maybe it ends before it has one. */
	place = comm_thread_place(id);
	if (!threads->look_ns[place])
		threads->look_ns[place] = now_ns + comm_process_titles_wait_ns(0);
	return id;
}

void comm_threads_fork(struct comm_threads *threads, const struct comm_event *event)
{
	uint32_t id = comm_threads_begin(threads, event->fork.child_tgid, event->fork.child_tid,
					 event->time_ns);

	if (id && event->fork.child_tgid == event->tgid)
		threads->creator[comm_thread_place(id)] =
			comm_threads_get(threads, event->tgid, event->tid, event->time_ns);
}

uint32_t comm_threads_creator(const struct comm_threads *threads, uint32_t id)
{
	return threads->creator[comm_thread_place(id)];
}

void comm_threads_renamed(struct comm_threads *threads, uint32_t tgid, uint32_t tid)
{
	struct comm_thread *t;

	if (tid >= TIDS_MAX || !threads->of_tid[tid] || threads->of_tid[tid] == UNFILED)
		return;
	t = &threads->thread[threads->of_tid[tid]];
	/* /proc has forgotten a thread that has ended, or tells of another. */
	if (t->tgid != tgid || t->end_ns)
		return;
	ask_name(threads, t);
	threads->look_ns[threads->of_tid[tid]] = 0;
}

void comm_threads_named(struct comm_threads *threads, const struct comm_event *event)
{
	uint32_t place = comm_thread_place(
		event->kind == COMM_EV_EXIT
			? comm_threads_find(threads, event->tgid, event->tid)
			: find_or_add(threads, event->tgid, event->tid, event->time_ns));

	if (!place || threads->thread[place].end_ns || !*event->name)
		return;
	set_name(threads, &threads->thread[place], event->name);
	threads->look_ns[place] = 0;
}

void comm_threads_exec(struct comm_threads *threads, uint32_t tgid, uint32_t tid)
{
	comm_process_titles_forget(threads->titles, tgid);
	comm_threads_renamed(threads, tgid, tid);
}

uint64_t comm_threads_unfiled(const struct comm_threads *threads)
{
	return threads->n_unfiled;
}

uint32_t comm_threads_count(const struct comm_threads *threads)
{
	return threads->n;
}

const struct comm_thread *comm_threads_at(const struct comm_threads *threads, uint32_t place)
{
	return &threads->thread[place < threads->n ? place : COMM_ID_OTHER];
}
