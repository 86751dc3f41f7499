/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdint.h>

#include "object.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_debuginfo.h"
#include "pub_tool_hashtable.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_stacktrace.h"
#include "pub_tool_xarray.h"

#include "array.h"
#include "image.h"
#include "marks.h"
#include "program.h"
#include "region.h"
#include "shadow.h"
#include "text.h"

/* As in libcomm/model/ids.h, which the tool cannot include. */
enum {
	KIND_OTHER,
	KIND_STATIC,
	KIND_DATA,
	KIND_HEAP,
	KIND_STACK,
	KIND_ANON,
	KIND_SHARED,
	KIND_MARKED,
};

enum {
	PAGE = 4096,
	NAME_BYTES = 512,
	MAX_FRAMES = 12,
	MAX_STACK_BYTES = 64 << 20,
	MAIN_STACK_BYTES = 1 << 30,
	OBJECTS_MAX = 1 << 20,
};

struct named {
	VgHashNode node; /* key: hash of kind, name, module, start */
	UInt id;
};

struct alloc_site {
	VgHashNode node; /* key: the caller's address */
	UInt id;	 /* 0: an allocation function, look further up */
};

struct stack {
	Addr start, end;
	UInt object;
};

static struct comm_shadow *shadow;
static struct comm_array objects;
static XArray *stacks;
static VgHashTable *by_name, *by_caller;

static UWord hash_string(UWord h, const HChar *s)
{
	for (; *s; s++)
		h = (h ^ (UChar)*s) * 0x100000001b3ul;
	return h;
}

static UInt add(UInt kind, const HChar *name, const HChar *module, Addr start, UInt tid)
{
	UWord key = hash_string(hash_string(start * 16 + kind, name), module) * 31 + tid;
	struct named *named = VG_(HT_lookup)(by_name, key);

	if (named)
		return named->id;
	named = VG_(malloc)("comm.named", sizeof(*named));
	named->node.key = key;
	named->id = comm_array_add(&objects, 1);
	*(struct comm_vg_object *)comm_array_at(&objects, named->id) =
		(struct comm_vg_object){.kind = kind,
					.tid = tid,
					.name = comm_text_keep(name),
					.module = comm_text_keep(module),
					.start = start};
	VG_(HT_add_node)(by_name, named);
	return named->id;
}

void comm_object_init(struct comm_shadow *s)
{
	shadow = s;
	comm_array_init(&objects, sizeof(struct comm_vg_object), OBJECTS_MAX);
	stacks = VG_(newXA)(VG_(malloc), "comm.stacks", VG_(free), sizeof(struct stack));
	by_name = VG_(HT_construct)("comm.by_name");
	by_caller = VG_(HT_construct)("comm.by_caller");
	add(KIND_OTHER, "(other)", "", 0, 0);
}

static UInt in_module(Addr addr, const HChar *module)
{
	DiEpoch epoch = VG_(current_DiEpoch)();
	Addr page = addr & ~(Addr)(PAGE - 1);
	PtrdiffT offset, at_first, at_last;
	const HChar *name;
	HChar kept[NAME_BYTES], file[NAME_BYTES];
	UInt id;

	VG_(strlcpy)(file, comm_program_called(module), sizeof(file));
	if (!VG_(get_datasym_and_offset)(epoch, addr, &name, &offset)) {
		VG_(snprintf)(kept, sizeof(kept), "[%s data]", file);
		id = add(KIND_DATA, kept, file, 0, 0);
		comm_shadow_set_object(shadow, addr & ~7ul, 8, id);
		return id;
	}
	VG_(strlcpy)(kept, name, sizeof(kept));
	id = add(KIND_STATIC, kept, file, addr - offset, 0);
	/* A big array: name the page at once, not each eight bytes of it. */
	if (VG_(get_datasym_and_offset)(epoch, page, &name, &at_first) &&
	    page - at_first == addr - offset &&
	    VG_(get_datasym_and_offset)(epoch, page + PAGE - 1, &name, &at_last) &&
	    page + PAGE - 1 - at_last == addr - offset)
		comm_shadow_set_page(shadow, addr, id);
	else
		comm_shadow_set_object(shadow, addr & ~7ul, 8, id);
	return id;
}

