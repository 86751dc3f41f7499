// SPDX-License-Identifier: GPL-2.0-or-later
#include "result.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "call.h"
#include "format.h"
#include "object.h"
#include "slice.h"
#include "text.h"
#include "thread.h"
#include "transit.h"

enum {
	OUT_BYTES = 1 << 16,
	MAPS_BYTES = 16 << 20,
	REGION_BYTES = 63, /* as long as samples show one */
	COMMAND_BYTES = 1024,
	PATH_BYTES = 4096,
	SITE_OTHER = 0,
	SITE_CHANNELS = 1,
	SITE_FIRST = SITE_CHANNELS + COMM_CHANNELS,
	FUNCTION_FIRST = SITE_FIRST, /* behind those of these sites */
	NOBODY = 0,
};

/* Who reads or writes: a thread's slot and a site, as in a cell. */
struct actor {
	uint32_t who, id; /* who 0: free */
};

static struct {
	int fd, err;
	size_t n;
	uint8_t buf[OUT_BYTES];
} out;

static struct {
	uint64_t start_ns, start_unix_ns;
	struct actor *actor; /* open addressing */
	uint32_t mask, n_actors, n_sites;
	uint32_t *site;	  /* by site, 0: none yet */
	uint32_t *object; /* likewise */
	uint32_t n_objects;
	uint32_t *thread; /* by slot, number + 1 */
	uint32_t n_threads;
	uint64_t edges;
	uint32_t cpu
		[COMM_EXACT_THREADS]; /* by slot, and 1: in the last slice in which it did anything */
	uint32_t n_regions, region[COMM_EXACT_REGIONS];	  /* number in the file, by id */
	uint32_t n_paths, function[COMM_EXACT_FUNCTIONS]; /* likewise */
} result;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

void comm_exact_result_begin(uint64_t slice_ns)
{
	result.start_ns = clock_ns(CLOCK_MONOTONIC);
	result.start_unix_ns = clock_ns(CLOCK_REALTIME);
	comm_exact_slices_begin(result.start_ns, slice_ns);
}

