/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "results.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "contents.h"
#include "result_records.h"
#include "text.h"

/* More than any machine has. */
enum { MAX_CPU = (1 << 16) - 1 };

#define MAX_FILE_BYTES ((uint64_t)4 << 30)

static int fail(char **err, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vasprintf(err, format, args) < 0)
		*err = NULL;
	va_end(args);
	return error;
}

/* Takes the next bytes of a payload as a string; NULL: there are not as many. */
static const char *take(struct comm_exact *exact, const uint8_t **at, const uint8_t *end,
			uint32_t bytes)
{
	char *text = exact->text + exact->text_fill;

	if ((size_t)(end - *at) < bytes)
		return NULL;
	exact->text_fill += 1 + comm_text_clean((const char *)*at, bytes, text,
						(size_t)COMM_TEXT_GROWTH * bytes + 1);
	*at += bytes;
	return text;
}

static bool claim(uint8_t *seen, uint32_t id, uint32_t n)
{
	if (id >= n || seen[id])
		return false;
	seen[id] = 1;
	return true;
}

static int load_thread(struct comm_exact *exact, const struct comm_exact_one *r, uint8_t *seen)
{
	struct comm_exact_file_thread f;
	const uint8_t *at = r->payload + sizeof(f);
	const char *name;

	memcpy(&f, r->payload, sizeof(f));
	name = take(exact, &at, r->payload + r->bytes, f.name_bytes);
	if (!name || !claim(seen, f.id, exact->run.n_threads))
		return -EBADMSG;
	exact->thread[f.id] = (struct comm_thread){.tgid = f.pid ? f.pid : exact->run.pid,
						   .tid = f.tid,
						   .start_ns = f.start_ns,
						   .end_ns = f.end_ns};
	snprintf(exact->thread[f.id].name, sizeof(exact->thread[f.id].name), "%s", name);
	return 0;
}

static int load_function(struct comm_exact *exact, const struct comm_exact_one *r, uint8_t *seen)
{
	struct comm_exact_file_function f;
	const uint8_t *at = r->payload + sizeof(f);
	const char *name, *module;

	memcpy(&f, r->payload, sizeof(f));
	name = take(exact, &at, r->payload + r->bytes, f.name_bytes);
	module = name ? take(exact, &at, r->payload + r->bytes, f.module_bytes) : NULL;
	if (!module || !claim(seen, f.id, exact->run.n_functions))
		return -EBADMSG;
	exact->function[f.id] = (struct comm_function){
		.name = name, .module = module, .build_id = "", .start = f.start};
	return 0;
}

static int load_link(struct comm_exact *exact, const struct comm_exact_one *r)
{
	struct comm_exact_file_link f;
	const uint8_t *at = r->payload + sizeof(f);

	memcpy(&f, r->payload, sizeof(f));
	exact->run.linked_file = take(exact, &at, r->payload + r->bytes, f.file_bytes);
	if (exact->run.linked_file)
		exact->run.link = take(exact, &at, r->payload + r->bytes, f.name_bytes);
	return exact->run.link ? 0 : -EBADMSG;
}

static int load_site(struct comm_exact *exact, const struct comm_exact_one *r, uint8_t *seen)
{
	struct comm_exact_file_site f;
	const uint8_t *at = r->payload + sizeof(f);
	const char *source;

	memcpy(&f, r->payload, sizeof(f));
	source = take(exact, &at, r->payload + r->bytes, f.source_bytes);
	if (!source || !claim(seen, f.id, exact->run.n_sites) ||
	    f.function >= exact->run.n_functions)
		return -EBADMSG;
	exact->site[f.id] = (struct comm_site){.function = f.function,
					       .source = *source ? source : NULL,
					       .line = f.line,
					       .offset = f.offset,
					       .region = exact->site[f.id].region,
					       .caller = exact->site[f.id].caller};
	return 0;
}

static int load_region(struct comm_exact *exact, const struct comm_exact_one *r, uint8_t *seen)
{
	struct comm_exact_file_region f;
	const uint8_t *at = r->payload + sizeof(f);
	const char *name;

	memcpy(&f, r->payload, sizeof(f));
	name = take(exact, &at, r->payload + r->bytes, f.name_bytes);
	if (!name || !claim(seen, f.id, exact->run.n_regions) || f.parent >= exact->run.n_regions)
		return -EBADMSG;
	exact->region[f.id] = (struct comm_code_region){name, f.parent};
	return 0;
}

