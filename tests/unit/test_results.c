/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Result files of the exact source: a good one, and all the ways to be bad. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "results.h"

struct file {
	uint8_t data[4096];
	size_t bytes;
};

static void put(struct file *f, const void *data, size_t bytes)
{
	assert_true(f->bytes + bytes <= sizeof(f->data));
	memcpy(f->data + f->bytes, data, bytes);
	f->bytes += bytes;
}

static void put_record(struct file *f, uint32_t kind, const void *fixed, size_t fixed_bytes,
		       const char *strings)
{
	struct comm_exact_record record = {kind, fixed_bytes + strlen(strings)};

	put(f, &record, sizeof(record));
	put(f, fixed, fixed_bytes);
	put(f, strings, strlen(strings));
	while (f->bytes % 8)
		put(f, "", 1);
}

static void put_header(struct file *f, uint32_t version)
{
	struct comm_exact_header header = {.magic = "COMMEXA\n",
					   .version = version,
					   .header_bytes = sizeof(header),
					   .granularity_bytes = 8,
					   .pid = 77,
					   .start_ns = 5};

	f->bytes = 0;
	memcpy(header.magic, COMM_EXACT_MAGIC, sizeof(header.magic));
	put(f, &header, sizeof(header));
}

/* The parts of a result file that a test may spoil. */
struct spoil {
	uint32_t actor_site, edge_src, edge_dst, edge_object, thread_id, name_bytes, edges, kind;
	uint32_t region_id, region_parent, within_site, within_region, back, code_site, link_bytes;
	uint64_t first_bytes;
	uint32_t write_actor, write_object, executing, path_parent, path_function, called_site,
		called_path, entry_function, long_actor;
	uint64_t young_bytes;
	uint32_t n_ages;		    /* of the second edges */
	uint64_t next_ns, next_instruction; /* when a second phase begins; 0 ns: there is none */
	int no_end, after_end, maps, no_lengths;
	/* In a second phase there is an edge, and of this: */
	struct comm_exact_file_date date;
	struct comm_exact_file_place place;
};

static const struct spoil good = {.actor_site = 1,
				  .edge_src = 1,
				  .edge_dst = 2,
				  .edge_object = 1,
				  .thread_id = 1,
				  .name_bytes = 4,
				  .edges = 4,
				  .kind = 3,
				  .region_id = 2,
				  .region_parent = 1,
				  .within_site = 1,
				  .link_bytes = 4,
				  .code_site = 1,
				  .maps = 1,
				  .within_region = 2,
				  .back = 1,
				  .first_bytes = 8,
				  .write_actor = 3,
				  .young_bytes = 60,
				  .n_ages = 2,
				  .executing = 1,
				  .long_actor = 3,
				  .path_parent = 2,
				  .path_function = 1,
				  .called_site = 1,
				  .called_path = 3,
				  .entry_function = 1,
				  .write_object = 1};

