// SPDX-License-Identifier: GPL-2.0-or-later
/* Files read by other processes: of this very process, and of one that means harm. */
#include "dwline.h"
#include "first_child.h"
#include "made_parser.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { TRIES = 300 }; /* of stopping a child at work */

static void the_same_tables(void **state)
{
	struct comm_parse_request r = self_with_identity(COMM_PARSE_SYMBOLS);
	struct comm_elfsym *here, *there;
	struct comm_dwline *dw_here, *dw_there;
	struct comm_parsed parsed;
	struct comm_elf_id id;
	struct stat st;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(comm_elf_identify(fd, &id), 0);
	assert_string_equal(r.id.build_id, id.build_id);
	assert_int_equal(r.id.has_lines, id.has_lines);
	parsed = read_now(&r);
	assert_int_equal(parsed.err, 0);
	assert_ptr_equal(parsed.of, &token);
	assert_int_equal(parsed.kind, COMM_PARSE_SYMBOLS);
	assert_int_equal(parsed.owner, st.st_uid);
	assert_int_equal(parsed.size_bytes, st.st_size);
	assert_int_equal(comm_elfsym_load(parsed.saved, &there), 0);
	assert_int_equal(comm_elfsym_create(fd, -1, &here), 0);
	assert_int_equal(comm_elfsym_functions(here), comm_elfsym_functions(there));
	assert_int_equal(comm_elfsym_variables(here), comm_elfsym_variables(there));
	comm_elfsym_destroy(here);
	comm_elfsym_destroy(there);
	if (id.has_lines) {
		r.kind = COMM_PARSE_LINES;
		parsed = read_now(&r);
		assert_int_equal(parsed.err, 0);
		assert_int_equal(comm_dwline_load(parsed.saved, &dw_there), 0);
		assert_int_equal(comm_dwline_build(fd, 10000, &dw_here), 0);
		assert_int_equal(comm_dwline_lines(dw_here), comm_dwline_lines(dw_there));
		assert_int_equal(comm_dwline_inlines(dw_here), comm_dwline_inlines(dw_there));
		comm_dwline_destroy(dw_here);
		comm_dwline_destroy(dw_there);
	}
	assert_true(comm_parser_children_ns(parser, COMM_PARSE_SYMBOLS) > 0);
	assert_int_equal(comm_parser_children_ns(parser, COMM_PARSE_PERF_MAP), 0);
	assert_false(comm_parser_busy(parser));
	/* Nobody is waited for. */
	assert_false(comm_parser_wait(parser, 1000000000));
	assert_int_equal(comm_parser_lost(parser), 0);
	close(fd);
}

static void what_is_no_elf_file(void **state)
{
	char name[] = "/tmp/test_parser.XXXXXX";
	int fd = mkstemp(name);
	struct comm_parse_request r;
	void *at;

	(void)state;
	assert_int_equal(ftruncate(fd, 4096), 0);
	at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	for (int kind = 0; kind < COMM_PARSE_KINDS; kind++) {
		if (kind == COMM_PARSE_PERF_MAP) /* it has no mapping */
			continue;
		r = request_of((enum comm_parse_kind)kind, at);
		assert_int_equal(read_now(&r).err, -ENODATA);
	}
	munmap(at, 4096);
	/* The mapping is gone, and so is the file. */
	unlink(name);
	assert_int_equal(read_now(&r).err, -ENOENT);
	r.tgid = 1 << 30;
	assert_true(read_now(&r).err < 0);
	assert_int_equal(comm_parser_lost(parser), 0);
	close(fd);
}

static bool is_of_child(pid_t pid, const char *name, const char *line_start, const char *holds)
{
	char path[64], line[256];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, line_start, strlen(line_start)))
			found = strstr(line, holds);
	if (file)
		fclose(file);
	return found;
}

