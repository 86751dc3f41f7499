// SPDX-License-Identifier: GPL-2.0-or-later
#include "peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "number.h"

enum { PEER_END = 64, PEER_LINE = 512 };

/* As /proc/net/tcp has it: each word of the address as a number of the host, the port as it is read. */
static void write_end(char text[PEER_END], const void *address, size_t n_words, in_port_t port)
{
	const unsigned char *at = address;
	size_t n = 0;

	for (size_t i = 0; i < n_words; i++) {
		uint32_t word;

		memcpy(&word, at + i * sizeof(word), sizeof(word));
		n += (size_t)snprintf(text + n, PEER_END - n, "%08X", word);
	}
	snprintf(text + n, PEER_END - n, ":%04X", ntohs(port));
}

/* The end of an IPv4 connection that a socket of IPv6 has. */
static void write_mapped(char text[PEER_END], const struct sockaddr_in *end)
{
	struct in6_addr mapped = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

	memcpy(&mapped.s6_addr[12], &end->sin_addr, sizeof(end->sin_addr));
	write_end(text, &mapped, 4, end->sin_port);
}

/*
 * "0: 0100007F:A1B2 0100007F:2145 01 00000000:00000000 00:00000000 00000000 1000 ...": who has the socket with these ends.  Both are
 * asked for: another user's may have the same port and be connected to somebody else.
 */
static int find(const char *file, const char *local, const char *remote, uid_t *ret)
{
	FILE *in = fopen(file, "re");
	char line[PEER_LINE], from[PEER_END], to[PEER_END];
	int code = -ENOENT;
	unsigned int uid;

	if (!in)
		return -errno;
	while (code && fgets(line, sizeof(line), in)) {
		if (sscanf(line, " %*d: %63s %63s %*s %*s %*s %*s %u", from, to, &uid) == 3 &&
		    !strcmp(from, local) && !strcmp(to, remote)) {
			*ret = uid;
			code = 0;
		}
	}
	fclose(in);
	return code;
}

int ctl_peer_uid(int fd, uid_t *ret)
{
	struct sockaddr_storage here = {0}, there = {0};
	socklen_t here_size = sizeof(here), there_size = sizeof(there);
	char local[PEER_END], remote[PEER_END];
	int code;

	if (getsockname(fd, (struct sockaddr *)&here, &here_size) < 0 ||
	    getpeername(fd, (struct sockaddr *)&there, &there_size) < 0)
		return -errno;
	if (here.ss_family == AF_INET6) {
		const struct sockaddr_in6 *to = (struct sockaddr_in6 *)&here;
		const struct sockaddr_in6 *from = (struct sockaddr_in6 *)&there;

		write_end(local, &from->sin6_addr, 4, from->sin6_port);
		write_end(remote, &to->sin6_addr, 4, to->sin6_port);
		return find("/proc/net/tcp6", local, remote, ret);
	} else if (here.ss_family == AF_INET) {
		const struct sockaddr_in *to = (struct sockaddr_in *)&here;
		const struct sockaddr_in *from = (struct sockaddr_in *)&there;

		write_end(local, &from->sin_addr, 1, from->sin_port);
		write_end(remote, &to->sin_addr, 1, to->sin_port);
		code = find("/proc/net/tcp", local, remote, ret);
		if (!code)
			return 0;
		write_mapped(local, from);
		write_mapped(remote, to);
		return find("/proc/net/tcp6", local, remote, ret);
	}
	return -ENOENT;
}

bool ctl_peer_is_trusted(uid_t uid)
{
	const char *sudo = getenv("SUDO_UID");
	uint64_t behind;

	return uid == 0 || uid == geteuid() ||
	       (geteuid() == 0 && sudo && ctl_parse_count(sudo, UINT32_MAX, &behind) &&
		uid == (uid_t)behind);
}
