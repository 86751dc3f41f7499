// SPDX-License-Identifier: GPL-2.0-or-later
#include "text_pages.h"

#include "hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PAGES = 512, PAGE_BYTES = 4096 };

struct page {
	uint32_t file; /* 0: a free place */
	uint64_t offset, read_ns;
	uint8_t bytes[PAGE_BYTES];
};

struct comm_text_pages {
	comm_text_read_fn *read;
	void *ctx;
	struct page page[PAGES];
};

int comm_text_pages_create(comm_text_read_fn *read, void *ctx, struct comm_text_pages **ret)
{
	struct comm_text_pages *pages = calloc(1, sizeof(*pages));

	if (!pages)
		return -ENOMEM;
	pages->read = read;
	pages->ctx = ctx;
	*ret = pages;
	return 0;
}

void comm_text_pages_destroy(struct comm_text_pages *pages)
{
	free(pages);
}

/* NULL: the page cannot be read whole. */
static const struct page *page_at(struct comm_text_pages *pages, uint32_t tgid,
				  const struct comm_mapping *m, uint64_t addr, uint64_t now_ns)
{
	uint64_t start = addr & ~(uint64_t)(PAGE_BYTES - 1), offset = start - m->start + m->offset;
	struct page *p = &pages->page[comm_hash_mix(offset, m->file) % PAGES];

	if (p->file == m->file && p->offset == offset && now_ns - p->read_ns < COMM_TEXT_PAGE_NS)
		return p;
	p->file = 0;
	if (start < m->start || m->end - start < PAGE_BYTES ||
	    pages->read(pages->ctx, tgid, start, p->bytes, PAGE_BYTES) != PAGE_BYTES)
		return NULL;
	p->file = m->file;
	p->offset = offset;
	p->read_ns = now_ns;
	return p;
}

ssize_t comm_text_pages_read(struct comm_text_pages *pages, uint32_t tgid,
			     const struct comm_mapping *m, uint64_t addr, void *buf,
			     size_t len_bytes, uint64_t now_ns)
{
	size_t done = 0;

	if (m->kind != COMM_MAP_FILE || !m->file || !m->executable || m->writable)
		return pages->read(pages->ctx, tgid, addr, buf, len_bytes);
	while (done < len_bytes) {
		size_t at = (addr + done) % PAGE_BYTES, some = PAGE_BYTES - at;
		const struct page *p = page_at(pages, tgid, m, addr + done, now_ns);

		if (!p)
			break;
		if (some > len_bytes - done)
			some = len_bytes - done;
		memcpy((uint8_t *)buf + done, p->bytes + at, some);
		done += some;
	}
	return done ? (ssize_t)done : pages->read(pages->ctx, tgid, addr, buf, len_bytes);
}
