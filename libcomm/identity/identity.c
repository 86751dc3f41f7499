// SPDX-License-Identifier: GPL-2.0-or-later
#include "identity.h"

#include <string.h>

int comm_identity_init(struct comm_identity *identity, const struct comm_inspect *inspect)
{
	int err;

	memset(identity, 0, sizeof(*identity));
	err = comm_threads_create(inspect, &identity->threads);
	if (!err)
		err = comm_sites_create(inspect, &identity->sites);
	if (!err)
		err = comm_objects_create(inspect, &identity->objects);
	if (!err)
		err = comm_block_objects_create(inspect, identity->sites, identity->objects,
						&identity->blocks);
	if (!err)
		err = comm_code_regions_create(inspect, &identity->regions);
	if (!err)
		err = comm_calls_create(&identity->calls);
	if (err)
		comm_identity_deinit(identity);
	return err;
}

void comm_identity_deinit(struct comm_identity *identity)
{
	comm_calls_destroy(identity->calls);
	comm_code_regions_destroy(identity->regions);
	comm_block_objects_destroy(identity->blocks);
	comm_objects_destroy(identity->objects);
	comm_sites_destroy(identity->sites);
	comm_threads_destroy(identity->threads);
	memset(identity, 0, sizeof(*identity));
}

static const struct comm_thread *thread_at(const void *ctx, uint32_t place)
{
	return comm_threads_at(((const struct comm_identity *)ctx)->threads, place);
}

static const struct comm_function *function_at(const void *ctx, uint32_t id)
{
	return comm_sites_function_at(((const struct comm_identity *)ctx)->sites, id);
}

static const struct comm_site *site_at(const void *ctx, uint32_t id)
{
	return comm_sites_at(((const struct comm_identity *)ctx)->sites, id);
}

static const struct comm_object *object_at(const void *ctx, uint32_t id)
{
	return comm_objects_at(((const struct comm_identity *)ctx)->objects, id);
}

static const struct comm_code_region *region_at(const void *ctx, uint32_t id)
{
	return comm_code_regions_at(((const struct comm_identity *)ctx)->regions, id);
}

static const struct comm_call *call_at(const void *ctx, uint32_t id)
{
	return comm_calls_at(((const struct comm_identity *)ctx)->calls, id);
}

void comm_identity_naming(const struct comm_identity *identity, struct comm_naming *ret)
{
	*ret = (struct comm_naming){
		.ctx = identity,
		.n_threads = comm_threads_count(identity->threads),
		.n_functions = comm_sites_functions(identity->sites),
		.n_sites = comm_sites_count(identity->sites),
		.n_objects = comm_objects_count(identity->objects),
		.n_regions = comm_code_regions_count(identity->regions),
		.n_calls = comm_calls_count(identity->calls),
		.thread_at = thread_at,
		.function_at = function_at,
		.site_at = site_at,
		.object_at = object_at,
		.region_at = region_at,
		.call_at = call_at,
	};
}