/* By number, here and below: the names are interposed (channel.c, mapping.c). */
static void *map(size_t bytes)
{
	void *p = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void unmap(void *p, size_t bytes)
{
	if (p)
		syscall(SYS_munmap, p, bytes);
}

static void flush(void)
{
	size_t at = 0;

	while (at < out.n && !out.err) {
		long n = syscall(SYS_write, out.fd, out.buf + at, out.n - at);

		if (n < 0 && errno != EINTR)
			out.err = errno;
		else if (n > 0)
			at += n;
	}
	out.n = 0;
}

static void put(const void *data, size_t bytes)
{
	const uint8_t *from = data;
	size_t i;

	for (i = 0; i < bytes; i++) {
		if (out.n == sizeof(out.buf))
			flush();
		out.buf[out.n++] = from[i];
	}
}

static void put_record(uint32_t kind, const void *fixed, size_t fixed_bytes, const char *first,
		       size_t first_bytes, const char *second, size_t second_bytes)
{
	const struct comm_exact_record head = {kind, fixed_bytes + first_bytes + second_bytes};
	static const uint8_t zero[8];

	put(&head, sizeof(head));
	put(fixed, fixed_bytes);
	put(first, first_bytes);
	put(second, second_bytes);
	put(zero, -head.bytes & 7);
}

static size_t read_file(const char *path, char *ret, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	long n = fd < 0 ? -1 : syscall(SYS_read, fd, ret, size);

	if (fd >= 0)
		close(fd);
	return n < 0 ? 0 : n;
}

static void put_command(void)
{
	static char text[COMMAND_BYTES];
	size_t n = read_file("/proc/self/cmdline", text, sizeof(text)), i;

	while (n && !text[n - 1])
		n--;
	for (i = 0; i < n; i++)
		if (!text[i])
			text[i] = ' ';
	put_record(COMM_EXACT_COMMAND, NULL, 0, text, n, NULL, 0);
}

/* The fixed site of what has no code; its function has the same number. */
static uint32_t fixed_site(uint64_t site)
{
	return site >= COMM_SITE_CHANNELS && site < COMM_SITE_UNKNOWN
		       ? SITE_CHANNELS + site - COMM_SITE_CHANNELS
		       : SITE_OTHER;
}

static uint32_t site_of(uint32_t site)
{
	if (site < COMM_SITE_FIRST)
		return fixed_site(site);
	if (!result.site[site])
		result.site[site] = result.n_sites++;
	return result.site[site];
}

static uint32_t object_of(uint32_t object)
{
	if (!result.object[object])
		result.object[object] = ++result.n_objects;
	return result.object[object];
}

static uint32_t thread_of(uint32_t slot)
{
	if (!result.thread[slot])
		result.thread[slot] = ++result.n_threads;
	return result.thread[slot] - 1;
}

static uint32_t actor_of(uint32_t who)
{
	uint32_t i = who * 2654435761u & result.mask;

	if (!(who >> COMM_SITE_BITS))
		return NOBODY;
	while (result.actor[i].who && result.actor[i].who != who)
		i = (i + 1) & result.mask;
	if (!result.actor[i].who)
		result.actor[i] = (struct actor){who, ++result.n_actors};
	return result.actor[i].id;
}

static uint64_t count_edges(void)
{
	struct comm_exact_thread *t;
	uint64_t n = 0, mask;

	for (t = comm_exact_threads(); t; t = t->next) {
		comm_exact_table(t, &mask);
		n += mask + 1;
	}
	return n;
}

/* The slice that is told of may have begun while the threads' tables were looked at for the one before: then it is this. */
static void put_date(const struct comm_exact_file_edge *e, uint32_t earlier, uint32_t index)
{
	const struct comm_exact_file_date date = {
		.src = e->src,
		.dst = e->dst,
		.object = e->object,
		.phase = earlier == COMM_EXACT_NO_SLICE ? COMM_EXACT_NO_PHASE : earlier - 1,
		.bytes = e->bytes,
	};

	if (date.phase < index || date.phase == COMM_EXACT_NO_PHASE)
		put_record(COMM_EXACT_DATES, &date, sizeof(date), NULL, 0, NULL, 0);
}

static void put_edge(const struct comm_exact_share *share, uint32_t index)
{
	struct comm_exact_file_edge e = {
		.src = actor_of(share->key >> 32),
		.dst = actor_of(share->thread << COMM_SITE_BITS |
				(share->key & (COMM_EXACT_SITES - 1))),
		.object = object_of((uint32_t)share->object),
		.back = share->key >> COMM_SITE_BITS & 3,
		.bytes = share->bytes,
		.first_bytes = share->first_bytes,
	};

	put_record(COMM_EXACT_EDGES, &e, sizeof(e), NULL, 0, NULL, 0);
	result.edges++;
	if (e.src && share->object >> 32)
		put_date(&e, share->object >> 32, index);
}

static void put_write(const struct comm_exact_share *share)
{
	const uint32_t site = share->key & (COMM_EXACT_SITES - 1);
	const struct comm_exact_file_write w = {
		.actor = actor_of(share->thread << COMM_SITE_BITS | site),
		.object = object_of(share->object),
		.bytes = share->bytes,
	};

	put_record(COMM_EXACT_WRITES, &w, sizeof(w), NULL, 0, NULL, 0);
}

static void put_places(const struct comm_exact_slice *slice)
{
	uint32_t slot;
	uint64_t i;

	for (i = 0; i < slice->n; i++)
		result.cpu[comm_exact_share_at(slice->first + i)->thread] =
			comm_exact_share_at(slice->first + i)->cpu;
	for (slot = 0; slot < COMM_EXACT_THREADS; slot++) {
		struct comm_exact_file_place place = {.cpu = result.cpu[slot] - 1};

		if (!result.cpu[slot])
			continue;
		place.thread = thread_of(slot);
		put_record(COMM_EXACT_PLACES, &place, sizeof(place), NULL, 0, NULL, 0);
	}
}

static void put_slice(uint32_t index, const struct comm_exact_slice *slice, int are_cut)
{
	const struct comm_exact_file_phase phase = {
		.index = index, .start_ns = slice->start_ns, .end_ns = slice->end_ns};
	uint64_t i;

	put_record(COMM_EXACT_PHASE, &phase, sizeof(phase), NULL, 0, NULL, 0);
	/* That they are counted. */
	if (are_cut) {
		put_record(COMM_EXACT_DATES, NULL, 0, NULL, 0, NULL, 0);
		put_places(slice);
	}
	for (i = 0; i < slice->n; i++) {
		const struct comm_exact_share *share = comm_exact_share_at(slice->first + i);

		/* Edges may have come since they were counted; not as many. */
		if (result.n_actors + 2 > result.mask / 2) {
			out.err = EOVERFLOW;
			return;
		}
		if (share->key & COMM_EXACT_WROTE)
			put_write(share);
		else
			put_edge(share, index);
	}
}

/* Returns when the last one has ended. */
static uint64_t put_slices(void)
{
	struct comm_exact_slices slices;
	int err = comm_exact_slices_take(&slices);
	uint64_t i;

	for (i = 0; i < slices.n && !err; i++)
		put_slice(i, comm_exact_slice_at(i), slices.are_cut);
	comm_exact_slices_give_back();
	if (slices.uncut_ns)
		put_record(COMM_EXACT_UNCUT, &slices.uncut_ns, sizeof(slices.uncut_ns), NULL, 0,
			   NULL, 0);
	if (err)
		out.err = -err;
	return slices.end_ns;
}

static void put_actors(void)
{
	struct comm_exact_file_actor actor = {0};
	uint32_t id, i;

	put_record(COMM_EXACT_ACTORS, &actor, sizeof(actor), NULL, 0, NULL, 0);
	/* Sorted by hand: ids count up, and the table is not in their order. */
	for (i = 0; i <= result.mask; i++) {
		struct actor *a = &result.actor[i];

		while (a->who && a->id - 1 != i) {
			struct actor *to = &result.actor[a->id - 1], other = *to;

			*to = *a;
			*a = other;
		}
	}
	for (id = 0; id < result.n_actors; id++) {
		uint32_t who = result.actor[id].who;

		actor.thread = thread_of(who >> COMM_SITE_BITS);
		actor.site = site_of(who & (COMM_EXACT_SITES - 1));
		put_record(COMM_EXACT_ACTORS, &actor, sizeof(actor), NULL, 0, NULL, 0);
	}
}

static void put_function(uint32_t id, const char *name)
{
	const struct comm_exact_file_function function = {
		.id = id, .name_bytes = comm_text_bytes(name, SIZE_MAX)};

	put_record(COMM_EXACT_FUNCTION, &function, sizeof(function), name, function.name_bytes,
		   NULL, 0);
}

static void put_site(uint32_t id, uint32_t function)
{
	const struct comm_exact_file_site site = {.id = id, .function = function};

	put_record(COMM_EXACT_SITE, &site, sizeof(site), NULL, 0, NULL, 0);
}

/* All that is mapped now, in a record whose length must be known first. */
static void put_maps(void)
{
	char *text = map(MAPS_BYTES);
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	long got = 1;

	while (text && fd >= 0 && n < MAPS_BYTES && got > 0) {
		got = syscall(SYS_read, fd, text + n, MAPS_BYTES - n);
		n += got > 0 ? got : 0;
	}
	if (fd >= 0)
		close(fd);
	if (text)
		put_record(COMM_EXACT_MAPS, NULL, 0, text, n, NULL, 0);
	unmap(text, MAPS_BYTES);
}

static const char *base_name(const char *path)
{
	const char *base = path;

	for (; *path; path++)
		if (*path == '/')
			base = path + 1;
	return base;
}

/* The link that the program was started by, if it was: a script's path is not that of its interpreter. */
static void put_link(void)
{
	static char file[PATH_BYTES];
	const char *path = (const char *)getauxval(AT_EXECFN);
	struct comm_exact_file_link link;
	long n = syscall(SYS_readlink, "/proc/self/exe", file, sizeof(file) - 1);
	struct stat a, b;

	if (!path || n <= 0 || stat(path, &a) || stat("/proc/self/exe", &b) ||
	    a.st_dev != b.st_dev || a.st_ino != b.st_ino)
		return;
	path = base_name(path);
	link = (struct comm_exact_file_link){n, comm_text_bytes(path, PATH_BYTES)};
	put_record(COMM_EXACT_LINK, &link, sizeof(link), file, n, path, link.name_bytes);
}

/* Numbers the regions that there are now; a thread may be making more of them. */
static void number_regions(void)
{
	uint32_t id, parent;
	const char *name;

	result.n_regions = COMM_EXACT_REGION_FIRST;
	for (id = COMM_EXACT_REGION_FIRST; id < COMM_EXACT_REGIONS; id++) {
		comm_exact_region(id, &parent, &name);
		result.region[id] = name ? result.n_regions++ : COMM_EXACT_REGION_OTHER;
	}
	result.region[COMM_EXACT_REGION_OTHER] = COMM_EXACT_REGION_OTHER;
}

/* A thread may be making more paths. */
static void put_within(uint32_t site, struct comm_exact_place place)
{
	const struct comm_exact_file_within within = {.site = site,
						      .region = result.region[place.region]};
	const struct comm_exact_file_called called = {.site = site, .path = place.path};

	if (within.region != COMM_EXACT_REGION_NONE)
		put_record(COMM_EXACT_WITHIN, &within, sizeof(within), NULL, 0, NULL, 0);
	if (called.path != COMM_EXACT_PATH_UNKNOWN && called.path < result.n_paths)
		put_record(COMM_EXACT_CALLED, &called, sizeof(called), NULL, 0, NULL, 0);
}

static void put_entries(void)
{
	struct comm_exact_file_entry entry = {.function = FUNCTION_FIRST};
	uint32_t i;

	for (i = 0; result.n_paths && i < COMM_EXACT_FUNCTIONS; i++) {
		entry.ip = comm_exact_function_pc(i) - 1;
		if (!(entry.ip + 1))
			continue;
		result.function[i] = entry.function;
		put_function(entry.function, "");
		put_record(COMM_EXACT_ENTRY, &entry, sizeof(entry), NULL, 0, NULL, 0);
		entry.function++;
	}
}

static void put_paths(void)
{
	uint32_t i;

	for (i = 0; i < result.n_paths; i++) {
		const struct comm_exact_path path = comm_exact_path_get(i);
		const struct comm_exact_file_path one = {path.parent,
							 result.function[path.function]};

		put_record(COMM_EXACT_PATHS, &one, sizeof(one), NULL, 0, NULL, 0);
	}
}

static void put_region(uint32_t number, uint32_t parent, const char *name)
{
	const struct comm_exact_file_region region = {
		.id = number, .parent = parent, .name_bytes = comm_text_bytes(name, REGION_BYTES)};

	put_record(COMM_EXACT_REGION, &region, sizeof(region), name, region.name_bytes, NULL, 0);
}

static void put_regions(void)
{
	uint32_t id, parent;
	const char *name;

	put_region(COMM_EXACT_REGION_NONE, COMM_EXACT_REGION_NONE, "");
	put_region(COMM_EXACT_REGION_OTHER, COMM_EXACT_REGION_NONE, "(other)");
	for (id = COMM_EXACT_REGION_FIRST; id < COMM_EXACT_REGIONS; id++) {
		if (result.region[id] < COMM_EXACT_REGION_FIRST)
			continue;
		comm_exact_region(id, &parent, &name);
		put_region(result.region[id], result.region[parent], name);
	}
}

static void put_code(void)
{
	static const char *const channels[COMM_CHANNELS] = COMM_CHANNEL_NAMES;
	uint32_t site;

	put_function(SITE_OTHER, "(other)");
	for (site = 0; site < COMM_CHANNELS; site++)
		put_function(SITE_CHANNELS + site, channels[site]);
	put_entries();
	put_paths();
	for (site = 0; site < SITE_FIRST; site++)
		put_site(site, site);
	for (site = COMM_SITE_FIRST; site < COMM_EXACT_SITES; site++) {
		uint64_t pc = comm_exact_site_pc(site);
		struct comm_exact_file_code code = {.site = result.site[site],
						    .access_bytes = comm_exact_site_bytes(site),
						    .ip = pc - 1};

		if (!result.site[site])
			continue;
		put_site(code.site, fixed_site(pc));
		put_within(code.site, comm_exact_site_place(site));
		if (pc < COMM_SITE_FIRST)
			continue;
		if (comm_exact_site_is_own(site))
			code.reads = pc;
		put_record(COMM_EXACT_CODE, &code, sizeof(code), NULL, 0, NULL, 0);
	}
}

static void put_object(uint32_t id, const struct comm_exact_object *object)
{
	const enum comm_exact_object_kind kind = comm_exact_object_kind(object);
	const char *name = !object->name		      ? ""
			   : kind == COMM_EXACT_OBJECT_MARKED ? object->name
							      : base_name(object->name);
	struct comm_exact_file_object record = {
		.id = id,
		.kind = kind,
		.start = comm_exact_object_start(object),
		.size_bytes = object->size_bytes,
		.blocks = object->blocks,
		.name_bytes = comm_text_bytes(name, SIZE_MAX),
	};

	switch (kind) {
	case COMM_EXACT_OBJECT_STACK:
		record.tid = comm_exact_identity(record.start)->tid;
		record.start = 0;
		break;
	case COMM_EXACT_OBJECT_HEAP:
	case COMM_EXACT_OBJECT_ANON:
		/* In the call, not behind it.  That of memory which nobody made is 0. */
		if (record.start)
			record.start--;
		break;
	case COMM_EXACT_OBJECT_SHARED:
	case COMM_EXACT_OBJECT_MARKED:
		record.start = 0;
		break;
	default:
		break;
	}
	put_record(COMM_EXACT_OBJECT, &record, sizeof(record), name, record.name_bytes, NULL, 0);
}

static void put_objects(void)
{
	static const struct comm_exact_file_object other = {.name_bytes = 7};
	uint32_t id;

	put_record(COMM_EXACT_OBJECT, &other, sizeof(other), "(other)", 7, NULL, 0);
	for (id = 0; id < COMM_EXACT_OBJECTS; id++)
		if (result.object[id])
			put_object(result.object[id], comm_exact_object(id));
}

static void put_threads(void)
{
	static char path[64], name[COMM_EXACT_NAME_BYTES + 1];
	uint32_t slot;

	for (slot = 0; slot < COMM_EXACT_THREADS; slot++) {
		const struct comm_exact_identity *who = comm_exact_identity(slot);
		struct comm_exact_file_thread thread = {
			.id = result.thread[slot] - 1, .tid = who->tid, .pid = who->pid};

		if (!result.thread[slot])
			continue;
		snprintf(path, sizeof(path), "/proc/%u/comm", who->tid);
		thread.name_bytes = read_file(path, name, sizeof(name));
		if (thread.name_bytes && name[thread.name_bytes - 1] == '\n')
			thread.name_bytes--;
		if (thread.name_bytes)
			put_record(COMM_EXACT_THREAD, &thread, sizeof(thread), name,
				   thread.name_bytes, NULL, 0);
		else {
			/* It has ended. */
			thread.name_bytes = comm_text_bytes(who->name, sizeof(who->name));
			put_record(COMM_EXACT_THREAD, &thread, sizeof(thread), who->name,
				   thread.name_bytes, NULL, 0);
		}
	}
}

static void put_calls(void)
{
	struct comm_exact_file_calls count;

	if (comm_exact_calls_count(&count.numbered, &count.later))
		put_record(COMM_EXACT_CALLS, &count, sizeof(count), NULL, 0, NULL, 0);
}

static void put_forgotten(void)
{
	const uint64_t bytes = comm_transit_lost();

	if (bytes)
		put_record(COMM_EXACT_FORGOTTEN, &bytes, sizeof(bytes), NULL, 0, NULL, 0);
}

static void put_all(void)
{
	struct comm_exact_header header = {.version = COMM_EXACT_VERSION,
					   .header_bytes = sizeof(header),
					   .granularity_bytes = comm_shadow_mask + 1,
					   .pid = getpid(),
					   .start_ns = result.start_ns,
					   .start_unix_ns = result.start_unix_ns};
	struct comm_exact_file_end end = {0};
	const uint64_t frames = comm_exact_frames;
	static const char magic[] = COMM_EXACT_MAGIC;
	size_t i;

	for (i = 0; i < sizeof(header.magic); i++)
		header.magic[i] = magic[i];
	put(&header, sizeof(header));
	put_command();
	put_maps();
	put_link();
	end.wall_ns = put_slices() - result.start_ns;
	put_actors();
	number_regions();
	result.n_paths = comm_exact_path_count();
	put_code();
	put_regions();
	put_threads();
	put_record(COMM_EXACT_FRAMES, &frames, sizeof(frames), NULL, 0, NULL, 0);
	put_calls();
	put_forgotten();
	put_objects();
	end.edges = result.edges;
	put_record(COMM_EXACT_END, &end, sizeof(end), NULL, 0, NULL, 0);
	flush();
}

int comm_exact_result_write(const char *path)
{
	const size_t site_bytes = COMM_EXACT_SITES * sizeof(*result.site);
	const size_t object_bytes = COMM_EXACT_OBJECTS * sizeof(*result.object);
	const size_t thread_bytes = COMM_EXACT_THREADS * sizeof(*result.thread);
	uint64_t capacity = 64, want = 4 * count_edges();
	size_t actor_bytes;

	while (capacity < want && capacity < 1u << 31)
		capacity *= 2;
	actor_bytes = capacity * sizeof(*result.actor);
	result.mask = capacity - 1;
	result.n_actors = result.n_threads = result.n_objects = 0;
	result.n_sites = SITE_FIRST;
	result.edges = 0;
	result.actor = map(actor_bytes);
	result.site = map(site_bytes);
	result.object = map(object_bytes);
	result.thread = map(thread_bytes);
	out.n = 0;
	out.err = result.actor && result.site && result.object && result.thread ? 0 : ENOMEM;
	out.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (out.fd < 0)
		out.err = errno;
	if (!out.err)
		put_all();
	if (out.fd >= 0 && close(out.fd) && !out.err)
		out.err = errno;
	unmap(result.actor, actor_bytes);
	unmap(result.site, site_bytes);
	unmap(result.object, object_bytes);
	unmap(result.thread, thread_bytes);
	return -out.err;
}
