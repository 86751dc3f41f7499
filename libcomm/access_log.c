// SPDX-License-Identifier: GPL-2.0-or-later
#include "access_log.h"

#include <errno.h>
#include <stdlib.h>

#include "weight.h"

enum { FLUSH_NS = 100000000 };

struct comm_access_log {
	struct comm_access_file *file;
	struct comm_weights *weights;
	uint64_t bursts, lost, flushed_ns;
	int error;
};

int comm_access_log_create(const char *path, const struct comm_access_file_head *head,
			   struct comm_access_log **ret)
{
	struct comm_access_log *log = calloc(1, sizeof(*log));
	int err;

	if (!log)
		return -ENOMEM;
	err = comm_weights_create(head->cycles_per_ns, &log->weights);
	if (!err)
		err = comm_access_file_create(path, head, &log->file);
	if (err) {
		comm_access_log_destroy(log);
		return err;
	}
	*ret = log;
	return 0;
}

void comm_access_log_destroy(struct comm_access_log *log)
{
	if (!log)
		return;
	comm_access_file_destroy(log->file);
	comm_weights_destroy(log->weights);
	free(log);
}

static uint16_t flags_of(uint16_t flags)
{
	static const struct {
		uint16_t from, to;
	} same[] = {
		{COMM_ACCESS_READ, COMM_ACCESSES_READ},
		{COMM_ACCESS_WRITE, COMM_ACCESSES_WRITE},
		{COMM_ACCESS_ATOMIC, COMM_ACCESSES_ATOMIC},
		{COMM_ACCESS_REP, COMM_ACCESSES_REP},
		{COMM_ACCESS_KERNEL, COMM_ACCESSES_KERNEL},
		{COMM_ACCESS_OWN_STACK, COMM_ACCESSES_OWN_STACK},
		{COMM_ACCESS_CONSTANT, COMM_ACCESSES_CONSTANT},
		{COMM_ACCESS_OF_FILE, COMM_ACCESSES_FILE},
	};
	uint16_t ret = 0;

	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
		if (flags & same[i].from)
			ret |= same[i].to;
	return ret;
}

static double weight_of(struct comm_access_log *log, const struct comm_access_burst *burst,
			const struct comm_access *access)
{
	uint32_t slot = comm_weights_learn(log->weights, burst, access);
	struct comm_weight_burst of;
	double weight;

	comm_weight_burst(burst, &of);
	weight = comm_weight_of(log->weights, &of, slot);
	return access->known > 0 && access->known < 1 ? weight / (double)access->known : weight;
}

uint64_t comm_access_log_burst(struct comm_access_log *log, const struct comm_identity *identity,
			       uint32_t tgid, uint32_t tid, const struct comm_access_burst *burst,
			       const struct comm_access_seen *seen)
{
	uint64_t lost = 0;

	log->bursts++;
	for (uint32_t i = 0; i < burst->n; i++) {
		const struct comm_access *access = &burst->access[i];
		const struct comm_accesses_row row = {
			.time_ns = burst->time_ns,
			.ip = access->ip_key,
			.address = seen[i].addr,
			.size_bytes = access->size_bytes,
			.weight = weight_of(log, burst, access),
			.burst = log->bursts,
			.pid = tgid,
			.tid = tid,
			.cpu = burst->cpu,
			.function = comm_sites_function_of(identity->sites, access->site),
			.object = comm_access_shown(access),
			.flags = flags_of(access->flags),
			.known = (uint8_t)seen[i].known,
			.cycle = access->cycle,
			.insn = access->insn,
		};
		int err = log->error;

		if (!err)
			err = comm_access_file_row(
				log->file, &row,
				comm_sites_function_at(identity->sites, row.function),
				comm_objects_at(identity->objects, row.object));
		log->error = err;
		lost += !!err;
	}
	log->lost += lost;
	return lost;
}

void comm_access_log_look(struct comm_access_log *log, uint64_t now_ns)
{
	if (log->error || now_ns - log->flushed_ns < FLUSH_NS)
		return;
	log->flushed_ns = now_ns;
	log->error = comm_access_file_flush(log->file);
}

int comm_access_log_start(struct comm_access_log *log)
{
	return comm_access_file_start(log->file);
}

void comm_access_log_end(struct comm_access_log *log, uint64_t end_ns, uint64_t give_up_ns)
{
	if (!log->error)
		log->error = comm_access_file_end(log->file, end_ns, give_up_ns);
}

uint64_t comm_access_log_lost(const struct comm_access_log *log, int *ret_errno)
{
	*ret_errno = -log->error;
	return log->lost;
}
