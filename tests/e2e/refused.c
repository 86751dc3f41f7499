// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes what is not there, into a pipe and a socket: the kernel says so, whoever follows it. */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static void say(const char *what, ssize_t ret)
{
	printf("%s %zd %d\n", what, ret, ret < 0 ? errno : 0);
}

int main(void)
{
	void *volatile nowhere = (void *)8;
	struct msghdr bad = {.msg_iov = nowhere, .msg_iovlen = 1};
	char byte = 1;
	struct iovec one = {&byte, 1};
	struct msghdr good = {.msg_iov = &one, .msg_iovlen = 1};
	int pipes[2], sockets[2];

	if (pipe(pipes) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		return 1;
	say("write", write(pipes[1], nowhere, 9));
	say("writev", writev(pipes[1], nowhere, 2));
	say("sendmsg", sendmsg(sockets[0], NULL, 0));
	say("sendmsg", sendmsg(-1, NULL, 0));
	say("sendmsg", sendmsg(sockets[0], &bad, 0));
	say("sendmsg", sendmsg(sockets[0], &good, 0));
	say("writev", writev(pipes[1], &one, 1));
	return 0;
}
