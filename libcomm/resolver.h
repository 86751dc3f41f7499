/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The resolver: from addresses that a process accesses to data, objects and sites, by what identity
 * knows.  What it cannot resolve is a loss of the slice.  Owns nothing.
 */
#ifndef COMM_RESOLVER_H
#define COMM_RESOLVER_H

#include "burst.h"
#include "estimator.h"
#include "identity.h"
#include "open_slice.h"

struct comm_resolver {
	struct comm_identity *identity;
	struct comm_decoder *decoder;
	struct comm_space_table *spaces;
	struct comm_open_slice *slice;
};

/* An access of a burst, all but its site; ret_block: that is read.  False: it is lost. */
bool comm_resolver_access(const struct comm_resolver *resolver, struct comm_space *space,
			  const struct comm_burst_access *from, uint64_t sp, uint32_t tid,
			  uint64_t now_ns, struct comm_access *ret,
			  struct comm_block_object *ret_block);
/* An instruction's type is that of its code; what is in the block that it reads may know better. */
uint32_t comm_resolver_site(const struct comm_resolver *resolver, uint32_t site, uint64_t addr,
			    const struct comm_block_object *block);
/*
 * An access of code that keeps a heap, whose lists lie in blocks that are free: who frees a block feeds nobody who is
 * given it.
 */
void comm_resolver_lists(const struct comm_resolver *resolver, struct comm_access *access);
/* One access whose address is known exactly, of a thread in a marked region. */
bool comm_resolver_precise(const struct comm_resolver *resolver, uint32_t tgid, uint32_t tid,
			   uint32_t region, uint64_t now_ns, const struct comm_precise *from,
			   struct comm_access *ret);

#endif
