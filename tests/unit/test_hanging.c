// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files and memory that are never read to their end, of a file system that hangs, and who reads them and is stopped.
 * Mappings in pieces, and those of a process that seems to have none.
 */
#include "made_parser.h"
#include "peek.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

/*
 * A FUSE server in a few lines: one file, which can be opened and mapped; then it answers
 * no more.
 */
static void serve(int fuse, int requests)
{
	char in[1 << 17], out[sizeof(struct fuse_out_header) + 256];
	const struct fuse_in_header *head = (const void *)in;
	struct fuse_out_header *reply = (void *)out;

	for (ssize_t n; (n = read(fuse, in, sizeof(in))) > 0;) {
		void *body = reply + 1;
		uint32_t bytes = 0;
		int32_t error = 0;

		memset(out, 0, sizeof(out));
		switch (head->opcode) {
		case FUSE_INIT:
			*(struct fuse_init_out *)body = (struct fuse_init_out){
				.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096};
			bytes = sizeof(struct fuse_init_out);
			break;
		case FUSE_LOOKUP:
			*(struct fuse_entry_out *)body =
				(struct fuse_entry_out){.nodeid = 2,
							.attr = {.ino = 2,
								 .size = 65536,
								 .mode = S_IFREG | 0755,
								 .nlink = 1}};
			bytes = sizeof(struct fuse_entry_out);
			break;
		case FUSE_GETATTR:
			if (head->nodeid == 2 && requests-- <= 0)
				continue; /* asked by the parser's child: it hangs */
			*(struct fuse_attr_out *)body = (struct fuse_attr_out){
				.attr = {.ino = head->nodeid,
					 .size = 65536,
					 .mode = head->nodeid == 1 ? S_IFDIR | 0755
								   : S_IFREG | 0755,
					 .nlink = 1}};
			bytes = sizeof(struct fuse_attr_out);
			break;
		case FUSE_OPEN:
			bytes = sizeof(struct fuse_open_out);
			break;
		case FUSE_READ:
			continue; /* a page that is never there */
		default:
			error = -ENOSYS;
			break;
		}
		*reply = (struct fuse_out_header){.len = (uint32_t)sizeof(*reply) + bytes,
						  .error = error,
						  .unique = head->unique};
		if (write(fuse, out, reply->len) < 0 && errno != ENOENT)
			break;
	}
	_exit(0);
}

/*
 * A file of a server that answers so many questions about it and then no more, mapped.  *ret_dir
 * is where it is mounted.  NULL: it cannot be.
 */
static void *map_hanging(char dir[], int answers, pid_t *ret_server)
{
	int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC), fd;
	char options[64], name[64];
	void *at;

	if (fuse < 0 || geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		print_message("no FUSE here, or no right to mount it\n");
		return NULL;
	}
	assert_non_null(mkdtemp(dir));
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 fuse);
	if (mount("test", dir, "fuse", 0, options) < 0) {
		print_message("FUSE cannot be mounted: %s\n", strerror(errno));
		rmdir(dir);
		return NULL;
	}
	*ret_server = fork();
	if (!*ret_server)
		serve(fuse, answers);
	close(fuse);
	snprintf(name, sizeof(name), "%s/file", dir);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	at = mmap(NULL, 65536, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	close(fd);
	return at;
}

static void unmap_hanging(const char *dir, void *at, pid_t server)
{
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	munmap(at, 65536);
	umount2(dir, MNT_DETACH);
	rmdir(dir);
}

