// SPDX-License-Identifier: GPL-2.0-or-later
#include "topology.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	TOPOLOGY_LINE = 8192, /* no list of CPUs is longer */
	TOPOLOGY_PATH = 4096,
	TOPOLOGY_CACHES = 16, /* index0, index1, ...: there are four or five */
	TOPOLOGY_NODES = 1024,
	TOPOLOGY_COLUMNS = 16,
};

const char *ctl_level_name(enum ctl_level level)
{
	static const char *const names[] = {"node", "cache", "cpu"};

	return names[level];
}

bool ctl_cpus_has(const struct ctl_cpus *cpus, int64_t cpu)
{
	return cpu >= 0 && cpu < CTL_CPUS_MAX && cpus->word[cpu / 64] >> (cpu % 64) & 1;
}

static void add(struct ctl_cpus *cpus, int cpu)
{
	cpus->word[cpu / 64] |= 1ULL << (cpu % 64);
}

size_t ctl_cpus_count(const struct ctl_cpus *cpus)
{
	size_t n = 0;

	for (size_t i = 0; i < CTL_CPUS_MAX / 64; i++)
		n += (size_t)__builtin_popcountll(cpus->word[i]);
	return n;
}

/* A number at *text, which is moved behind it; -1: there is none, or it is no CPU's. */
static int take_cpu(const char **text)
{
	char *end;
	long cpu;

	if (!isdigit((unsigned char)**text))
		return -1;
	errno = 0;
	cpu = strtol(*text, &end, 10);
	*text = end;
	return errno || cpu >= CTL_CPUS_MAX ? -1 : (int)cpu;
}

int ctl_cpus_parse(const char *text, struct ctl_cpus *ret)
{
	struct ctl_cpus cpus = {0};

	do {
		int first = take_cpu(&text), last = first;

		if (*text == '-') {
			text++;
			last = take_cpu(&text);
		}
		if (first < 0 || last < first)
			return -EINVAL;
		for (int cpu = first; cpu <= last; cpu++)
			add(&cpus, cpu);
	} while (*text++ == ',');
	/* The kernel's files end in a newline. */
	if (text[-1] && (text[-1] != '\n' || *text))
		return -EINVAL;
	*ret = cpus;
	return 0;
}

char *ctl_cpus_text(const struct ctl_cpus *cpus)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const char *comma = "";

	if (!out)
		return NULL;
	for (int cpu = 0; cpu < CTL_CPUS_MAX; cpu++) {
		int first = cpu;

		if (!ctl_cpus_has(cpus, cpu))
			continue;
		while (ctl_cpus_has(cpus, cpu + 1))
			cpu++;
		fprintf(out, cpu > first ? "%s%d-%d" : "%s%d", comma, first, cpu);
		comma = ",";
	}
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

static int fail(char **err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int fail(char **err, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vasprintf(err, format, args) < 0)
		*err = NULL;
	va_end(args);
	return code;
}

/* The first line of a file beneath root; "" when there is none. */
static void read_line(const char *root, const char *name, char line[TOPOLOGY_LINE])
{
	char path[TOPOLOGY_PATH + 128];
	FILE *file;

	*line = '\0';
	snprintf(path, sizeof(path), "%s/%s", root, name);
	file = fopen(path, "re");
	if (!file)
		return;
	if (!fgets(line, TOPOLOGY_LINE, file))
		*line = '\0';
	fclose(file);
}

/* The CPUs that share a CPU's cache of the highest level that holds data. */
static void read_cache(const char *root, int cpu, struct ctl_cpus *ret)
{
	char name[128], line[TOPOLOGY_LINE];
	int highest = 0;

	for (int i = 0; i < TOPOLOGY_CACHES; i++) {
		struct ctl_cpus shared;
		int level;

		snprintf(name, sizeof(name), "devices/system/cpu/cpu%d/cache/index%d/level", cpu,
			 i);
		read_line(root, name, line);
		level = atoi(line);
		snprintf(name, sizeof(name), "devices/system/cpu/cpu%d/cache/index%d/type", cpu, i);
		read_line(root, name, line);
		if (level <= highest || !strncmp(line, "Instruction", strlen("Instruction")))
			continue;
		snprintf(name, sizeof(name),
			 "devices/system/cpu/cpu%d/cache/index%d/shared_cpu_list", cpu, i);
		read_line(root, name, line);
		if (ctl_cpus_parse(line, &shared))
			continue;
		highest = level;
		*ret = shared;
	}
}