/* Stops a child of the host that reads lines, once it is confined; 0: it was faster. */
static pid_t stop_at_work(pid_t host)
{
	pid_t pid = 0;

	for (int i = 0; i < 100000 && !pid; i++)
		pid = first_child_of(host);
	while (pid && kill(pid, SIGSTOP) == 0) {
		while (kill(pid, 0) == 0 && !is_of_child(pid, "status", "State:", "T") &&
		       !is_of_child(pid, "status", "State:", "Z"))
			;
		if (is_of_child(pid, "status", "State:", "T") &&
		    is_of_child(pid, "limits", "Max open files", " 0 "))
			return pid;
		if (!is_of_child(pid, "status", "State:", "T"))
			break;
		kill(pid, SIGCONT);
	}
	return 0;
}

static pid_t ask_and_stop(const struct comm_parse_request *r)
{
	struct comm_parsed parsed;
	pid_t pid = 0;

	for (int i = 0; i < TRIES && !pid; i++) {
		assert_int_equal(comm_parser_ask(parser, r, &token), 0);
		comm_parser_next(parser, &parsed);
		pid = stop_at_work(first_child_of(getpid()));
		if (!pid)
			wait_for_any();
	}
	if (!pid)
		fail_msg("no child was seen at work");
	return pid;
}

static void confined(void **state)
{
	struct comm_parse_request r = self_with_identity(COMM_PARSE_LINES);
	int canary = open("/dev/null", O_WRONLY), n_files = 0;
	pid_t host = first_child_of(getpid()), pid;
	struct comm_parsed parsed;
	char path[64], to[256];

	(void)state;
	assert_int_equal(dup2(canary, 77), 77);
	/* Another host, which could have that file. */
	kill(host, SIGKILL);
	while (comm_parser_next(parser, &parsed) || first_child_of(getpid()) == host ||
	       !first_child_of(getpid()))
		usleep(1000);
	host = first_child_of(getpid());
	pid = ask_and_stop(&r);
	assert_int_equal(getpriority(PRIO_PROCESS, (id_t)pid) % 19, 0);
	assert_true(is_of_child(pid, "status", "CapEff:", "\t0000000000000000"));
	assert_true(is_of_child(pid, "status", "CapPrm:", "\t0000000000000000"));
	assert_true(is_of_child(pid, "status", "NoNewPrivs:", "1"));
	if (geteuid() == 0)
		assert_true(is_of_child(pid, "status", "Uid:", "\t65534\t65534\t65534"));
	assert_true(is_of_child(pid, "limits", "Max processes", " 0 "));
	assert_true(is_of_child(pid, "limits", "Max open files", " 0 "));
	assert_false(is_of_child(pid, "limits", "Max cpu time", "unlimited"));
	assert_false(is_of_child(pid, "limits", "Max file size", "unlimited"));
	assert_false(is_of_child(pid, "limits", "Max address space", "unlimited"));
	assert_true(is_of_child(pid, "oom_score_adj", "", "1000"));
	for (int i = 0; i < 100; i++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, i);
		n_files += readlink(path, to, sizeof(to)) > 0;
	}
	assert_int_equal(n_files, 2);
	for (int i = n_files = 0; i < 100; i++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", host, i);
		if (readlink(path, to, sizeof(to)) > 0)
			assert_null(strstr(to, "/dev/null"));
	}
	assert_true(is_of_child(host, "status", "NoNewPrivs:", "1"));
#ifndef __SANITIZE_ADDRESS__
	/* The child is behind the list of its host and its own (child_calls.h). */
	assert_true(is_of_child(host, "status", "Seccomp_filters:", "\t1\n"));
	assert_true(is_of_child(pid, "status", "Seccomp_filters:", "\t2\n"));
