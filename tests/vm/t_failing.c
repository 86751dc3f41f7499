// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every allocation of a load, then of a session, fails once: fail-nth counts the
 * allocations of this task from the write on.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cptest.h"

enum { MOST = 3000 };

static int nth;

static void fail_at(int n)
{
	char text[16];
	int bytes = snprintf(text, sizeof(text), "%d", n);

	if (pwrite(nth, text, bytes, 0) != bytes)
		exit(3);
}

/* True when the failure happened. */
static bool failed_one(void)
{
	char text[16] = "";

	if (pread(nth, text, sizeof(text) - 1, 0) < 0)
		exit(3);
	fail_at(0);
	return !atoi(text);
}

static int load(const void *image, size_t bytes)
{
	return syscall(SYS_init_module, image, bytes, "") ? errno : 0;
}

static int use(void)
{
	struct cp_source source = {
		.kind = CP_SOURCE_SOFT,
		.flags = CP_SOURCE_BURST,
		.type = 1,
		.period = 1000000,
		.stack_bytes = 64,
		.chunk_bytes = 64,
		.depth = 2,
	};
	struct cp_watch watch = {.flags = CP_WATCH_LOAD_THEN_WRITE,
				 .slots = 2,
				 .per_second = 100,
				 .timeout_us = 1000};
	struct cp_reader *reader;
	int err = cp_reader_create(CP_DEVICE, 16384, 0, &reader);

	if (err)
		return err;
	err = cp_reader_target(reader, CP_TARGET_TGID, 0, getpid());
	if (!err)
		err = cp_reader_source(reader, &source);
	if (!err)
		err = cp_reader_watch(reader, &watch);
	if (!err)
		err = cp_reader_start(reader);
	cp_reader_destroy(reader);
	return err;
}

void test_failing(void)
{
	int fd = open("/modules/commprof.ko", O_RDONLY), n, refused = 0, odd = 0, err;
	struct stat st;
	void *image;

	nth = open("/proc/self/fail-nth", O_RDWR);
	if (nth < 0) {
		skip("failing", "this kernel injects no failures");
		return;
	}
	fstat(fd, &st);
	image = malloc(st.st_size);
	if (read(fd, image, st.st_size) != st.st_size)
		exit(3);
	for (n = 1; n < MOST; n++) {
		fail_at(n);
		err = load(image, st.st_size);
		if (!failed_one())
			break;
		refused += !!err;
		odd += err && err != ENOMEM;
		/* A failure that costs nothing: the load went through. */
		if (!err && syscall(SYS_delete_module, "commprof", 0))
			exit(4);
	}
	check(!err && n < MOST && refused > 20, "failing: each allocation of insmod",
	      "%d points, %d refused, %d of them not by ENOMEM", n - 1, refused, odd);
	refused = odd = 0;
	for (n = 1; n < MOST; n++) {
		fail_at(n);
		err = use();
		if (!failed_one())
			break;
		refused += !!err;
		odd += err && err != -ENOMEM;
	}
	check(!err && n < MOST && refused > 20, "failing: each allocation of a session",
	      "%d points, %d refused, %d of them not by ENOMEM", n - 1, refused, odd);
}
