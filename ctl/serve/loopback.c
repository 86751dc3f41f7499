// SPDX-License-Identifier: GPL-2.0-or-later
#include "loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "number.h"

enum {
	LOOPBACK_BACKLOG = 64,
	LOOPBACK_HOST = 64,
	LOOPBACK_MODE = 0660, /* as the store's: names and command lines are not for everybody */
};

#define UNIX "unix:"

static const char refused[] =
	"only this machine is served, at 127.0.0.1:PORT, [::1]:PORT or unix:PATH, since a run "
	"names functions, lines and "
	"addresses: from elsewhere come by ssh -L, or through a reverse proxy that asks who it is";

static bool parse_port(const char *text, in_port_t *ret)
{
	uint64_t port;

	if (!ctl_parse_count(text, UINT16_MAX, &port))
		return false;
	*ret = htons((uint16_t)port);
	return true;
}

/* Without its brackets; false: it is not this machine. */
static bool parse_host(const char *text, struct ctl_loopback *ret)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&ret->address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&ret->address;
	size_t n = strlen(text);
	char inner[LOOPBACK_HOST];

	memset(&ret->address, 0, sizeof(ret->address));
	if (*text == '[' && text[n - 1] == ']') {
		snprintf(inner, sizeof(inner), "%.*s", (int)n - 2, text + 1);
		v6->sin6_family = AF_INET6;
		ret->size = sizeof(*v6);
		return inet_pton(AF_INET6, inner, &v6->sin6_addr) == 1 &&
		       IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
	}
	if (!strcasecmp(text, "localhost"))
		text = "127.0.0.1";
	v4->sin_family = AF_INET;
	ret->size = sizeof(*v4);
	return inet_pton(AF_INET, text, &v4->sin_addr) == 1 &&
	       ntohl(v4->sin_addr.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
}

static const char *parse_path(const char *path, struct ctl_loopback *ret)
{
	struct sockaddr_un *address = (struct sockaddr_un *)&ret->address;

	if (!*path)
		return "unix: wants the path of a socket";
	if (strlen(path) >= sizeof(address->sun_path))
		return "the path of a socket has 107 bytes at most";
	memset(&ret->address, 0, sizeof(ret->address));
	address->sun_family = AF_UNIX;
	strcpy(address->sun_path, path);
	ret->size = sizeof(*address);
	return NULL;
}

/* The colon before the port, NULL: there is no port.  Of an address of IPv6 without brackets nobody knows. */
static const char *find_port(const char *text)
{
	const char *colon = strrchr(text, ':');

	if (!colon || (*text == '[' && colon[-1] != ']'))
		return NULL;
	return colon;
}

const char *ctl_loopback_parse(const char *text, struct ctl_loopback *ret)
{
	const char *colon = find_port(text);
	in_port_t port = htons(CTL_LOOPBACK_PORT);
	char host[LOOPBACK_HOST];

	ret->fd = -1;
	if (!strncmp(text, UNIX, strlen(UNIX)))
		return parse_path(text + strlen(UNIX), ret);
	if (!colon && parse_port(text, &port))
		text = "localhost";
	snprintf(host, sizeof(host), "%.*s", colon ? (int)(colon - text) : (int)strlen(text), text);
	if (!parse_host(host, ret))
		return refused;
	if (colon && !parse_port(colon + 1, &port))
		return "a port is a number from 0 to 65535";
	/* At the same place in both. */
	((struct sockaddr_in *)&ret->address)->sin_port = port;
	return NULL;
}

bool ctl_loopback_is_unix(const struct ctl_loopback *at)
{
	return at->address.ss_family == AF_UNIX;
}

static const char *path_of(const struct ctl_loopback *at)
{
	return ((const struct sockaddr_un *)&at->address)->sun_path;
}

void ctl_loopback_url(const struct ctl_loopback *at, char ret[CTL_LOOPBACK_URL])
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&at->address;
	char host[INET6_ADDRSTRLEN];

	if (ctl_loopback_is_unix(at)) {
		snprintf(ret, CTL_LOOPBACK_URL, UNIX "%s", path_of(at));
	} else if (at->address.ss_family == AF_INET6) {
		snprintf(ret, CTL_LOOPBACK_URL, "http://[::1]:%d/", ntohs(v4->sin_port));
	} else {
		inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
		snprintf(ret, CTL_LOOPBACK_URL, "http://%s:%d/", host, ntohs(v4->sin_port));
	}
}

bool ctl_loopback_is_host(const char *host)
{
	const char *colon = find_port(host);
	struct ctl_loopback at;
	char name[LOOPBACK_HOST];
	in_port_t port;

	snprintf(name, sizeof(name), "%.*s", colon ? (int)(colon - host) : (int)strlen(host), host);
	return parse_host(name, &at) && (!colon || parse_port(colon + 1, &port));
}

/* Takes away what nobody listens at any more; what else is there stays. */
static int remove_stale(const struct ctl_loopback *at)
{
	struct stat st;
	int fd, err = 0;

	if (lstat(path_of(at), &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&at->address, at->size) == 0 || errno == EAGAIN)
		err = -EADDRINUSE;
	else if (errno != ECONNREFUSED || unlink(path_of(at)) < 0)
		err = -errno;
	close(fd);
	return err;
}

static int bind_to(struct ctl_loopback *at)
{
	bool is_unix = ctl_loopback_is_unix(at);
	int yes = 1, err = 0;
	mode_t mask;

	/* What a connection of the server before has left is no reason to wait. */
	if (!is_unix && setsockopt(at->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0)
		return -errno;
	mask = umask(ACCESSPERMS & ~LOOPBACK_MODE);
	if (bind(at->fd, (const struct sockaddr *)&at->address, at->size) < 0)
		err = -errno;
	umask(mask);
	if (err)
		return err;
	if (listen(at->fd, LOOPBACK_BACKLOG) < 0)
		return -errno;
	if (is_unix)
		return lstat(path_of(at), &at->file) < 0 ? -errno : 0;
	return getsockname(at->fd, (struct sockaddr *)&at->address, &at->size) < 0 ? -errno : 0;
}

int ctl_loopback_listen(struct ctl_loopback *at, char **err)
{
	char url[CTL_LOOPBACK_URL];
	int code = ctl_loopback_is_unix(at) ? remove_stale(at) : 0;

	if (!code) {
		at->fd = socket(at->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
				0);
		code = at->fd < 0 ? -errno : bind_to(at);
	}
	if (!code)
		return 0;
	ctl_loopback_url(at, url);
	if (asprintf(err, "cannot listen at %s: %s", url,
		     code == -EADDRINUSE ? "somebody does already; choose another place by --listen"
		     : code == -EEXIST	 ? "there is a file that is no socket"
					 : strerror(-code)) < 0)
		*err = NULL;
	if (at->fd >= 0)
		close(at->fd);
	at->fd = -1;
	return code;
}

void ctl_loopback_remove(const struct ctl_loopback *at)
{
	struct stat st;

	if (ctl_loopback_is_unix(at) && lstat(path_of(at), &st) == 0 &&
	    st.st_dev == at->file.st_dev && st.st_ino == at->file.st_ino)
		unlink(path_of(at));
}