#endif
	/* DAC_READ_SEARCH, KILL, SETGID, SETUID, SYS_PTRACE, CHECKPOINT_RESTORE at most. */
	if (geteuid() == 0) {
		assert_true(is_of_child(host, "status", "CapPrm:", "\t00000100000800e4"));
		assert_true(is_of_child(host, "status", "CapBnd:", "\t0000000000000000"));
		assert_true(is_of_child(pid, "status", "CapBnd:", "\t0000000000000000"));
	}
	/* Nothing waits for the stopped child, or the alarm ends this test. */
	alarm(120);
	assert_false(comm_parser_next(parser, &parsed));
	alarm(0);
	close(77);
	close(canary);
}

static void a_child_that_dies(void **state)
{
	struct comm_parse_request r = self_with_identity(COMM_PARSE_LINES);
	uint64_t lost;
	pid_t pid;

	(void)state;
	pid = ask_and_stop(&r);
	/* One that was stopped and went on before may have taken that for an error. */
	lost = comm_parser_lost(parser);
	kill(pid, SIGKILL);
	assert_int_equal(wait_for_any().err, -ECHILD);
	assert_int_equal(comm_parser_lost(parser), lost + 1);
	r.kind = COMM_PARSE_SYMBOLS;
	assert_int_equal(read_now(&r).err, 0);
}

/*
 * A damaged line table on which libdw 0.188 reads past the end of its memory: the sanitizer's
 * build ends the child there, others may or may not.  Nobody else is hurt.
 */
static void libdw_reads_too_far(void **state)
{
	int fd = open("tests/fuzz/corpus/dwline/unterminated", O_RDONLY | O_CLOEXEC);
	struct comm_parse_request r;
	struct comm_parsed parsed;
	void *at;

	(void)state;
	if (fd < 0) {
		print_message("not run in the tree's top folder\n");
		skip();
	}
	at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	r = request_of(COMM_PARSE_LINES, at);
	r.id.has_lines = true;
	for (int i = 0; i < 20; i++) {
		parsed = read_now(&r);
		assert_true(!parsed.err || parsed.err == -ENODATA || parsed.err == -ECHILD);
	}
	r = self_with_identity(COMM_PARSE_SYMBOLS);
	assert_int_equal(read_now(&r).err, 0);
	munmap(at, 4096);
	close(fd);
}

/* A host that dies is replaced, but not for ever. */
static void a_host_that_dies(void **state)
{
	struct comm_parse_request r = request_of(COMM_PARSE_IDENTITY, (void *)setup);
	struct comm_parsed parsed;

	(void)state;
	for (int i = 0; i < 3; i++) {
		kill(first_child_of(getpid()), SIGKILL);
		assert_int_equal(comm_parser_ask(parser, &r, &token), 0);
		parsed = wait_for_any();
		if (parsed.err) /* it had been sent to the host that died */
			assert_int_equal(parsed.err, -ECHILD);
		assert_int_equal(read_now(&r).err, 0);
	}
	kill(first_child_of(getpid()), SIGKILL);
	assert_int_equal(read_now(&r).err, -ECHILD);
	assert_int_equal(read_now(&r).err, -ECHILD);
	assert_true(comm_parser_lost(parser) >= 2);
	assert_false(comm_parser_busy(parser));
}

static void all_end_with_the_daemon(void **state)
{
	struct comm_parse_request r = self_with_identity(COMM_PARSE_LINES);
	pid_t pid[2] = {0};
	int ends[2];
	char path[64];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	if (!fork()) {
		struct comm_parsed parsed;

		if (comm_parser_create(&parser) < 0)
			_exit(1);
		r.tgid = (uint32_t)getpid();
		pid[0] = first_child_of(getpid());
		for (int i = 0; i < TRIES && !pid[1]; i++) {
			comm_parser_ask(parser, &r, &token);
			comm_parser_next(parser, &parsed);
			pid[1] = stop_at_work(pid[0]);
			if (!pid[1])
				wait_for_any();
		}
		_exit(write(ends[1], pid, sizeof(pid)) != sizeof(pid));
	}
	assert_int_equal(read(ends[0], pid, sizeof(pid)), sizeof(pid));
	wait(NULL);
	close(ends[0]);
	close(ends[1]);
	assert_true(pid[0] > 0 && pid[1] > 0);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/proc/%d/exe", pid[i]);
		for (int k = 0; k < 5000 && readlink(path, (char[8]){0}, 8) > 0; k++)
			usleep(1000);
		/* A child that was only stopped would still exist. */
		if (readlink(path, (char[8]){0}, 8) > 0) {
			kill(pid[i], SIGKILL);
			fail();
		}
	}
}