static void make(struct file *f, const struct spoil *s)
{
	struct comm_exact_file_thread thread = {.id = 0, .tid = 100, .name_bytes = 4};
	struct comm_exact_file_function function = {.name_bytes = 1, .module_bytes = 2};
	struct comm_exact_file_site site = {.source_bytes = 3, .line = 9};
	struct comm_exact_file_object object = {.name_bytes = 1, .kind = s->kind, .blocks = 2};
	struct comm_exact_file_actor actors[4] = {{0}, {0, 1, 0}, {1, s->actor_site, 0}, {1, 1, 0}};
	struct comm_exact_file_phase phase = {
		.name_bytes = 1, .start_ns = 5, .end_ns = 6, .end_instruction = 40};
	struct comm_exact_file_phase next = {.index = 1,
					     .start_ns = s->next_ns,
					     .end_ns = 90,
					     .start_instruction = s->next_instruction,
					     .end_instruction = 90};
	struct comm_exact_file_edge edges[4] = {
		{s->edge_src, s->edge_dst, s->edge_object, s->back, 100, s->first_bytes},
		{1, 3, 1, 3, 20, 1},
		{0, 1, 0, 0, 7, 3},
		{2, 1, 1, 0, 4, 4},
	};
	struct comm_exact_file_ages ages[4] = {
		{{s->young_bytes, 30, 10}}, {{0, 0, 20}}, {{0}}, {{4, 0, 0}}};
	struct comm_exact_file_write writes[2] = {{1, 0, 9}, {s->write_actor, s->write_object, 40}};
	struct comm_exact_file_instructions executed[3] = {
		{1, 0, 500}, {0, 0, 70}, {s->executing, 0, 30}};
	struct comm_exact_file_length lengths[3] = {
		{1, 0, 60}, {3, 0, 400}, {s->long_actor, 0, 30}};
	const struct comm_exact_file_date dates[2] = {s->date, {1, 2, 1, COMM_EXACT_NO_PHASE, 7}};
	const struct comm_exact_file_path paths[4] = {
		{0, 0}, {0, 0}, {1, 1}, {s->path_parent, s->path_function}};
	const struct comm_exact_file_called called = {s->called_site, s->called_path};
	struct comm_exact_file_region region = {.name_bytes = 4};
	struct comm_exact_file_within within = {s->within_site, s->within_region};
	struct comm_exact_file_code code = {
		.site = s->code_site, .access_bytes = 4, .ip = 0x1234, .reads = 0x1235};
	const struct comm_exact_file_entry entry = {.function = s->entry_function, .ip = 0x4321};
	const uint64_t frames = 12, clock_ns = 5000, uncut_ns = 6000, forgotten = 7000;
	const struct comm_exact_file_calls calls = {.numbered = 4096, .later = 9};
	const struct comm_exact_file_link link = {.file_bytes = 9, .name_bytes = s->link_bytes};
	struct comm_exact_file_end end = {.edges = s->edges, .accesses = 50};

	put_header(f, COMM_EXACT_VERSION);
	put_record(f, COMM_EXACT_COMMAND, "", 0, "prog\x01 arg");
	put_record(f, COMM_EXACT_PHASE, &phase, sizeof(phase), "p");
	put_record(f, COMM_EXACT_EDGES, edges, 2 * sizeof(edges[0]), "");
	put_record(f, COMM_EXACT_AGES, ages, 2 * sizeof(ages[0]), "");
	put_record(f, COMM_EXACT_EDGES, edges + 2, 2 * sizeof(edges[0]), "");
	put_record(f, COMM_EXACT_AGES, ages + 2, s->n_ages * sizeof(ages[0]), "");
	put_record(f, COMM_EXACT_WRITES, writes, sizeof(writes), "");
	put_record(f, COMM_EXACT_INSTRUCTIONS, executed, sizeof(executed), "");
	if (!s->no_lengths)
		put_record(f, COMM_EXACT_LENGTHS, lengths, sizeof(lengths), "");
	if (s->next_ns)
		put_record(f, COMM_EXACT_PHASE, &next, sizeof(next), "");
	if (s->date.bytes) {
		put_record(f, COMM_EXACT_EDGES, edges, sizeof(edges[0]), "");
		put_record(f, COMM_EXACT_DATES, dates, sizeof(dates), "");
		put_record(f, COMM_EXACT_PLACES, &s->place, sizeof(s->place), "");
	}
	put_record(f, COMM_EXACT_CALLED, &called, sizeof(called), "");
	put_record(f, COMM_EXACT_PATHS, paths, 3 * sizeof(*paths), "");
	put_record(f, COMM_EXACT_PATHS, paths + 3, sizeof(*paths), "");
	put_record(f, 999, "", 0, "of the future");
	put_record(f, COMM_EXACT_FRAMES, &frames, sizeof(frames), "");
	put_record(f, COMM_EXACT_CLOCK, &clock_ns, sizeof(clock_ns), "");
	put_record(f, COMM_EXACT_UNCUT, &uncut_ns, sizeof(uncut_ns), "");
	put_record(f, COMM_EXACT_FORGOTTEN, &forgotten, sizeof(forgotten), "");
	put_record(f, COMM_EXACT_CALLS, &calls, sizeof(calls), "");
	put_record(f, COMM_EXACT_LINK, &link, sizeof(link), "/bin/filelink");
	thread.name_bytes = s->name_bytes;
	put_record(f, COMM_EXACT_THREAD, &thread, sizeof(thread), "main");
	thread.id = s->thread_id;
	thread.name_bytes = 4;
	thread.tid = 101;
	put_record(f, COMM_EXACT_THREAD, &thread, sizeof(thread), "work");
	put_record(f, COMM_EXACT_CODE, &code, sizeof(code), "");
	put_record(f, COMM_EXACT_ENTRY, &entry, sizeof(entry), "");
	for (int i = 0; i < s->maps; i++)
		put_record(f, COMM_EXACT_MAPS, "", 0, "1000-2000 r-xp\n");
	put_record(f, COMM_EXACT_WITHIN, &within, sizeof(within), "");
	for (uint32_t i = 0; i < 3; i++) {
		region.id = i < 2 ? i : s->region_id;
		region.parent = i < 2 ? 0 : s->region_parent;
		put_record(f, COMM_EXACT_REGION, &region, sizeof(region), i < 2 ? "none" : "load");
	}
	for (uint32_t i = 0; i < 2; i++) {
		function.id = site.id = site.function = object.id = i;
		put_record(f, COMM_EXACT_FUNCTION, &function, sizeof(function), "fso");
		put_record(f, COMM_EXACT_SITE, &site, sizeof(site), "a.c");
		put_record(f, COMM_EXACT_OBJECT, &object, sizeof(object), "o");
	}
	put_record(f, COMM_EXACT_ACTORS, actors, sizeof(actors), "");
	if (!s->no_end)
		put_record(f, COMM_EXACT_END, &end, sizeof(end), "");
	if (s->after_end)
		put_record(f, COMM_EXACT_COMMAND, "", 0, "more");
}

