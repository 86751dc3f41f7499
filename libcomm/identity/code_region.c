// SPDX-License-Identifier: GPL-2.0-or-later
#include "code_region.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "keyed.h"
#include "names.h"
#include "text.h"

enum {
	FIRST_ID = COMM_CODE_REGION_OTHER + 1,
	NAME_READ_BYTES = 64, /* of a region's name, its NUL included */
	NAMES_BYTES_MAX = 2 * COMM_CODE_REGIONS_MAX * NAME_READ_BYTES,
	PLACES = 4096,			    /* names by where they stand: one per hash value */
	RECHECK_NS = 1000 * 1000 * 1000,    /* until a name that may change is read again */
	PROVISIONAL_NS = 100 * 1000 * 1000, /* until what is not known yet is asked again */
};

/* COMM_MARK_CODE() of <comm/mark.h>, which is no header of ours to include: it makes marks. */
static const uint64_t is_code = UINT64_C(1) << 63;

/* Where a name stands: in a file, the same for all processes, or in one's own memory. */
struct name_place {
	uint64_t offset;
	uint64_t until_ns; /* 0: free */
	uint32_t file;	   /* tgid when private */
	bool private;
	const char *name;
};

struct comm_code_regions {
	const struct comm_inspect *inspect;
	struct comm_names *names;
	const char *unreadable, *not_known;
	COMM_KEYED(keyed, struct comm_code_region, region, n); /* from FIRST_ID on */
	uint64_t n_unfiled;
	struct name_place place[PLACES];
	const char *probed[COMM_PROBED_MAX + 1]; /* by id; NULL: there is none */
};

int comm_code_regions_create(const struct comm_inspect *inspect, struct comm_code_regions **ret)
{
	struct comm_code_regions *regions = calloc(1, sizeof(*regions));

	if (!regions)
		return -ENOMEM;
	if (comm_names_create(NAMES_BYTES_MAX, &regions->names)) {
		free(regions);
		return -ENOMEM;
	}
	regions->inspect = inspect;
	regions->unreadable = comm_names_add(regions->names, "(unreadable)", NAME_READ_BYTES);
	regions->not_known = comm_names_add(regions->names, "(region not known)", NAME_READ_BYTES);
	*ret = regions;
	return 0;
}

void comm_code_regions_destroy(struct comm_code_regions *regions)
{
	if (!regions)
		return;
	comm_names_destroy(regions->names);
	comm_keyed_deinit(&regions->keyed);
	free(regions);
}

/* *ret_provisional: it cannot be read now. */
static const char *read_name(struct comm_code_regions *regions, uint32_t tgid,
			     const struct comm_mapping *m, uint64_t addr, bool *ret_provisional)
{
	char name[NAME_READ_BYTES];
	ssize_t n = regions->inspect->ops->text(regions->inspect->ctx, tgid, m, addr, name,
						sizeof(name));

	*ret_provisional = n == -EAGAIN;
	if (n <= 0)
		return NULL;
	/* Cut off, and seen to be. */
	if (n == sizeof(name) && !memchr(name, 0, sizeof(name)))
		strcpy(name + comm_text_whole(name, sizeof(name) - 4), "...");
	if (!*name)
		return comm_names_add(regions->names, "(unnamed)", NAME_READ_BYTES);
	return comm_names_add(regions->names, name, (size_t)n);
}

/* Function and line of code in place of a name; *ret_provisional: the line may still come. */
static const char *code_name(struct comm_code_regions *regions, uint32_t tgid,
			     const struct comm_mapping *m, uint64_t addr, bool *ret_provisional)
{
	struct comm_code code = {0};
	char line[16] = "", name[NAME_READ_BYTES];
	const char *function;
	bool is_cut;
	int capacity;

	regions->inspect->ops->code(regions->inspect->ctx, tgid, m, addr, &code);
	*ret_provisional = code.provisional;
	function = code.inlined ? code.inlined : code.function;
	/* Made by clang for OpenMP: nobody knows it by that name, but by its file's. */
	if (function && code.source && !strncmp(function, ".omp_", strlen(".omp_"))) {
		const char *slash = strrchr(code.source, '/');

		function = slash ? slash + 1 : code.source;
	}
	if (!function)
		return NULL;
	if (code.line)
		snprintf(line, sizeof(line), ":%" PRIu32, code.line);
	capacity = (int)(sizeof(name) - 1 - strlen(line));
	is_cut = strlen(function) > (size_t)capacity;
	snprintf(name, sizeof(name), "%.*s%s%s",
		 is_cut ? (int)comm_text_whole(function, (size_t)capacity - 3) : capacity, function,
		 is_cut ? "..." : "", line);
	return comm_names_add(regions->names, name, sizeof(name));
}