/* Sets a unit of all its CPUs; its number is that of its first one, of those that count. */
static void set_cache(struct ctl_topology *topology, int cpu, const struct ctl_cpus *shared)
{
	int first = 0;

	while (first < cpu &&
	       !(ctl_cpus_has(shared, first) && ctl_cpus_has(&topology->cpus, first)))
		first++;
	topology->unit[cpu][CTL_CACHE] = first;
}

static int read_sys(const char *root, const struct ctl_cpus *allowed, struct ctl_topology *ret,
		    char **err)
{
	char name[128], line[TOPOLOGY_LINE];
	struct ctl_cpus nodes;

	read_line(root, "devices/system/cpu/online", line);
	if (ctl_cpus_parse(line, &ret->cpus))
		return fail(err, -ENOENT,
			    "%s/devices/system/cpu does not tell which CPUs there are; name a file "
			    "made by \"lscpu -p=CPU,NODE,CACHE\" with --topology",
			    root);
	for (size_t i = 0; allowed && i < CTL_CPUS_MAX / 64; i++)
		ret->cpus.word[i] &= allowed->word[i];
	for (int cpu = 0; cpu < CTL_CPUS_MAX; cpu++) {
		struct ctl_cpus shared;

		if (!ctl_cpus_has(&ret->cpus, cpu))
			continue;
		ret->unit[cpu][CTL_CPU] = cpu;
		/* A virtual machine may not tell: then it is one cache for all. */
		shared = ret->cpus;
		read_cache(root, cpu, &shared);
		set_cache(ret, cpu, &shared);
	}
	/* A kernel without NUMA has no nodes: all CPUs are of node 0. */
	read_line(root, "devices/system/node/online", line);
	if (ctl_cpus_parse(line, &nodes))
		return 0;
	for (int node = 0; node < TOPOLOGY_NODES; node++) {
		struct ctl_cpus cpus;

		snprintf(name, sizeof(name), "devices/system/node/node%d/cpulist", node);
		read_line(root, name, line);
		for (int cpu = 0; ctl_cpus_has(&nodes, node) && !ctl_cpus_parse(line, &cpus) &&
				  cpu < CTL_CPUS_MAX;
		     cpu++)
			if (ctl_cpus_has(&cpus, cpu))
				ret->unit[cpu][CTL_NODE] = node;
	}
	return 0;
}

/*
 * CPU,NODE,CACHE: versions of lscpu put commas or colons between the caches' columns, L1d
 * first, and leave an empty column where they know nothing.
 */
static bool parse_line(const char *line, struct ctl_topology *topology)
{
	const char *column[TOPOLOGY_COLUMNS];
	size_t n = 0;
	int cpu;

	for (const char *at = line; n < TOPOLOGY_COLUMNS; at++) {
		column[n++] = at;
		at += strcspn(at, ",:\n");
		if (*at != ',' && *at != ':')
			break;
	}
	cpu = take_cpu(&column[0]);
	if (n < 2 || cpu < 0 || (*column[0] != ',' && *column[0] != ':'))
		return false;
	add(&topology->cpus, cpu);
	topology->unit[cpu][CTL_CPU] = cpu;
	topology->unit[cpu][CTL_NODE] = isdigit((unsigned char)*column[1]) ? atoi(column[1]) : 0;
	topology->unit[cpu][CTL_CACHE] =
		n > 2 && isdigit((unsigned char)*column[n - 1]) ? atoi(column[n - 1]) : 0;
	return true;
}

