/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "call.h"

#include <stdint.h>

#include "array.h"
#include "memory.h"
#include "pattern.h"
#include "region.h"
#include "site.h"
#include "text.h"
#include "trace.h"

#include "pub_tool_debuginfo.h"
#include "pub_tool_hashtable.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_mallocfree.h"

enum {
	FUNCTIONS_MAX = 1 << 15,
	NAME_BYTES = COMM_REGION_BYTES - sizeof(", later calls") + 1,
};

struct wanted {
	const HChar *name, *later; /* as regions are called */
	UInt calls;		   /* that have a number */
};

static const HChar *pattern;
static struct comm_array functions, paths;
static UInt n_callers; /* 0: nobody asked */
static VgHashTable *known_paths;
/* On memory that all processes share. */
static struct {
	ULong numbered, later;
} * count;

struct known {
	VgHashNode node; /* key: parent and function */
	UInt id;
};

void comm_calls_init(const HChar *wanted, UInt callers)
{
	pattern = wanted;
	n_callers = callers;
	if (n_callers) {
		comm_array_init(&paths, sizeof(struct comm_call_path), COMM_CALL_PATHS_MAX);
		comm_array_add(&paths, COMM_CALL_PATH_FIRST);
		known_paths = VG_(HT_construct)("comm.known_paths");
	}
	if (!pattern)
		return;
	comm_array_init(&functions, sizeof(struct wanted), FUNCTIONS_MAX);
	count = comm_mem_map_shared(sizeof(*count));
}

Bool comm_calls_wanted(void)
{
	return pattern || n_callers;
}

UInt comm_calls_function(Addr ip)
{
	HChar short_name[NAME_BYTES], later[COMM_REGION_BYTES];
	struct wanted *wanted;
	const HChar *name;
	UInt id;

	if (!comm_calls_wanted() || !VG_(get_fnname_if_entry)(VG_(current_DiEpoch)(), ip, &name))
		return 0;
	if (n_callers)
		return comm_site_function(ip) + 1;
	if (!comm_pattern_has(pattern, name))
		return 0;
	VG_(strlcpy)(short_name, name, sizeof(short_name));
	/* Cut off, and seen to be. */
	if (VG_(strlen)(name) >= sizeof(short_name))
		VG_(strcpy)(short_name + sizeof(short_name) - 4, "...");
	for (id = 0; id < comm_array_count(&functions); id++) {
		wanted = comm_array_at(&functions, id);
		if (wanted->name && VG_STREQ(wanted->name, short_name))
			return id + 1;
	}
	if (id == FUNCTIONS_MAX)
		return 0;
	id = comm_array_add(&functions, 1);
	wanted = comm_array_at(&functions, id);
	VG_(snprintf)(later, sizeof(later), "%s, later calls", short_name);
	wanted->later = comm_text_keep(later);
	wanted->name = comm_text_keep(short_name);
	return id + 1;
}

/* One that stands around already is entered again: recursion makes no more of them. */
static UInt later_region(const struct wanted *wanted, UInt around)
{
	const struct comm_vg_region *region;

	for (UInt id = around; id > COMM_REGION_OTHER; id = region->parent) {
		region = comm_region_get(id);
		if (region->name == wanted->later)
			return id;
	}
	for (UInt id = comm_region_count(); id-- > COMM_REGION_OTHER + 1;) {
		region = comm_region_get(id);
		if (region->parent == around && region->name == wanted->later)
			return id;
	}
	return comm_region_add(around, wanted->later);
}

static UInt numbered_call(UInt function, UInt around)
{
	struct wanted *wanted = comm_array_at(&functions, function);
	ULong n = __atomic_load_n(&count->numbered, __ATOMIC_RELAXED);
	HChar name[COMM_REGION_BYTES];

	if (n < COMM_CALLS_MAX)
		n = __atomic_fetch_add(&count->numbered, 1, __ATOMIC_RELAXED);
	if (n >= COMM_CALLS_MAX) {
		__atomic_fetch_add(&count->later, 1, __ATOMIC_RELAXED);
		return later_region(wanted, around);
	}
	VG_(snprintf)
	(name, sizeof(name), "%s #%u", wanted->name,
	 __atomic_add_fetch(&wanted->calls, 1, __ATOMIC_RELAXED));
	return comm_region_add(around, comm_text_keep(name));
}

static UInt path_within(UInt parent, UInt function)
{
	UWord key = (UWord)parent << 32 | function;
	struct known *known = VG_(HT_lookup)(known_paths, key);

	if (known)
		return known->id;
	if (comm_array_count(&paths) == COMM_CALL_PATHS_MAX)
		return COMM_CALL_PATH_UNKNOWN;
	known = VG_(malloc)("comm.known_path", sizeof(*known));
	*known = (struct known){{NULL, key}, comm_array_add(&paths, 1)};
	*(struct comm_call_path *)comm_array_at(&paths, known->id) =
		(struct comm_call_path){parent, function};
	VG_(HT_add_node)(known_paths, known);
	return known->id;
}

/* Of callers beyond those that were asked for nobody knows. */
static UInt path_of(const struct comm_trace_call *call, UInt n)
{
	UInt path = COMM_CALL_PATH_UNKNOWN;

	if (n == 1)
		return path_within(COMM_CALL_PATH_OUTERMOST, call->function);
	if (n <= n_callers + 1)
		return path_within(call[n - 1].around, call[n - 1].function);
	for (UInt i = n - n_callers - 1; i < n; i++)
		path = path_within(path, call[i].function);
	return path;
}

UInt comm_calls_begin(const struct comm_trace_call *call, UInt n_calls)
{
	if (n_callers)
		return path_of(call, n_calls);
	return numbered_call(call[n_calls - 1].function, call[n_calls - 1].around);
}

UInt comm_call_path_count(void)
{
	return n_callers ? comm_array_count(&paths) : 0;
}

const struct comm_call_path *comm_call_path_get(UInt id)
{
	return comm_array_at(&paths, id);
}

Bool comm_calls_count(uint64_t *ret_numbered, uint64_t *ret_later)
{
	ULong n;

	if (!pattern)
		return False;
	n = __atomic_load_n(&count->numbered, __ATOMIC_RELAXED);
	*ret_numbered = n < COMM_CALLS_MAX ? n : COMM_CALLS_MAX;
	*ret_later = __atomic_load_n(&count->later, __ATOMIC_RELAXED);
	return True;
}