static int parse(const void *data, size_t bytes)
{
	struct comm_exact *exact = NULL;
	char *err = NULL;
	/* On the heap and exact in size, so that ASan sees a byte too far. */
	void *copy = malloc(bytes + !bytes);
	int ret;

	assert_non_null(copy);
	memcpy(copy, data, bytes);
	ret = comm_exact_parse(copy, bytes, &exact, &err);
	if (ret)
		assert_non_null(err);
	else
		assert_null(err);
	free(copy);
	free(err);
	comm_exact_close(exact);
	return ret;
}

static int parse_spoilt(const struct spoil *s)
{
	struct file f;

	make(&f, s);
	return parse(f.data, f.bytes);
}

struct got {
	struct comm_edge edge[8];
	size_t n;
};

static void emit(void *ctx, const struct comm_edge *edge)
{
	struct got *got = ctx;

	assert_true(got->n < 8);
	got->edge[got->n++] = *edge;
}

static void test_good(void **state)
{
	struct comm_unwritten unwritten;
	struct comm_written written;
	struct comm_lengths lengths;
	struct comm_count *count;
	size_t n_counts;
	const struct comm_census *census;
	struct comm_exact *exact;
	struct got got = {.n = 0};
	struct file f;
	char *err;

	(void)state;
	make(&f, &good);
	assert_int_equal(comm_exact_parse(f.data, f.bytes, &exact, &err), 0);
	assert_string_equal(comm_exact_run(exact)->command, "prog\\x01 arg");
	assert_int_equal(comm_exact_run(exact)->pid, 77);
	assert_int_equal(comm_exact_run(exact)->accesses, 50);
	assert_int_equal(comm_exact_run(exact)->n_frames, 12);
	assert_int_equal(comm_exact_run(exact)->uncut_ns, 6000);
	assert_int_equal(comm_exact_run(exact)->forgotten_bytes, 7000);
	assert_int_equal(comm_exact_run(exact)->n_calls, 4096);
	assert_int_equal(comm_exact_run(exact)->n_later_calls, 9);
	assert_string_equal(comm_exact_run(exact)->linked_file, "/bin/file");
	assert_string_equal(comm_exact_run(exact)->link, "link");
	assert_string_equal(comm_exact_thread_at(exact, 1)->name, "work");
	assert_int_equal(comm_exact_thread_at(exact, 1)->tid, 101);
	assert_null(comm_exact_thread_at(exact, 2));
	assert_string_equal(comm_exact_function_at(exact, 1)->module, "so");
	assert_string_equal(comm_exact_site_at(exact, 1)->source, "a.c");
	assert_int_equal(comm_exact_site_at(exact, 0)->region, 0);
	assert_int_equal(comm_exact_site_at(exact, 1)->region, 2);
	assert_int_equal(comm_exact_run(exact)->n_regions, 3);
	assert_string_equal(comm_exact_code_region_at(exact, 2)->name, "load");
	assert_int_equal(comm_exact_code_region_at(exact, 2)->parent, 1);
	assert_null(comm_exact_code_region_at(exact, 3));
	assert_int_equal(comm_exact_heap_at(exact, 1)->blocks, 2);
	assert_int_equal(comm_exact_site_at(exact, 1)->caller, 3);
	assert_int_equal(comm_exact_site_at(exact, 0)->caller, 0);
	assert_int_equal(comm_exact_path_at(exact, 3)->parent, 2);
	assert_int_equal(comm_exact_path_at(exact, 3)->function, 1);
	assert_null(comm_exact_path_at(exact, 4));
	assert_int_equal(comm_exact_entry_at(exact, 0), 0);
	assert_int_equal(comm_exact_entry_at(exact, 1), 0x4321);
	assert_int_equal(comm_exact_code_at(exact, 0)->ip, 0);
	assert_int_equal(comm_exact_code_at(exact, 1)->ip, 0x1234);
	assert_int_equal(comm_exact_code_at(exact, 1)->reads, 0x1235);
	assert_string_equal(comm_exact_phase_at(exact, 0)->name, "p");
	assert_int_equal(comm_exact_phase_at(exact, 0)->n_edges, 4);
	/* Two actors of one thread and site make one edge; bytes without a writer are unwritten. */
	assert_int_equal(comm_exact_slice(exact, 0, emit, &got, &unwritten), 0);
	assert_int_equal(got.n, 2);
	assert_int_equal(got.edge[0].src_thread, 1);
	assert_int_equal(got.edge[0].dst_thread, 2);
	assert_int_equal(got.edge[0].bytes, 120);
	assert_int_equal(got.edge[0].first_bytes, 9);
	assert_true(got.edge[0].ages.back[0] == 100 && got.edge[0].ages.back[1] == 0 &&
		    got.edge[0].ages.back[2] == 20);
	assert_int_equal(got.edge[1].src_thread, 2);
	assert_int_equal(got.edge[1].bytes, 4);
	assert_int_equal(unwritten.bytes, 7);
	assert_int_equal(unwritten.first_bytes, 3);
	assert_int_equal(comm_exact_slice(exact, 1, emit, &got, &unwritten), -ENOENT);
	assert_int_equal(comm_exact_slice_writes(exact, 0, &written), 0);
	assert_int_equal(written.n_ends, 2);
	assert_int_equal(written.end[0].thread, 1);
	assert_int_equal(written.end[0].bytes, 9);
	assert_int_equal(written.end[1].thread, 2);
	assert_int_equal(written.end[1].object, 1);
	assert_int_equal(written.end[1].bytes, 40);
	assert_int_equal(comm_exact_slice_writes(exact, 1, &written), -ENOENT);
	assert_int_equal(comm_exact_slice_instructions(exact, 0, &count, &n_counts), 0);
	assert_int_equal(n_counts, 2);
	assert_true(count[0].thread == 1 && count[0].value == 70);
	assert_true(count[1].thread == 2 && count[1].value == 530);
	free(count);
	assert_int_equal(comm_exact_slice_instructions(exact, 1, &count, &n_counts), -ENOENT);
	assert_int_equal(comm_exact_slice_lengths(exact, 0, &lengths), 0);
	assert_int_equal(lengths.counter, COMM_EXACT_COUNTED_INSTRUCTIONS);
	assert_int_equal(lengths.n_ends, 2);
	assert_true(lengths.end[0].thread == 1 && lengths.end[0].bytes == 60);
	assert_true(lengths.end[1].thread == 2 && lengths.end[1].bytes == 430);
	assert_int_equal(comm_exact_slice_lengths(exact, 1, &lengths), -ENOENT);
	assert_int_equal(comm_exact_run(exact)->clock_ns, 5000);
	/* Of what was written less than 1 s before. */
	assert_true(got.edge[0].watched_bytes == 90 && got.edge[1].watched_bytes == 4);
	assert_int_equal(comm_exact_slice_census(exact, 0, &census), 0);
	assert_int_equal(census->n, 5);
	/* In the order of readers: what nobody wrote, and what was written less than 10 ms, 1 s, 10 s before. */
	assert_int_equal(census->cell[0].thread, 1);
	assert_int_equal(census->cell[0].class, COMM_CENSUS_QUIET + COMM_CENSUS_LAGS);
	assert_true(census->cell[0].bytes == 7);
	assert_int_equal(census->cell[1].object, 1);
	assert_true(census->cell[1].bytes == 4);
	assert_int_equal(census->cell[2].thread, 2);
	assert_int_equal(comm_census_lag_ns[census->cell[2].class - COMM_CENSUS_CHANGED], 10000000);
	assert_int_equal(comm_census_lag_ns[census->cell[3].class - COMM_CENSUS_CHANGED],
			 1000000000);
	assert_int_equal(comm_census_lag_ns[census->cell[4].class - COMM_CENSUS_CHANGED],
			 10000000000);
	assert_true(census->cell[2].bytes == 60 && census->cell[3].bytes == 30 &&
		    census->cell[4].bytes == 30);
	assert_int_equal(comm_exact_slice_census(exact, 1, &census), -ENOENT);
	comm_exact_close(exact);
}

