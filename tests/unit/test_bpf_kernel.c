// SPDX-License-Identifier: GPL-2.0-or-later
/* Which kernels the BPF source takes, told by types that the test makes up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../daemon/source/bpf_kernel.c"

int comm_source_fail(char **err, int error, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (vasprintf(err, fmt, args) < 0)
		*err = NULL;
	va_end(args);
	return error;
}

static int ask(const char *type, const char *member, char **why)
{
	struct btf *btf = btf__new_empty();
	int word, rc;

	assert_non_null(btf);
	word = btf__add_int(btf, "long", 8, BTF_INT_SIGNED);
	assert_true(word > 0);
	assert_true(btf__add_struct(btf, "task_struct", 16) > 0);
	assert_int_equal(btf__add_field(btf, "ancestors", word, 0, 0), 0);
	if (type) {
		assert_true(btf__add_struct(btf, type, 16) > 0);
		assert_int_equal(btf__add_field(btf, "level", word, 0, 0), 0);
		assert_int_equal(btf__add_field(btf, member, word, 64, 0), 0);
	}
	*why = NULL;
	rc = comm_bpf_kernel_suits(btf, why);
	btf__free(btf);
	return rc;
}

static void test_suits(void **state)
{
	char *why;

	(void)state;
	assert_int_equal(ask("cgroup", "ancestors", &why), 0);
	assert_null(why);
}

static void test_too_old(void **state)
{
	struct utsname kernel;
	char *why;

	(void)state;
	uname(&kernel);
	assert_int_equal(ask("cgroup", "ancestor_ids", &why), -ENOSYS);
	assert_non_null(strstr(why, "6.1"));
	assert_non_null(strstr(why, kernel.release));
	assert_non_null(strstr(why, "--source perf"));
	assert_null(strchr(why, '\n'));
	free(why);
	assert_int_equal(ask(NULL, NULL, &why), -ENOSYS);
	free(why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_suits),
		cmocka_unit_test(test_too_old),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
