// SPDX-License-Identifier: GPL-2.0-or-later
#include "maps_reading.h"

#include <errno.h>
#include <stdlib.h>

/* Of who maps ahead of the reader, or has long names, the first ones do. */
static const uint64_t bytes_max = 64 << 20;

struct maps_reading {
	uint32_t tgid; /* 0: free */
	uint64_t bytes;
	struct comm_maps_list list;
};

struct comm_maps_readings {
	struct comm_process_reader *reader;
	struct comm_maps *maps;
	struct maps_reading reading[COMM_MAPS_READINGS_MAX];
	size_t turn;
};

int comm_maps_readings_create(struct comm_process_reader *reader, struct comm_maps *maps,
			      struct comm_maps_readings **ret)
{
	struct comm_maps_readings *readings = calloc(1, sizeof(*readings));

	if (!readings)
		return -ENOMEM;
	readings->reader = reader;
	readings->maps = maps;
	*ret = readings;
	return 0;
}

void comm_maps_readings_destroy(struct comm_maps_readings *readings)
{
	if (!readings)
		return;
	for (size_t i = 0; i < COMM_MAPS_READINGS_MAX; i++)
		free(readings->reading[i].list.map);
	free(readings);
}

static int fail(struct maps_reading *reading, int err)
{
	free(reading->list.map);
	*reading = (struct maps_reading){0};
	return err;
}

/* Reads one more piece.  0: they are whole, in *ret, and the reading is free, as after an error; -EINPROGRESS. */
static int go_on(struct comm_maps_readings *readings, struct maps_reading *reading,
		 struct comm_maps_list *ret)
{
	const char *text;
	ssize_t n =
		comm_process_reader_maps(readings->reader, reading->tgid, reading->bytes, &text);
	int err = n < 0 ? (int)n : 0;

	/* The reader has no CPU, say. */
	if (err == -EAGAIN)
		return -EINPROGRESS;
	if (!err && n)
		err = comm_maps_add(readings->maps, text, (size_t)n, &reading->list);
	if (err)
		return fail(reading, err);
	reading->bytes += (uint64_t)n;
	if (!comm_peek_is_last(n) && reading->list.n < COMM_MAPS_MAX && reading->bytes < bytes_max)
		return -EINPROGRESS;
	comm_maps_end(&reading->list);
	*ret = reading->list;
	*reading = (struct maps_reading){0};
	return 0;
}

static struct maps_reading *find(struct comm_maps_readings *readings, uint32_t tgid)
{
	for (size_t i = 0; i < COMM_MAPS_READINGS_MAX; i++)
		if (readings->reading[i].tgid == tgid)
			return &readings->reading[i];
	return NULL;
}

bool comm_maps_readings_has(const struct comm_maps_readings *readings, uint32_t tgid)
{
	for (size_t i = 0; i < COMM_MAPS_READINGS_MAX; i++)
		if (readings->reading[i].tgid && (!tgid || readings->reading[i].tgid == tgid))
			return true;
	return false;
}

int comm_maps_readings_ask(struct comm_maps_readings *readings, uint32_t tgid, bool whole,
			   struct comm_maps_list *ret)
{
	struct maps_reading own = {.tgid = tgid}, *free_one;
	int err;

	if (whole) {
		do
			err = go_on(readings, &own, ret);
		while (err == -EINPROGRESS);
		return err;
	}
	free_one = find(readings, 0);
	if (!free_one || comm_maps_readings_has(readings, tgid))
		return -EINPROGRESS;
	free_one->tgid = tgid;
	return go_on(readings, free_one, ret);
}

int comm_maps_readings_turn(struct comm_maps_readings *readings, uint32_t *ret_tgid,
			    struct comm_maps_list *ret)
{
	for (size_t i = 0; i < COMM_MAPS_READINGS_MAX; i++) {
		struct maps_reading *reading =
			&readings->reading[readings->turn++ % COMM_MAPS_READINGS_MAX];

		if (!reading->tgid)
			continue;
		*ret_tgid = reading->tgid;
		return go_on(readings, reading, ret);
	}
	return -EINPROGRESS;
}