/* Where no instructions were counted by code, lengths are accesses, of which each of the site has so many bytes. */
static void test_accesses(void **state)
{
	struct spoil without = good;
	struct comm_lengths lengths;
	struct comm_exact *exact;
	struct file f;
	char *err;

	(void)state;
	without.no_lengths = 1;
	make(&f, &without);
	assert_int_equal(comm_exact_parse(f.data, f.bytes, &exact, &err), 0);
	assert_int_equal(comm_exact_slice_lengths(exact, 0, &lengths), 0);
	assert_int_equal(lengths.counter, COMM_EXACT_COUNTED_ACCESSES);
	assert_int_equal(lengths.n_ends, 2);
	assert_true(lengths.end[0].thread == 1 && lengths.end[0].site == 1);
	assert_true(lengths.end[0].bytes == (7 + 4 + 9) / 4.0);
	assert_true(lengths.end[1].thread == 2 && lengths.end[1].object == 0);
	assert_true(lengths.end[1].bytes == (100 + 20 + 40) / 4.0);
	comm_exact_close(exact);
	/* Of how many bytes one is at the sites of these is not known. */
	without.code_site = 0;
	make(&f, &without);
	assert_int_equal(comm_exact_parse(f.data, f.bytes, &exact, &err), 0);
	assert_int_equal(comm_exact_slice_lengths(exact, 0, &lengths), 0);
	assert_int_equal(lengths.n_ends, 0);
	comm_exact_close(exact);
}

