/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fields of perf's records, whose order and presence their event's attributes give
 * (perf_event_open(2)): of a PERF_RECORD_SAMPLE, and those that sample_id_all puts at the
 * end of all others.  Records are hostile: no field is read past their end.  Any thread
 * may call.
 */
#ifndef COMM_PERFDATA_SAMPLE_H
#define COMM_PERFDATA_SAMPLE_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

/* What commd has a use for; 0 where the event does not have the field. */
struct comm_perfdata_sample {
	uint64_t ip, time_ns, addr, id, period;
	uint32_t pid, tid, cpu;
	uint64_t weight, data_src;
	/* Registers of sample_regs_intr, in the record; abi 0: none. */
	uint64_t regs_abi;
	const void *regs;
};

/* -EBADMSG: the record is shorter than its event's attributes say. */
int comm_perfdata_sample(const struct perf_event_attr *attr, const void *body, size_t bytes,
			 struct comm_perfdata_sample *ret);
/* The same for the end of a record of another type. */
int comm_perfdata_sample_id(const struct perf_event_attr *attr, const void *body, size_t bytes,
			    struct comm_perfdata_sample *ret);

/* Bytes from the start of a sample to the id of its event; -ENOENT: it has none. */
int comm_perfdata_id_from_start(const struct perf_event_attr *attr);
/* Bytes from the id of an event to the end of a record that is no sample; likewise. */
int comm_perfdata_id_from_end(const struct perf_event_attr *attr);

#endif
