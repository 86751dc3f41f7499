// SPDX-License-Identifier: GPL-2.0-or-later
#include "perf_ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int comm_perf_ring_map(int fd, size_t pages, struct comm_perf_ring *ret)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, (1 + pages) * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	ret->page = p;
	ret->bytes = pages * page;
	return 0;
}

void comm_perf_ring_unmap(struct comm_perf_ring *ring)
{
	if (ring->page)
		munmap(ring->page, ring->bytes + (size_t)sysconf(_SC_PAGESIZE));
	ring->page = NULL;
}

void comm_perf_ring_read(struct comm_perf_ring *ring, comm_perf_record_fn *fn, void *ctx)
{
	const unsigned char *data = (const unsigned char *)ring->page + sysconf(_SC_PAGESIZE);
	size_t mask = ring->bytes - 1;
	/* Pairs with the kernel's store of data_head after the records. */
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;

	while (head - tail >= sizeof(struct perf_event_header)) {
		struct perf_event_header header;
		size_t at = tail & mask;

		/* Records are of whole 8 bytes, so a header never wraps. */
		memcpy(&header, data + at, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail) {
			ring->malformed++;
			break;
		}
		if (at + header.size <= ring->bytes) {
			fn(ctx, (const struct perf_event_header *)(data + at));
		} else {
			size_t first = ring->bytes - at;

			memcpy(ring->record, data + at, first);
			memcpy(ring->record + first, data, header.size - first);
			fn(ctx, (const struct perf_event_header *)ring->record);
		}
		tail += header.size;
	}
	/* Pairs with the kernel's load of data_tail before it overwrites. */
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}