/* The site may come after this record. */
static int load_within(struct comm_exact *exact, const struct comm_exact_one *r)
{
	struct comm_exact_file_within f;

	memcpy(&f, r->payload, sizeof(f));
	if (f.site >= exact->run.n_sites || f.region >= exact->run.n_regions)
		return -EBADMSG;
	exact->site[f.site].region = f.region;
	return 0;
}

/* Likewise. */
static int load_called(struct comm_exact *exact, const struct comm_exact_one *r)
{
	struct comm_exact_file_called f;

	memcpy(&f, r->payload, sizeof(f));
	if (f.site >= exact->run.n_sites || f.path >= exact->run.n_paths)
		return -EBADMSG;
	exact->site[f.site].caller = f.path;
	return 0;
}

/* What a path is within comes before it, so none goes round. */
static int load_paths(struct comm_exact *exact, const struct comm_exact_one *r, size_t *n)
{
	struct comm_exact_file_path f;

	for (size_t i = 0; i < r->bytes / sizeof(f); i++) {
		memcpy(&f, r->payload + i * sizeof(f), sizeof(f));
		if (*n > COMM_CALL_OUTERMOST &&
		    (f.parent >= *n || f.function >= exact->run.n_functions))
			return -EBADMSG;
		exact->path[(*n)++] = (struct comm_call){f.parent, f.function};
	}
	return 0;
}

/* Of a site that may come after this record. */
static int load_code(struct comm_exact *exact, const struct comm_exact_one *r)
{
	struct comm_exact_file_code f;

	memcpy(&f, r->payload, sizeof(f));
	if (f.site >= exact->run.n_sites)
		return -EBADMSG;
	exact->code[f.site] = (struct comm_exact_code){f.ip, f.reads, f.access_bytes};
	return 0;
}

/* Likewise, of a function. */
static int load_entry(struct comm_exact *exact, const struct comm_exact_one *r)
{
	struct comm_exact_file_entry f;

	memcpy(&f, r->payload, sizeof(f));
	if (f.function >= exact->run.n_functions)
		return -EBADMSG;
	exact->entry[f.function] = f.ip;
	return 0;
}

static int load_maps(struct comm_exact *exact, const struct comm_exact_one *r)
{
	exact->maps = malloc(r->bytes ? r->bytes : 1);
	if (!exact->maps)
		return -ENOMEM;
	memcpy(exact->maps, r->payload, r->bytes);
	exact->maps_bytes = r->bytes;
	return 0;
}

static int load_object(struct comm_exact *exact, const struct comm_exact_one *r, uint8_t *seen)
{
	struct comm_exact_file_object f;
	const uint8_t *at = r->payload + sizeof(f);
	const char *name, *module;

	memcpy(&f, r->payload, sizeof(f));
	name = take(exact, &at, r->payload + r->bytes, f.name_bytes);
	module = name ? take(exact, &at, r->payload + r->bytes, f.module_bytes) : NULL;
	if (!module || !claim(seen, f.id, exact->run.n_objects) || f.kind > COMM_OBJECT_MARKED)
		return -EBADMSG;
	exact->object[f.id] = (struct comm_object){.kind = f.kind,
						   .name = name,
						   .module = module,
						   .build_id = "",
						   .start = f.start,
						   .size_bytes = f.size_bytes,
						   .thread_tid = f.tid};
	exact->heap[f.id] = (struct comm_exact_heap){.blocks = f.blocks, .bytes = f.size_bytes};
	return 0;
}

static int load_actors(struct comm_exact *exact, const struct comm_exact_one *r, size_t *n)
{
	struct comm_exact_file_actor f;

	for (size_t i = 0; i < r->bytes / sizeof(f); i++) {
		memcpy(&f, r->payload + i * sizeof(f), sizeof(f));
		/* Actor 0 stands for an unknown writer: it has no thread. */
		if (*n && (f.thread >= exact->run.n_threads || f.site >= exact->run.n_sites))
			return -EBADMSG;
		exact->actor[(*n)++] = (struct comm_exact_actor){f.thread, f.site};
	}
	return 0;
}

