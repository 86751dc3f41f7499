// SPDX-License-Identifier: GPL-2.0-or-later
#include "python_threads.h"

#include "process_lru.h"
#include "python_objects.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	PROCESSES = 256,
	THREADS_MOST = 512, /* of a process that have names */
	READS_MOST = 3072,  /* in a walk: four for a thread, and more for one with a dictionary */
	INTERPRETERS_MOST = 16, /* the first is the last of their list */
	SOME = 64,		/* threads that are looked up at once */
	OFFSET_MOST = 1 << 20,
	TIME_MOST = 100, /* of which a walk takes one part */
	MODULE_DICT = 16,
	/* What a thread is asked for. */
	NAME = 0,
	NATIVE_ID = 1,
	KEYS = 2,
	/* Words of what tells offsets, from 3.13 on: "_Py_DebugOffsets". */
	COOKIE = 0,
	FREE_THREADED = 2,
	HEAD = 5,
	NEXT = 8,
	MODULES = 11,
	OFFSET_WORDS = 12,
};

static const uint64_t wait_min_ns = 100 * 1000000ull;

/* Bytes: in the runtime, the first interpreter; in that, the next one, and its modules. */
struct offsets {
	unsigned int minor; /* 0: the runtime has them */
	uint64_t head, next, modules;
};

static const struct offsets known[] = {
	{11, 40, 0, 888},
	{12, 40, 0, 944},
};

struct python_thread {
	uint32_t tid;
	char name[COMM_THREAD_NAME_BYTES];
};

struct python_process {
	struct comm_process_lru_entry lru;
	uint64_t runtime;
	uint64_t next_ns;
	bool is_known; /* a walk came to its end */
	struct python_thread *named;
	size_t n;
};

struct comm_python_threads {
	struct comm_python_reading reading;
	struct comm_process_lru processes;
	/* Of the walk that is under way. */
	struct comm_python_memory memory;
	struct python_thread named[THREADS_MOST];
	size_t n;
	struct comm_python_type type;
	struct comm_python_key key[KEYS];
};

static void forget(void *ctx, struct comm_process_lru_entry *kept)
{
	(void)ctx;
	free(((struct python_process *)kept)->named);
}

int comm_python_threads_create(const struct comm_python_reading *reading,
			       struct comm_python_threads **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->reading = *reading;
	comm_process_lru_init(&(*ret)->processes, PROCESSES, sizeof(struct python_process), forget,
			      *ret);
	return 0;
}

void comm_python_threads_destroy(struct comm_python_threads *threads)
{
	if (!threads)
		return;
	comm_process_lru_deinit(&threads->processes);
	free(threads);
}

static int read_offsets(struct comm_python_memory *memory, uint64_t runtime, struct offsets *ret)
{
	uint64_t told[OFFSET_WORDS];
	int err;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].minor == memory->layout->minor) {
			*ret = known[i];
			return 0;
		}
	err = comm_python_read(memory, runtime, told, sizeof(told));
	if (err)
		return err;
	*ret = (struct offsets){.head = told[HEAD], .next = told[NEXT], .modules = told[MODULES]};
	return !memcmp(&told[COOKIE], "xdebugpy", sizeof(*told)) && !told[FREE_THREADED] &&
			       ret->head < OFFSET_MOST && ret->next < OFFSET_MOST &&
			       ret->modules < OFFSET_MOST
		       ? 0
		       : -ENOENT;
}

/* What a thread is called and its tid; one that has not begun yet has none. */
static int add_thread(struct comm_python_threads *threads, uint64_t at)
{
	struct comm_python_memory *memory = &threads->memory;
	struct python_thread *named = &threads->named[threads->n];
	struct comm_python_dict attributes;
	char text[COMM_NAME_BYTES];
	uint64_t value[KEYS];
	int err = comm_python_instance_open(memory, at, &threads->type, &attributes);

	if (!err)
		err = comm_python_dict_find(memory, &attributes, threads->key, KEYS, value);
	if (!err)
		err = comm_python_int(memory, value[NATIVE_ID], &named->tid);
	if (!err)
		err = comm_python_text(memory, value[NAME], text);
	if (err)
		return err;
	comm_text_clean(text, sizeof(text), named->name, sizeof(named->name));
	threads->n++;
	return 0;
}

static int add_threads(struct comm_python_threads *threads, uint64_t active)
{
	struct comm_python_dict dict;
	uint64_t thread[SOME];
	ssize_t n;
	int err = comm_python_dict_open(&threads->memory, active, &dict);

	for (uint32_t first = 0; !err; first += (uint32_t)n) {
		n = comm_python_dict_values(&threads->memory, &dict, first, thread, SOME);
		if (n <= 0)
			return (int)n;
		for (ssize_t i = 0; i < n && !err; i++) {
			if (threads->n == THREADS_MOST)
				return 0;
			err = thread[i] ? add_thread(threads, thread[i]) : 0;
			if (comm_python_is_absent(err))
				err = 0;
		}
	}
	return err;
}

