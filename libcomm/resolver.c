// SPDX-License-Identifier: GPL-2.0-or-later
#include "resolver.h"

enum {
	WORD_BYTES = 8, /* of an access of unknown size: up to the word's end */
	HUGE_PAGE_BYTES = 2 << 20,
};

/* Edges name the objects of reads alone. */
static struct comm_block_object block_at(const struct comm_resolver *r, struct comm_space *space,
					 const struct comm_burst_access *from, uint64_t now_ns,
					 const struct comm_access *read)
{
	struct comm_block_object block = {.id = COMM_ID_OTHER};

	if (from->flags & COMM_ACCESS_READ)
		block = comm_block_objects_at(r->identity->blocks, space, from->addr, read->datum,
					      read->object, now_ns);
	if (block.unread)
		comm_open_slice_lose(r->slice, COMM_LOSS_BLOCKS, 1);
	return block;
}

/* Its neighbours are other variables, so who touches memory nearby says nothing of it. */
static bool is_small_variable(const struct comm_object *object)
{
	return (object->kind == COMM_OBJECT_STATIC || object->kind == COMM_OBJECT_DATA) &&
	       object->size_bytes < HUGE_PAGE_BYTES;
}

bool comm_resolver_access(const struct comm_resolver *r, struct comm_space *space,
			  const struct comm_burst_access *from, uint64_t sp, uint32_t tid,
			  uint64_t now_ns, struct comm_access *ret,
			  struct comm_block_object *ret_block)
{
	const struct comm_object *object;

	if (!comm_objects_resolve(r->identity->objects, space, from->addr, sp, tid, now_ns,
				  &ret->datum, &ret->object)) {
		comm_open_slice_lose(r->slice, COMM_LOSS_UNMAPPED, 1);
		return false;
	}
	*ret_block = block_at(r, space, from, now_ns, ret);
	ret->block = ret_block->id;
	ret->large =
		comm_block_objects_large(r->identity->blocks, comm_space_tgid(space), from->addr);
	ret->size_bytes = from->size_bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)from->size_bytes;
	ret->flags = from->flags;
	if (comm_space_is_constant(space, from->addr))
		ret->flags |= COMM_ACCESS_CONSTANT;
	object = comm_objects_at(r->identity->objects, ret->object);
	if (comm_space_is_file(space, from->addr) || is_small_variable(object))
		ret->flags |= COMM_ACCESS_OF_FILE;
	if (object->kind == COMM_OBJECT_STACK && object->thread_tid == tid)
		ret->flags |= COMM_ACCESS_OWN_STACK;
	ret->insn = from->insn;
	ret->cycle = from->cycle;
	ret->ip_key = from->ip;
	return true;
}

uint32_t comm_resolver_site(const struct comm_resolver *r, uint32_t site, uint64_t addr,
			    const struct comm_block_object *block)
{
	if (!block->class || addr < block->start)
		return site;
	return comm_sites_of_class(r->identity->sites, site, block->class, addr - block->start);
}

void comm_resolver_lists(const struct comm_resolver *r, struct comm_access *access)
{
	uint32_t lists = comm_block_objects_lists(r->identity->blocks, access->object);

	if (lists == access->object)
		return;
	access->object = lists;
	access->block = COMM_ID_OTHER;
	access->large = 0;
}

bool comm_resolver_precise(const struct comm_resolver *r, uint32_t tgid, uint32_t tid,
			   uint32_t region, uint64_t now_ns, const struct comm_precise *from,
			   struct comm_access *ret)
{
	struct comm_sites *sites = r->identity->sites;
	struct comm_space *space = comm_space_get(r->spaces, tgid);
	struct comm_block_object block;
	struct comm_burst_access access = {
		.addr = from->addr,
		.ip = from->ip,
		.size_bytes = from->size_bytes,
		.flags = from->flags & ~COMM_ACCESS_BURST,
	};
	uint16_t way = from->flags & (COMM_ACCESS_READ | COMM_ACCESS_WRITE), flags;
	uint32_t bytes;

	if (!space) { /* out of memory */
		comm_open_slice_lose(r->slice, COMM_LOSS_UNMAPPED, 1);
		return false;
	}
	/* A PMU tells where, and the code how much; code that cannot be read is taken for usual. */
	if (!access.size_bytes && way && !(from->flags & COMM_ACCESS_KERNEL)) {
		access.size_bytes = WORD_BYTES - from->addr % WORD_BYTES;
		if (comm_decoder_operand(r->decoder, space, now_ns, from->ip, way, &bytes,
					 &flags)) {
			access.size_bytes = bytes;
			access.flags |= flags;
		}
	}
	if (!comm_resolver_access(r, space, &access, 0, tid, now_ns, ret, &block))
		return false;
	ret->known = 1;
	ret->site = from->flags & COMM_ACCESS_KERNEL
			    ? COMM_SITE_KERNEL
			    : comm_sites_get(sites, space, from->ip, now_ns);
	if (comm_sites_keeps_heap(sites, ret->site))
		comm_resolver_lists(r, ret);
	ret->site = comm_sites_within(sites, ret->site, region);
	ret->site = comm_resolver_site(r, ret->site, from->addr, &block);
	return true;
}
