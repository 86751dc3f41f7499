/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where commctl serve listens: at an address that this machine alone can reach, or at a socket in the file system.  No name is
 * looked up.  Not for who may ask there (peer.h).
 */
#ifndef CTL_LOOPBACK_H
#define CTL_LOOPBACK_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { CTL_LOOPBACK_PORT = 8517, CTL_LOOPBACK_URL = 128 };

struct ctl_loopback {
	struct sockaddr_storage address;
	socklen_t size;
	int fd;		  /* of what listens; -1: nothing does */
	struct stat file; /* of the socket in the file system that was made */
};

/*
 * "127.0.0.1:8517", "localhost", "[::1]:0", "8517", "unix:PATH"; port 0 is any that is free.  Returns NULL, or what is wrong with
 * it, as a sentence.
 */
const char *ctl_loopback_parse(const char *text, struct ctl_loopback *ret);
/* A socket in the file system that nobody listens at is replaced.  0, or -errno and a sentence in *err. */
int ctl_loopback_listen(struct ctl_loopback *at, char **err);
/* Takes the socket out of the file system, if it is still that which was made. */
void ctl_loopback_remove(const struct ctl_loopback *at);
/* "http://127.0.0.1:8517/", "unix:PATH" */
void ctl_loopback_url(const struct ctl_loopback *at, char ret[CTL_LOOPBACK_URL]);
bool ctl_loopback_is_unix(const struct ctl_loopback *at);
/*
 * Whether the Host of a request, with or without a port, is this machine by a name that no server of names can have given to it:
 * else a page of others could ask in its own name (DNS rebinding).
 */
bool ctl_loopback_is_host(const char *host);

#endif