static void a_file_system_that_hangs(void **state)
{
	char dir[] = "/tmp/test_hanging.XXXXXX";
	struct comm_parse_request r, self;
	struct comm_parsed parsed;
	int waiting = 1;
	uint64_t start;
	pid_t server;
	void *at = map_hanging(dir, 0, &server);

	(void)state;
	if (!at)
		skip();
	r = request_of(COMM_PARSE_IDENTITY, at);
	self = request_of(COMM_PARSE_IDENTITY, (void *)setup);
	start = comm_clock_now_ns();
	assert_int_equal(comm_parser_ask(parser, &r, &waiting), 0);
	assert_int_equal(comm_parser_ask(parser, &self, &token), 0);
	/* Others are read meanwhile. */
	parsed = wait_for_any();
	assert_ptr_equal(parsed.of, &token);
	assert_int_equal(parsed.err, 0);
	parsed = wait_for_any();
	assert_ptr_equal(parsed.of, &waiting);
	assert_int_equal(parsed.err, -ETIME);
	assert_int_equal(comm_parser_lost(parser), 1);
	print_message("given up after %.1f s\n", (double)(comm_clock_now_ns() - start) / 1e9);
	/* To end does not wait for it either. */
	alarm(60);
	comm_parser_destroy(parser);
	parser = NULL;
	alarm(0);
	unmap_hanging(dir, at, server);
}

/* In which all is where it is here. */
static pid_t sleeping_fork(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	return pid;
}

/* The same, but when told to by the socket it maps memory, and says so. */
static pid_t mapping_fork(int *ret_socket)
{
	int ends[2];
	char byte;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(ends[1], &byte, 1) == 1 &&
		    mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
			(void)!write(ends[1], &byte, 1);
		pause();
		_exit(0);
	}
	close(ends[1]);
	*ret_socket = ends[0];
	return pid;
}

/* Ends the other process and skips the test where no such page can be made. */
static void *map_hanging_beside(pid_t other, char *dir, pid_t *ret_server)
{
	void *at = map_hanging(dir, 0, ret_server);

	if (at)
		return at;
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	skip();
	return NULL;
}

/*
 * A process with a page that nobody ever fills is given up; others are read on.  While the page is waited
 * for, and after, the process itself may map memory.
 */
static void memory_that_hangs(void **state)
{
	char dir[] = "/tmp/test_hanging.XXXXXX", buf[64];
	pid_t server, held, other = sleeping_fork();
	int told;
	struct comm_peek *peek;
	const char *text;
	uint64_t start_ns;
	ssize_t n;
	void *at;

	(void)state;
	at = map_hanging_beside(other, dir, &server);
	held = mapping_fork(&told);
	assert_int_equal(comm_peek_create(parser, &peek), 0);
	assert_int_equal(
		comm_peek_memory(peek, (uint32_t)held, (uintptr_t)&token, buf, sizeof(token)),
		sizeof(token));
	assert_memory_equal(buf, &token, sizeof(token));
	start_ns = comm_clock_now_ns();
	alarm(100);
	n = comm_peek_memory(peek, (uint32_t)held, (uintptr_t)at, buf, sizeof(buf));
	assert_int_equal(n, -ETIME);
	print_message("given up after %.1f s\n", (double)(comm_clock_now_ns() - start_ns) / 1e9);
	/* Nobody has let its reader go yet. */
	assert_int_equal(write(told, "m", 1), 1);
	assert_int_equal(read(told, buf, 1), 1);
	close(told);
	/* Not asked about again, neither page nor process. */
	n = comm_peek_memory(peek, (uint32_t)held, (uintptr_t)&token, buf, sizeof(token));
	assert_int_equal(n, -ETIME);
	/* Another process is read on. */
	n = comm_peek_memory(peek, (uint32_t)other, (uintptr_t)&token, buf, sizeof(token));
	assert_int_equal(n, sizeof(token));
	n = comm_peek_maps(peek, (uint32_t)other, 0, &text);
	assert_true(n > 0);
	assert_non_null(memmem(text, (size_t)n, "[stack]", 7));
	assert_true(comm_peek_cpu_ns(peek) > 0);
	/* At the end of a run nothing is waited for. */
	comm_peek_until(peek, comm_clock_now_ns());
	n = comm_peek_memory(peek, (uint32_t)other, (uintptr_t)&token, buf, sizeof(token));
	assert_int_equal(n, -ETIME);
	comm_parser_destroy(parser);
	parser = NULL;
	comm_peek_destroy(peek);
	alarm(0);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	kill(held, SIGKILL);
	unmap_hanging(dir, at, server);
	waitpid(held, NULL, 0);
}

