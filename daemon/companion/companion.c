// SPDX-License-Identifier: GPL-2.0-or-later
#include "companion.h"

#include <errno.h>
#include <stdlib.h>

/* X(name): comm_companion_NAME, which stands in NAME.c. */
#define COMPANIONS(X) X(survey)

#define DECLARE(name) extern const struct comm_companion comm_companion_##name;
COMPANIONS(DECLARE)

#define ROW(name) &comm_companion_##name,
const struct comm_companion *const comm_companion_table[] = {COMPANIONS(ROW) NULL};

enum { ALL = sizeof(comm_companion_table) / sizeof(comm_companion_table[0]) - 1 };

struct comm_companions {
	struct {
		const struct comm_companion *companion;
		void *handle;
	} open[ALL];
	unsigned int n;
	char *note;
	uint64_t told_ns; /* cost to the target that drain has reported so far */
};

int comm_companions_open(const struct comm_companion_config *config, struct comm_companions **ret,
			 char **err)
{
	struct comm_companions *c = calloc(1, sizeof(*c));
	int rc = 0;

	if (!c)
		return -ENOMEM;
	for (unsigned int i = 0; i < ALL && !rc; i++) {
		void *handle = NULL;
		char *why = NULL;

		rc = comm_companion_table[i]->open(config, &handle, &why);
		if (rc)
			*err = why;
		else if (!c->note)
			c->note = why;
		else
			free(why);
		if (rc || !handle)
			continue;
		c->open[c->n].companion = comm_companion_table[i];
		c->open[c->n++].handle = handle;
	}
	if (rc)
		comm_companions_close(c);
	else
		*ret = c;
	return rc;
}

void comm_companions_close(struct comm_companions *c)
{
	if (!c)
		return;
	while (c->n) {
		c->n--;
		c->open[c->n].companion->close(c->open[c->n].handle);
	}
	free(c->note);
	free(c);
}

const char *comm_companions_note(const struct comm_companions *c)
{
	return c->note ? c->note : "";
}

void comm_companions_burst(struct comm_companions *c, const struct comm_event *event,
			   const struct comm_burst *burst)
{
	for (unsigned int i = 0; i < c->n; i++)
		c->open[i].companion->burst(c->open[i].handle, event, burst);
}

void comm_companions_gone(struct comm_companions *c, uint32_t tgid)
{
	for (unsigned int i = 0; i < c->n; i++)
		if (c->open[i].companion->gone)
			c->open[i].companion->gone(c->open[i].handle, tgid);
}

void comm_companions_end(struct comm_companions *c)
{
	for (unsigned int i = 0; i < c->n; i++)
		if (c->open[i].companion->end)
			c->open[i].companion->end(c->open[i].handle);
}

uint64_t comm_companions_drain(struct comm_companions *c, uint64_t now_ns, comm_event_fn *push,
			       void *ctx)
{
	uint64_t cost_ns = 0, new_ns;

	for (unsigned int i = 0; i < c->n; i++) {
		c->open[i].companion->drain(c->open[i].handle, now_ns, push, ctx);
		cost_ns += c->open[i].companion->cost_ns(c->open[i].handle);
	}
	new_ns = cost_ns - c->told_ns;
	c->told_ns = cost_ns;
	return new_ns;
}

void comm_companions_turn(struct comm_companions *c, uint64_t now_ns, uint64_t budget_ns)
{
	for (unsigned int i = 0; i < c->n; i++)
		c->open[i].companion->turn(c->open[i].handle, now_ns, budget_ns);
}

void comm_companions_allow(struct comm_companions *c, uint64_t now_ns, double overhead)
{
	for (unsigned int i = 0; i < c->n; i++)
		if (c->open[i].companion->allow)
			c->open[i].companion->allow(c->open[i].handle, now_ns, overhead);
}

int comm_companions_turn_ms(const struct comm_companions *c, int most_ms)
{
	for (unsigned int i = 0; i < c->n; i++) {
		int ms = c->open[i].companion->turn_ms(c->open[i].handle);

		most_ms = ms < most_ms ? ms : most_ms;
	}
	return most_ms;
}

void comm_companions_say(const struct comm_companions *c, FILE *out)
{
	for (unsigned int i = 0; i < c->n; i++)
		c->open[i].companion->say(c->open[i].handle, out);
}