static UInt in_segment(Addr addr)
{
	const NSegment *segment = VG_(am_find_nsegment)(addr);
	const HChar *path;
	HChar name[NAME_BYTES];

	for (Word i = VG_(sizeXA)(stacks); i-- > 0;) {
		struct stack *stack = VG_(indexXA)(stacks, i);

		if (addr >= stack->start && addr < stack->end)
			return stack->object;
	}
	if (!segment)
		return add(KIND_ANON, "[unmapped]", "", 0, 0);
	switch (segment->kind) {
	case SkFileC:
		path = VG_(am_get_filename)(segment);
		if (!path)
			path = "[file]";
		VG_(snprintf)(name, sizeof(name), "[%s]", VG_(basename)(path));
		if (!VG_(strncmp)(path, "/dev/shm/", 9) || !VG_(strncmp)(path, "/memfd:", 7))
			return add(KIND_SHARED, name, path, 0, 0);
		return add(KIND_DATA, name, path, 0, 0);
	case SkShmC:
		return add(KIND_SHARED, "[shm]", "", 0, 0);
	case SkAnonC:
		if (segment->isCH)
			return add(KIND_HEAP, "[heap]", "", 0, 0);
		return add(KIND_ANON, "[anon]", "", 0, 0);
	default:
		return add(KIND_ANON, "[anon]", "", 0, 0);
	}
}

uint32_t comm_object_find(uint64_t addr)
{
	const HChar *module = "";
	UInt id;

	switch (VG_(DebugInfo_sect_kind)(&module, addr)) {
	case Vg_SectData:
	case Vg_SectBSS:
	case Vg_SectGOT:
	case Vg_SectGOTPLT:
		return in_module(addr, module);
	default:
		break;
	}
	id = in_segment(addr);
	/* A page may also hold the end of a module's data, which is finer. */
	if (VG_(DebugInfo_sect_kind)(&module, addr & ~(Addr)(PAGE - 1)) == Vg_SectUnknown &&
	    VG_(DebugInfo_sect_kind)(&module, addr | (PAGE - 1)) == Vg_SectUnknown)
		comm_shadow_set_page(shadow, addr, id);
	else
		comm_shadow_set_object(shadow, addr & ~7ul, 8, id);
	return id;
}

/* Functions that allocate for their caller. */
static Bool allocates(const HChar *name)
{
	static const HChar *const names[] = {
		"malloc",  "calloc",   "realloc",  "memalign", "aligned_alloc", "posix_memalign",
		"strdup",  "strndup",  "asprintf", "getline",  "reallocarray",	"xmalloc",
		"xcalloc", "xrealloc", "xstrdup",  NULL};

	if (!VG_(strncmp)(name, "operator new", 12))
		return True;
	for (UInt i = 0; names[i]; i++) {
		if (VG_STREQ(name, names[i]))
			return True;
	}
	return False;
}

static UInt caller_object(Addr caller)
{
	struct alloc_site *known = VG_(HT_lookup)(by_caller, caller);
	DiEpoch epoch = VG_(current_DiEpoch)();
	const HChar *found, *dir;
	HChar function[NAME_BYTES] = "???", name[2 * NAME_BYTES], module[NAME_BYTES] = "";
	UInt line;

	if (known)
		return known->id;
	known = VG_(malloc)("comm.caller", sizeof(*known));
	known->node.key = caller;
	known->id = 0;
	VG_(HT_add_node)(by_caller, known);
	/* The return address may be the first of the next line or function. */
	if (VG_(get_fnname)(epoch, caller - 1, &found)) {
		if (allocates(found))
			return 0;
		VG_(strlcpy)(function, found, sizeof(function));
	}
	if (VG_(get_objname)(epoch, caller - 1, &found))
		VG_(strlcpy)(module, comm_program_called(found), sizeof(module));
	if (VG_(get_filename_linenum)(epoch, caller - 1, &found, &dir, &line))
		VG_(snprintf)(name, sizeof(name), "%s:%u (%s)", found, line, function);
	else
		VG_(snprintf)(name, sizeof(name), "%s (%s)", function, module);
	known->id = add(KIND_HEAP, name, module, caller, 0);
	return known->id;
}