/* The name of a debug file may lead to a fifo or a device: it is looked at, not opened. */
static void a_debug_link_to_a_fifo(void **state)
{
	char dir[] = "/tmp/test_parser.XXXXXX", name[64], link[64], event[4096];
	struct comm_parse_request r = self_with_identity(COMM_PARSE_SYMBOLS);
	int notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	(void)state;
	if (geteuid() != 0) {
		print_message("to open what is mapped, whatever its path, needs root\n");
		skip();
	}
	assert_non_null(mkdtemp(dir));
	snprintf(name, sizeof(name), "%s/fifo", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	assert_int_equal(mkfifo(name, 0666), 0);
	assert_int_equal(symlink(name, link), 0);
	assert_true(inotify_add_watch(notify, name, IN_OPEN) >= 0);
	snprintf(r.path, sizeof(r.path), "%s/program", dir);
	r.id.has_symtab = false;
	strcpy(r.id.debuglink, "link");
	assert_int_equal(read_now(&r).err, 0);
	assert_int_equal(read(notify, event, sizeof(event)), -1);
	assert_int_equal(errno, EAGAIN);
	unlink(name);
	unlink(link);
	rmdir(dir);
	close(notify);
}

/* Whoever names a file, or links to one, has no file of the kernel's own read with our rights. */
static void a_file_of_the_kernel(void **state)
{
	static const char *const paths[] = {"/proc/version", "/sys/devices/system/cpu/online"};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct comm_parse_request r = {.kind = COMM_PARSE_IDENTITY,
					       .tgid = (uint32_t)getpid()};

		snprintf(r.path, sizeof(r.path), "%s", paths[i]);
		/* Not -ENODATA: it was not opened. */
		assert_int_equal(read_now(&r).err, -EINVAL);
	}
}

/* A map that changes all the time is read as often as the allowance lets, and no more. */
static void a_perf_map_is_read_within_its_allowance(void **state)
{
	struct comm_parse_request r = {.kind = COMM_PARSE_PERF_MAP, .tgid = (uint32_t)getpid()};
	uint64_t stop_ns = comm_clock_now_ns() + 100ull * 1000000000;
	char path[64];
	struct comm_parsed parsed;
	int pieces = 0;
	FILE *map;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	assert_non_null(map);
	for (int i = 0; i < 120000; i++)
		fprintf(map, "%x 10 Lorg/example/Class%d;::method\n", 0x10000000 + i * 16, i);
	fclose(map);
	/* As much as is allowed at once. */
	while (comm_parser_children_ns(parser, COMM_PARSE_PERF_MAP) < 600000000 &&
	       comm_clock_now_ns() < stop_ns)
		assert_int_equal(read_now(&r).err, 0);
	assert_true(comm_parser_children_ns(parser, COMM_PARSE_PERF_MAP) >= 600000000);
	for (int i = 0; i < 100; i++)
		assert_int_equal(comm_parser_ask(parser, &r, &token), 0);
	stop_ns = comm_clock_now_ns() + 3ull * 1000000000;
	while (comm_clock_now_ns() < stop_ns) {
		if (comm_parser_next(parser, &parsed))
			pieces++;
		else
			usleep(1000);
	}
	print_message("%d pieces in 3 s\n", pieces);
	assert_true(pieces <= 4);
	/* Another kind has an allowance of its own. */
	self_with_identity(COMM_PARSE_SYMBOLS);
	unlink(path);
}

