/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the memory and the mappings of processes, as they are now: has them read by the other
 * process (peek.h), and itself what that one may not.  Not for files that a target has mapped
 * (parser.h).  One thread uses a reader.
 */
#ifndef COMM_PROCESS_READER_H
#define COMM_PROCESS_READER_H

#include "maps.h"
#include "peek.h"

struct comm_process_reader;

/* peek must outlive it. */
int comm_process_reader_create(struct comm_peek *peek, struct comm_process_reader **ret);
void comm_process_reader_destroy(struct comm_process_reader *reader);

/* Memory: returns how many bytes could be read, or -errno. */
ssize_t comm_process_reader_memory(struct comm_process_reader *reader, uint32_t tgid, uint64_t addr,
				   void *buf, size_t len_bytes);
/* As comm_peek_words(). */
int comm_process_reader_words(struct comm_process_reader *reader,
			      const struct comm_peek_place *place, size_t n,
			      struct comm_peek_word *ret);
/* Words of one process; 0: one that cannot be read.  0, or as above. */
int comm_process_reader_words_of(struct comm_process_reader *reader, uint32_t tgid,
				 const uint64_t *addr, size_t n, uint64_t *ret);
/* A piece of /proc/PID/maps, as comm_peek_maps(). */
ssize_t comm_process_reader_maps(struct comm_process_reader *reader, uint32_t tgid,
				 uint64_t from_bytes, const char **ret);

/*
 * Gives System V's segments among a process's mappings the number of its IPC namespace; where that is not known, a number
 * of the process's own.  0, or -EAGAIN: it is not known yet.
 */
int comm_process_reader_sysv(struct comm_process_reader *reader, uint32_t tgid,
			     struct comm_maps *maps, struct comm_mapping *map, size_t n);

/* The link that its program was started by.  0 or -errno. */
int comm_process_reader_program(struct comm_process_reader *reader, uint32_t tgid,
				struct comm_program_link *ret);

/* A thread's name as in /proc/PID/task/TID/comm.  0 or -errno. */
int comm_process_reader_thread_name(uint32_t tgid, uint32_t tid, char name[16]);
/* A thread's pointer to its variables (thread_pointer.h), as it is now.  0 or -errno. */
int comm_process_reader_thread_pointer(struct comm_process_reader *reader, uint32_t tgid,
				       uint32_t tid, uint64_t *ret);

#endif
