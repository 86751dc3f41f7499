// SPDX-License-Identifier: GPL-2.0-or-later
#include "parse_child.h"

#include "child_calls.h"
#include "dwline.h"
#include "foreign.h"
#include "rights.h"
#include "saved.h"
#include "type_build.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <zlib.h>

enum {
	LINES_CPU_MS = 2000,
	TYPES_CPU_MS = 2000,
	/* The child's only descriptors: the result, the file, and what may be its debug file. */
	CHILD_SAVED = 3,
	CHILD_FILE,
	CHILD_DEBUG,
	FILES_MAX = 2 + COMM_DEBUG_FILES_MAX,
};

static const off_t file_bytes_max = (off_t)2 << 30;

/*
 * Limits of a child by what it reads.  At the lowest priority beside busy threads it gets
 * 1.5 % of a CPU or less.  SCHED_IDLE gets a fifth of that: on a busy host, where it matters, there
 * would never be a line.  Symbols do not wait: samples have no names until they are there.
 */
static const struct limit {
	unsigned int cpu_s;
	unsigned long long memory_bytes; /* beyond the host's, which is small */
	unsigned long long saved_bytes;
	int nice; /* 0: as commd's own */
} limits[COMM_PARSE_KINDS] = {
	[COMM_PARSE_IDENTITY] = {1, 256ull << 20, 4096, 0},
	[COMM_PARSE_SYMBOLS] = {4, 512ull << 20, COMM_ELFSYM_SAVED_MAX, 0},
	[COMM_PARSE_PERF_MAP] = {1, 128ull << 20, COMM_JIT_SAVED_MAX, 0},
	[COMM_PARSE_LINES] = {LINES_CPU_MS / 1000 + 2, 3ull << 30, COMM_DWLINE_SAVED_MAX, 19},
	[COMM_PARSE_TYPES] = {TYPES_CPU_MS / 1000 + 2, 3ull << 30, COMM_TYPE_TABLE_SAVED_MAX, 19},
};

/* Leaves file[i] as descriptor CHILD_SAVED + i, and no other: the host's are not for a child. */
static void keep_only(int *file, int n)
{
	for (int i = 0; i < n; i++) {
		file[i] = fcntl(file[i], F_DUPFD, CHILD_SAVED + FILES_MAX);
		if (file[i] < 0)
			_exit(1);
	}
	for (int i = 0; i < n; i++)
		if (dup2(file[i], CHILD_SAVED + i) < 0)
			_exit(1);
	if (syscall(SYS_close_range, 0, CHILD_SAVED - 1, 0) < 0 ||
	    syscall(SYS_close_range, CHILD_SAVED + n, ~0u, 0) < 0)
		_exit(1);
}

static void limit_all(const struct limit *limit)
{
	const struct rlimit none = {0, 0}, cpu = {limit->cpu_s, limit->cpu_s},
			    file = {limit->saved_bytes, limit->saved_bytes};
	unsigned long long pages = 0;
	struct rlimit memory;
	FILE *proc = fopen("/proc/self/statm", "re");
	int fd;

	if (!proc || fscanf(proc, "%llu", &pages) != 1)
		_exit(1);
	fclose(proc);
	memory.rlim_cur = memory.rlim_max =
		pages * (unsigned long long)getpagesize() + limit->memory_bytes;
	/* Memory may be short in a cgroup that the limit knows nothing of. */
	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		(void)!write(fd, "1000", 4);
		close(fd);
	}
	setrlimit(RLIMIT_AS, &memory);
	setrlimit(RLIMIT_CPU, &cpu);
	setrlimit(RLIMIT_CORE, &none);
	setrlimit(RLIMIT_NPROC, &none);
	setrlimit(RLIMIT_FSIZE, &file);
	if (limit->nice)
		setpriority(PRIO_PROCESS, 0, limit->nice);
}

/* Gives up all rights.  No other file can be opened from here on. */
static void confine(const struct limit *limit, pid_t host)
{
	const struct rlimit none = {0, 0};

	limit_all(limit);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (comm_rights_as_nobody(NULL, 0) < 0)
		_exit(1);
	/* Again, as a change of user id clears the death signal; the host may be gone already. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != host)
		_exit(1);
	if (comm_seccomp_install(&comm_child_calls_parser) < 0)
		_exit(1);
	/* Last: test_parser takes it for the sign that all of this is done. */
	if (setrlimit(RLIMIT_NOFILE, &none) < 0)
		_exit(1);
}

/* The file's user; a server of FUSE says whatever user it likes, so its files are of an owner of their own. */
static uint64_t owner_of(int fd, const struct stat *st)
{
	struct statfs fs;

	if (!fstatfs(fd, &fs) && fs.f_type != FUSE_SUPER_MAGIC)
		return st->st_uid;
	return UINT64_C(1) << 63 | (uint64_t)(st->st_dev & 0x7fffffff) << 32 | st->st_uid;
}

