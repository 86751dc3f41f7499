// SPDX-License-Identifier: GPL-2.0-or-later
#include "held.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether a line of the file is word, or begins with it. */
static bool file_says(const char *path, const char *word)
{
	FILE *file = fopen(path, "re");
	char line[256];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = !strncmp(line, word, strlen(word));
	if (file)
		fclose(file);
	return found;
}

/* Where a hierarchy is mounted: that of version 2, or of version 1 the one of the freezer. */
static bool find_mount(bool second, char ret[PATH_MAX])
{
	FILE *file = fopen("/proc/self/mounts", "re");
	char line[2 * PATH_MAX], type[32], options[256], path[PATH_MAX];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%*s %4095s %31s %255s", path, type, options) != 3)
			continue;
		found = second ? !strcmp(type, "cgroup2")
			       : !strcmp(type, "cgroup") && strstr(options, "freezer");
	}
	if (file)
		fclose(file);
	if (found)
		strcpy(ret, path);
	return found;
}

/* line: "4:freezer:/a/b", or of version 2 "0::/a/b" */
static bool group_is_frozen(char *line)
{
	char *first = strchr(line, ':'), *second = first ? strchr(first + 1, ':') : NULL;
	char mount[PATH_MAX], path[3 * PATH_MAX];
	bool of_second;

	line[strcspn(line, "\n")] = '\0';
	if (!second)
		return false;
	*second = '\0';
	of_second = !first[1];
	if ((!of_second && !strstr(first + 1, "freezer")) || !find_mount(of_second, mount))
		return false;
	snprintf(path, sizeof(path), "%s%s/%s", mount, second + 1,
		 of_second ? "cgroup.events" : "freezer.state");
	return file_says(path, of_second ? "frozen 1" : "FROZEN");
}

static bool is_frozen(uint32_t pid)
{
	char path[64], line[2 * PATH_MAX];
	bool frozen = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/cgroup", pid);
	file = fopen(path, "re");
	while (file && !frozen && fgets(line, sizeof(line), file))
		frozen = group_is_frozen(line);
	if (file)
		fclose(file);
	return frozen;
}

/* The state of a thread as in proc(5), and who traces it; '\0': it has ended. */
static char state_of(uint32_t pid, const char *tid, uint32_t *ret_tracer)
{
	char path[320], line[256], state = '\0';
	FILE *file;

	*ret_tracer = 0;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%s/status", pid, tid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		sscanf(line, "State: %c", &state);
		sscanf(line, "TracerPid: %" SCNu32, ret_tracer);
	}
	if (file)
		fclose(file);
	return state;
}

void comm_held_add(struct comm_held *held, uint32_t pid)
{
	bool frozen = is_frozen(pid);
	const struct dirent *entry;
	char path[64];
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", pid);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		uint32_t tracer;
		char state;

		if (entry->d_name[0] == '.')
			continue;
		state = state_of(pid, entry->d_name, &tracer);
		if (!state)
			continue;
		held->threads++;
		held->frozen += frozen;
		if (state == 't' || (state == 'T' && tracer)) {
			held->traced++;
			held->tracer = tracer;
		} else if (state == 'T') {
			held->stopped++;
		} else if (state == 'S' || state == 'I') {
			held->asleep += !frozen;
		}
	}
	if (tasks)
		closedir(tasks);
}

/* "its 3 threads", "2 of its 3 threads" */
static const char *how_many(char text[64], unsigned int n, unsigned int all)
{
	if (all == 1)
		return "its only thread is";
	if (n == all)
		snprintf(text, 64, "all its %u threads are", all);
	else
		snprintf(text, 64, "%u of its %u threads %s", n, all, n == 1 ? "is" : "are");
	return text;
}

void comm_held_sentence(const struct comm_held *held, char *ret, size_t size)
{
	char many[64];

	if (held->frozen)
		snprintf(ret, size,
			 "%s frozen in a control group (its cgroup.events or freezer.state): thaw "
			 "it",
			 how_many(many, held->frozen, held->threads));
	else if (held->traced)
		snprintf(ret, size,
			 "%s stopped by a debugger or tracer, process %" PRIu32
			 " (t in /proc/PID/stat): let it go on",
			 how_many(many, held->traced, held->threads), held->tracer);
	else if (held->stopped)
		snprintf(ret, size,
			 "%s stopped by a signal (T in /proc/PID/stat): kill -CONT lets it go on",
			 how_many(many, held->stopped, held->threads));
	else if (held->threads && held->asleep == held->threads)
		snprintf(ret, size, "%s asleep (S in /proc/PID/stat): it waits for something to do",
			 how_many(many, held->asleep, held->threads));
	else
		*ret = '\0';
}
