// SPDX-License-Identifier: GPL-2.0-or-later
/* Where commctl serve listens, whom it answers, and what may be asked. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "loopback.h"
#include "peer.h"
#include "request.h"

static void test_addresses(void **state)
{
	static const char *const good[][2] = {
		{"127.0.0.1:80", "http://127.0.0.1:80/"}, {"127.0.0.1", "http://127.0.0.1:8517/"},
		{"localhost:0", "http://127.0.0.1:0/"},	  {"LocalHost", "http://127.0.0.1:8517/"},
		{"127.3.2.1:9", "http://127.3.2.1:9/"},	  {"[::1]:65535", "http://[::1]:65535/"},
		{"[::1]", "http://[::1]:8517/"},	  {"9000", "http://127.0.0.1:9000/"},
		{"unix:/run/a:1", "unix:/run/a:1"},	  {"unix:a", "unix:a"},
	};
	static const char *const bad[] = {
		"0.0.0.0:80",
		"0.0.0.0",
		"*:80",
		"[::]:80",
		"::1:80",
		"::1",
		"10.0.0.1:80",
		"192.168.1.2",
		"example.org:80",
		"localhost.example.org:80",
		"128.0.0.1:80",
		"126.0.0.1",
		"127.1:80",
		"0x7f000001:80",
		"127.0.0.1 :80",
		"",
		":80",
		"127.0.0.1:",
		"127.0.0.1:65536",
		"127.0.0.1:-1",
		"127.0.0.1:80x",
		"[::1]80",
		"[::1:80",
		"[]:80",
		"[::ffff:127.0.0.1]:80",
		"unix:",
		"127.0.0.1:8:9",
	};
	struct ctl_loopback at;
	char url[CTL_LOOPBACK_URL], path[200] = "unix:";

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_null(ctl_loopback_parse(good[i][0], &at));
		ctl_loopback_url(&at, url);
		assert_string_equal(url, good[i][1]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (!ctl_loopback_parse(bad[i], &at))
			fail_msg("%s is taken", bad[i]);
	memset(path + 5, 'p', 107);
	assert_null(ctl_loopback_parse(path, &at));
	ctl_loopback_url(&at, url);
	assert_string_equal(url, path);
	path[5 + 107] = 'p';
	assert_non_null(ctl_loopback_parse(path, &at));
}

static void test_hosts(void **state)
{
	static const char *const good[] = {"localhost", "localhost:8517", "LOCALHOST:1",
					   "127.0.0.1", "127.0.0.1:8517", "[::1]",
					   "[::1]:8517"};
	static const char *const bad[] = {
		"",
		"example.org",
		"example.org:8517",
		"localhost.example.org",
		"127.0.0.1.example.org",
		"10.0.0.1",
		"::1",
		"localhost:",
		"localhost:x",
		"localhost@example.org",
		"0.0.0.0:80",
		"[::]",
		"localhost:80@example",
		"[::1].example.org",
		"127.0.0.1\t",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		if (!ctl_loopback_is_host(good[i]))
			fail_msg("%s is refused", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (ctl_loopback_is_host(bad[i]))
			fail_msg("%s is taken", bad[i]);
}

static void test_requests(void **state)
{
	struct ctl_request request;
	char text[200];

	(void)state;
	assert_true(ctl_request_find("/", &request));
	assert_int_equal(request.what, CTL_REQUEST_PAGE);
	assert_int_equal(request.run, 0);
	assert_null(ctl_request_take(&request, "run", "17"));
	assert_int_equal(request.run, 17);
	assert_null(ctl_request_take(&request, "from", "-10m"));
	assert_int_equal(request.from_ns, -600000000000);
	assert_non_null(ctl_request_take(&request, "by", "role"));
	assert_non_null(ctl_request_take(&request, "seen", "0123456789abcdef"));
	assert_non_null(ctl_request_take(&request, "store", "/etc/passwd"));
	assert_non_null(ctl_request_take(&request, "run", NULL));
	assert_non_null(ctl_request_take(&request, "run", ""));
	assert_non_null(ctl_request_take(&request, "run", "0"));
	assert_non_null(ctl_request_take(&request, "run", "-1"));
	assert_non_null(ctl_request_take(&request, "run", "1 "));
	assert_non_null(ctl_request_take(&request, "run", "9223372036854775808"));
	assert_non_null(ctl_request_take(&request, "from", "soon"));
	assert_int_equal(request.run, 17);

	assert_true(ctl_request_find("/report.json", &request));
	assert_null(ctl_request_take(&request, "by", "thread,function"));
	assert_string_equal(request.by, "thread,function");
	assert_non_null(ctl_request_take(&request, "by", "thread'"));
	assert_non_null(ctl_request_take(&request, "by", ""));
	memset(text, 'a', sizeof(text));
	text[CTL_REQUEST_BY] = '\0';
	assert_non_null(ctl_request_take(&request, "by", text));
	text[CTL_REQUEST_BY - 1] = '\0';
	assert_null(ctl_request_take(&request, "by", text));
	assert_string_equal(request.by, text);

	assert_true(ctl_request_find("/events", &request));
	assert_null(ctl_request_take(&request, "seen", "0123456789abcdef"));
	assert_int_equal(request.seen, 0x0123456789abcdef);
	assert_non_null(ctl_request_take(&request, "seen", "0x23456789abcdef"));
	assert_non_null(ctl_request_take(&request, "seen", "0123456789ABCDEF"));
	assert_non_null(ctl_request_take(&request, "seen", "0"));
	assert_non_null(ctl_request_take(&request, "from", "1s"));

	assert_true(ctl_request_find("/runs.json", &request));
	assert_non_null(ctl_request_take(&request, "run", "1"));
	assert_true(ctl_request_find("/metrics", &request));
	assert_false(ctl_request_find("", &request));
	assert_false(ctl_request_find("//", &request));
	assert_false(ctl_request_find("/metrics/", &request));
	assert_false(ctl_request_find("/../etc/passwd", &request));
}

/* The user of each end of a connection, by both versions of IP, and of one to an address of the other. */
static void test_peer(void **state)
{
	static const char *const ends[][2] = {{"127.0.0.1:0", "127.0.0.1"},
					      {"[::1]:0", "::1"},
					      {"127.0.0.1:0", "::ffff:127.0.0.1"}};
	char *err;

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		bool is_v6 = strchr(ends[i][1], ':');
		struct sockaddr_in v4 = {.sin_family = AF_INET};
		struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
		struct ctl_loopback at;
		uid_t uid = (uid_t)-1;
		int from, to;

		assert_null(ctl_loopback_parse(ends[i][0], &at));
		if (ctl_loopback_listen(&at, &err)) {
			/* A machine may be without IPv6. */
			free(err);
			assert_int_equal(i, 1);
			continue;
		}
		from = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
		v4.sin_port = v6.sin6_port = ((struct sockaddr_in *)&at.address)->sin_port;
		if (is_v6)
			assert_int_equal(inet_pton(AF_INET6, ends[i][1], &v6.sin6_addr), 1);
		else
			assert_int_equal(inet_pton(AF_INET, ends[i][1], &v4.sin_addr), 1);
		assert_int_equal(is_v6 ? connect(from, (struct sockaddr *)&v6, sizeof(v6))
				       : connect(from, (struct sockaddr *)&v4, sizeof(v4)),
				 0);
		to = accept(at.fd, NULL, NULL);
		assert_true(to >= 0);
		assert_int_equal(ctl_peer_uid(to, &uid), 0);
		assert_int_equal(uid, geteuid());
		uid = (uid_t)-1;
		assert_int_not_equal(ctl_peer_uid(at.fd, &uid), 0);
		assert_int_equal(uid, (uid_t)-1);
		close(to);
		close(at.fd);
		close(from);
	}
}