static int load_phase(struct comm_exact *exact, const struct comm_exact_one *r, uint32_t index)
{
	struct comm_exact_file_phase f;
	const uint8_t *at = r->payload + sizeof(f);
	const char *name;

	memcpy(&f, r->payload, sizeof(f));
	name = take(exact, &at, r->payload + r->bytes, f.name_bytes);
	if (!name || f.end_ns < f.start_ns || f.end_instruction < f.start_instruction)
		return -EBADMSG;
	if (index && (f.start_ns < exact->phase[index - 1].end_ns ||
		      f.start_instruction < exact->phase[index - 1].end_instruction))
		return -EBADMSG;
	exact->phase[index] =
		(struct comm_exact_phase){.name = name,
					  .start_ns = f.start_ns,
					  .end_ns = f.end_ns,
					  .start_instruction = f.start_instruction,
					  .end_instruction = f.end_instruction,
					  .edge = exact->edge + exact->n_edges,
					  .ages = exact->ages ? exact->ages + exact->n_edges : NULL,
					  .write = exact->write + exact->n_writes,
					  .executed = exact->executed + exact->n_executed,
					  .length = exact->length + exact->n_lengths,
					  .date = exact->date + exact->n_dates,
					  .place = exact->place + exact->n_places};
	return 0;
}

static int load_edges(struct comm_exact *exact, const struct comm_exact_one *r,
		      struct comm_exact_phase *phase)
{
	size_t n = r->bytes / sizeof(*exact->edge);
	struct comm_exact_file_edge *edge = exact->edge + exact->n_edges;

	if (!n)
		return 0;
	memcpy(edge, r->payload, r->bytes);
	for (size_t i = 0; i < n; i++) {
		if (edge[i].src >= exact->run.n_actors || edge[i].dst >= exact->run.n_actors ||
		    !edge[i].dst || edge[i].object >= exact->run.n_objects ||
		    edge[i].back > COMM_AGES_BACK || edge[i].first_bytes > edge[i].bytes)
			return -EBADMSG;
	}
	exact->n_edges += n;
	phase->n_edges += n;
	return 0;
}

/* Of the edges that were loaded last. */
static int load_ages(struct comm_exact *exact, const struct comm_exact_one *r)
{
	size_t n = r->bytes / sizeof(*exact->ages), first = exact->n_edges - n;

	if (n)
		memcpy(exact->ages + first, r->payload, r->bytes);
	for (size_t i = first; i < exact->n_edges; i++) {
		uint64_t left = exact->edge[i].bytes;

		for (int k = 0; k < COMM_EXACT_AGES_MAX; k++) {
			if (exact->ages[i].bytes[k] > left)
				return -EBADMSG;
			left -= exact->ages[i].bytes[k];
		}
	}
	return 0;
}

static int load_writes(struct comm_exact *exact, const struct comm_exact_one *r,
		       struct comm_exact_phase *phase)
{
	size_t n = r->bytes / sizeof(*exact->write);
	struct comm_exact_file_write *write = exact->write + exact->n_writes;

	if (!n)
		return 0;
	memcpy(write, r->payload, r->bytes);
	for (size_t i = 0; i < n; i++) {
		if (!write[i].actor || write[i].actor >= exact->run.n_actors ||
		    write[i].object >= exact->run.n_objects)
			return -EBADMSG;
	}
	exact->n_writes += n;
	phase->n_writes += n;
	return 0;
}

static int load_instructions(struct comm_exact *exact, const struct comm_exact_one *r,
			     struct comm_exact_phase *phase)
{
	size_t n = r->bytes / sizeof(*exact->executed);
	struct comm_exact_file_instructions *executed = exact->executed + exact->n_executed;

	if (!n)
		return 0;
	memcpy(executed, r->payload, r->bytes);
	for (size_t i = 0; i < n; i++)
		if (executed[i].thread >= exact->run.n_threads)
			return -EBADMSG;
	exact->n_executed += n;
	phase->n_executed += n;
	return 0;
}

static int load_lengths(struct comm_exact *exact, const struct comm_exact_one *r,
			struct comm_exact_phase *phase)
{
	size_t n = r->bytes / sizeof(*exact->length);
	struct comm_exact_file_length *length = exact->length + exact->n_lengths;

	if (!n)
		return 0;
	memcpy(length, r->payload, r->bytes);
	for (size_t i = 0; i < n; i++)
		if (!length[i].actor || length[i].actor >= exact->run.n_actors)
			return -EBADMSG;
	exact->n_lengths += n;
	phase->n_lengths += n;
	return 0;
}