/* An ELF file of so many functions that reading them takes some 100 ms. */
static int make_large_file(char *name)
{
	enum { CODE = 1, STRINGS, SYMBOLS, SECTIONS, FUNCTIONS = 600000, AT = 4096 };
	const Elf64_Ehdr head = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_shoff = sizeof(head),
		.e_ehsize = sizeof(head),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTIONS,
	};
	const Elf64_Shdr shdr[SECTIONS] = {
		[CODE] = {.sh_type = SHT_NOBITS,
			  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			  .sh_addr = 1 << 20,
			  .sh_size = 16 * FUNCTIONS},
		[STRINGS] = {.sh_type = SHT_STRTAB, .sh_offset = AT - 16, .sh_size = 16},
		[SYMBOLS] = {.sh_type = SHT_SYMTAB,
			     .sh_offset = AT,
			     .sh_size = FUNCTIONS * sizeof(Elf64_Sym),
			     .sh_link = STRINGS,
			     .sh_entsize = sizeof(Elf64_Sym)},
	};
	Elf64_Sym *sym = calloc(FUNCTIONS, sizeof(*sym));
	int fd = mkstemp(name);

	assert_true(fd >= 0 && sym);
	for (unsigned int i = 1; i < FUNCTIONS; i++)
		sym[i] = (Elf64_Sym){.st_name = 1,
				     .st_info = STT_FUNC,
				     .st_shndx = CODE,
				     .st_value = (1 << 20) + 16 * (i * 7919ull % FUNCTIONS),
				     .st_size = 16};
	assert_int_equal(pwrite(fd, &head, sizeof(head), 0), sizeof(head));
	assert_int_equal(pwrite(fd, shdr, sizeof(shdr), sizeof(head)), sizeof(shdr));
	assert_int_equal(pwrite(fd, "\0function", 10, AT - 16), 10);
	assert_int_equal(pwrite(fd, sym, FUNCTIONS * sizeof(*sym), AT), FUNCTIONS * sizeof(*sym));
	free(sym);
	return fd;
}

/* Waits until the children's cost for symbols is so much, or until a file is done with. */
static uint64_t wait_for_cost(uint64_t cost_ns, uint64_t most_ns, struct comm_parsed *ret,
			      bool *done)
{
	uint64_t stop_ns = comm_clock_now_ns() + most_ns, ns = 0;

	while (!*done && ns < cost_ns && comm_clock_now_ns() < stop_ns) {
		*done = comm_parser_next(parser, ret);
		ns = comm_parser_children_ns(parser, COMM_PARSE_SYMBOLS);
		usleep(1000);
	}
	return ns;
}

/*
 * What a child costs is told while it runs, and it is stopped when that is more than is
 * granted.
 */
static void a_child_works_within_its_grants(void **state)
{
	const uint64_t s = 1000000000, grant_ns = s / 200;
	char name[] = "/tmp/test_parser.XXXXXX";
	struct comm_parsed parsed = {.err = -EAGAIN};
	struct comm_parse_request r;
	uint64_t whole_ns, granted_ns = 0, ns;
	int fd = make_large_file(name);
	bool done = false;
	pid_t pid = 0;
	void *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

	(void)state;
	r = request_of(COMM_PARSE_SYMBOLS, at);
	r.id.has_symtab = r.id.has_lines = true; /* so that no debug file is looked for */
	assert_int_equal(read_now(&r).err, 0);
	whole_ns = comm_parser_children_ns(parser, COMM_PARSE_SYMBOLS);
	print_message("unlimited: %.1f ms\n", (double)whole_ns / 1e6);
	assert_true(whole_ns > 10 * grant_ns);
	/* Nothing is granted: it is stopped at once. */
	comm_parser_allow(parser, 0);
	assert_int_equal(comm_parser_ask(parser, &r, &token), 0);
	while (!done && !(pid && is_of_child(pid, "status", "State:", "T"))) {
		wait_for_cost(UINT64_MAX, s / 1000, &parsed, &done);
		pid = first_child_of(first_child_of(getpid()));
	}
	ns = wait_for_cost(UINT64_MAX, s / 5, &parsed, &done) - whole_ns;
	assert_false(done);
	assert_true(ns < whole_ns / 2);
	while (!done && granted_ns < 10 * whole_ns) {
		comm_parser_allow(parser, grant_ns);
		granted_ns += grant_ns;
		ns = wait_for_cost(whole_ns + granted_ns, 30 * s, &parsed, &done) - whole_ns;
	}
	print_message("limited: %.1f ms, %.1f ms granted\n", (double)ns / 1e6,
		      (double)granted_ns / 1e6);
	assert_true(done);
	assert_int_equal(parsed.err, 0);
	/* It was stopped now and then, and what it took too much of was owed. */
	assert_true(granted_ns >= 4 * grant_ns && granted_ns > ns / 2);
	munmap(at, 4096);
	unlink(name);
	close(fd);
}