void comm_code_regions_probed(struct comm_code_regions *regions, uint32_t id, const char *name)
{
	if (id <= COMM_PROBED_MAX)
		regions->probed[id] = comm_names_add(regions->names, name, COMM_PROBED_BYTES);
}

const char *comm_code_regions_name(struct comm_code_regions *regions, struct comm_space *space,
				   uint64_t word, uint64_t now_ns)
{
	uint64_t addr = word & ~is_code;
	const struct comm_mapping *m = comm_space_find(space, addr, now_ns);
	uint32_t tgid = comm_space_tgid(space);
	struct name_place key = {.until_ns = now_ns + RECHECK_NS}, *place;
	bool provisional = false, held;

	if (word == COMM_MARK_NOT_KNOWN)
		return regions->not_known;
	if (word <= COMM_PROBED_MAX && regions->probed[word])
		return regions->probed[word];
	if (!m || !(word & is_code ? m->executable : m->readable))
		return regions->unreadable;
	key.private = !m->file || m->writable;
	key.file = key.private ? tgid : m->file;
	key.offset = (key.private ? addr : addr - m->start + m->offset) | (word & is_code);
	place = &regions->place[comm_hash_mix(key.offset, (uint64_t)key.file << 1 | key.private) &
				(PLACES - 1)];
	held = place->name && place->offset == key.offset && place->file == key.file &&
	       place->private == key.private;
	if (held && now_ns < place->until_ns)
		return place->name;
	key.name = word & is_code ? code_name(regions, tgid, m, addr, &provisional)
				  : read_name(regions, tgid, m, addr, &provisional);
	if (provisional)
		key.until_ns = now_ns + PROVISIONAL_NS;
	else if (key.name && !key.private)
		key.until_ns = UINT64_MAX;
	/* A process that has ended cannot be asked again: the name it gave last stands. */
	if (!key.name)
		key.name = held ? place->name : regions->unreadable;
	*place = key;
	return key.name;
}

/* The region of that name within parent. */
static uint32_t region_id(struct comm_code_regions *regions, uint32_t parent, const char *name)
{
	static const struct comm_keyed_kind kind = {
		COMM_KEYED_BYTES(struct comm_code_region, parent),
		.most = COMM_CODE_REGIONS_MAX - FIRST_ID,
	};
	const struct comm_code_region key = {name, parent};
	size_t at;

	if (comm_keyed_at(&regions->keyed, &kind, &key, &at)) {
		regions->n_unfiled++;
		return COMM_CODE_REGION_OTHER;
	}
	return FIRST_ID + (uint32_t)at;
}

uint32_t comm_code_regions_get(struct comm_code_regions *regions, struct comm_space *space,
			       const struct comm_marks *marks, uint64_t now_ns)
{
	uint32_t id = COMM_CODE_REGION_NONE;

	for (uint32_t i = 0; i < marks->n && i < COMM_MARKS_MAX && id != COMM_CODE_REGION_OTHER;
	     i++)
		id = region_id(regions, id,
			       comm_code_regions_name(regions, space, marks->name[i], now_ns));
	return id;
}

uint64_t comm_code_regions_unfiled(const struct comm_code_regions *regions)
{
	return regions->n_unfiled;
}

uint32_t comm_code_regions_count(const struct comm_code_regions *regions)
{
	return FIRST_ID + (uint32_t)regions->n;
}

const struct comm_code_region *comm_code_regions_at(const struct comm_code_regions *regions,
						    uint32_t id)
{
	static const struct comm_code_region none = {.name = ""}, other = {.name = "(other)"};

	if (id >= FIRST_ID && id < comm_code_regions_count(regions))
		return &regions->region[id - FIRST_ID];
	return id == COMM_CODE_REGION_NONE ? &none : &other;
}