/* Slices have the names that were found; what is called the same becomes one edge. */
static void test_rename(void **state)
{
	static const uint32_t site[] = {7, 8}, object[] = {5, 6};
	struct comm_unwritten unwritten;
	struct comm_written written;
	struct comm_exact *exact;
	struct got got = {.n = 0};
	struct file f;
	size_t bytes;
	char *err;

	(void)state;
	make(&f, &good);
	assert_int_equal(comm_exact_parse(f.data, f.bytes, &exact, &err), 0);
	assert_memory_equal(comm_exact_maps(exact, &bytes), "1000-2000 r-xp\n", 15);
	assert_int_equal(bytes, 15);
	comm_exact_rename(exact, site, object);
	assert_int_equal(comm_exact_slice(exact, 0, emit, &got, &unwritten), 0);
	assert_int_equal(got.n, 2);
	assert_int_equal(got.edge[0].src_site, 8);
	assert_int_equal(got.edge[0].dst_site, 8);
	assert_int_equal(got.edge[0].object, 6);
	assert_int_equal(unwritten.n_ends, 1);
	assert_int_equal(unwritten.end[0].site, 8);
	assert_int_equal(unwritten.end[0].object, 5);
	assert_int_equal(comm_exact_slice_writes(exact, 0, &written), 0);
	assert_int_equal(written.end[1].site, 8);
	assert_int_equal(written.end[1].object, 6);
	comm_exact_close(exact);
}

