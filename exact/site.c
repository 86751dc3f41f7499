/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "site.h"

#include "array.h"
#include "frames.h"
#include "program.h"
#include "text.h"

#include "pub_tool_debuginfo.h"
#include "pub_tool_hashtable.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_mallocfree.h"

enum {
	NAME_BYTES = 4096,
	FUNCTIONS_MAX = 1 << 20,
	SITES_MAX = 1 << 22,
};

struct known {
	VgHashNode node; /* key: hash of what identifies it */
	UInt id;
};

static struct comm_array functions, sites;
static VgHashTable *known_functions, *known_lines;
static Bool by_line;

static UWord hash_string(UWord h, const HChar *s)
{
	for (; *s; s++)
		h = (h ^ (UChar)*s) * 0x100000001b3ul;
	return h;
}

static UInt add_site(UInt function, UInt line, const HChar *source, ULong offset)
{
	UInt id = comm_array_add(&sites, 1);
	struct comm_vg_site *site = comm_array_at(&sites, id);

	*site = (struct comm_vg_site){function, line, NULL, offset};
	if (source && *source)
		site->source = comm_text_keep(source);
	return id;
}

static UInt add_function(const HChar *name, const HChar *module, ULong start)
{
	UInt id = comm_array_add(&functions, 1);

	*(struct comm_vg_function *)comm_array_at(&functions, id) =
		(struct comm_vg_function){comm_text_keep(name), comm_text_keep(module), start, 0};
	return id;
}

/* A function that stands for no code of the target. */
static UInt add_pseudo(const HChar *name)
{
	UInt function = add_function(name, "", 0);
	UInt site = add_site(function, 0, NULL, 0);

	((struct comm_vg_function *)comm_array_at(&functions, function))->site = site;
	return site;
}

void comm_site_init(Bool lines)
{
	static const HChar *const channels[COMM_CHANNELS] = COMM_CHANNEL_NAMES;

	by_line = lines;
	comm_array_init(&functions, sizeof(struct comm_vg_function), FUNCTIONS_MAX);
	comm_array_init(&sites, sizeof(struct comm_vg_site), SITES_MAX);
	known_functions = VG_(HT_construct)("comm.known_functions");
	known_lines = VG_(HT_construct)("comm.known_lines");
	add_pseudo("(other)");
	for (UInt i = 0; i < COMM_CHANNELS; i++)
		add_pseudo(channels[i]);
}

Bool comm_site_by_line(void)
{
	return by_line;
}

/* "name+12" -> "name", 12 */
static ULong cut_offset(HChar *name)
{
	HChar *plus = VG_(strrchr)(name, '+');
	ULong offset;

	if (!plus || !VG_(isdigit)(plus[1]))
		return 0;
	offset = VG_(strtoull10)(plus + 1, NULL);
	*plus = 0;
	return offset;
}

UInt comm_site_function(Addr ip)
{
	static HChar name[NAME_BYTES], module[NAME_BYTES];
	DiEpoch epoch = VG_(current_DiEpoch)();
	const HChar *found;
	const DebugInfo *info = VG_(find_DebugInfo)(epoch, ip);
	Addr start = 0;
	ULong file_start = 0;
	struct known *known;
	UWord key;

	if (VG_(get_objname)(epoch, ip, &found))
		VG_(strlcpy)(module, comm_program_called(found), sizeof(module));
	else
		VG_(strlcpy)(module, "[jit]", sizeof(module));
	if (VG_(get_fnname_w_offset)(epoch, ip, &found)) {
		VG_(strlcpy)(name, found, sizeof(name));
		start = ip - cut_offset(name);
		file_start = start - (info ? VG_(DebugInfo_get_text_bias)(info) : 0);
	} else if (comm_frames_function(ip, &start, &file_start)) {
		/* As samples call it. */
		VG_(snprintf)(name, sizeof(name), "%s+0x%llx", module, file_start);
	} else {
		/* Without any bounds of functions a module is one. */
		const HChar *base = "jit";

		if (module[0] != '[')
			base = module;
		name[0] = '[';
		VG_(strlcpy)(name + 1, base, sizeof(name) - 2);
		VG_(strcat)(name, "]");
	}
	key = hash_string(hash_string(start * 0x9e3779b97f4a7c15ul, name), module);
	known = VG_(HT_lookup)(known_functions, key);
	if (known)
		return known->id;
	known = VG_(malloc)("comm.known", sizeof(*known));
	known->node.key = key;
	known->id = add_function(name, module, file_start);
	VG_(HT_add_node)(known_functions, known);
	return known->id;
}

UInt comm_site_at(Addr ip)
{
	UInt id = comm_site_function(ip), line = 0;
	struct comm_vg_function *function = comm_array_at(&functions, id);
	const HChar *file = NULL, *dir;
	DiEpoch epoch = VG_(current_DiEpoch)();
	struct known *known;
	UWord key;

	if (!by_line && function->site)
		return function->site;
	if (!VG_(get_filename_linenum)(epoch, ip, &file, &dir, &line))
		file = NULL;
	if (!by_line)
		return function->site = add_site(id, line, file, function->start);
	key = (ULong)id << 32 | line;
	known = VG_(HT_lookup)(known_lines, key);
	if (known)
		return known->id;
	known = VG_(malloc)("comm.known", sizeof(*known));
	known->node.key = key;
	known->id = add_site(id, line, file, function->start);
	VG_(HT_add_node)(known_lines, known);
	return known->id;
}

UInt comm_site_count(void)
{
	return comm_array_count(&sites);
}

const struct comm_vg_site *comm_site_get(UInt id)
{
	return comm_array_at(&sites, id);
}

UInt comm_function_count(void)
{
	return comm_array_count(&functions);
}

const struct comm_vg_function *comm_function_get(UInt id)
{
	return comm_array_at(&functions, id);
}
