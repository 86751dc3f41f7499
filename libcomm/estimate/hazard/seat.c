// SPDX-License-Identifier: GPL-2.0-or-later
#include "seat.h"

#include "ids.h"
#include "model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	SEATS_LEFT = 256, /* that wait for a thread, the latest of them */
	SEAT_HAD = 8,	  /* threads of a seat that are remembered */
};

struct seat_thread {
	uint32_t thread; /* COMM_ID_OTHER: none */
	uint32_t seat, role, initial, n_bursts;
	bool succeeds, has_ended;
};

/* The i-th thread that had it lies at i % SEAT_HAD. */
struct seat {
	uint32_t id, n;
	uint32_t thread[SEAT_HAD];
	uint64_t since_ns[SEAT_HAD];
};

/* Pages of it are touched as threads come. */
struct comm_seats {
	struct seat_thread of[COMM_THREADS_MAX]; /* by the thread's place in the table of threads */
	struct seat seat[COMM_THREADS_MAX];	 /* by the place of the thread whose id it has */
	uint32_t n_left, left[SEATS_LEFT]; /* threads that have ended and nobody has succeeded */
};

int comm_seats_create(struct comm_seats **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void comm_seats_destroy(struct comm_seats *seats)
{
	free(seats);
}

/* NULL: it had no burst, or one that came later has its place. */
static struct seat_thread *known(struct comm_seats *seats, uint32_t thread)
{
	struct seat_thread *of = &seats->of[comm_thread_place(thread)];

	return thread != COMM_ID_OTHER && of->thread == thread ? of : NULL;
}

static struct seat *seat_at(struct comm_seats *s, uint32_t id)
{
	struct seat *seat = &s->seat[comm_thread_place(id)];

	/* The thread that has its place now may have a seat of its own. */
	return seat->id == id ? seat : NULL;
}

/* The seat that was left last by a thread of that role and process; COMM_ID_OTHER: there is none. */
static uint32_t take_left(struct comm_seats *s, uint32_t role, uint32_t initial)
{
	for (uint32_t i = s->n_left;
	     i-- > 0 && role && initial && !comm_without(COMM_TERM_seats);) {
		const struct seat_thread *of = known(s, s->left[i]);

		if (of && (of->role != role || of->initial != initial))
			continue;
		memmove(&s->left[i], &s->left[i + 1], (--s->n_left - i) * sizeof(s->left[0]));
		if (of && seat_at(s, of->seat))
			return of->seat;
	}
	return COMM_ID_OTHER;
}

uint32_t comm_seats_take(struct comm_seats *seats, const struct comm_access_burst *burst)
{
	struct seat_thread *of = &seats->of[comm_thread_place(burst->thread)];
	struct seat *seat;

	if (burst->thread == COMM_ID_OTHER)
		return COMM_ID_OTHER;
	if (of->thread == burst->thread && seat_at(seats, of->seat)) {
		/* Threads are given names after they have begun. */
		of->role = burst->role;
		of->n_bursts++;
		return of->seat;
	}
	*of = (struct seat_thread){
		.thread = burst->thread,
		.seat = take_left(seats, burst->role, burst->initial),
		.role = burst->role,
		.initial = burst->initial,
		.n_bursts = 1,
	};
	of->succeeds = of->seat != COMM_ID_OTHER;
	if (!of->succeeds) {
		of->seat = burst->thread;
		seats->seat[comm_thread_place(of->seat)] = (struct seat){.id = of->seat};
	}
	seat = seat_at(seats, of->seat);
	seat->thread[seat->n % SEAT_HAD] = burst->thread;
	seat->since_ns[seat->n++ % SEAT_HAD] = burst->time_ns;
	return of->seat;
}

void comm_seats_leave(struct comm_seats *seats, uint32_t thread)
{
	struct seat_thread *of = known(seats, thread);

	if (!of || of->has_ended)
		return;
	of->has_ended = true;
	if (seats->n_left == SEATS_LEFT)
		memmove(&seats->left[0], &seats->left[1], --seats->n_left * sizeof(seats->left[0]));
	seats->left[seats->n_left++] = thread;
}

uint32_t comm_seats_of(struct comm_seats *seats, uint32_t thread)
{
	const struct seat_thread *of = known(seats, thread);

	return of ? of->seat : thread;
}

/* Who had a seat at some time, and who before; of the oldest that is remembered itself, and from ever. */
struct had {
	uint32_t thread, before;
	uint64_t since_ns;
};

static struct had had_at(struct comm_seats *seats, uint32_t id, uint64_t time_ns)
{
	const struct seat *s = seat_at(seats, id);
	struct had ret = {id, id, 0};
	uint32_t i;

	if (!s)
		return ret;
	for (i = s->n - 1; i > 0 && s->n - i < SEAT_HAD; i--)
		if (s->since_ns[i % SEAT_HAD] <= time_ns)
			break;
	ret.thread = ret.before = s->thread[i % SEAT_HAD];
	if (i == 0 || s->n - i == SEAT_HAD)
		return ret;
	ret.before = s->thread[(i - 1) % SEAT_HAD];
	ret.since_ns = s->since_ns[i % SEAT_HAD];
	return ret;
}

/* The part of what has these ages that is older than that. */
static double older(const struct comm_ages *ages, uint64_t age_ns)
{
	double sum = comm_ages_sum(ages), old = 0;
	uint32_t bin = comm_age_bin(age_ns);

	if (sum <= 0)
		return 0;
	for (uint32_t i = bin; i < COMM_AGES; i++)
		old += i > bin ? ages->bytes[i] : ages->bytes[i] / 2;
	return old / sum;
}

uint32_t comm_seats_role(struct comm_seats *seats, uint32_t thread)
{
	const struct seat_thread *of = known(seats, thread);

	return of ? of->role : 0;
}

/* The chance that a thread itself wrote what its role is seen to write and it reads. */
static double own_chance(struct comm_seats *seats, uint32_t reader, uint32_t writer)
{
	const struct seat_thread *r = known(seats, reader), *w = known(seats, writer);

	if (!r || !w || !r->succeeds || r->role != w->role || r->initial != w->initial)
		return 0;
	return comm_parameter(COMM_P_seat_bursts) /
	       (comm_parameter(COMM_P_seat_bursts) + r->n_bursts);
}

static void add_part(struct comm_seat_part *part, uint32_t *n, uint32_t thread, uint32_t role,
		     double share, double doubted)
{
	if (share > 0 || doubted > 0)
		part[(*n)++] = (struct comm_seat_part){thread, role, share, doubted};
}

uint32_t comm_seats_parts(struct comm_seats *seats, uint32_t reader, uint32_t seat,
			  const struct comm_ages *ages, uint64_t now_ns,
			  struct comm_seat_part ret[COMM_SEAT_PARTS])
{
	struct had had = had_at(seats, seat, now_ns);
	uint32_t role = comm_seats_role(seats, had.thread), n = 0;
	double own = own_chance(seats, reader, had.thread), old = 0;

	if (had.since_ns)
		old = had.since_ns < now_ns ? older(ages, now_ns - had.since_ns) : 1;
	/* What is the reader's own anyway is in doubt as much as what is not. */
	if (had.thread == reader) {
		add_part(ret, &n, reader, role, 1 - old + old * own,
			 fmin(1 - old + old * own, 1 - own / 2));
		add_part(ret, &n, had.before, role, old - old * own,
			 fmax(old - old * own, own / 2));
		return n;
	}
	add_part(ret, &n, reader, role, own, own / 2);
	add_part(ret, &n, had.thread, role, (1 - own) * (1 - old), (1 - own / 2) * (1 - old));
	add_part(ret, &n, had.before, role, (1 - own) * old, (1 - own / 2) * old);
	return n;
}