static void test_bad_ids(void **state)
{
	struct spoil s;

	(void)state;
	assert_int_equal(parse_spoilt(&good), 0);
#define SPOILT(member, value)                                 \
	do {                                                  \
		s = good;                                     \
		s.member = value;                             \
		assert_int_equal(parse_spoilt(&s), -EBADMSG); \
	} while (0)
	s = good;
	s.next_ns = 6;
	s.next_instruction = 40;
	assert_int_equal(parse_spoilt(&s), 0);
	s.next_instruction = 39;
	assert_int_equal(parse_spoilt(&s), -EBADMSG);
	s.next_instruction = 40;
	s.next_ns = 5;
	assert_int_equal(parse_spoilt(&s), -EBADMSG);
	SPOILT(young_bytes, 61);
	SPOILT(young_bytes, UINT64_MAX);
	SPOILT(n_ages, 1);
	SPOILT(actor_site, 2);
	SPOILT(edge_src, 4);
	SPOILT(edge_dst, 4);
	SPOILT(edge_dst, 0);
	SPOILT(edge_object, 2);
	SPOILT(thread_id, 0);
	SPOILT(thread_id, 2);
	SPOILT(thread_id, UINT32_MAX);
	SPOILT(name_bytes, 5);
	SPOILT(name_bytes, UINT32_MAX);
	SPOILT(edges, 3);
	SPOILT(kind, 99);
	SPOILT(first_bytes, 101);
	SPOILT(region_id, 1);
	SPOILT(region_id, 3);
	SPOILT(region_parent, 3);
	SPOILT(within_site, 2);
	SPOILT(link_bytes, 5);
	SPOILT(within_region, 3);
	SPOILT(back, 4);
	SPOILT(code_site, 2);
	SPOILT(maps, 2);
	SPOILT(write_actor, 0);
	SPOILT(write_actor, 4);
	SPOILT(write_object, 2);
	SPOILT(executing, 2);
	SPOILT(long_actor, 0);
	SPOILT(long_actor, 4);
	SPOILT(path_parent, 3);
	SPOILT(path_function, 2);
	SPOILT(called_site, 2);
	SPOILT(called_path, 4);
	SPOILT(entry_function, 2);
	SPOILT(after_end, 1);
}

static void test_cut_off(void **state)
{
	struct spoil s = good;
	struct file f;

	(void)state;
	s.no_end = 1;
	assert_int_equal(parse_spoilt(&s), -ENODATA);
	make(&f, &good);
	for (size_t bytes = 0; bytes < f.bytes; bytes++)
		assert_int_not_equal(parse(f.data, bytes), 0);
}

static void test_foreign(void **state)
{
	struct file f;

	(void)state;
	assert_int_equal(parse("", 0), -EMEDIUMTYPE);
	assert_int_equal(parse("SQLite format 3, and then some more text", 40), -EMEDIUMTYPE);
	put_header(&f, COMM_EXACT_VERSION + 1);
	assert_int_equal(parse(f.data, f.bytes), -EPROTO);
}

/* Any one byte changed: an error or another file, never a crash. */
static void test_flipped(void **state)
{
	struct file f;

	(void)state;
	make(&f, &good);
	for (size_t i = 0; i < f.bytes; i++) {
		for (unsigned int bit = 0; bit < 8; bit++) {
			f.data[i] ^= 1u << bit;
			parse(f.data, f.bytes);
			f.data[i] ^= 1u << bit;
		}
	}
}

static void test_open(void **state)
{
	char path[] = "/tmp/test_exact_read.XXXXXX";
	struct comm_exact *exact;
	struct file f;
	char *err;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	make(&f, &good);
	assert_int_equal(write(fd, f.data, f.bytes), f.bytes);
	close(fd);
	assert_int_equal(comm_exact_open(path, &exact, &err), 0);
	comm_exact_close(exact);
	unlink(path);
	assert_int_equal(comm_exact_open(path, &exact, &err), -ENOENT);
	assert_non_null(strstr(err, path));
	free(err);
	assert_int_equal(comm_exact_open("/dev", &exact, &err), -EMEDIUMTYPE);
	free(err);
	/* What a command leaves in the place of its result neither holds up nor leads elsewhere. */
	assert_int_equal(mkfifo(path, 0600), 0);
	alarm(60);
	assert_int_equal(comm_exact_open(path, &exact, &err), -EMEDIUMTYPE);
	alarm(0);
	free(err);
	unlink(path);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_int_equal(comm_exact_open(path, &exact, &err), -ELOOP);
	free(err);
	unlink(path);
}