/* Sends one request with n descriptors to a host of its own; whether that goes on. */
static bool host_takes(const struct comm_parse_request *r, int n)
{
	struct iovec iov = {(void *)(uintptr_t)r, sizeof(*r)};
	struct comm_parse_answer answer;
	union {
		char capacity[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = CMSG_LEN(n * sizeof(int))};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int ends[2], saved[2] = {memfd_create("a", 0), memfd_create("b", 0)};
	pid_t pid;
	ssize_t got;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	pid = fork();
	if (!pid)
		comm_parse_host(ends[1], getppid());
	close(ends[1]);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(c), saved, n * sizeof(int));
	assert_int_equal(sendmsg(ends[0], &msg, MSG_NOSIGNAL), sizeof(*r));
	got = recv(ends[0], &answer, sizeof(answer), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ends[0]);
	close(saved[0]);
	close(saved[1]);
	return got == sizeof(answer);
}

/* Of a daemon that was taken over the host takes nothing that it would not have sent. */
static void a_daemon_that_means_harm(void **state)
{
	struct comm_parse_request r;

	(void)state;
	alarm(120);
	r = self_with_identity(COMM_PARSE_SYMBOLS);
	assert_true(host_takes(&r, 1));
	assert_false(host_takes(&r, 2));
	memset(r.path, '/', sizeof(r.path));
	assert_false(host_takes(&r, 1));
	r = self_with_identity(COMM_PARSE_SYMBOLS);
	memset(r.id.debuglink, 'a', sizeof(r.id.debuglink));
	assert_false(host_takes(&r, 1));
	r = self_with_identity(COMM_PARSE_SYMBOLS);
	strcpy(r.id.build_id, "ab/../../../../../etc/x");
	assert_false(host_takes(&r, 1));
	r = self_with_identity(COMM_PARSE_SYMBOLS);
	memset(&r.id.has_lines, 2, 1);
	assert_false(host_takes(&r, 1));
	alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_same_tables, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_elf_file, setup, teardown),
		cmocka_unit_test_setup_teardown(confined, setup, teardown),
		cmocka_unit_test_setup_teardown(a_child_that_dies, setup, teardown),
		cmocka_unit_test_setup_teardown(libdw_reads_too_far, setup, teardown),
		cmocka_unit_test_setup_teardown(a_host_that_dies, setup, teardown),
		cmocka_unit_test_setup_teardown(all_end_with_the_daemon, setup, teardown),
		cmocka_unit_test_setup_teardown(a_debug_link_to_a_fifo, setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_of_the_kernel, setup, teardown),
		cmocka_unit_test_setup_teardown(a_perf_map_is_read_within_its_allowance, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_child_works_within_its_grants, setup, teardown),
		cmocka_unit_test_setup_teardown(a_daemon_that_means_harm, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
