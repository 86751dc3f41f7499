/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recording of a live run (--record): made with its user's rights, and watched for what ends it. */
#ifndef COMMD_RECORDING_H
#define COMMD_RECORDING_H

#include <stdint.h>

#include "record.h"
#include "session.h"

/* With the file that the options name.  0, or -errno with a sentence on stderr. */
int comm_recording_create(const struct comm_session *session, const struct comm_run_info *info,
			  double cycles_per_ns, struct comm_record **ret);

/*
 * How many events were not recorded by now.  Says on stderr why recording has stopped, unless some were told
 * before.  record: NULL is none.
 */
uint64_t comm_recording_look(struct comm_record *record, const char *path, uint64_t told);

#endif
