/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the mappings of processes piece by piece, so that who has tens of thousands holds nobody up: each turn takes one
 * piece, some hundreds of mappings.  Those of few mappings, nearly all, are read as they are asked for.  Not for keeping
 * mappings.  One thread uses it.
 */
#ifndef COMM_MAPS_READING_H
#define COMM_MAPS_READING_H

#include "maps.h"
#include "process_reader.h"

#include <stdbool.h>

enum { COMM_MAPS_READINGS_MAX = 4 /* processes at once */ };

struct comm_maps_readings;

/* Both must outlive it. */
int comm_maps_readings_create(struct comm_process_reader *reader, struct comm_maps *maps,
			      struct comm_maps_readings **ret);
void comm_maps_readings_destroy(struct comm_maps_readings *readings);

/*
 * The mappings of a process into *ret, which is the caller's then; ret->n 0: it has none, or has ended.  Whole: to the
 * end, however many there are.  -EINPROGRESS: there are more than one piece has, and turns read them, or those of too many
 * others; another -errno as of comm_process_reader_maps().
 */
int comm_maps_readings_ask(struct comm_maps_readings *readings, uint32_t tgid, bool whole,
			   struct comm_maps_list *ret);
/* Whether those of a process, or of any (0), are being read. */
bool comm_maps_readings_has(const struct comm_maps_readings *readings, uint32_t tgid);
/*
 * Reads one piece.  -EINPROGRESS: nothing is done with; otherwise *ret_tgid's are, in *ret as above, or they could not be
 * read, for the reason that is returned.
 */
int comm_maps_readings_turn(struct comm_maps_readings *readings, uint32_t *ret_tgid,
			    struct comm_maps_list *ret);

#endif