static int read_lscpu(FILE *file, const char *path, const struct ctl_cpus *allowed,
		      struct ctl_topology *ret, char **err)
{
	char line[TOPOLOGY_LINE];
	int number = 0;

	while (fgets(line, sizeof(line), file)) {
		number++;
		if (*line != '#' && *line != '\n' && !parse_line(line, ret))
			return fail(err, -EINVAL,
				    "%s, line %d: not as \"lscpu -p=CPU,NODE,CACHE\" writes it",
				    path, number);
	}
	if (ferror(file))
		return fail(err, -EIO, "cannot read %s: %s", path, strerror(errno));
	if (!ctl_cpus_count(&ret->cpus))
		return fail(err, -EINVAL, "%s names no CPU", path);
	for (size_t i = 0; allowed && i < CTL_CPUS_MAX / 64; i++)
		ret->cpus.word[i] &= allowed->word[i];
	/* Caches are counted; called they are by their first CPU, as those of /sys. */
	for (int cpu = CTL_CPUS_MAX - 1; cpu >= 0; cpu--) {
		struct ctl_cpus shared = {0};

		if (!ctl_cpus_has(&ret->cpus, cpu))
			continue;
		for (int other = 0; other <= cpu; other++)
			if (ctl_cpus_has(&ret->cpus, other) &&
			    ret->unit[other][CTL_CACHE] == ret->unit[cpu][CTL_CACHE])
				add(&shared, other);
		set_cache(ret, cpu, &shared);
	}
	return 0;
}

int ctl_topology_read(const char *path, const struct ctl_cpus *allowed, struct ctl_topology *ret,
		      char **err)
{
	const char *root = path ? path : "/sys";
	struct stat st;
	FILE *file;
	int code;

	*err = NULL;
	memset(ret, 0, sizeof(*ret));
	if (stat(root, &st) < 0)
		return fail(err, -errno, "cannot read the topology %s: %s", root, strerror(errno));
	if (S_ISDIR(st.st_mode)) {
		code = read_sys(root, allowed, ret, err);
	} else {
		file = fopen(root, "re");
		if (!file)
			return fail(err, -errno, "cannot read the topology %s: %s", root,
				    strerror(errno));
		code = read_lscpu(file, root, allowed, ret, err);
		fclose(file);
	}
	if (!code && !ctl_cpus_count(&ret->cpus))
		code = fail(err, -EINVAL, "the machine has none of the CPUs that --cpus names");
	return code;
}

int ctl_parts_init(struct ctl_parts *parts, const struct ctl_topology *topology,
		   enum ctl_level level)
{
	size_t n_cpus = ctl_cpus_count(&topology->cpus);

	parts->level = level;
	parts->n = 0;
	parts->part = calloc(n_cpus + 1, sizeof(*parts->part));
	if (!parts->part)
		return -ENOMEM;
	for (int cpu = 0; cpu < CTL_CPUS_MAX; cpu++) {
		int number = topology->unit[cpu][level];
		size_t at = 0;

		if (!ctl_cpus_has(&topology->cpus, cpu))
			continue;
		while (at < parts->n && parts->part[at].number < number)
			at++;
		if (at == parts->n || parts->part[at].number != number) {
			memmove(&parts->part[at + 1], &parts->part[at],
				(parts->n - at) * sizeof(*parts->part));
			parts->part[at] = (struct ctl_part){.number = number};
			parts->n++;
		}
		add(&parts->part[at].cpus, cpu);
	}
	return 0;
}

void ctl_parts_deinit(struct ctl_parts *parts)
{
	free(parts->part);
	parts->part = NULL;
	parts->n = 0;
}

size_t ctl_parts_of(const struct ctl_parts *parts, int64_t cpu)
{
	size_t at = 0;

	while (at < parts->n && !ctl_cpus_has(&parts->part[at].cpus, cpu))
		at++;
	return at;
}
