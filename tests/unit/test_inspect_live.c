// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The live inspect, looking at this very process and at children of it. How files of targets come is
 * test_target_files.c's.
 */
#include "own_view.h"

#include <link.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char *arguments; /* of this process, */
static size_t arguments_bytes;
static int test_live_zeros[1000] __attribute__((used));
static int test_live_bss[100000] __attribute__((used)); /* reaches beyond the file's mapping */
static void own_mappings(void **state)
{
	struct comm_mapping m = mapping_of(self, (void *)test_live_function);
	int on_stack = 1;
	void *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	void *generated =
		mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_int_equal(m.kind, COMM_MAP_FILE);
	assert_true(m.executable && !m.writable && m.file && m.ino);
	assert_non_null(strstr(m.path, "test_inspect_live"));
	assert_int_equal(mapping_of(self, test_live_data).file, m.file);
	assert_int_equal(mapping_of(self, &on_stack).kind, COMM_MAP_STACK);
	assert_int_equal(mapping_of(self, shared).kind, COMM_MAP_SHARED);
	assert_int_equal(mapping_of(self, generated).kind, COMM_MAP_JIT);
	munmap(shared, 4096);
	munmap(generated, 4096);
}

/* In an IPC namespace of its own: attaches the first segment, of id 0, says so, and waits. */
static pid_t start_with_segment(int said)
{
	pid_t pid = fork();
	void *segment;
	int id;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	id = unshare(CLONE_NEWIPC) ? -1 : shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
	segment = id < 0 ? NULL : shmat(id, NULL, 0);
	if (write(said, &segment, sizeof(segment)) == sizeof(segment) && !fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		id = getpid();
		if (write(said, &id, sizeof(id)) == sizeof(id))
			pause();
	}
	pause();
	_exit(0);
}