/* Of a phase that came before. */
static int load_dates(struct comm_exact *exact, const struct comm_exact_one *r, uint32_t index)
{
	size_t n = r->bytes / sizeof(*exact->date);
	struct comm_exact_file_date *date = exact->date + exact->n_dates;

	exact->has_dates = true;
	if (!n)
		return 0;
	memcpy(date, r->payload, r->bytes);
	for (size_t i = 0; i < n; i++)
		if (!date[i].src || date[i].src >= exact->run.n_actors || !date[i].dst ||
		    date[i].dst >= exact->run.n_actors || date[i].object >= exact->run.n_objects ||
		    (date[i].phase >= index && date[i].phase != COMM_EXACT_NO_PHASE))
			return -EBADMSG;
	exact->n_dates += n;
	exact->phase[index].n_dates += n;
	return 0;
}

static int load_places(struct comm_exact *exact, const struct comm_exact_one *r,
		       struct comm_exact_phase *phase)
{
	size_t n = r->bytes / sizeof(*exact->place);
	struct comm_exact_file_place *place = exact->place + exact->n_places;

	if (!n)
		return 0;
	memcpy(place, r->payload, r->bytes);
	for (size_t i = 0; i < n; i++)
		if (place[i].thread >= exact->run.n_threads || place[i].cpu > MAX_CPU)
			return -EBADMSG;
	exact->n_places += n;
	phase->n_places += n;
	return 0;
}

static int load(struct comm_exact *exact, const struct comm_exact_records *in)
{
	const struct comm_exact_run *run = &exact->run;
	uint8_t *threads = exact->seen, *functions = threads + run->n_threads;
	uint8_t *sites = functions + run->n_functions, *objects = sites + run->n_sites;
	uint8_t *regions = objects + run->n_objects;
	struct comm_exact_file_calls calls;
	struct comm_exact_file_end end;
	const uint8_t *text;
	size_t at = in->first, n_actors = 0, n_paths = 0;
	uint32_t n_phases = 0;
	struct comm_exact_one r;
	int ret = 0;

	while (!ret && comm_exact_next(in, &at, &r) > 0) {
		switch (r.kind) {
		case COMM_EXACT_COMMAND:
			text = r.payload;
			exact->run.command = take(exact, &text, r.payload + r.bytes, r.bytes);
			break;
		case COMM_EXACT_THREAD:
			ret = load_thread(exact, &r, threads);
			break;
		case COMM_EXACT_FUNCTION:
			ret = load_function(exact, &r, functions);
			break;
		case COMM_EXACT_SITE:
			ret = load_site(exact, &r, sites);
			break;
		case COMM_EXACT_OBJECT:
			ret = load_object(exact, &r, objects);
			break;
		case COMM_EXACT_REGION:
			ret = load_region(exact, &r, regions);
			break;
		case COMM_EXACT_WITHIN:
			ret = load_within(exact, &r);
			break;
		case COMM_EXACT_PATHS:
			ret = load_paths(exact, &r, &n_paths);
			break;
		case COMM_EXACT_CALLED:
			ret = load_called(exact, &r);
			break;
		case COMM_EXACT_CODE:
			ret = load_code(exact, &r);
			break;
		case COMM_EXACT_ENTRY:
			ret = load_entry(exact, &r);
			break;
		case COMM_EXACT_MAPS:
			ret = load_maps(exact, &r);
			break;
		case COMM_EXACT_LINK:
			ret = load_link(exact, &r);
			break;
		case COMM_EXACT_FRAMES:
			memcpy(&exact->run.n_frames, r.payload, sizeof(exact->run.n_frames));
			break;
		case COMM_EXACT_CLOCK:
			memcpy(&exact->run.clock_ns, r.payload, sizeof(exact->run.clock_ns));
			break;
		case COMM_EXACT_UNCUT:
			memcpy(&exact->run.uncut_ns, r.payload, sizeof(exact->run.uncut_ns));
			break;
		case COMM_EXACT_FORGOTTEN:
			memcpy(&exact->run.forgotten_bytes, r.payload,
			       sizeof(exact->run.forgotten_bytes));
			break;
		case COMM_EXACT_CALLS:
			memcpy(&calls, r.payload, sizeof(calls));
			exact->run.n_calls = calls.numbered;
			exact->run.n_later_calls = calls.later;
			break;
		case COMM_EXACT_ACTORS:
			ret = load_actors(exact, &r, &n_actors);
			break;
		case COMM_EXACT_PHASE:
			ret = load_phase(exact, &r, n_phases++);
			break;
		case COMM_EXACT_EDGES:
			ret = load_edges(exact, &r, &exact->phase[n_phases - 1]);
			break;
		case COMM_EXACT_AGES:
			ret = load_ages(exact, &r);
			break;
		case COMM_EXACT_WRITES:
			ret = load_writes(exact, &r, &exact->phase[n_phases - 1]);
			break;
		case COMM_EXACT_INSTRUCTIONS:
			ret = load_instructions(exact, &r, &exact->phase[n_phases - 1]);
			break;
		case COMM_EXACT_LENGTHS:
			ret = load_lengths(exact, &r, &exact->phase[n_phases - 1]);
			break;
		case COMM_EXACT_DATES:
			ret = load_dates(exact, &r, n_phases - 1);
			break;
		case COMM_EXACT_PLACES:
			ret = load_places(exact, &r, &exact->phase[n_phases - 1]);
			break;
		case COMM_EXACT_END:
			memcpy(&end, r.payload, sizeof(end));
			exact->run.accesses = end.accesses;
			exact->run.instructions = end.instructions;
			exact->run.wall_ns = end.wall_ns;
			if (end.edges != exact->n_edges)
				ret = -EBADMSG;
			break;
		}
	}
	return ret;
}

