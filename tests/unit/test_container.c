// SPDX-License-Identifier: GPL-2.0-or-later
/* Which control group is a container's, in a tree of directories named as runtimes name them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../../daemon/container.c"

int comm_source_fail(char **err, int error, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	assert_true(vasprintf(err, fmt, args) > 0);
	va_end(args);
	return error;
}

#define DOCKER "4f9dbfcb5b70e4d9c1d3a6b7f8e9a0b1c2d3e4f5a6b7c8d9e0f1a2b3c4d5e6f7"
#define PODMAN "4f9dbfcb5b71e4d9c1d3a6b7f8e9a0b1c2d3e4f5a6b7c8d9e0f1a2b3c4d5e6f7"
#define POD "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0a1b2c3d_1111.slice"
#define CRI "c0ffee0123456789c0ffee0123456789c0ffee0123456789c0ffee0123456789"
#define PLAIN "0123456789ab0123456789ab0123456789ab0123456789ab0123456789abcdef"

static char root[] = "/tmp/comm-test-container-XXXXXX";

static void make(const char *path)
{
	char full[512];

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	assert_int_equal(mkdir(full, 0700), 0);
}

static int setup(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(root));
	make("system.slice/redis-server.service");
	make("system.slice/docker-" DOCKER ".scope/inner-" DOCKER);
	make("machine.slice/libpod-" PODMAN ".scope/container");
	make("machine.slice/libpod-conmon-" PODMAN ".scope");
	make(POD "/cri-containerd-" CRI ".scope");
	make("docker/" PLAIN);
	make("machine.slice/machine-web.scope");
	make("machine.slice/machine-webster.scope");
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static void finds(const char *id, const char *path)
{
	char *ret = NULL, *err = NULL;

	assert_int_equal(comm_container_find(root, id, &ret, &err), 0);
	assert_string_equal(ret + strlen(root) + 1, path);
	assert_null(err);
	free(ret);
}

static void finds_none(const char *id, int code)
{
	char *ret = NULL, *err = NULL;

	assert_int_equal(comm_container_find(root, id, &ret, &err), code);
	assert_null(ret);
	assert_non_null(strstr(err, id));
	free(err);
}

static void test_whole_ids(void **state)
{
	(void)state;
	finds(DOCKER, "system.slice/docker-" DOCKER ".scope");
	finds("docker://" DOCKER, "system.slice/docker-" DOCKER ".scope");
	finds(PODMAN, "machine.slice/libpod-" PODMAN ".scope");
	finds("containerd://" CRI, POD "/cri-containerd-" CRI ".scope");
	finds(PLAIN, "docker/" PLAIN);
}

static void test_short_ids(void **state)
{
	(void)state;
	finds("4f9dbfcb5b70", "system.slice/docker-" DOCKER ".scope");
	finds("4f9dbfcb5b71e4", "machine.slice/libpod-" PODMAN ".scope");
	finds("c0ffee012345", POD "/cri-containerd-" CRI ".scope");
	/* Too short, or not from its begin. */
	finds_none("c0ffee01234", -ENOENT);
	finds_none("0ffee0123456", -ENOENT);
}

static void test_names(void **state)
{
	(void)state;
	finds("web", "machine.slice/machine-web.scope");
	finds("webster", "machine.slice/machine-webster.scope");
	finds_none("webs", -ENOENT);
	finds_none("nobody", -ENOENT);
}

static void test_several(void **state)
{
	(void)state;
	make("system.slice/docker-4f9dbfcb5b70aaaa.scope");
	finds_none("4f9dbfcb5b70", -ENOTUNIQ);
	finds(DOCKER, "system.slice/docker-" DOCKER ".scope");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_ids),
		cmocka_unit_test(test_short_ids),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_several),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
