// SPDX-License-Identifier: GPL-2.0-or-later
#include "followers.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "open.h"
#include "stamp.h"

enum {
	FOLLOWERS_MAX = 32,
	FOLLOWERS_LOOK_MS = 250,
	FOLLOWERS_TEXT = 128,
	FOLLOWERS_SPARE = 10, /* pages take one part in so many of a CPU's time */
};

#define FOLLOWERS_REST_NS 2000000000ull
/* A stream that is silent for longer gets a comment, by which it shows whether somebody still reads. */
#define FOLLOWERS_SILENT_NS 15000000000ull

struct follower {
	struct ctl_followers *of;
	struct MHD_Connection *connection;
	int64_t run; /* 0: the latest */
	uint64_t seen, told_ns;
	int64_t newest; /* run that it was told of */
	char text[FOLLOWERS_TEXT];
	size_t n, at;
	bool waits; /* its connection is suspended: there is no text left */
};

struct ctl_followers {
	const char *store;
	struct follower *follower[FOLLOWERS_MAX];
	size_t n;
	uint64_t version, next_ns;
	int64_t newest; /* run of that version; 0: there is none, or none can be read */
	bool ended;
};

uint64_t ctl_followers_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct ctl_followers *ctl_followers_create(const char *store)
{
	struct ctl_followers *followers = calloc(1, sizeof(*followers));

	if (followers)
		followers->store = store;
	return followers;
}

void ctl_followers_destroy(struct ctl_followers *followers)
{
	free(followers);
}

/* Of the stream: what there is, or nothing until somebody resumes it. */
static ssize_t read_stream(void *arg, uint64_t position, char *to, size_t max)
{
	struct follower *follower = arg;
	size_t n = follower->n - follower->at;

	(void)position;
	if (follower->of->ended)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (!n) {
		follower->waits = true;
		MHD_suspend_connection(follower->connection);
		return 0;
	}
	n = n < max ? n : max;
	memcpy(to, follower->text + follower->at, n);
	follower->at += n;
	return (ssize_t)n;
}

static void leave(void *arg)
{
	struct follower *follower = arg;
	struct ctl_followers *followers = follower->of;
	size_t i = 0;

	while (followers->follower[i] != follower)
		i++;
	followers->follower[i] = followers->follower[--followers->n];
	free(follower);
}

static void resume(struct follower *follower)
{
	follower->waits = false;
	MHD_resume_connection(follower->connection);
}

static void tell(struct follower *follower, uint64_t now_ns)
{
	follower->n = strlen(follower->text);
	follower->at = 0;
	follower->told_ns = now_ns;
	resume(follower);
}

struct MHD_Response *ctl_followers_add(struct ctl_followers *followers,
				       struct MHD_Connection *connection,
				       const struct ctl_request *request)
{
	struct follower *follower;
	struct MHD_Response *response;

	if (followers->n == FOLLOWERS_MAX)
		return NULL;
	follower = calloc(1, sizeof(*follower));
	if (!follower)
		return NULL;
	*follower = (struct follower){.of = followers,
				      .connection = connection,
				      .run = request->run,
				      .seen = request->seen,
				      .told_ns = ctl_followers_now_ns(),
				      .text = "retry: 3000\n\n"};
	follower->n = strlen(follower->text);
	followers->follower[followers->n++] = follower;
	response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, FOLLOWERS_TEXT, read_stream,
						     follower, leave);
	if (!response)
		leave(follower);
	return response;
}

void ctl_followers_rest(struct ctl_followers *followers, uint64_t spent_ns)
{
	uint64_t rest_ns = FOLLOWERS_SPARE * spent_ns;

	rest_ns = rest_ns > FOLLOWERS_REST_NS ? rest_ns : FOLLOWERS_REST_NS;
	followers->next_ns = ctl_followers_now_ns() + rest_ns;
}

/* The newest run, 0: none can be read. */
static int64_t read_newest(const char *store)
{
	struct comm_reader *reader;
	uint64_t end_ns, changes;
	int64_t run = 0;
	char *err = NULL;

	if (!ctl_open_store(store, &reader, NULL, &err)) {
		if (comm_reader_newest(reader, &run, &end_ns, &changes, NULL))
			run = 0;
		comm_reader_close(reader);
	}
	free(err);
	return run;
}

/* Whoever looks at an older run is told of new ones alone. */
static void tell_change(const struct ctl_followers *followers, struct follower *follower,
			uint64_t now_ns)
{
	bool is_shown = !follower->run || !followers->newest || follower->run == followers->newest;

	follower->seen = followers->version;
	if (!is_shown && follower->newest == followers->newest)
		return;
	follower->newest = followers->newest;
	snprintf(follower->text, sizeof(follower->text),
		 "event: %s\nid: %016" PRIx64 "\ndata: {\"run\":%" PRId64 "}\n\n",
		 is_shown ? "slice" : "runs", followers->version, followers->newest);
	tell(follower, now_ns);
}

int ctl_followers_look(struct ctl_followers *followers)
{
	uint64_t version, now_ns;

	if (!followers->n)
		return -1;
	version = ctl_stamp(followers->store ? followers->store : ctl_store_default());
	if (version != followers->version) {
		followers->version = version;
		followers->newest = read_newest(followers->store);
	}
	now_ns = ctl_followers_now_ns();
	for (size_t i = 0; i < followers->n; i++) {
		struct follower *follower = followers->follower[i];

		if (!follower->waits)
			continue;
		if (follower->seen != followers->version && now_ns >= followers->next_ns) {
			tell_change(followers, follower, now_ns);
		} else if (now_ns - follower->told_ns > FOLLOWERS_SILENT_NS) {
			strcpy(follower->text, ":\n\n");
			tell(follower, now_ns);
		}
	}
	return FOLLOWERS_LOOK_MS;
}

void ctl_followers_end(struct ctl_followers *followers)
{
	followers->ended = true;
	for (size_t i = 0; i < followers->n; i++)
		if (followers->follower[i]->waits)
			resume(followers->follower[i]);
}
