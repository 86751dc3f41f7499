/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of this very process, or of another, as the views of target/ read it. */
#ifndef TESTS_READ_SELF_H
#define TESTS_READ_SELF_H

#include <errno.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

static inline ssize_t read_self(void *ctx, uint32_t tgid, uint64_t addr, void *buf,
				size_t len_bytes)
{
	const struct iovec local = {buf, len_bytes}, remote = {(void *)(uintptr_t)addr, len_bytes};
	ssize_t n = process_vm_readv((pid_t)tgid, &local, 1, &remote, 1, 0);

	(void)ctx;
	return n < 0 ? -errno : n;
}

#endif