static int survey(struct comm_exact_records *in, char **err)
{
	size_t at;
	int ret = comm_exact_survey(in, &at);

	switch (ret) {
	case 0:
		return 0;
	case -EMEDIUMTYPE:
		return fail(err, ret, "not a result file of the exact source");
	case -EPROTO:
		return fail(err, ret, "made by a newer version (this reads format %u)",
			    COMM_EXACT_VERSION);
	case -ENODATA:
		return fail(err, ret, "cut off: the program was killed, or has not ended yet");
	default:
		return at ? fail(err, ret, "corrupt: bad record before byte %zu", at)
			  : fail(err, ret, "corrupt: bad header");
	}
}

/* calloc() that gives a pointer also for 0 elements. */
static void *array(size_t n, size_t bytes, int *ret)
{
	void *p = calloc(n ? n : 1, bytes);

	if (!p)
		*ret = -ENOMEM;
	return p;
}

int comm_exact_parse(const void *data, size_t bytes, struct comm_exact **ret, char **err)
{
	struct comm_exact_records in = {.data = data, .bytes = bytes};
	struct comm_exact_header header;
	struct comm_exact *exact;
	int rc;

	*err = NULL;
	rc = survey(&in, err);
	if (rc)
		return rc;
	exact = calloc(1, sizeof(*exact));
	if (!exact)
		return fail(err, -ENOMEM, "out of memory");
	memcpy(&header, data, sizeof(header));
	exact->run = (struct comm_exact_run){.command = "",
					     .pid = header.pid,
					     .granularity_bytes = header.granularity_bytes,
					     .start_ns = header.start_ns,
					     .start_unix_ns = header.start_unix_ns,
					     .n_threads = in.count[COMM_EXACT_THREAD],
					     .n_functions = in.count[COMM_EXACT_FUNCTION],
					     .n_sites = in.count[COMM_EXACT_SITE],
					     .n_objects = in.count[COMM_EXACT_OBJECT],
					     .n_regions = in.count[COMM_EXACT_REGION],
					     .n_paths = in.items[COMM_EXACT_PATHS],
					     .n_actors = in.items[COMM_EXACT_ACTORS],
					     .n_phases = in.count[COMM_EXACT_PHASE]};
	exact->text = array(COMM_TEXT_GROWTH * in.text_bytes, 1, &rc);
	exact->thread = array(exact->run.n_threads, sizeof(*exact->thread), &rc);
	exact->function = array(exact->run.n_functions, sizeof(*exact->function), &rc);
	exact->entry = array(exact->run.n_functions, sizeof(*exact->entry), &rc);
	exact->site = array(exact->run.n_sites, sizeof(*exact->site), &rc);
	exact->object = array(exact->run.n_objects, sizeof(*exact->object), &rc);
	exact->region = array(exact->run.n_regions, sizeof(*exact->region), &rc);
	exact->path = array(exact->run.n_paths, sizeof(*exact->path), &rc);
	exact->heap = array(exact->run.n_objects, sizeof(*exact->heap), &rc);
	exact->code = array(exact->run.n_sites, sizeof(*exact->code), &rc);
	exact->actor = array(exact->run.n_actors, sizeof(*exact->actor), &rc);
	exact->phase = array(exact->run.n_phases, sizeof(*exact->phase), &rc);
	exact->edge = array(in.items[COMM_EXACT_EDGES], sizeof(*exact->edge), &rc);
	if (in.count[COMM_EXACT_AGES])
		exact->ages = array(in.items[COMM_EXACT_EDGES], sizeof(*exact->ages), &rc);
	exact->write = array(in.items[COMM_EXACT_WRITES], sizeof(*exact->write), &rc);
	exact->executed = array(in.items[COMM_EXACT_INSTRUCTIONS], sizeof(*exact->executed), &rc);
	exact->length = array(in.items[COMM_EXACT_LENGTHS], sizeof(*exact->length), &rc);
	exact->date = array(in.items[COMM_EXACT_DATES], sizeof(*exact->date), &rc);
	exact->place = array(in.items[COMM_EXACT_PLACES], sizeof(*exact->place), &rc);
	exact->seen =
		array((size_t)exact->run.n_threads + exact->run.n_functions + exact->run.n_sites +
			      exact->run.n_objects + exact->run.n_regions,
		      1, &rc);
	if (rc)
		fail(err, rc, "out of memory");
	if (!rc && (rc = load(exact, &in)))
		fail(err, rc, "corrupt: a record does not fit the others");
	if (rc) {
		comm_exact_close(exact);
		return rc;
	}
	*ret = exact;
	return 0;
}

