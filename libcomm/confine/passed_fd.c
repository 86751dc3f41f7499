// SPDX-License-Identifier: GPL-2.0-or-later
#include "passed_fd.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FDS_MOST = 2 }; /* for which the alignment of a control message leaves room */

union control {
	char control[CMSG_SPACE(sizeof(int))];
	struct cmsghdr head;
};

int comm_passed_fd_send(int socket, const void *data, size_t bytes, int fd, int flags)
{
	struct iovec part = {(void *)(uintptr_t)data, bytes};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	union control control = {0};
	ssize_t n;

	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	}
	n = sendmsg(socket, &message, MSG_NOSIGNAL | flags);
	if (n < 0)
		return -errno;
	return (size_t)n == bytes ? 0 : -EIO;
}

/* Descriptors that nobody asked for stay open for good unless they are closed. */
static void close_all(const struct cmsghdr *head)
{
	int fd[FDS_MOST];
	size_t n = 0;

	if (head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS)
		n = (head->cmsg_len - CMSG_LEN(0)) / sizeof(*fd);
	if (n > FDS_MOST)
		n = FDS_MOST;
	memcpy(fd, CMSG_DATA(head), n * sizeof(*fd));
	for (size_t i = 0; i < n; i++)
		close(fd[i]);
}

ssize_t comm_passed_fd_receive(int socket, void *data, size_t bytes, int flags, int *ret_fd)
{
	struct iovec part = {data, bytes};
	union control control = {0};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
	const struct cmsghdr *head = n < 0 ? NULL : CMSG_FIRSTHDR(&message);

	*ret_fd = -1;
	if (n < 0)
		return -errno;
	if (!head)
		return n;
	if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS ||
	    head->cmsg_len != CMSG_LEN(sizeof(*ret_fd))) {
		close_all(head);
		return -EBADMSG;
	}
	memcpy(ret_fd, CMSG_DATA(head), sizeof(*ret_fd));
	return n;
}
