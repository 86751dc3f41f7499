// SPDX-License-Identifier: GPL-2.0-or-later
#include "title.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static char title[COMM_TITLE_BYTES];

static void test_titles(void **state)
{
	static const struct {
		const char *text, *title;
	} of[] = {
		{"postgres: walwriter \0\0\0", "postgres: walwriter"},
		{"postgres: 15/main: background writer ", "postgres: background writer"},
		/* What it does at the moment would be another thing at the next. */
		{"postgres: 15/main: alice shop [local] idle", "postgres: alice shop [local]"},
		{"postgres: alice shop ::1(51234) SELECT", "postgres: alice shop ::1(51234)"},
		{"sshd: alice [priv]", "sshd: alice [priv]"},
		{"php-fpm: pool www", "php-fpm: pool www"},
		/* How it was called is no part of what it does. */
		{"nginx: master process /usr/sbin/nginx -g daemon on;", "nginx: master process"},
		{"php-fpm: master process (/etc/php/8.2/fpm/php-fpm.conf)",
		 "php-fpm: master process"},
		{"sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups", ""},
		{"server: worker --password secret", "server: worker"},
		{"server: worker password=secret", "server: worker"},
		{"server: worker \"-psecret\"", "server: worker"},
		{"server: worker amqp://bench:secret@host", "server: worker"},
		/* Command lines as exec gave them, secrets and all. */
		{"/usr/bin/mysqldump\0--password=secret", ""},
		{"psql\0postgres://bench:secret@host/db", ""},
		{"worker", ""},
		{"worker secret", ""},
		{"sh -c secret", ""},
		{"/usr/bin/x: secret", ""},
		{"-x: secret", ""},
		{"postgres://bench:secret@host/db", ""},
		{": secret", ""},
		{"", ""},
		/* Nothing but its name. */
		{"postgres:", ""},
		{"postgres: 15/main:", ""},
		{"odd:  \033[31mred\t x", "odd: \\x1b[31mred\\x09 x"},
	};
	char longest[200];

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		memset(title, 'x', sizeof(title));
		comm_title_of(of[i].text, strlen(of[i].text) + 3, title);
		assert_string_equal(title, of[i].title);
		/* Stored ones are compared as bytes. */
		for (size_t at = strlen(title); at < sizeof(title); at++)
			assert_int_equal(title[at], 0);
	}
	/* As many words as there is room for, and no part of one. */
	for (size_t word = 1; word < 100; word++) {
		memset(longest, 'a', sizeof(longest));
		memcpy(longest, "prog:", 5);
		for (size_t at = 5; at < sizeof(longest); at += word + 1)
			longest[at] = ' ';
		comm_title_of(longest, sizeof(longest), title);
		if (word > COMM_TITLE_BYTES - 7)
			assert_string_equal(title, "");
		else
			assert_int_equal(strlen(title),
					 5 + (COMM_TITLE_BYTES - 6) / (word + 1) * (word + 1));
	}
	memset(longest, 'a', sizeof(longest));
	comm_title_of(longest, sizeof(longest), title);
	assert_string_equal(title, "");
	memcpy(longest + 70, ": x", 3);
	comm_title_of(longest, sizeof(longest), title);
	assert_string_equal(title, "");
	/* Text that does not end is read no further than it is long. */
	comm_title_of("prog: worker secret", 12, title);
	assert_string_equal(title, "prog: worker");
}

static void take(const char *reading, const char *expected)
{
	comm_title_take(title, reading);
	assert_string_equal(title, expected);
}

/* What changes at its end is left out, and what is another title takes its place. */
static void test_readings(void **state)
{
	(void)state;
	memset(title, 0, sizeof(title));
	take("", "");
	take("server: pool www idle", "server: pool www idle");
	take("server: pool www idle still", "server: pool www idle");
	take("server: pool www busy", "server: pool www");
	take("", "server: pool www");
	take("server: pool", "server: pool");
	take("server: poodle", "server: poodle");
	for (size_t at = strlen(title); at < sizeof(title); at++)
		assert_int_equal(title[at], 0);
	take("nginx: master process", "nginx: master process");
	take("nginx: worker process", "nginx: worker process");
	take("nginx: worker process is shutting down", "nginx: worker process");
}

static void test_threads(void **state)
{
	(void)state;
	assert_true(comm_title_fits("postgres: walwriter", "postgres"));
	assert_true(comm_title_fits("php-fpm: pool www", "php-fpm8.2"));
	assert_true(comm_title_fits("gunicorn: worker [app]", "gunicorn: worke"));
	assert_false(comm_title_fits("nginx: worker process", "io_thd_1"));
	assert_false(comm_title_fits("nginx: worker process", ""));
	assert_false(comm_title_fits("", "nginx"));
	assert_false(comm_title_fits("", ""));
}

static void test_roles(void **state)
{
	static const char *const roles[][2] = {
		{"postgres: walwriter", "postgres: walwriter"},
		{"postgres: autovacuum launcher", "postgres: autovacuum launcher"},
		{"postgres: logical replication launcher",
		 "postgres: logical replication launcher"},
		{"postgres: alice shop [local]", "postgres: backend"},
		{"postgres: alice shop 10.0.0.7(51234)", "postgres: backend"},
		{"postgres: alice shop ::1(51234)", "postgres: backend"},
		{"postgres: walsender alice 10.0.0.7(51234) streaming 0/1", "postgres: walsender"},
		{"postgres: autovacuum worker shop", "postgres: autovacuum worker"},
		{"postgres: parallel worker for PID 99", "postgres: parallel worker"},
		{"postgres: startup recovering 00000001", "postgres: startup"},
		{"nginx: worker process", "nginx: worker process"},
		{"sshd: alice@pts/0", "sshd: connection"},
		{"sshd: alice [priv]", "sshd: connection"},
		{"puma: cluster worker 0: 17 [shop]", "puma: cluster worker"},
		{"php-fpm: pool www", "php-fpm: pool www"},
		/* What begins as one that is known. */
		{"postgresql: alice shop [local]", "postgresql: alice shop"},
		{"post: a (b", "post: a"},
		{"x: 12", "x"},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++) {
		comm_title_role(roles[i][0], title);
		assert_string_equal(title, roles[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_titles),
		cmocka_unit_test(test_readings),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_roles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