/* Opens all that may be needed, with rights and unread; *ret_n 0: the file cannot be opened. */
static struct comm_parse_opened open_all(const struct comm_parse_request *request, int *file,
					 int *ret_n)
{
	int root_fd = comm_foreign_root(request->tgid);
	int fd = request->kind == COMM_PARSE_PERF_MAP
			 ? comm_foreign_perf_map(request->tgid, root_fd)
			 : comm_foreign_mapped(request->tgid, request->start, request->end,
					       request->ino, request->path, root_fd);
	struct comm_parse_opened opened = {.err = fd};
	struct stat st;

	*ret_n = 0;
	if (fd < 0)
		return opened;
	opened.err = fstat(fd, &st) < 0 ? -errno : 0;
	if (!opened.err && st.st_size > file_bytes_max && request->kind != COMM_PARSE_PERF_MAP)
		opened.err = -EFBIG;
	if (opened.err)
		return opened;
	opened.owner = owner_of(fd, &st);
	opened.size_bytes = (uint64_t)st.st_size;
	file[(*ret_n)++] = fd;
	if ((request->kind == COMM_PARSE_SYMBOLS || request->kind == COMM_PARSE_LINES ||
	     request->kind == COMM_PARSE_TYPES) &&
	    !(request->id.has_symtab && request->id.has_lines))
		*ret_n += comm_foreign_debug(&request->id, root_fd, request->path, file + 1);
	return opened;
}

/* The sum that a debug link has of the file it names. */
static uint32_t sum_of(int fd)
{
	static unsigned char piece[1 << 16];
	uLong sum = crc32(0, NULL, 0);
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, piece, sizeof(piece), at)) > 0) {
		sum = crc32(sum, piece, (uInt)n);
		at += n;
	}
	return (uint32_t)sum;
}

/* By the build-id that both have, or, of a file without one, by the sum of its link. */
static bool goes_with(const struct comm_elf_id *id, int fd, const struct comm_elf_id *debug)
{
	return *id->build_id ? !strcmp(debug->build_id, id->build_id)
			     : !*debug->build_id && sum_of(fd) == id->debuglink_crc;
}

/* The debug file that goes with the file, or -1; *ret_id is what it says of itself. */
static int find_debug(const struct comm_parse_request *request, int n, struct comm_elf_id *ret_id)
{
	struct stat st;

	for (int fd = CHILD_DEBUG; fd < CHILD_DEBUG + n; fd++)
		if (fstat(fd, &st) == 0 && st.st_size <= file_bytes_max &&
		    comm_elf_identify(fd, ret_id) == 0 && goes_with(&request->id, fd, ret_id))
			return fd;
	return -1;
}

static int save_identity(void)
{
	struct comm_elf_id id;
	uint64_t at = 0;
	int err = comm_elf_identify(CHILD_FILE, &id);

	if (!err && !comm_saved_put(CHILD_SAVED, &id, sizeof(id), &at))
		err = -EIO;
	return err;
}

static int save_symbols(int debug_fd)
{
	struct comm_elfsym *sym;
	int err = comm_elfsym_create(CHILD_FILE, debug_fd, &sym);

	return err ? err : comm_elfsym_save(sym, CHILD_SAVED);
}

static int save_lines(int fd)
{
	struct comm_dwline *dw;
	int err = comm_dwline_build(fd, LINES_CPU_MS, &dw);

	return err ? err : comm_dwline_save(dw, CHILD_SAVED);
}

/* debug: of the DWARF; code is in the file itself. */
static int save_types(int debug)
{
	struct comm_type_table *table;
	int err = comm_type_build(CHILD_FILE, debug, TYPES_CPU_MS, &table, NULL);

	return err ? err : comm_type_table_save(table, CHILD_SAVED);
}

static int parse(const struct comm_parse_request *request, int n_debug)
{
	struct comm_elf_id debug_id;
	int debug_fd;

	if (request->kind == COMM_PARSE_IDENTITY)
		return save_identity();
	if (request->kind == COMM_PARSE_PERF_MAP)
		return comm_jit_read(CHILD_FILE, &request->place, CHILD_SAVED);
	debug_fd = find_debug(request, n_debug, &debug_id);
	if (request->kind == COMM_PARSE_SYMBOLS)
		return save_symbols(debug_fd);
	if (request->id.has_lines)
		debug_fd = CHILD_FILE;
	if (debug_fd < 0)
		return -ENODATA;
	return request->kind == COMM_PARSE_TYPES ? save_types(debug_fd) : save_lines(debug_fd);
}

_Noreturn void comm_parse_child(const struct comm_parse_request *request, int saved, int tell,
				pid_t host)
{
	int file[FILES_MAX] = {saved}, n;
	struct comm_parse_opened opened;

	/* Once it has told what it opened it may be stopped, and then must not outlive its host. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	opened = open_all(request, file + 1, &n);
	if (write(tell, &opened, sizeof(opened)) != sizeof(opened) || opened.err)
		_exit(1);
	/* Also closes the pipe: what was told cannot be told otherwise. */
	keep_only(file, 1 + n);
	confine(&limits[request->kind], host);
	_exit(parse(request, n - 1) ? 1 : 0);
}
