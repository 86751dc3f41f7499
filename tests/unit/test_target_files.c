// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of targets as the live view has them come: lines after symbols, perf maps, many at once, and what is never read. */
#include "own_view.h"

#include "elfsym.h"
#include "event.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

static bool built_with_lines(void)
{
	struct comm_elf_id id = {0};
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_int_equal(comm_elf_identify(fd, &id), 0);
	close(fd);
	if (!id.has_lines)
		print_message("this test was built without -g\n");
	return id.has_lines;
}

static void lines_come_later(void **state)
{
	struct comm_mapping m = mapping_of(self, (void *)test_live_function);
	uint64_t ip = (uint64_t)(uintptr_t)test_live_function, own_ns;
	struct comm_code code;

	(void)state;
	assert_int_equal(comm_inspect_live_setup_ns(&inspect), 0);
	assert_int_equal(code_of(self, &m, ip, &code), 0);
	assert_string_equal(code.function, "test_live_function");
	if (!built_with_lines())
		skip();
	own_ns = comm_inspect_live_own_ns(&inspect);
	assert_true(own_ns > 0);
	assert_int_equal(whole_code_of(&m, ip, &code), 0);
	assert_false(code.provisional);
	assert_string_equal(code.function, "test_live_function");
	assert_in_range(code.line, TEST_LIVE_LINE, TEST_LIVE_LINE + 4);
	assert_non_null(strstr(code.source, "own_view.h"));
	/* The children's CPU time is included. */
	assert_true(comm_inspect_live_setup_ns(&inspect) >
		    comm_inspect_live_own_ns(&inspect) + 500000);
	own_ns = comm_inspect_live_setup_ns(&inspect);
	for (int i = 0; i < 10000; i++)
		inspect.ops->code(inspect.ctx, self, &m, ip, &code);
	assert_int_equal(comm_inspect_live_setup_ns(&inspect), own_ns);
	assert_int_equal(comm_inspect_live_unread(&inspect), 0);
	/* No child is left. */
	comm_inspect_destroy(&inspect);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void a_view_that_goes_before_its_lines_came(void **state)
{
	struct comm_mapping m = mapping_of(self, (void *)test_live_function);
	uint64_t ip = (uint64_t)(uintptr_t)test_live_function;
	struct comm_code code;

	(void)state;
	assert_int_equal(inspect.ops->code(inspect.ctx, self, &m, ip, &code), 0);
	comm_inspect_destroy(&inspect);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* Without the processes that read files there are no names, but a count and no end. */
static void files_that_nobody_reads(void **state)
{
	struct comm_mapping m = mapping_of(self, (void *)test_live_function);
	struct comm_mapping data = mapping_of(self, test_live_data);
	uint64_t ip = (uint64_t)(uintptr_t)test_live_function;
	uint64_t stop_ns = comm_clock_now_ns() + 60ull * 1000000000;
	struct comm_static s;
	struct comm_code code;

	(void)state;
	assert_string_equal(comm_loss_name(COMM_LOSS_FILES), "files_unread");
	assert_int_equal(comm_inspect_live_unread(&inspect), 0);
	/* It is replaced a few times. */
	while (comm_inspect_live_unread(&inspect) == 0 && comm_clock_now_ns() < stop_ns) {
		pid_t host = first_child_of(getpid());

		if (host)
			kill(host, SIGKILL);
		inspect.ops->code(inspect.ctx, self, &m, ip, &code);
		usleep(5000);
		if (!strcmp(code.function, "test_live_function")) {
			comm_inspect_destroy(&inspect);
			assert_int_equal(comm_inspect_live_create(&inspect), 0);
			m = mapping_of(self, (void *)test_live_function);
			data = mapping_of(self, test_live_data);
		}
	}
	assert_true(comm_inspect_live_unread(&inspect) > 0);
	assert_true(code_of(self, &m, ip, &code) < 0);
	assert_non_null(strstr(code.function, "test_target_files"));
	assert_non_null(strstr(code.function, "+0x"));
	assert_true(data_of(&data, (uint64_t)(uintptr_t)&test_live_data[500], &s) < 0);
}

static void prefetched(void **state)
{
	struct comm_mapping m = mapping_of(self, (void *)test_live_function), libc;
	uint64_t ip = (uint64_t)(uintptr_t)test_live_function, setup_ns;
	static const struct comm_inspect_ops no_ops = {0};
	struct comm_inspect other = {.ops = &no_ops};
	struct comm_code code;

	(void)state;
	comm_inspect_live_prefetch(&other, self, false, UINT64_MAX);
	assert_int_equal(comm_inspect_live_setup_ns(&other), 0);
	comm_inspect_live_prefetch(&inspect, 1 << 30, false, UINT64_MAX);
	assert_int_equal(comm_inspect_live_setup_ns(&inspect), 0);
	/* A fork of this process runs another program soon: of its files libc is worth reading. */
	comm_inspect_live_prefetch(&inspect, self, true, comm_clock_now_ns() + 30000000000);
	libc = mapping_of(self, (void *)strtoull);
	assert_int_equal(inspect.ops->code(inspect.ctx, self, &libc, (uintptr_t)strtoull, &code),
			 0);
	assert_null(strstr(code.function, "+0x"));
	comm_inspect_live_prefetch(&inspect, self, false, comm_clock_now_ns() + 300000000);
	setup_ns = comm_inspect_live_setup_ns(&inspect);
	assert_true(setup_ns > 0);
	assert_int_equal(code_of(self, &m, ip, &code), 0);
	assert_int_equal(whole_code_of(&m, ip, &code), 0);
	assert_string_equal(code.function, "test_live_function");
}

/* More files with lines than are read at once; each has its turn. */
static void many_files_with_lines(void **state)
{
	enum { FILES = 8, BYTES_MAX = 8 << 20 };
	char *image = malloc(BYTES_MAX);
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ssize_t bytes = read(from, image, BYTES_MAX), symbol;
	/* The limit is between two of them: the readers have the lowest priority. */
	uint64_t offset, limit_ns = 300ull * 1000000000, stop_ns = comm_clock_now_ns() + limit_ns;
	struct comm_mapping m = mapping_of(self, (void *)test_live_function), all[FILES];
	char path[] = "/tmp/test_target_files.XXXXXX", name[64];
	size_t left = FILES, before = FILES;
	struct comm_code code;
	void *at[FILES];

	(void)state;
	assert_true(bytes > 4096 && bytes < BYTES_MAX);
	offset = (uint64_t)(uintptr_t)test_live_function - m.start + m.offset;
	assert_int_equal(code_of(self, &m, (uintptr_t)test_live_function, &code), 0);
	if (!built_with_lines()) {
		free(image);
		skip();
	}
	/* Files of another size are other files even with one build-id. */
	assert_non_null(mkdtemp(path));
	for (int i = 0; i < FILES; i++) {
		int to;

		snprintf(name, sizeof(name), "%s/%d", path, i);
		to = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
		assert_true(to >= 0);
		assert_int_equal(write(to, image, (size_t)bytes), bytes);
		assert_int_equal(ftruncate(to, bytes + i + 1), 0);
		at[i] = mmap(NULL, 65536, PROT_READ | PROT_EXEC, MAP_PRIVATE, to,
			     (off_t)(offset & ~(uint64_t)4095));
		assert_ptr_not_equal(at[i], MAP_FAILED);
		all[i] = mapping_of(self, at[i]);
		close(to);
	}
	for (int i = 0; i < FILES; i++) {
		symbol = code_of(self, &all[i], all[i].start + (offset & 4095), &code);
		assert_int_equal(symbol, 0);
		assert_string_equal(code.function, "test_live_function");
	}
	while (left && comm_clock_now_ns() < stop_ns) {
		left = 0;
		for (int i = 0; i < FILES; i++) {
			assert_int_equal(inspect.ops->code(inspect.ctx, self, &all[i],
							   all[i].start + (offset & 4095), &code),
					 0);
			left += code.provisional;
			if (!code.provisional)
				assert_in_range(code.line, TEST_LIVE_LINE, TEST_LIVE_LINE + 4);
		}
		if (left < before)
			stop_ns = comm_clock_now_ns() + limit_ns;
		before = left;
		usleep(2000);
	}
	assert_int_equal(left, 0);
	for (int i = 0; i < FILES; i++) {
		munmap(at[i], 65536);
		snprintf(name, sizeof(name), "%s/%d", path, i);
		unlink(name);
	}
	rmdir(path);
	close(from);
	free(image);
}

static void generated_code_is_named(void **state)
{
	char *code_at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct comm_mapping m = mapping_of(self, code_at);
	struct comm_code code;
	char path[64], target[64];
	FILE *map;

	(void)state;
	assert_true(whole_code_of(&m, m.start, &code) < 0);
	assert_string_equal(code.function, "[jit]");
	comm_inspect_destroy(&inspect);
	assert_int_equal(comm_inspect_live_create(&inspect), 0);
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", self);
	/* A symbolic link as perf map could name any file: it is not followed. */
	snprintf(target, sizeof(target), "/tmp/test_target_files.%u", self);
	map = fopen(target, "w");
	assert_non_null(map);
	fprintf(map, "%llx 40 linked\n", (unsigned long long)m.start);
	fclose(map);
	assert_int_equal(symlink(target, path), 0);
	assert_true(whole_code_of(&m, m.start, &code) < 0);
	unlink(path);
	unlink(target);
	comm_inspect_destroy(&inspect);
	assert_int_equal(comm_inspect_live_create(&inspect), 0);
	/* Opening a fifo would block. */
	assert_int_equal(mkfifo(path, 0600), 0);
	alarm(120);
	assert_true(whole_code_of(&m, m.start, &code) < 0);
	alarm(0);
	unlink(path);
	comm_inspect_destroy(&inspect);
	assert_int_equal(comm_inspect_live_create(&inspect), 0);
	map = fopen(path, "w");
	assert_non_null(map);
	fprintf(map, "%llx 40 LHello;::world\n", (unsigned long long)m.start);
	fclose(map);
	assert_int_equal(whole_code_of(&m, m.start + 0x3f, &code), 0);
	assert_string_equal(code.function, "LHello;::world");
	assert_true(whole_code_of(&m, m.start + 0x40, &code) < 0);
	unlink(path);
	munmap(code_at, 4096);
}

static void a_file_cut_while_in_use(void **state)
{
	char path[] = "/tmp/test_target_files.XXXXXX", copy[4096];
	int to = mkstemp(path), from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct comm_mapping m;
	struct comm_code code;
	ssize_t n;
	void *at;

	(void)state;
	assert_true(to >= 0 && from >= 0);
	while ((n = read(from, copy, sizeof(copy))) > 0)
		assert_int_equal(write(to, copy, (size_t)n), n);
	at = mmap(NULL, 65536, PROT_READ | PROT_EXEC, MAP_PRIVATE, to, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	unlink(path);
	m = mapping_of(self, at);
	assert_int_equal(ftruncate(to, 5000), 0);
	code_of(self, &m, m.start + 0x2000, &code);
	assert_non_null(code.function);
	assert_non_null(code.module);
	munmap(at, 65536);
	close(to);
	close(from);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(lines_come_later),	       TEST(a_view_that_goes_before_its_lines_came),
		TEST(files_that_nobody_reads), TEST(prefetched),
		TEST(many_files_with_lines),   TEST(generated_code_is_named),
		TEST(a_file_cut_while_in_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