void comm_object_allocated(ThreadId tid, Addr block, SizeT size_bytes, Addr caller)
{
	UInt id = caller_object(caller);
	struct comm_vg_object *object;

	if (!id) {
		Addr frame[MAX_FRAMES];
		UInt n = VG_(get_StackTrace)(tid, frame, MAX_FRAMES, NULL, NULL, 0);
		UInt i = 0;

		while (i < n && frame[i] != caller && frame[i] + 1 != caller)
			i++;
		/* Frames above the first are given as return address - 1. */
		for (i++; i < n && !id; i++)
			id = caller_object(frame[i] + 1);
		if (!id)
			id = add(KIND_HEAP, "[heap]", "", 0, 0);
	}
	comm_shadow_set_object(shadow, block, size_bytes, id);
	object = comm_array_at(&objects, id);
	__atomic_fetch_add(&object->size_bytes, size_bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&object->blocks, 1, __ATOMIC_RELAXED);
}

/* What has a name, as which object, and the object that it was part of before. */
static struct named_piece {
	Addr start;
	SizeT bytes; /* 0: it has no name */
	UInt object, before;
} named[COMM_MARKS_OBJECTS];

void comm_object_named(uint32_t i, const struct comm_marks_object *piece)
{
	struct named_piece *of = &named[i];
	HChar name[COMM_REGION_BYTES];

	/* What was allocated or mapped there since is another object already. */
	if (of->bytes)
		comm_shadow_replace_object(shadow, of->start, of->bytes, of->object, of->before);
	of->bytes = 0;
	if (!piece->bytes || !comm_image_is_readable(piece->start, piece->bytes) ||
	    !comm_region_read_name(piece->name, name))
		return;
	*of = (struct named_piece){
		piece->start, piece->bytes, add(KIND_MARKED, name, "", 0, 0),
		comm_shadow_object(shadow, comm_shadow_chunk(shadow, piece->start), piece->start)};
	comm_shadow_set_object(shadow, of->start, of->bytes, of->object);
}

void comm_object_unmapped(Addr start, SizeT bytes)
{
	for (Word i = VG_(sizeXA)(stacks); i-- > 0;) {
		struct stack *stack = VG_(indexXA)(stacks, i);

		if (start < stack->end && stack->start < start + bytes)
			VG_(removeIndexXA)(stacks, i);
	}
}

void comm_object_stack(UInt tid, Addr sp)
{
	const NSegment *segment = VG_(am_find_nsegment)(sp);
	struct stack stack;
	HChar name[NAME_BYTES];

	if (!segment)
		return;
	VG_(snprintf)(name, sizeof(name), "[stack %u]", tid);
	stack.start = segment->start;
	stack.end = segment->end + 1;
	stack.object = add(KIND_STACK, name, "", 0, tid);
	/* A stack may be a piece of something large that is no stack. */
	if (sp - stack.start > MAX_STACK_BYTES)
		stack.start = (sp - MAX_STACK_BYTES) & ~(Addr)(PAGE - 1);
	if (stack.end - sp > MAX_STACK_BYTES)
		stack.end = (sp + MAX_STACK_BYTES) & ~(Addr)(PAGE - 1);
	/* An earlier thread may have had it. */
	comm_object_unmapped(stack.start, stack.end - stack.start);
	for (Addr page = stack.start; page < stack.end; page += PAGE)
		comm_shadow_set_page(shadow, page, stack.object);
	/* The main stack grows down into its reservation. */
	if (!VG_(sizeXA)(stacks) && stack.start > MAIN_STACK_BYTES)
		stack.start -= MAIN_STACK_BYTES;
	VG_(addToXA)(stacks, &stack);
}

UInt comm_object_count(void)
{
	return comm_array_count(&objects);
}

const struct comm_vg_object *comm_object_get(UInt id)
{
	return comm_array_at(&objects, id);
}
