// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of threads that real interpreters say themselves (given_name() of inspect.h), of each CPython from 3.11 to 3.13
 * that is found.
 */
#include <errno.h>
#include <glob.h>
#include <string.h>
#include <sys/wait.h>

#include "clock.h"
#include "inspect.h"
#include "python_child.h"

enum { THREADS_MOST = 64, PATH_BYTES = 512 };

/* With attributes in all the ways in which an instance may have them. */
static const char script[] =
	"import sys, threading\n"
	"lock = threading.Lock()\n"
	"lock.acquire()\n"
	"def work(): lock.acquire(); lock.release()\n"
	"class Sub(threading.Thread):\n"
	"  def __init__(self, name, n=0):\n"
	"    super().__init__(target=work, name=name)\n"
	"    for i in range(n): setattr(self, 'a%d' % i, i)\n"
	"class Slots(threading.Thread):\n"
	"  __slots__ = ('a', 'b')\n"
	"all = [threading.Thread(target=work, name='parser'), threading.Thread(target=work),\n"
	"  threading.Thread(target=work, name='seen'), threading.Thread(target=work, name='own'),\n"
	"  Sub('sub'), Sub('\xc3\xa4rger \xe4\xb8\xad \xf0\x9f\x90\x8d'), Sub('many', 100),\n"
	"  Slots(target=work, name='slots'), threading.Thread(target=work, name='x' * 600)]\n"
	"vars(all[2])\n"
	"all[3].__dict__ = dict(vars(all[3]))\n"
	"def start(t): t.daemon = True; t.start()\n"
	"for t in all: start(t)\n"
	"print(sys.version_info[1], flush=True)\n"
	"def tell():\n"
	"  for t in all: print(t.native_id, t.name)\n"
	"  print('0 end', flush=True)\n"
	"tell()\n"
	"sys.stdin.read(1)\n"
	"all[0].name = 'renamed'\n"
	"for i in range(40):\n"
	"  all.append(threading.Thread(target=work, name='late-%d' % i))\n"
	"  start(all[-1])\n"
	"tell()\n"
	"sys.stdin.read()\n";

static struct comm_inspect inspect;
static uint64_t stop_ns;

static int setup(void **state)
{
	(void)state;
	stop_ns = comm_clock_now_ns() + 120ull * 1000000000;
	return comm_inspect_live_create(&inspect);
}

static int teardown(void **state)
{
	(void)state;
	comm_inspect_destroy(&inspect);
	return 0;
}

/* Asks until the thread has that name, whose first 63 bytes are told. */
static void await_name(pid_t pid, unsigned int tid, const char *name)
{
	char right[COMM_THREAD_NAME_BYTES], told[COMM_THREAD_NAME_BYTES] = "";
	int err;

	snprintf(right, sizeof(right), "%s", name);
	do
		err = inspect.ops->given_name(inspect.ctx, (uint32_t)pid, tid, told);
	while ((err || strcmp(told, right) != 0) && comm_clock_now_ns() < stop_ns && !usleep(1000));
	assert_int_equal(err, 0);
	assert_string_equal(told, right);
}

static size_t await_names(FILE *file, pid_t pid)
{
	char line[1024];
	unsigned int tid;
	size_t n = 0;
	int at;

	while (fgets(line, sizeof(line), file) && sscanf(line, "%u %n", &tid, &at) == 1 && tid) {
		line[strcspn(line, "\n")] = 0;
		await_name(pid, tid, line + at);
		n++;
	}
	return n;
}

/* Whether that interpreter is there and of the version. */
static bool test_one(const char *path, int minor)
{
	char line[64], told[COMM_THREAD_NAME_BYTES];
	const struct comm_mapping *map;
	int stop, status;
	size_t n_map;
	pid_t pid;
	FILE *file = start_python_at(path, script, &pid, &stop);
	bool is_it = fgets(line, sizeof(line), file) && atoi(line) == minor;

	if (is_it) {
		assert_int_equal(inspect.ops->maps(inspect.ctx, (uint32_t)pid, &map, &n_map), 0);
		assert_int_equal(await_names(file, pid), 9);
		assert_int_equal(write(stop, "x", 1), 1);
		assert_int_equal(await_names(file, pid), 49);
		assert_int_equal(inspect.ops->given_name(inspect.ctx, (uint32_t)pid, 1, told),
				 -ENOENT);
		print_message("%s: yes\n", path);
	}
	close(stop);
	fclose(file);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return is_it;
}

static void test_version(int minor)
{
	static const char *const form[] = {"/usr/bin/python3.%d", "/usr/local/bin/python3.%d",
					   "%s/.pyenv/versions/3.%d.*/bin/python3.%d"};
	const char *home = getenv("HOME");
	char pattern[PATH_BYTES];
	int n = 0;

	for (size_t i = 0; i < 3; i++) {
		glob_t found;

		if (i < 2)
			snprintf(pattern, sizeof(pattern), form[i], minor);
		else
			snprintf(pattern, sizeof(pattern), form[i], home ? home : "", minor, minor);
		if (glob(pattern, 0, NULL, &found))
			continue;
		for (size_t k = 0; k < found.gl_pathc; k++)
			n += test_one(found.gl_pathv[k], minor);
		globfree(&found);
	}
	if (!n) {
		print_message("no CPython 3.%d is in /usr, /usr/local or ~/.pyenv\n", minor);
		skip();
	}
}

static void names_of_3_11(void **state)
{
	(void)state;
	test_version(11);
}

static void names_of_3_12(void **state)
{
	(void)state;
	test_version(12);
}

static void names_of_3_13(void **state)
{
	(void)state;
	test_version(13);
}

/* It is not even asked whether it has any. */
static void a_program_without_python(void **state)
{
	char told[COMM_THREAD_NAME_BYTES];
	const struct comm_mapping *map;
	uint32_t self = (uint32_t)getpid();
	size_t n;

	(void)state;
	assert_int_equal(inspect.ops->given_name(inspect.ctx, self, self, told), -EAGAIN);
	assert_int_equal(inspect.ops->maps(inspect.ctx, self, &map, &n), 0);
	assert_int_equal(inspect.ops->given_name(inspect.ctx, self, self, told), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_of_3_11, setup, teardown),
		cmocka_unit_test_setup_teardown(names_of_3_12, setup, teardown),
		cmocka_unit_test_setup_teardown(names_of_3_13, setup, teardown),
		cmocka_unit_test_setup_teardown(a_program_without_python, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