/* The threads of an interpreter: of its modules' dictionary "threading", and of that module's "_active". */
static int add_interpreter(struct comm_python_threads *threads, uint64_t modules)
{
	struct comm_python_memory *memory = &threads->memory;
	struct comm_python_key threading = {.name = "threading"}, active = {.name = "_active"};
	struct comm_python_dict dict;
	uint64_t at;
	int err = comm_python_dict_open(memory, modules, &dict);

	if (!err)
		err = comm_python_dict_find(memory, &dict, &threading, 1, &at);
	if (err)
		return err;
	at += MODULE_DICT;
	err = comm_python_words(memory, &at, 1, &at);
	if (!err)
		err = comm_python_dict_open(memory, at, &dict);
	if (!err)
		err = comm_python_dict_find(memory, &dict, &active, 1, &at);
	return err ? err : add_threads(threads, at);
}

static int walk(struct comm_python_threads *threads, uint64_t runtime)
{
	struct comm_python_memory *memory = &threads->memory;
	struct offsets offsets;
	uint64_t interpreter, where[2], word[2];
	int err = read_offsets(memory, runtime, &offsets);

	if (err)
		return err;
	where[0] = runtime + offsets.head;
	err = comm_python_words(memory, where, 1, &interpreter);
	for (int i = 0; !err && i < INTERPRETERS_MOST && comm_python_is_pointer(interpreter); i++) {
		where[0] = interpreter + offsets.next;
		where[1] = interpreter + offsets.modules;
		err = comm_python_words(memory, where, 2, word);
		if (!err)
			err = add_interpreter(threads, word[1]);
		/* Not each interpreter has threads, or has imported what makes them. */
		if (comm_python_is_absent(err))
			err = 0;
		interpreter = word[0];
	}
	return err;
}

/* Whether a walk was broken off by what may be otherwise the next time. */
static bool is_for_now(int err)
{
	return err && !comm_python_is_absent(err) && err != -E2BIG;
}

/* Those of before that the walk did not come to. */
static void add_known(struct comm_python_threads *threads, const struct python_process *p)
{
	size_t found = threads->n, at;

	for (size_t i = 0; i < p->n && threads->n < THREADS_MOST; i++) {
		for (at = 0; at < found && threads->named[at].tid != p->named[i].tid; at++)
			;
		if (at == found)
			threads->named[threads->n++] = p->named[i];
	}
}

/* What was found stays, should the walk have been cut off; what was known before, should it have found nothing. */
static void keep(struct comm_python_threads *threads, struct python_process *p, int err)
{
	struct python_thread *named;

	if (is_for_now(err))
		add_known(threads, p);
	named = malloc(threads->n * sizeof(*named));

	if (!named || (err && !threads->n)) {
		free(named);
		return;
	}
	memcpy(named, threads->named, threads->n * sizeof(*named));
	free(p->named);
	p->named = named;
	p->n = threads->n;
}

static void look(struct comm_python_threads *threads, const struct comm_python_process *process,
		 const struct comm_python_layout *layout, struct python_process *p)
{
	const struct comm_python_reading *reading = &threads->reading;
	uint64_t start_ns = reading->now_ns(reading->ctx), end_ns, wait_ns;
	int err;

	if (start_ns < p->next_ns)
		return;
	threads->memory = (struct comm_python_memory){
		.read = reading->read,
		.words = reading->words,
		.ctx = reading->ctx,
		.tgid = process->tgid,
		.layout = layout,
		.reads_left = READS_MOST,
	};
	threads->n = 0;
	threads->type = (struct comm_python_type){0};
	threads->key[NAME] = (struct comm_python_key){.name = "_name"};
	threads->key[NATIVE_ID] = (struct comm_python_key){.name = "_native_id"};
	err = walk(threads, process->runtime);
	keep(threads, p, err);
	p->is_known |= !is_for_now(err);
	end_ns = reading->now_ns(reading->ctx);
	wait_ns = (end_ns - start_ns) * TIME_MOST;
	p->next_ns = end_ns + (wait_ns > wait_min_ns ? wait_ns : wait_min_ns);
}

int comm_python_threads_name(struct comm_python_threads *threads,
			     const struct comm_python_process *process, uint32_t tid,
			     char name[COMM_THREAD_NAME_BYTES])
{
	const struct comm_python_layout *layout = comm_python_layout_of(process->minor);
	struct python_process *p =
		layout ? comm_process_lru_get(&threads->processes, process->tgid) : NULL;

	if (!p)
		return layout ? -ENOMEM : -ENOENT;
	if (p->runtime != process->runtime) {
		free(p->named);
		p->named = NULL;
		p->n = 0;
		p->next_ns = 0;
		p->is_known = false;
		p->runtime = process->runtime;
	}
	look(threads, process, layout, p);
	for (size_t i = 0; i < p->n; i++)
		if (p->named[i].tid == tid) {
			memcpy(name, p->named[i].name, COMM_THREAD_NAME_BYTES);
			return 0;
		}
	return p->is_known ? -ENOENT : -EAGAIN;
}