static struct spoil dated(void)
{
	struct spoil s = good;

	s.next_ns = 8;
	s.next_instruction = 40;
	s.edges = 5;
	s.date = (struct comm_exact_file_date){1, 2, 1, 0, 60};
	s.place = (struct comm_exact_file_place){1, 5};
	return s;
}

/* What is of an earlier phase, or of none that is known, is not of the phase in which it was read. */
static void test_dates(void **state)
{
	const uint64_t at_ns[] = {500, 900};
	const struct comm_dates *dates;
	struct comm_exact *exact;
	struct spoil s = dated();
	struct file f;
	char *err;

	(void)state;
	make(&f, &s);
	assert_int_equal(comm_exact_parse(f.data, f.bytes, &exact, &err), 0);
	assert_int_equal(comm_exact_slice_dates(exact, 0, at_ns, &dates), 0);
	/* Of two edges one each: that of the phase. */
	assert_int_equal(dates->n, 2);
	assert_true(dates->date[0].at_ns == 500 && dates->date[0].bytes == 120);
	assert_int_equal(comm_exact_slice_dates(exact, 1, at_ns, &dates), 0);
	assert_int_equal(dates->n, 2);
	assert_true(dates->date[0].at_ns == 500 && dates->date[0].bytes == 60);
	assert_true(dates->date[1].at_ns == 900 && dates->date[1].bytes == 100 - 60 - 7);
	assert_int_equal(dates->date[1].src_thread, 1);
	assert_int_equal(dates->date[1].dst_thread, 2);
	assert_int_equal(comm_exact_slice_dates(exact, 2, at_ns, &dates), -ENOENT);
	comm_exact_close(exact);
	/* Where nobody counted them there are none. */
	make(&f, &good);
	assert_int_equal(comm_exact_parse(f.data, f.bytes, &exact, &err), 0);
	assert_int_equal(comm_exact_slice_dates(exact, 0, at_ns, &dates), 0);
	assert_int_equal(dates->n, 0);
	comm_exact_close(exact);
}

static void test_places(void **state)
{
	struct comm_placement *place;
	struct comm_exact *exact;
	struct spoil s = dated();
	struct file f;
	char *err;
	size_t n;

	(void)state;
	make(&f, &s);
	assert_int_equal(comm_exact_parse(f.data, f.bytes, &exact, &err), 0);
	assert_int_equal(comm_exact_slice_places(exact, 0, &place, &n), 0);
	assert_int_equal(n, 0);
	free(place);
	assert_int_equal(comm_exact_slice_places(exact, 1, &place, &n), 0);
	assert_int_equal(n, 1);
	assert_true(place[0].thread == 2 && place[0].cpu == 5 && place[0].samples == 1);
	free(place);
	assert_int_equal(comm_exact_slice_places(exact, 2, &place, &n), -ENOENT);
	comm_exact_close(exact);
}

static void test_bad_dates(void **state)
{
	struct spoil s = dated();

	(void)state;
	s.place.thread = 2;
	assert_int_equal(parse_spoilt(&s), -EBADMSG);
	s = dated();
	s.place.cpu = 1 << 16;
	assert_int_equal(parse_spoilt(&s), -EBADMSG);
	s = dated();
	s.date.phase = 1;
	assert_int_equal(parse_spoilt(&s), -EBADMSG);
	s = dated();
	s.date.src = 0;
	assert_int_equal(parse_spoilt(&s), -EBADMSG);
	s.date.src = 4;
	assert_int_equal(parse_spoilt(&s), -EBADMSG);
	s = dated();
	s.date.dst = 4;
	assert_int_equal(parse_spoilt(&s), -EBADMSG);
	s = dated();
	s.date.object = 2;
	assert_int_equal(parse_spoilt(&s), -EBADMSG);
	s = dated();
	assert_int_equal(parse_spoilt(&s), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),	  cmocka_unit_test(test_dates),
		cmocka_unit_test(test_bad_dates), cmocka_unit_test(test_places),
		cmocka_unit_test(test_rename),	  cmocka_unit_test(test_bad_ids),
		cmocka_unit_test(test_cut_off),	  cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_flipped),	  cmocka_unit_test(test_open),
		cmocka_unit_test(test_accesses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