/*
 * Words of several processes are asked for at once.  Where one of them hangs nobody's are known, then those of all others:
 * they are asked for apart.  A process that has ended costs nobody his.
 */
static void words_of_one_that_hangs(void **state)
{
	char dir[] = "/tmp/test_hanging.XXXXXX";
	pid_t server, held, other = sleeping_fork(), ended;
	struct comm_peek_place place[4], bad[4];
	struct comm_peek_word word[4];
	struct comm_peek *peek;
	int told;
	void *at;

	(void)state;
	at = map_hanging_beside(other, dir, &server);
	held = mapping_fork(&told);
	ended = fork();
	if (!ended)
		_exit(0);
	waitpid(ended, NULL, 0);
	assert_int_equal(comm_peek_create(parser, &peek), 0);
	for (int i = 0; i < 4; i++)
		place[i] = bad[i] = (struct comm_peek_place){(uintptr_t)&token, (uint64_t)other};
	place[0].tgid = bad[0].tgid = bad[1].tgid = (uint64_t)held;
	place[1].tgid = bad[3].tgid = (uint64_t)ended;
	place[3].addr = 1;
	bad[1].addr = (uintptr_t)at;
	alarm(100);
	assert_int_equal(comm_peek_words(peek, place, 4, word), 0);
	assert_true(word[0].is_known && !word[1].is_known && word[2].is_known && !word[3].is_known);
	assert_memory_equal(&word[2].value, &token, 8);
	/* Of words that nobody was asked for it is not said that they cannot be read. */
	assert_int_equal(comm_peek_words(peek, bad, 4, word), -ETIME);
	assert_false(word[0].is_known || word[2].is_known);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(comm_peek_words(peek, bad, 4, word), 0);
		assert_false(word[0].is_known || word[1].is_known || word[3].is_known);
		assert_true(word[2].is_known);
		assert_memory_equal(&word[2].value, &token, 8);
	}
	comm_parser_destroy(parser);
	parser = NULL;
	comm_peek_destroy(peek);
	alarm(0);
	close(told);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	kill(held, SIGKILL);
	unmap_hanging(dir, at, server);
	waitpid(held, NULL, 0);
}