/* A connection of that user from that port, or any for 0, to that place; *ret_fd is its other end. */
static int connect_as(uid_t user, in_port_t port, const struct ctl_loopback *to, int *ret_fd)
{
	struct sockaddr_in from = {
		.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int yes = 1, fd;

	assert_int_equal(seteuid(user), 0);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&to->address, to->size), 0);
	*ret_fd = accept(to->fd, NULL, NULL);
	assert_true(*ret_fd >= 0);
	return fd;
}

/* Sockets of two users, that have the same port, are each its own user's. */
static void test_same_port(void **state)
{
	enum { OTHER = 4321 };
	static const uid_t users[2][2] = {{0, OTHER}, {OTHER, 0}};

	(void)state;
	if (geteuid())
		skip();
	for (int i = 0; i < 2; i++) {
		struct ctl_loopback at[2];
		struct sockaddr_in first;
		socklen_t size = sizeof(first);
		int from[2], to[2];
		char *err;
		uid_t uid;

		for (int k = 0; k < 2; k++) {
			assert_null(ctl_loopback_parse("127.0.0.1:0", &at[k]));
			assert_int_equal(ctl_loopback_listen(&at[k], &err), 0);
		}
		from[0] = connect_as(users[i][0], 0, &at[0], &to[0]);
		assert_int_equal(getsockname(from[0], (struct sockaddr *)&first, &size), 0);
		from[1] = connect_as(users[i][1], first.sin_port, &at[1], &to[1]);
		for (int k = 0; k < 2; k++) {
			assert_int_equal(ctl_peer_uid(to[k], &uid), 0);
			assert_int_equal(uid, users[i][k]);
			close(from[k]);
			close(to[k]);
			close(at[k].fd);
		}
	}
}

static void test_trust(void **state)
{
	(void)state;
	unsetenv("SUDO_UID");
	assert_true(ctl_peer_is_trusted(0));
	assert_true(ctl_peer_is_trusted(geteuid()));
	assert_false(ctl_peer_is_trusted(geteuid() + 4321));
	setenv("SUDO_UID", "4321", 1);
	assert_int_equal(ctl_peer_is_trusted(4321), geteuid() == 0);
	setenv("SUDO_UID", "x", 1);
	assert_false(ctl_peer_is_trusted(geteuid() + 4321));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses), cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_requests),  cmocka_unit_test(test_peer),
		cmocka_unit_test(test_same_port), cmocka_unit_test(test_trust),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
