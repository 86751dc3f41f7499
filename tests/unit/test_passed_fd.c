// SPDX-License-Identifier: GPL-2.0-or-later
/* Descriptors that go with messages: one, none, and what nobody asked for. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "passed_fd.h"

enum { TEXT = 4 };

static int ends[2];

static int setup(void **state)
{
	(void)state;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
}

static int teardown(void **state)
{
	(void)state;
	close(ends[0]);
	return close(ends[1]);
}

/* The lowest descriptor that is free: what stays open moves it up. */
static int next_fd(void)
{
	int fd = dup(ends[0]);

	close(fd);
	return fd;
}

static void test_one_and_none(void **state)
{
	int file = memfd_create("passed", 0), fd = 0;
	char text[TEXT + 1], byte;

	(void)state;
	assert_int_equal(write(file, "x", 1), 1);
	assert_int_equal(comm_passed_fd_send(ends[0], "one", TEXT, file, 0), 0);
	assert_int_equal(comm_passed_fd_send(ends[0], "two", TEXT, -1, 0), 0);
	assert_int_equal(comm_passed_fd_receive(ends[1], text, sizeof(text), 0, &fd), TEXT);
	assert_string_equal(text, "one");
	assert_int_equal(pread(fd, &byte, 1, 0), 1);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	assert_int_equal(comm_passed_fd_receive(ends[1], text, sizeof(text), 0, &fd), TEXT);
	assert_string_equal(text, "two");
	assert_int_equal(fd, -1);
	assert_int_equal(comm_passed_fd_receive(ends[1], text, sizeof(text), MSG_DONTWAIT, &fd),
			 -EAGAIN);
	assert_int_equal(fd, -1);
	close(file);
}

/* Several are none, and none of them stays open. */
static void test_several(void **state)
{
	for (unsigned int n = 2; n <= 4; n++) {
		int sent[4], fd = 0, next;
		struct iovec part = {"one", TEXT};
		union {
			char room[CMSG_SPACE(sizeof(sent))];
			struct cmsghdr head;
		} control = {0};
		struct msghdr message = {.msg_iov = &part,
					 .msg_iovlen = 1,
					 .msg_control = &control,
					 .msg_controllen = CMSG_SPACE(n * sizeof(int))};
		char text[TEXT];

		(void)state;
		for (unsigned int i = 0; i < n; i++)
			sent[i] = ends[0];
		control.head = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
						.cmsg_type = SCM_RIGHTS,
						.cmsg_len = CMSG_LEN(n * sizeof(int))};
		memcpy(CMSG_DATA(&control.head), sent, n * sizeof(int));
		next = next_fd();
		assert_int_equal(sendmsg(ends[0], &message, 0), TEXT);
		assert_int_equal(comm_passed_fd_receive(ends[1], text, sizeof(text), 0, &fd),
				 -EBADMSG);
		assert_int_equal(fd, -1);
		assert_int_equal(next_fd(), next);
	}
}

static void test_ended(void **state)
{
	char text[TEXT];
	int fd = 0;

	(void)state;
	close(ends[0]);
	assert_int_equal(comm_passed_fd_receive(ends[1], text, sizeof(text), 0, &fd), 0);
	assert_int_equal(fd, -1);
	assert_true(comm_passed_fd_send(ends[1], "one", TEXT, -1, 0) == -EPIPE);
	ends[0] = dup(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_and_none, setup, teardown),
		cmocka_unit_test_setup_teardown(test_several, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ended, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