/* Pieces are whole lines, and beside them others are read. */
static void mappings_in_pieces(void **state)
{
	enum { PAGES = 4000, PAGE_BYTES = 4096 };
	char *at = mmap(NULL, (size_t)PAGES * PAGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	size_t pieces = 0, lines = 0, from = 0;
	pid_t pid, other = sleeping_fork();
	struct comm_peek *peek;
	const char *text;
	ssize_t n;

	(void)state;
	assert_true(at != MAP_FAILED);
	for (size_t i = 0; i < PAGES; i += 2)
		assert_int_equal(mprotect(at + i * PAGE_BYTES, PAGE_BYTES, PROT_NONE), 0);
	pid = sleeping_fork();
	munmap(at, (size_t)PAGES * PAGE_BYTES);
	assert_int_equal(comm_peek_create(parser, &peek), 0);
	do {
		n = comm_peek_maps(peek, (uint32_t)pid, from, &text);
		assert_true(n > 0);
		assert_int_equal(text[n - 1], '\n');
		for (ssize_t i = 0; i < n; i++)
			lines += text[i] == '\n';
		from += (size_t)n;
		pieces++;
		assert_true(comm_peek_maps(peek, (uint32_t)other, 0, &text) > 0);
		assert_int_equal(comm_peek_maps(peek, (uint32_t)getpid(), 4096, &text), -ESTALE);
	} while (!comm_peek_is_last(n));
	assert_true(pieces > 1);
	assert_in_range(lines, PAGES, PAGES + 200);
	comm_parser_destroy(parser);
	parser = NULL;
	comm_peek_destroy(peek);
	kill(pid, SIGKILL);
	kill(other, SIGKILL);
	waitpid(pid, NULL, 0);
	waitpid(other, NULL, 0);
}

/* The process that reads memory, a child of this one's child; 0: there is none. */
static pid_t find_reader(void)
{
	int child = 0, grandchild = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	file = fopen(path, "re");
	assert_non_null(file);
	while (!grandchild && fscanf(file, "%d", &child) == 1) {
		char name[64], line[32] = "";
		FILE *children;

		snprintf(name, sizeof(name), "/proc/%d/task/%d/children", child, child);
		children = fopen(name, "re");
		while (children && !grandchild && fscanf(children, "%d", &grandchild) == 1) {
			FILE *comm;

			snprintf(name, sizeof(name), "/proc/%d/comm", grandchild);
			comm = fopen(name, "re");
			if (!comm || !fgets(line, sizeof(line), comm) ||
			    strcmp(line, "commd-memory\n") != 0)
				grandchild = 0;
			if (comm)
				fclose(comm);
		}
		if (children)
			fclose(children);
	}
	fclose(file);
	return grandchild;
}

static long waits(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

/* Makes *ret, whose reader is stopped, for who is in a hurry. */
static pid_t stop_reader(struct comm_peek **ret)
{
	pid_t reader;
	int buf;

	assert_int_equal(comm_peek_create(parser, ret), 0);
	assert_int_equal(
		comm_peek_memory(*ret, (uint32_t)getpid(), (uintptr_t)&token, &buf, sizeof(buf)),
		sizeof(buf));
	reader = find_reader();
	assert_true(reader > 0);
	comm_peek_hurry(*ret, true);
	kill(reader, SIGSTOP);
	return reader;
}

/* Until there is one that answers. */
static void await_reader(struct comm_peek *peek)
{
	int buf;

	alarm(100);
	while (comm_peek_memory(peek, (uint32_t)getpid(), (uintptr_t)&token, &buf, sizeof(buf)) !=
	       sizeof(buf))
		usleep(1000);
	alarm(0);
}

/*
 * Who is in a hurry waits once for a reader that is stopped, and is told so at once of all else that it asks for; it has not
 * given the reader up, so that all can be read again when that goes on.
 */
static void a_reader_that_is_stopped(void **state)
{
	enum { QUESTIONS = 20, WAITS = 10 };
	const struct comm_peek_place place = {(uintptr_t)&token, (uint32_t)getpid()};
	struct comm_peek_word word;
	struct comm_peek *peek;
	const char *text;
	long waited = 0, before;
	ssize_t n = 0;
	pid_t reader;
	int buf;

	(void)state;
	reader = stop_reader(&peek);
	for (int i = 0; i < QUESTIONS; i++) {
		before = waits();
		n = i % 2 ? comm_peek_maps(peek, (uint32_t)getpid(), 0, &text)
			  : comm_peek_memory(peek, (uint32_t)getppid(), 0, &buf, sizeof(buf));
		waited += n == -EAGAIN ? waits() - before : 0;
		if (!i)
			assert_int_equal(n, -EAGAIN);
	}
	assert_true(waited < WAITS);
	assert_int_equal(comm_peek_words(peek, &place, 1, &word), -EAGAIN);
	kill(reader, SIGCONT);
	await_reader(peek);
	assert_int_equal(find_reader(), reader);
	assert_int_equal(comm_peek_words(peek, &place, 1, &word), 0);
	assert_true(word.is_known);
	assert_true(comm_peek_maps(peek, (uint32_t)getpid(), 0, &text) > 0);
	comm_parser_destroy(parser);
	parser = NULL;
	comm_peek_destroy(peek);
}

/* And one that stays so is given up.  Whoever it was asked about is no reason for that, and can be asked about at once. */
static void a_reader_that_stays_stopped(void **state)
{
	struct comm_peek *peek;
	pid_t reader, child = sleeping_fork();
	int buf;

	(void)state;
	reader = stop_reader(&peek);
	assert_int_equal(
		comm_peek_memory(peek, (uint32_t)child, (uintptr_t)&token, &buf, sizeof(buf)),
		-EAGAIN);
	await_reader(peek);
	assert_int_not_equal(find_reader(), reader);
	comm_peek_hurry(peek, false);
	assert_int_equal(
		comm_peek_memory(peek, (uint32_t)child, (uintptr_t)&token, &buf, sizeof(buf)),
		sizeof(buf));
	comm_parser_destroy(parser);
	parser = NULL;
	comm_peek_destroy(peek);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* Words that nobody reads, since the reader was killed, are not known; soon there is another one. */
static void a_reader_that_is_killed(void **state)
{
	const struct comm_peek_place place = {(uintptr_t)&token, (uint32_t)getpid()};
	struct comm_peek_word word;
	struct comm_peek *peek;
	pid_t reader;

	(void)state;
	assert_int_equal(comm_peek_create(parser, &peek), 0);
	assert_int_equal(comm_peek_words(peek, &place, 1, &word), 0);
	reader = find_reader();
	kill(reader, SIGKILL);
	while (!kill(reader, 0))
		usleep(1000);
	assert_int_equal(comm_peek_words(peek, &place, 1, &word), -ECHILD);
	assert_false(word.is_known);
	await_reader(peek);
	assert_int_equal(comm_peek_words(peek, &place, 1, &word), 0);
	assert_true(word.is_known);
	comm_parser_destroy(parser);
	parser = NULL;
	comm_peek_destroy(peek);
}

static int told[2], asked[2];

static void *outlive(void *first)
{
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_join(*(pthread_t *)first, NULL);
	(void)!write(told[1], "e", 1);
	(void)!read(asked[0], &byte, 1);
	_exit(0);
}

/* Of such a process /proc tells who had its files open, and nobody else. */
static void a_first_thread_that_ended(void **state)
{
	static const char text[] = "still there";
	char buf[sizeof(text)];
	struct comm_peek *peek;
	const char *maps;
	ssize_t n;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(told), 0);
	assert_int_equal(pipe(asked), 0);
	/* Not every malloc has its memory there. */
	assert_true(sbrk(4096) != (void *)-1);
	pid = fork();
	if (!pid) {
		static pthread_t self, other;

		self = pthread_self();
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(asked[0], buf, 1) != 1 || pthread_create(&other, NULL, outlive, &self))
			_exit(1);
		pthread_exit(NULL);
	}
	assert_int_equal(comm_peek_create(parser, &peek), 0);
	n = comm_peek_memory(peek, (uint32_t)pid, (uintptr_t)text, buf, sizeof(text));
	assert_int_equal(n, sizeof(text));
	assert_true(comm_peek_maps(peek, (uint32_t)pid, 0, &maps) > 0);
	assert_int_equal(write(asked[1], "e", 1), 1);
	assert_int_equal(read(told[0], buf, 1), 1);
	memset(buf, 0, sizeof(buf));
	n = comm_peek_memory(peek, (uint32_t)pid, (uintptr_t)text, buf, sizeof(text));
	assert_int_equal(n, sizeof(text));
	assert_string_equal(buf, text);
	n = comm_peek_maps(peek, (uint32_t)pid, 0, &maps);
	assert_true(n > 0);
	assert_non_null(memmem(maps, (size_t)n, "[heap]", 6));
	assert_int_equal(write(asked[1], "e", 1), 1);
	waitpid(pid, NULL, 0);
	/* Ended as a whole it has neither. */
	assert_true(comm_peek_maps(peek, (uint32_t)pid, 0, &maps) <= 0);
	assert_true(comm_peek_memory(peek, (uint32_t)pid, (uintptr_t)text, buf, 1) <= 0);
	comm_parser_destroy(parser);
	parser = NULL;
	comm_peek_destroy(peek);
	for (int i = 0; i < 2; i++) {
		close(told[i]);
		close(asked[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_system_that_hangs, setup, teardown),
		cmocka_unit_test_setup_teardown(memory_that_hangs, setup, teardown),
		cmocka_unit_test_setup_teardown(words_of_one_that_hangs, setup, teardown),
		cmocka_unit_test_setup_teardown(mappings_in_pieces, setup, teardown),
		cmocka_unit_test_setup_teardown(a_reader_that_is_stopped, setup, teardown),
		cmocka_unit_test_setup_teardown(a_reader_that_stays_stopped, setup, teardown),
		cmocka_unit_test_setup_teardown(a_reader_that_is_killed, setup, teardown),
		cmocka_unit_test_setup_teardown(a_first_thread_that_ended, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
