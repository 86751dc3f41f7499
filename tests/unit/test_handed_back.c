// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What children hand back that are in the hands of their files: here a host of the tests' own
 * answers for them, at once and at no cost.
 */
#include "clock.h"
#include "elfsym.h"
#include "elfsym_table.h"
#include "inspect.h"
#include "parser.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum {
	FILES = 6,
	LARGE = 1 << 19, /* functions: 8 MiB, so all fit in what modules may take */
	PAGE = 4096,
};

static bool *makes_holes; /* shared with the host */

static int save_symbols(int saved, size_t functions, size_t frames)
{
	struct comm_elfsym *sym = calloc(1, sizeof(*sym));
	int err = sym ? 0 : -ENOMEM;

	if (!err) {
		sym->function.n = functions;
		sym->function.entry = calloc(functions, sizeof(*sym->function.entry));
		sym->frames.n = frames;
		sym->frames.row = calloc(frames + 1, sizeof(*sym->frames.row));
		for (size_t i = 0; sym->frames.row && i < frames; i++)
			sym->frames.row[i].start = i;
		err = comm_elfsym_save(sym, saved);
	}
	comm_elfsym_destroy(sym);
	return err;
}

static void save_identity(int saved)
{
	const struct comm_elf_id id = {0};

	if (write(saved, &id, sizeof(id)) != sizeof(id))
		_exit(1);
}

/* In the place of the one that reads files. */
_Noreturn void comm_parse_host(int socket, pid_t parent)
{
	struct comm_parse_request request;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	for (;;) {
		struct iovec iov = {&request, sizeof(request)};
		union {
			char capacity[CMSG_SPACE(sizeof(int))];
			struct cmsghdr align;
		} control;
		struct msghdr msg = {.msg_iov = &iov,
				     .msg_iovlen = 1,
				     .msg_control = &control,
				     .msg_controllen = sizeof(control)};
		ssize_t n = recvmsg(socket, &msg, 0);
		struct comm_parse_answer answer = {.job = request.job};
		int saved;

		if (n <= 0)
			_exit(0);
		if (n != sizeof(request))
			continue; /* a grant */
		memcpy(&saved, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(saved));
		answer.size_bytes = request.start;
		if (request.kind == COMM_PARSE_IDENTITY)
			save_identity(saved);
		else if (request.kind == COMM_PARSE_SYMBOLS)
			if (save_symbols(saved, LARGE, 0))
				_exit(1);
		if (*makes_holes && ftruncate(saved, COMM_ELFSYM_SAVED_MAX))
			_exit(1);
		close(saved);
		if (request.kind != COMM_PARSE_PEEK)
			send(socket, &answer, sizeof(answer), MSG_NOSIGNAL);
	}
}

static int setup(void **state)
{
	(void)state;
	makes_holes = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return makes_holes == MAP_FAILED ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	return munmap(makes_holes, PAGE);
}

static void a_table_is_no_hole(void **state)
{
	const struct comm_parse_request request = {.kind = COMM_PARSE_SYMBOLS};
	uint64_t stop_ns = comm_clock_now_ns() + 60ull * 1000000000;
	struct comm_parser *parser;
	struct comm_parsed parsed;

	(void)state;
	assert_int_equal(comm_parser_create(&parser), 0);
	for (int i = 0; i < 2; i++) {
		*makes_holes = i;
		assert_int_equal(comm_parser_ask(parser, &request, NULL), 0);
		while (!comm_parser_next(parser, &parsed) && comm_clock_now_ns() < stop_ns)
			comm_parser_wait(parser, 1000000000);
		assert_int_equal(parsed.err, i ? -ENODATA : 0);
	}
	comm_parser_destroy(parser);
}

/* Not asserted: SECURITY.md says that it is said here. */
static void how_long_a_large_one_takes(void **state)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	struct comm_elfsym *sym;
	uint64_t start;

	(void)state;
	assert_int_equal(save_symbols(fd, COMM_SYMBOLS_MAX, COMM_FRAME_ROWS_MAX), 0);
	start = comm_clock_thread_ns();
	assert_int_equal(comm_elfsym_load(fd, &sym), 0);
	print_message("%zu MiB: %.0f ms\n", comm_elfsym_bytes(sym) >> 20,
		      (double)(comm_clock_thread_ns() - start) / 1e6);
	comm_elfsym_destroy(sym);
	close(fd);
}

/* How many of the files have their symbols in memory by now: no function has a name. */
static int count_loaded(const struct comm_inspect *inspect)
{
	int n = 0;

	for (uint32_t file = 1; file <= FILES; file++) {
		const struct comm_mapping m = {.start = (uint64_t)file * PAGE,
					       .end = (uint64_t)(file + 1) * PAGE,
					       .ino = file,
					       .readable = true,
					       .executable = true,
					       .kind = COMM_MAP_FILE,
					       .path = "/x",
					       .file = file};
		struct comm_code code;

		n += inspect->ops->code(inspect->ctx, 1, &m, m.start + 1, &code) == -ENOENT;
	}
	return n;
}

/*
 * To load a table takes longer than is allowed in the whole test, so one is loaded and the
 * others are not, until more is allowed.
 */
static void what_is_handed_back_is_paid_for(void **state)
{
	enum { TICKS = 100, ALLOWED_NS = 10 * 1000 };
	uint64_t stop_ns = comm_clock_now_ns() + 60ull * 1000000000;
	struct comm_inspect inspect;
	int loaded;

	(void)state;
	*makes_holes = false;
	assert_int_equal(comm_inspect_live_create(&inspect), 0);
	do {
		comm_inspect_live_allow(&inspect, ALLOWED_NS);
		usleep(1000);
		loaded = count_loaded(&inspect);
	} while (!loaded && comm_clock_now_ns() < stop_ns);
	for (int i = 0; i < TICKS; i++) {
		comm_inspect_live_allow(&inspect, ALLOWED_NS);
		usleep(1000);
		loaded = count_loaded(&inspect);
	}
	assert_int_equal(loaded, 1);
	while (loaded < FILES && comm_clock_now_ns() < stop_ns) {
		comm_inspect_live_allow(&inspect, 1000000000);
		usleep(1000);
		loaded = count_loaded(&inspect);
	}
	assert_int_equal(loaded, FILES);
	comm_inspect_destroy(&inspect);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_is_no_hole),
		cmocka_unit_test(what_is_handed_back_is_paid_for),
		cmocka_unit_test(how_long_a_large_one_takes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
