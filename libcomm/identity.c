// SPDX-License-Identifier: GPL-2.0-or-later
#include "identity.h"

#include <string.h>

int comm_identity_init(struct comm_identity *identity, const struct comm_view *view)
{
	int err;

	memset(identity, 0, sizeof(*identity));
	err = comm_who_create(view, &identity->who);
	if (!err)
		err = comm_what_create(view, &identity->what);
	if (err)
		comm_identity_deinit(identity);
	return err;
}

void comm_identity_deinit(struct comm_identity *identity)
{
	comm_what_destroy(identity->what);
	comm_who_destroy(identity->who);
	memset(identity, 0, sizeof(*identity));
}

static const struct comm_thread *thread_at(const void *ctx, uint32_t id)
{
	return comm_who_thread_at(((const struct comm_identity *)ctx)->who, id);
}

static const struct comm_function *function_at(const void *ctx, uint32_t id)
{
	return comm_who_function_at(((const struct comm_identity *)ctx)->who, id);
}

static const struct comm_site *site_at(const void *ctx, uint32_t id)
{
	return comm_who_site_at(((const struct comm_identity *)ctx)->who, id);
}

static const struct comm_object *object_at(const void *ctx, uint32_t id)
{
	return comm_what_object_at(((const struct comm_identity *)ctx)->what, id);
}

void comm_identity_naming(const struct comm_identity *identity, struct comm_naming *ret)
{
	*ret = (struct comm_naming){
		.ctx = identity,
		.n_threads = comm_who_threads(identity->who),
		.n_functions = comm_who_functions(identity->who),
		.n_sites = comm_who_sites(identity->who),
		.n_objects = comm_what_objects(identity->what),
		.thread_at = thread_at,
		.function_at = function_at,
		.site_at = site_at,
		.object_at = object_at,
	};
}