static void segments_of_namespaces(void **state)
{
	struct comm_mapping m[2], shared;
	int said[2], child;
	void *segment;
	pid_t pid[2];

	(void)state;
	assert_int_equal(pipe(said), 0);
	for (int i = 0; i < 2; i++) {
		pid[i] = start_with_segment(said[1]);
		assert_int_equal(read(said[0], &segment, sizeof(segment)), sizeof(segment));
		assert_int_equal(read(said[0], &child, sizeof(child)), sizeof(child));
		if (segment) {
			m[i] = mapping_of((uint32_t)pid[i], segment);
			shared = mapping_of((uint32_t)child, segment);
		}
		kill(child, SIGKILL);
		if (segment)
			assert_true(m[i].dev == shared.dev && m[i].ino == shared.ino);
	}
	for (int i = 0; i < 2; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	close(said[0]);
	close(said[1]);
	if (!segment) {
		print_message("no IPC namespace can be made here\n");
		skip();
	}
	assert_int_equal(m[0].ino, 0);
	assert_true(m[0].ino == m[1].ino && m[0].dev != m[1].dev);
	assert_int_equal(m[0].kind, COMM_MAP_SHARED);
}

static void own_code(void **state)
{
	struct comm_mapping m = mapping_of(self, (void *)test_live_function);
	uint64_t ip = (uint64_t)(uintptr_t)test_live_function;
	struct comm_code code;
	uint8_t text[16];

	(void)state;
	assert_int_equal(code_of(self, &m, ip, &code), 0);
	assert_string_equal(code.function, "test_live_function");
	assert_non_null(strstr(code.module, "test_inspect_live"));
	assert_int_equal(strlen(code.build_id), 40);
	assert_true(code.end > code.start);
	assert_int_equal(inspect.ops->text(inspect.ctx, self, &m, ip, text, sizeof(text)),
			 sizeof(text));
	assert_memory_equal(text, (void *)test_live_function, sizeof(text));
	/* Text is not read past the end of the mapping. */
	assert_int_equal(inspect.ops->text(inspect.ctx, self, &m, m.end - 4, text, sizeof(text)),
			 4);
	assert_true(inspect.ops->text(inspect.ctx, self, &m, m.end, text, sizeof(text)) < 0);
}

/*
 * The process that reads memory has the rights to, and who is of its user may kill it: another
 * one takes its place.  Before the start this one could read as well, but it would wait for a page
 * that is never served; and after it no more.
 */
static void memory_that_nobody_reads(void **state)
{
	struct comm_mapping m = mapping_of(self, (void *)test_live_function);
	uint64_t stop_ns = comm_clock_now_ns() + 60ull * 1000000000;
	uint64_t ip = (uint64_t)(uintptr_t)test_live_function;
	pid_t host = first_child_of(getpid()), reader = first_child_of(host);
	uint8_t text[16];

	(void)state;
	assert_true(host && reader);
	kill(reader, SIGKILL);
	while (first_child_of(host) == reader && comm_clock_now_ns() < stop_ns)
		usleep(1000);
	while (inspect.ops->text(inspect.ctx, self, &m, ip, text, sizeof(text)) < 0 &&
	       comm_clock_now_ns() < stop_ns)
		usleep(100000);
	assert_memory_equal(text, (void *)test_live_function, sizeof(text));
	assert_true(first_child_of(host) > 0 && first_child_of(host) != reader);
}

static void own_variables(void **state)
{
	struct comm_mapping m = mapping_of(self, test_live_data);
	struct comm_static s;

	(void)state;
	assert_int_equal(data_of(&m, (uint64_t)(uintptr_t)&test_live_data[500], &s), 0);
	assert_string_equal(s.name, "test_live_data");
	assert_ptr_equal((void *)(uintptr_t)s.start, test_live_data);
	assert_int_equal(s.end - s.start, sizeof(test_live_data));
	/* Its end is in anonymous memory behind the file. */
	m = mapping_of(self, &test_live_zeros[999]);
	assert_int_equal(data_of(&m, (uint64_t)(uintptr_t)&test_live_zeros[999], &s), 0);
	assert_string_equal(s.name, "test_live_zeros");
	assert_ptr_equal((void *)(uintptr_t)s.start, test_live_zeros);
}

static char *volatile test_live_ring __attribute__((used));
static char *volatile test_live_slots __attribute__((used));

/* What static variables lead to in shared memory has their names, after a second reading. */
static void parts_of_shared_memory(void **state)
{
	enum { BYTES = 1 << 20, SLOTS = 0x20000 };
	uint64_t stop_ns = comm_clock_now_ns() + 60ull * 1000000000, at;
	struct comm_blocks_found found;

	(void)state;
	test_live_ring =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(test_live_ring, MAP_FAILED);
	test_live_slots = test_live_ring + SLOTS;
	at = (uint64_t)(uintptr_t)test_live_slots;
	assert_int_equal(mapping_of(self, test_live_ring).kind, COMM_MAP_SHARED);
	while (inspect.ops->blocks(inspect.ctx, self, at + BYTES / 2, &found) == -ENOENT &&
	       comm_clock_now_ns() < stop_ns)
		usleep(10000);
	assert_int_equal(found.n, 1);
	assert_string_equal(found.block[0].class, "test_live_slots");
	assert_int_equal(found.block[0].start, at);
	assert_int_equal(found.block[0].size_bytes, BYTES - SLOTS);
	assert_int_equal(inspect.ops->blocks(inspect.ctx, self, at - 1, &found), 0);
	assert_string_equal(found.block[0].class, "test_live_ring");
	munmap(test_live_ring, BYTES);
	test_live_ring = test_live_slots = NULL;
}

static void vdso(void **state)
{
	const char *image = (const char *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	struct comm_mapping m;
	struct comm_code code;
	bool found = false;

	(void)state;
	if (!image) {
		print_message("this kernel gives no vdso\n");
		skip();
	}
	m = mapping_of(self, image);
	assert_int_equal(m.kind, COMM_MAP_VDSO);
	for (uint64_t ip = m.start; ip < m.end; ip += 8)
		if (inspect.ops->code(inspect.ctx, self, &m, ip, &code) == 0)
			found |= strstr(code.function, "clock_gettime") != NULL;
	assert_true(found);
	assert_string_equal(code.module, "[vdso]");
}

static void thread_names(void **state)
{
	char name[16];

	(void)state;
	prctl(PR_SET_NAME, "odd\tname");
	assert_int_equal(inspect.ops->thread_name(inspect.ctx, self, self, name), 0);
	assert_string_equal(name, "odd\tname");
	assert_int_equal(inspect.ops->thread_name(inspect.ctx, self, 1 << 30, name), -ESRCH);
}

/* A command line is no title until its process writes one over it, over its environment, too. */
static void titles(void **state)
{
	static const char over[] = "test: worker process --with=secret";
	char title[COMM_TITLE_BYTES] = "x";
	int ready[2];
	uint32_t child;
	pid_t pid;

	(void)state;
	assert_int_equal(inspect.ops->title(inspect.ctx, self, title), 0);
	assert_string_equal(title, "");
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		memset(arguments, 0, arguments_bytes);
		memcpy(arguments, over, sizeof(over));
		(void)!write(ready[1], "", 1);
		pause();
		_exit(0);
	}
	child = (uint32_t)pid;
	assert_int_equal(read(ready[0], title, 1), 1);
	close(ready[0]);
	close(ready[1]);
	assert_int_equal(inspect.ops->title(inspect.ctx, child, title), 0);
	assert_string_equal(title, "test: worker process");
	/* Within what is allowed, as mappings are. */
	comm_inspect_live_allow(&inspect, 0);
	assert_int_equal(inspect.ops->title(inspect.ctx, child, title), -EAGAIN);
	comm_inspect_live_allow(&inspect, 1000000000);
	assert_int_equal(inspect.ops->title(inspect.ctx, child, title), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(inspect.ops->title(inspect.ctx, child, title), -ESRCH);
}

/* This program's segments; the first of each kind. */
struct image {
	uint64_t base, code, code_end, constants, constants_offset;
};

static int see_image(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
	struct image *image = ctx;

	(void)bytes;
	image->base = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t page = p->p_vaddr & ~(uint64_t)4095;

		if (p->p_type == PT_LOAD && p->p_flags == (PF_R | PF_X) && !image->code) {
			image->code = page;
			image->code_end = (p->p_vaddr + p->p_memsz + 4095) & ~(uint64_t)4095;
		} else if (p->p_type == PT_LOAD && p->p_flags == PF_R && page > image->code &&
			   image->code && !image->constants) {
			image->constants = page;
			image->constants_offset = p->p_offset & ~(uint64_t)4095;
		}
	}
	return 1;
}

static char *map_fixed(char *at, uint64_t bytes, int fd, uint64_t offset)
{
	return mmap(at, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, (off_t)offset);
}

/* Text in anonymous memory where the file's text would be, as programs do that want it in large pages. */
static void copied_text_is_the_files(void **state)
{
	uint64_t ip = (uint64_t)(uintptr_t)test_live_function;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct comm_mapping own = mapping_of(self, (void *)test_live_function), m;
	struct comm_code code, copied;
	struct image image = {0};
	char *at, *text;

	(void)state;
	dl_iterate_phdr(see_image, &image);
	if (!image.code || image.constants != image.code_end) {
		close(fd);
		print_message("this linker does not put constants behind the code\n");
		skip();
	}
	assert_int_equal(code_of(self, &own, ip, &code), 0);
	at = mmap(NULL, image.constants + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	at += 4096;
	text = mmap(at + image.code, image.code_end - image.code, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	memcpy(text, (void *)(uintptr_t)(image.base + image.code), image.code_end - image.code);
	mprotect(text, image.code_end - image.code, PROT_READ | PROT_EXEC);
	ip = (uint64_t)(uintptr_t)at + (ip - image.base);
	/* Nothing is around it: it may be any code. */
	m = mapping_of(self, text);
	assert_int_equal(m.kind, COMM_MAP_JIT);
	assert_true(whole_code_of(&m, ip, &copied) < 0);
	assert_string_equal(copied.function, "[jit]");
	for (int above = 0; above < 2; above++) {
		if (above) {
			map_fixed(at + image.constants, 4096, fd, image.constants_offset);
			mmap(at, image.code, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			     0);
		} else {
			map_fixed(at, image.code, fd, 0);
		}
		m = mapping_of(self, text);
		assert_int_equal(code_of(self, &m, ip, &copied), 0);
		assert_string_equal(copied.function, "test_live_function");
		assert_string_equal(copied.build_id, code.build_id);
		assert_true(copied.start == code.start);
	}
	/* Right below a file, but where that has no code. */
	mmap(at + image.constants, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	map_fixed(at + image.code - 4096, 4096, fd, image.constants_offset);
	m = mapping_of(self, text);
	assert_true(whole_code_of(&m, ip, &copied) < 0);
	assert_string_equal(copied.function, "[jit]");
	munmap(at - 4096, image.constants + 8192);
	close(fd);
}

/* A program that is run from memory is mapped as any other. */
static void a_memfd_is_a_program(void **state)
{
	struct comm_mapping own = mapping_of(self, (void *)test_live_function), m;
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd = memfd_create("program", 0);
	uint64_t in = (uint64_t)(uintptr_t)test_live_function - own.start;
	struct comm_code code;
	struct stat st;
	char *at, *shared;

	(void)state;
	assert_int_equal(fstat(from, &st), 0);
	for (off_t done = 0; done < st.st_size;)
		assert_true(sendfile(fd, from, &done, (size_t)(st.st_size - done)) > 0);
	at = mmap(NULL, own.end - own.start, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
		  (off_t)own.offset);
	shared = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	assert_true(at != MAP_FAILED && shared != MAP_FAILED);
	close(fd);
	close(from);
	m = mapping_of(self, at);
	assert_int_equal(m.kind, COMM_MAP_FILE);
	assert_int_equal(code_of(self, &m, m.start + in, &code), 0);
	/* Without the right to open it by its mapping nobody can. */
	if (strcmp(code.function, "test_live_function") != 0 && geteuid())
		print_message("the memfd cannot be opened\n");
	else
		assert_string_equal(code.function, "test_live_function");
	assert_int_equal(mapping_of(self, shared).kind, COMM_MAP_JIT);
	munmap(at, own.end - own.start);
	munmap(shared, 4096);
}

static void a_process_that_ends(void **state)
{
	struct comm_mapping m = mapping_of(self, (void *)test_live_function);
	uint64_t ip = (uint64_t)(uintptr_t)test_live_function;
	const struct comm_mapping *all;
	struct comm_code code;
	uint8_t text[16];
	pid_t pid = fork();
	uint32_t child;
	char name[16];
	size_t n;

	(void)state;
	if (!pid) {
		pause();
		_exit(0);
	}
	child = (uint32_t)pid;
	assert_int_equal(inspect.ops->text(inspect.ctx, child, &m, ip, text, 16), 16);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(inspect.ops->maps(inspect.ctx, child, &all, &n), -ESRCH);
	/* What was read of the file's code holds for the next process; nothing is read of one that is gone. */
	assert_int_equal(inspect.ops->text(inspect.ctx, child, &m, ip, text, 16), 16);
	m.writable = true;
	assert_true(inspect.ops->text(inspect.ctx, child, &m, ip, text, 16) < 0);
	assert_int_equal(inspect.ops->thread_name(inspect.ctx, child, child, name), -ESRCH);
	/* No other known process maps the child's file, and its code is named all the same. */
	assert_true(code_of(child, &m, ip, &code) < 0);
	assert_non_null(strstr(code.function, "test_inspect_live"));
	assert_non_null(strstr(code.function, "+0x"));
}

/* Mappings are read on credit, once; then what that took is owed, and each refusal is counted. */
static void mappings_are_read_within_what_is_allowed(void **state)
{
	const struct comm_mapping *map;
	uint64_t unread;
	size_t n;

	(void)state;
	comm_inspect_live_allow(&inspect, UINT64_MAX);
	for (int i = 0; i < 10; i++)
		assert_int_equal(inspect.ops->maps(inspect.ctx, self, &map, &n), 0);
	unread = comm_inspect_live_unread(&inspect);
	comm_inspect_live_allow(&inspect, 100);
	assert_int_equal(inspect.ops->maps(inspect.ctx, self, &map, &n), 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(inspect.ops->maps(inspect.ctx, self, &map, &n), -EAGAIN);
	assert_int_equal(comm_inspect_live_unread(&inspect), unread + 10);
	comm_inspect_live_allow(&inspect, 100);
	assert_int_equal(inspect.ops->maps(inspect.ctx, self, &map, &n), -EAGAIN);
	comm_inspect_live_allow(&inspect, 1000000000);
	assert_int_equal(inspect.ops->maps(inspect.ctx, self, &map, &n), 0);
	assert_true(n > 3);
}

/* Each child of a large program has all of its mappings. */
static void mappings_of_many_children_are_not_all_kept(void **state)
{
	enum { PIECES = 20000, CHILDREN = 16, PAGE_BYTES = 4096, KEPT_MIB = 14 };
	size_t bytes = (size_t)PIECES * PAGE_BYTES, before, n = 0;
	const struct comm_mapping *map;
	struct comm_mapping m;
	struct comm_static var;
	pid_t pid[CHILDREN];
	uint8_t *at;

	(void)state;
	at = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	for (size_t i = 0; i < PIECES; i += 2)
		assert_int_equal(mprotect(at + i * PAGE_BYTES, PAGE_BYTES, PROT_NONE), 0);
	for (int i = 0; i < CHILDREN; i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (!pid[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
	}
	m = mapping_of((uint32_t)pid[0], &test_live_bss[50000]);
	assert_int_equal(m.kind, COMM_MAP_ANON);
	before = mallinfo2().uordblks + mallinfo2().hblkhd;
	for (int i = 0; i < CHILDREN; i++) {
		assert_int_equal(inspect.ops->maps(inspect.ctx, (uint32_t)pid[i], &map, &n), 0);
		assert_true(n > PIECES);
	}
	assert_true(mallinfo2().uordblks + mallinfo2().hblkhd < before + ((size_t)KEPT_MIB << 20));
	/* The first child's are read again when they are needed. */
	while (inspect.ops->data(inspect.ctx, (uint32_t)pid[0], &m,
				 (uint64_t)(uintptr_t)&test_live_bss[50000], &var) == -EAGAIN)
		usleep(1000);
	assert_string_equal(var.name, "test_live_bss");
	for (int i = 0; i < CHILDREN; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	munmap(at, bytes);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(own_mappings, setup, teardown),
		cmocka_unit_test_setup_teardown(segments_of_namespaces, setup, teardown),
		cmocka_unit_test_setup_teardown(own_code, setup, teardown),
		cmocka_unit_test_setup_teardown(memory_that_nobody_reads, setup, teardown),
		cmocka_unit_test_setup_teardown(own_variables, setup, teardown),
		cmocka_unit_test_setup_teardown(parts_of_shared_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(vdso, setup, teardown),
		cmocka_unit_test_setup_teardown(thread_names, setup, teardown),
		cmocka_unit_test_setup_teardown(titles, setup, teardown),
		cmocka_unit_test_setup_teardown(copied_text_is_the_files, setup, teardown),
		cmocka_unit_test_setup_teardown(a_memfd_is_a_program, setup, teardown),
		cmocka_unit_test_setup_teardown(a_process_that_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(mappings_of_many_children_are_not_all_kept, setup,
						teardown),
		cmocka_unit_test_setup_teardown(mappings_are_read_within_what_is_allowed, setup,
						teardown),
	};

	arguments = argv[0];
	arguments_bytes = (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) - argv[0]) + 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