static int read_all(int fd, uint8_t *data, size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t n = read(fd, data + done, bytes - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENODATA;
		done += n;
	}
	return 0;
}

int comm_exact_open(const char *path, struct comm_exact **ret, char **err)
{
	uint8_t *data = NULL;
	struct stat st;
	int fd, rc;

	*err = NULL;
	/* A FIFO would wait for a writer, and a link is not what a command was asked for. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st)) {
		rc = fail(err, -errno, "%s: %s", path, strerror(errno));
		goto out;
	}
	if (!S_ISREG(st.st_mode)) {
		rc = fail(err, -EMEDIUMTYPE, "%s: not a result file of the exact source", path);
		goto out;
	}
	if ((uint64_t)st.st_size > MAX_FILE_BYTES) {
		rc = fail(err, -EFBIG, "%s: larger than 4 GiB; use fewer phases", path);
		goto out;
	}
	data = malloc(st.st_size + 1);
	rc = data ? read_all(fd, data, st.st_size) : -ENOMEM;
	if (rc)
		fail(err, rc, "%s: %s", path, strerror(-rc));
	else
		rc = comm_exact_parse(data, st.st_size, ret, err);
out:
	free(data);
	if (fd >= 0)
		close(fd);
	return rc;
}

void comm_exact_close(struct comm_exact *exact)
{
	if (!exact)
		return;
	free(exact->text);
	free(exact->thread);
	free(exact->function);
	free(exact->entry);
	free(exact->site);
	free(exact->object);
	free(exact->region);
	free(exact->heap);
	free(exact->code);
	free(exact->maps);
	free(exact->actor);
	free(exact->phase);
	comm_census_deinit(&exact->census);
	comm_unwritten_ends_deinit(&exact->unwritten);
	comm_unwritten_ends_deinit(&exact->written);
	comm_unwritten_ends_deinit(&exact->lengths);
	free(exact->edge);
	free(exact->ages);
	free(exact->write);
	free(exact->executed);
	free(exact->length);
	free(exact->date);
	free(exact->place);
	comm_dates_deinit(&exact->dates);
	free(exact->path);
	free(exact->seen);
	free(exact);
}

const struct comm_exact_run *comm_exact_run(const struct comm_exact *exact)
{
	return &exact->run;
}

#define AT(noun, type, field, count)                                                           \
	const struct type *comm_exact_##noun##_at(const struct comm_exact *exact, uint32_t id) \
	{                                                                                      \
		return id < exact->run.count ? &exact->field[id] : NULL;                       \
	}

AT(thread, comm_thread, thread, n_threads)
AT(function, comm_function, function, n_functions)
AT(site, comm_site, site, n_sites)
AT(object, comm_object, object, n_objects)
AT(code_region, comm_code_region, region, n_regions)
AT(path, comm_call, path, n_paths)
AT(heap, comm_exact_heap, heap, n_objects)
AT(code, comm_exact_code, code, n_sites)
AT(actor, comm_exact_actor, actor, n_actors)
AT(phase, comm_exact_phase, phase, n_phases)

uint64_t comm_exact_entry_at(const struct comm_exact *exact, uint32_t id)
{
	return exact->entry[id];
}

const char *comm_exact_maps(const struct comm_exact *exact, size_t *ret_bytes)
{
	*ret_bytes = exact->maps_bytes;
	return exact->maps;
}

void comm_exact_rename(struct comm_exact *exact, const uint32_t *site, const uint32_t *object)
{
	exact->site_name = site;
	exact->object_name = object;
}
