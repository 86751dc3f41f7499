/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Identity: the tables of a run's dense ids for threads, code, marked regions and
 * data, and the names behind these ids, which a store needs.
 */
#ifndef COMM_IDENTITY_H
#define COMM_IDENTITY_H

#include "block.h"
#include "call.h"
#include "code_region.h"
#include "naming.h"
#include "object.h"
#include "site.h"
#include "thread.h"

struct comm_identity {
	struct comm_threads *threads;
	struct comm_sites *sites;
	struct comm_objects *objects;
	struct comm_block_objects *blocks;
	struct comm_code_regions *regions;
	struct comm_calls *calls;
};

int comm_identity_init(struct comm_identity *identity, const struct comm_inspect *inspect);
void comm_identity_deinit(struct comm_identity *identity);

/* The names behind all ids given out so far; identity must outlive the use of *ret. */
void comm_identity_naming(const struct comm_identity *identity, struct comm_naming *ret);

#endif
