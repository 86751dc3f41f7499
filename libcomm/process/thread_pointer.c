// SPDX-License-Identifier: GPL-2.0-or-later
#include "thread_pointer.h"

#include <errno.h>
#include <string.h>

enum {
	PAGE_BYTES = 4096,
	/* glibc's struct pthread has the list in its first 800 bytes, and is aligned to 64. */
	FAR_BYTES = 4096,
	ALIGN_BYTES = 32,
};

/* The beginning of a thread's block (tcbhead_t of glibc): the ABI asks for the first word, glibc for self. */
struct thread_head {
	uint64_t pointer, vector, self;
};

int comm_thread_pointer_find(const struct comm_marks_memory *memory, uint64_t robust_list,
			     uint64_t *ret)
{
	uint64_t words[PAGE_BYTES / sizeof(uint64_t)], end = robust_list;

	/* Page by page: there may be none before that in which the block begins. */
	while (end > PAGE_BYTES && robust_list - end < FAR_BYTES) {
		uint64_t start = (end - 1) & ~(uint64_t)(PAGE_BYTES - 1);
		ssize_t n = memory->read(memory->ctx, start, words, end - start);

		if (n < 0)
			return (int)n;
		for (uint64_t at = (uint64_t)n & ~(uint64_t)(ALIGN_BYTES - 1); at;) {
			struct thread_head head;

			at -= ALIGN_BYTES;
			memcpy(&head, (const char *)words + at, sizeof(head));
			if (head.pointer != start + at || head.self != start + at)
				continue;
			*ret = start + at;
			return 0;
		}
		end = start;
	}
	return -ENOENT;
}
