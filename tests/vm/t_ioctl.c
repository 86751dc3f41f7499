// SPDX-License-Identifier: GPL-2.0-or-later
/* The contract of uapi/commprof.h, error by error. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cptest.h"

void test_abi(void)
{
	struct stat st;
	struct cp_info info;
	int fd = open(CP_DEVICE, O_RDWR), err;

	err = stat(CP_DEVICE, &st);
	check(!err && (st.st_mode & 07777) == 0600, "abi: node mode 0600", "%o", st.st_mode);
	memset(&info, 0xcc, sizeof(info));
	info.size = sizeof(info);
	err = ioctl(fd, CP_IOC_INFO, &info);
	check(!err && info.abi == CP_ABI_VERSION &&
		      info.cpus >= (uint32_t)sysconf(_SC_NPROCESSORS_CONF) &&
		      info.page_bytes == 4096 && info.slots == CP_MAX_SLOTS &&
		      (int)info.soft_pmu_type == pmu_type("commprof"),
	      "abi: info", "abi %u cpus %u pmu %u", info.abi, info.cpus, info.soft_pmu_type);
	close(fd);
}

static int fd;

static int call(unsigned long request, const void *from, size_t bytes)
{
	uint8_t argument[8192];

	memset(argument, 0, sizeof(argument));
	memcpy(argument, from, bytes);
	return ioctl(fd, request, argument) ? errno : 0;
}

#define expect(error, request, ...)                                                 \
	do {                                                                        \
		typeof(__VA_ARGS__) value = __VA_ARGS__;                            \
		int have = call(request, &value, sizeof(value));                    \
                                                                                    \
		bad += have != (error);                                             \
		total++;                                                            \
		if (have != (error))                                                \
			printf("# line %d: %s, not %s\n", __LINE__, strerror(have), \
			       strerror(error));                                    \
	} while (0)

/* As a later version might have it, with a field more. */
#define IOC_RINGS_LONGER _IOC(_IOC_WRITE, CP_IOC_MAGIC, 1, sizeof(struct cp_rings) + 8)

#define RINGS(...)                                           \
	(struct cp_rings)                                    \
	{                                                    \
		.size = sizeof(struct cp_rings), __VA_ARGS__ \
	}
#define TARGET(...)                                           \
	(struct cp_target)                                    \
	{                                                     \
		.size = sizeof(struct cp_target), __VA_ARGS__ \
	}
#define MARKS(...)                                           \
	(struct cp_marks)                                    \
	{                                                    \
		.size = sizeof(struct cp_marks), __VA_ARGS__ \
	}
#define SOURCE(...)                                                                    \
	(struct cp_source)                                                             \
	{                                                                              \
		.size = sizeof(struct cp_source), .kind = CP_SOURCE_SOFT,              \
		.flags = CP_SOURCE_ACCESSES, .type = 1, .period = 1000000, __VA_ARGS__ \
	}
#define BUDGET(...)                                           \
	(struct cp_budget)                                    \
	{                                                     \
		.size = sizeof(struct cp_budget), __VA_ARGS__ \
	}
#define RATE(...)                                           \
	(struct cp_rate)                                    \
	{                                                   \
		.size = sizeof(struct cp_rate), __VA_ARGS__ \
	}
#define POINTEES(...)                                           \
	(struct cp_pointees)                                    \
	{                                                       \
		.size = sizeof(struct cp_pointees), __VA_ARGS__ \
	}
#define WATCH(...)                                                                              \
	(struct cp_watch)                                                                       \
	{                                                                                       \
		.size = sizeof(struct cp_watch), .flags = CP_WATCH_LOAD_THEN_WRITE, .slots = 1, \
		.per_second = 100, .timeout_us = 1000, __VA_ARGS__                              \
	}

static int map_error(uint64_t offset, size_t bytes, int prot, int flags)
{
	void *at = mmap(NULL, bytes, prot, flags, fd, offset);

	if (at == MAP_FAILED)
		return errno;
	munmap(at, bytes);
	return 0;
}

static int drop_capabilities(void)
{
	struct {
		uint32_t version;
		int pid;
	} head = {0x20080522, 0};
	uint32_t none[6] = {0};

	return syscall(SYS_capset, &head, none);
}

/* In a child: what a process without CAP_PERFMON gets. */
static int as_nobody(int (*attempt)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (drop_capabilities())
			_exit(255);
		_exit(attempt());
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 254;
}

static int try_open(void)
{
	int got = open(CP_DEVICE, O_RDWR);

	return got < 0 ? errno : 0;
}

static int try_kernel_source(void)
{
	struct cp_source source = SOURCE(.kind = CP_SOURCE_PEBS, .flags = CP_SOURCE_KERNEL);

	return call(CP_IOC_SOURCE, &source, sizeof(source));
}

static int try_kernel_watch(void)
{
	struct cp_watch watch = WATCH(.flags = CP_WATCH_LOAD_THEN_WRITE | CP_WATCH_KERNEL);

	return call(CP_IOC_WATCH, &watch, sizeof(watch));
}

/* An answer that cannot be written: the argument is there to read only. */
static int read_only_info(void)
{
	struct cp_info *info =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int err;

	info->size = sizeof(*info);
	mprotect(info, 4096, PROT_READ);
	err = ioctl(fd, CP_IOC_INFO, info) ? errno : 0;
	munmap(info, 4096);
	return err;
}

/* Do all processes that the module takes pass, and does the one too many get ENOSPC?  They all live. */
static bool too_many(void)
{
	pid_t pid[CP_MAX_TARGETS + 1];
	bool right = true;
	int n = 0;

	_Static_assert(CP_MAX_TARGETS == CP_MAX_MARKED, "of each one too many");
	while (n <= CP_MAX_TARGETS && right) {
		int expected = n < CP_MAX_TARGETS ? 0 : ENOSPC;
		struct cp_target target = TARGET(.id = 0);
		struct cp_marks marks = MARKS(.stack = -128);

		pid[n] = fork();
		if (!pid[n])
			for (;;)
				pause();
		target.id = marks.tgid = pid[n++];
		right = call(CP_IOC_TARGET, &target, sizeof(target)) == expected &&
			call(CP_IOC_MARKS, &marks, sizeof(marks)) == expected;
	}
	for (int i = 0; i < n; i++)
		reap(pid[i]);
	return right;
}

void test_ioctl(void)
{
	int bad = 0, total = 0;
	struct {
		struct cp_rings rings;
		uint64_t more;
	} longer = {RINGS(.ring_bytes = 65536), 1};
	struct pollfd poller = {.events = POLLIN};
	void *data;

	longer.rings.size = sizeof(longer);
	fd = open(CP_DEVICE, O_RDWR);

	/* Calls and sizes. */
	expect(ENOTTY, _IO('x', 1), 0);
	expect(ENOTTY, _IO(CP_IOC_MAGIC, 12), 0);
	expect(EINVAL, CP_IOC_START, 0);
	expect(EINVAL, _IOC(_IOC_WRITE, CP_IOC_MAGIC, 1, 8),
	       (struct cp_rings){.size = 8, .ring_bytes = 65536});
	expect(E2BIG, _IOC(_IOC_WRITE, CP_IOC_MAGIC, 1, 8000),
	       (struct cp_rings){.size = 8000, .ring_bytes = 65536});
	expect(E2BIG, IOC_RINGS_LONGER, longer);
	/* Two sizes that differ, another direction, a size where there is none. */
	expect(EINVAL, CP_IOC_RINGS, longer);
	expect(EINVAL, IOC_RINGS_LONGER, RINGS(.ring_bytes = 65536));
	expect(ENOTTY, _IOR(CP_IOC_MAGIC, 1, struct cp_rings), RINGS(.ring_bytes = 65536));
	expect(ENOTTY, _IOW(CP_IOC_MAGIC, 0, struct cp_info), (struct cp_info){.size = 24});
	bad += ioctl(fd, _IOC(_IOC_NONE, CP_IOC_MAGIC, 6, 8), NULL) != -1 || errno != ENOTTY;
	total++;
	bad += ioctl(fd, CP_IOC_RINGS, (void *)8) != -1 || errno != EFAULT;
	bad += ioctl(fd, CP_IOC_STATS, NULL) != -1 || errno != EFAULT;
	bad += ioctl(fd, CP_IOC_START, NULL) != -1 || errno != EINVAL;
	bad += ioctl(fd, CP_IOC_STOP, NULL) != -1 || errno != EINVAL;
	bad += map_error(CP_OFF_CONTROL(0), 4096, PROT_READ, MAP_SHARED) != ENXIO;
	bad += read_only_info() != EFAULT;
	poller.fd = fd;
	bad += poll(&poller, 1, 0) != 1 || poller.revents != POLLERR;
	total += 7;

	/* Rings. */
	expect(EINVAL, CP_IOC_RINGS, RINGS(.ring_bytes = 65536, .flags = 1));
	expect(EINVAL, CP_IOC_RINGS, RINGS(.ring_bytes = 65537));
	expect(EINVAL, CP_IOC_RINGS, RINGS(.ring_bytes = 0));
	expect(EINVAL, CP_IOC_RINGS, RINGS(.ring_bytes = 8192));
	expect(EINVAL, CP_IOC_RINGS, RINGS(.ring_bytes = 32 << 20));
	expect(EINVAL, CP_IOC_RINGS, RINGS(.ring_bytes = 65536, .watermark_bytes = 65537));
	longer.more = 0;
	expect(0, IOC_RINGS_LONGER, longer);
	expect(EBUSY, CP_IOC_RINGS, RINGS(.ring_bytes = 65536));

	/* Targets. */
	expect(EINVAL, CP_IOC_TARGET, TARGET(.kind = 9, .id = getpid()));
	expect(EINVAL, CP_IOC_TARGET, TARGET(.flags = 4, .id = getpid()));
	expect(EINVAL, CP_IOC_TARGET, TARGET(.kind = CP_TARGET_ALL, .flags = CP_TARGET_CHILDREN));
	expect(EINVAL, CP_IOC_TARGET,
	       TARGET(.flags = CP_TARGET_CHILDREN | CP_TARGET_REMOVE, .id = getpid()));
	expect(ESRCH, CP_IOC_TARGET, TARGET(.id = 0));
	expect(ESRCH, CP_IOC_TARGET, TARGET(.id = -5));
	expect(ESRCH, CP_IOC_TARGET, TARGET(.id = 4000000));
	expect(ENOENT, CP_IOC_TARGET, TARGET(.flags = CP_TARGET_REMOVE, .id = getpid()));
	expect(EBADF, CP_IOC_TARGET, TARGET(.kind = CP_TARGET_CGROUP, .id = 1000));
	expect(EBADF, CP_IOC_TARGET, TARGET(.kind = CP_TARGET_CGROUP, .id = fd));
	expect(EINVAL, CP_IOC_TARGET, TARGET(.kind = CP_TARGET_ALL, .id = 1));
	expect(ENOENT, CP_IOC_TARGET, TARGET(.kind = CP_TARGET_ALL, .flags = CP_TARGET_REMOVE));
	bad += !too_many();
	total++;
	expect(0, CP_IOC_TARGET, TARGET(.id = getpid()));
	expect(EEXIST, CP_IOC_TARGET, TARGET(.id = getpid()));
	expect(0, CP_IOC_TARGET, TARGET(.flags = CP_TARGET_REMOVE, .id = getpid()));
	bad += ioctl(fd, CP_IOC_START, NULL) != -1 || errno != EINVAL;
	expect(0, CP_IOC_TARGET, TARGET(.kind = CP_TARGET_ALL));
	expect(EEXIST, CP_IOC_TARGET, TARGET(.kind = CP_TARGET_ALL));
	bad += ioctl(fd, CP_IOC_START, NULL) != -1 || errno != EINVAL;
	total += 2;

	/* Marks. */
	expect(EINVAL, CP_IOC_MARKS, MARKS(.flags = 2, .tgid = getpid()));
	expect(EINVAL, CP_IOC_MARKS, MARKS(.reserved = 1, .tgid = getpid()));
	expect(EINVAL, CP_IOC_MARKS,
	       MARKS(.flags = CP_MARKS_REMOVE, .tgid = getpid(), .process = 8));
	expect(ESRCH, CP_IOC_MARKS, MARKS(.tgid = 0));
	expect(ESRCH, CP_IOC_MARKS, MARKS(.tgid = -5));
	expect(ESRCH, CP_IOC_MARKS, MARKS(.tgid = 4000000));
	expect(ENOENT, CP_IOC_MARKS, MARKS(.flags = CP_MARKS_REMOVE, .tgid = getpid()));
	/* Told again, they are where they were told last. */
	expect(0, CP_IOC_MARKS, MARKS(.tgid = getpid(), .stack = -128));
	expect(0, CP_IOC_MARKS, MARKS(.tgid = getpid(), .stack = -256, .process = 8));
	expect(0, CP_IOC_MARKS, MARKS(.flags = CP_MARKS_REMOVE, .tgid = getpid()));
	expect(ENOENT, CP_IOC_MARKS, MARKS(.flags = CP_MARKS_REMOVE, .tgid = getpid()));

	/* Sources. */
	expect(EINVAL, CP_IOC_SOURCE, SOURCE(.kind = CP_SOURCE_KINDS));
	expect(EINVAL, CP_IOC_SOURCE, SOURCE(.flags = 0));
	expect(EINVAL, CP_IOC_SOURCE, SOURCE(.flags = CP_SOURCE_ACCESSES | 1 << 20));
	expect(EINVAL, CP_IOC_SOURCE, SOURCE(.flags = CP_SOURCE_ACCESSES | CP_SOURCE_KERNEL));
	expect(EINVAL, CP_IOC_SOURCE, SOURCE(.flags = CP_SOURCE_ACCESSES | CP_SOURCE_SWFILT));
	expect(EINVAL, CP_IOC_SOURCE, SOURCE(.flags = CP_SOURCE_ACCESSES | CP_SOURCE_VECTOR));
	expect(EINVAL, CP_IOC_SOURCE, SOURCE(.reserved = 1));
	expect(EINVAL, CP_IOC_SOURCE, SOURCE(.period = 0));
	expect(EINVAL, CP_IOC_SOURCE, SOURCE(.period = ~0ull));
	expect(EINVAL, CP_IOC_SOURCE, SOURCE(.min_period = 2000000));
	expect(EINVAL, CP_IOC_SOURCE, SOURCE(.max_accesses = 17));
	expect(EINVAL, CP_IOC_SOURCE, SOURCE(.stack_bytes = 64));
	expect(EINVAL, CP_IOC_SOURCE, SOURCE(.flags = CP_SOURCE_BURST, .max_accesses = 1));
	expect(EINVAL, CP_IOC_SOURCE, SOURCE(.flags = CP_SOURCE_BURST, .stack_bytes = 4096));
	expect(EINVAL, CP_IOC_SOURCE, SOURCE(.flags = CP_SOURCE_BURST, .chunk_bytes = 100));
	expect(EINVAL, CP_IOC_SOURCE, SOURCE(.flags = CP_SOURCE_BURST, .chunk_bytes = 64));
	expect(EINVAL, CP_IOC_SOURCE,
	       SOURCE(.flags = CP_SOURCE_BURST, .chunk_bytes = 64, .depth = 5));
	expect(EINVAL, CP_IOC_SOURCE, SOURCE(.kind = CP_SOURCE_PEBS));
	expect(EINVAL, CP_IOC_SOURCE, SOURCE(.kind = CP_SOURCE_PEBS, .flags = 0, .depth = 1));
	expect(EINVAL, CP_IOC_SOURCE, SOURCE(.kind = CP_SOURCE_IBS, .flags = 0, .period = 1001));
	expect(EINVAL, CP_IOC_SOURCE, SOURCE(.kind = CP_SOURCE_IBS, .flags = 0, .period = 16));
	expect(ENOENT, CP_IOC_SOURCE, SOURCE(.type = 4000));
	/* Of software the two clocks only, whatever type they come by. */
	for (int config = 0; config < 12; config++)
		expect(config > 1 ? EINVAL : 0, CP_IOC_SOURCE, SOURCE(.config = config));
	expect(EINVAL, CP_IOC_SOURCE, SOURCE(.config = 1ull << 32));
	expect(EINVAL, CP_IOC_SOURCE, SOURCE(.type = 2, .config = 1));
	expect(EINVAL, CP_IOC_SOURCE, SOURCE(.type = 5));
	expect(EINVAL, CP_IOC_SOURCE, SOURCE(.type = pmu_type("commprof"), .config = 1));
	/* PERF_TYPE_HARDWARE cycles: no PMU here, and the probe says so. */
	expect(ENOENT, CP_IOC_SOURCE, SOURCE(.type = 0));
	expect(EINVAL, CP_IOC_SOURCE, SOURCE(.kind = CP_SOURCE_PEBS, .flags = CP_SOURCE_COPIES));
	expect(EINVAL, CP_IOC_SOURCE, SOURCE(.kind = CP_SOURCE_IBS, .flags = CP_SOURCE_COPIES));
	expect(EINVAL, CP_IOC_SOURCE, SOURCE(.flags = CP_SOURCE_COPIES));
	/* The two clocks above are sources by now. */
	for (int i = 3; i < CP_MAX_SOURCES; i++)
		expect(0, CP_IOC_SOURCE, SOURCE(.period = 10000000));
	expect(0, CP_IOC_SOURCE,
	       SOURCE(.flags = CP_SOURCE_BURST | CP_SOURCE_COPIES, .period = 10000000,
		      .chunk_bytes = 64, .depth = 1));
	expect(ENOSPC, CP_IOC_SOURCE, SOURCE(.period = 10000000));

	/* Budget and watch. */
	expect(EINVAL, CP_IOC_BUDGET, BUDGET(.flags = 1));
	expect(EINVAL, CP_IOC_BUDGET, BUDGET(.cap_ppm = CP_MAX_CAP_PPM + 1));
	expect(EINVAL, CP_IOC_BUDGET, BUDGET(.cap_ppm = 10, .target_ppm = 11));
	expect(EINVAL, CP_IOC_BUDGET, BUDGET(.window_ms = 100000));
	expect(EINVAL, CP_IOC_BUDGET, BUDGET(.entry_ns = 1000000));
	expect(0, CP_IOC_BUDGET, BUDGET(.target_ppm = 10000));
	expect(EINVAL, CP_IOC_WATCH, WATCH(.flags = 16));
	expect(EINVAL, CP_IOC_WATCH, WATCH(.flags = CP_WATCH_KERNEL));
	expect(EINVAL, CP_IOC_WATCH, WATCH(.flags = 0));
	expect(EINVAL, CP_IOC_WATCH, WATCH(.slots = 0));
	expect(EINVAL, CP_IOC_WATCH, WATCH(.slots = 5));
	expect(EINVAL, CP_IOC_WATCH, WATCH(.per_second = 0));
	expect(EINVAL, CP_IOC_WATCH, WATCH(.timeout_us = 0));
	expect(EINVAL, CP_IOC_WATCH, WATCH(.window_us = 1));
	expect(EINVAL, CP_IOC_WATCH, WATCH(.flags = CP_WATCH_WINDOW));
	expect(EINVAL, CP_IOC_WATCH,
	       WATCH(.flags = CP_WATCH_WINDOW | CP_WATCH_LOAD_THEN_WRITE, .window_us = 1));
	expect(EINVAL, CP_IOC_WATCH, WATCH(.flags = CP_WATCH_WINDOW, .window_us = 1, .slots = 3));
	expect(0, CP_IOC_WATCH, WATCH(.slots = 2));
	expect(0, CP_IOC_WATCH, WATCH(.slots = 1));

	/* While it runs. */
	expect(0, CP_IOC_TARGET, TARGET(.kind = CP_TARGET_ALL, .flags = CP_TARGET_REMOVE));
	expect(0, CP_IOC_TARGET, TARGET(.id = getpid()));
	bad += ioctl(fd, CP_IOC_START, NULL) != 0;
	bad += ioctl(fd, CP_IOC_START, NULL) != -1 || errno != EBUSY;
	expect(EBUSY, CP_IOC_RINGS, RINGS(.ring_bytes = 65536));
	expect(EBUSY, CP_IOC_SOURCE, SOURCE(.period = 1000000));
	expect(EBUSY, CP_IOC_BUDGET, BUDGET(.target_ppm = 10000));
	expect(EBUSY, CP_IOC_WATCH, WATCH(.slots = 1));
	expect(EEXIST, CP_IOC_TARGET, TARGET(.id = getpid()));
	expect(EINVAL, CP_IOC_RATE, RATE(.id = 0, .period = 10000000, .reserved = 1));
	expect(EINVAL, CP_IOC_POINTEES, POINTEES(.id = CP_MAX_SOURCES - 1, .on = 2));
	expect(EINVAL, CP_IOC_POINTEES, POINTEES(.id = CP_MAX_SOURCES - 1, .reserved = 1));
	expect(EINVAL, CP_IOC_POINTEES, POINTEES(.id = 0));
	expect(ENOENT, CP_IOC_POINTEES, POINTEES(.id = CP_MAX_SOURCES));
	expect(0, CP_IOC_POINTEES, POINTEES(.id = CP_MAX_SOURCES - 1));
	expect(0, CP_IOC_POINTEES, POINTEES(.id = CP_MAX_SOURCES - 1, .on = 1));
	bad += ioctl(fd, CP_IOC_STOP, NULL) != 0;
	bad += ioctl(fd, CP_IOC_STOP, NULL) != -1 || errno != EINVAL;
	total += 4;

	/* Mappings. */
	bad += map_error(CP_OFF_CONTROL(0), 8192, PROT_READ, MAP_SHARED) != EINVAL;
	bad += map_error(CP_OFF_CONTROL(0), 4096, PROT_READ, MAP_PRIVATE) != EINVAL;
	bad += map_error(CP_OFF_CONTROL(0) + 4096, 4096, PROT_READ, MAP_SHARED) != EINVAL;
	bad += map_error(CP_OFF_DATA(0), 4096, PROT_READ, MAP_SHARED) != EINVAL;
	bad += map_error(CP_OFF_DATA(100000), 65536, PROT_READ, MAP_SHARED) != ENXIO;
	bad += map_error(CP_OFF_DATA(0), 65536, PROT_READ | PROT_WRITE, MAP_SHARED) != EPERM;
	bad += map_error(CP_OFF_DATA(0), 65536, PROT_READ | PROT_EXEC, MAP_SHARED) != EPERM;
	bad += map_error(CP_OFF_CONTROL(0), 4096, PROT_READ | PROT_WRITE, MAP_SHARED) != 0;
	data = mmap(NULL, 65536, PROT_READ, MAP_SHARED, fd, CP_OFF_DATA(0));
	bad += data == MAP_FAILED || mprotect(data, 65536, PROT_READ | PROT_WRITE) != -1 ||
	       errno != EACCES;
	munmap(data, 65536);
	total += 9;
	check(!bad, "ioctl: every error", "%d of %d wrong", bad, total);

	check(as_nobody(try_open) == EPERM, "ioctl: open wants CAP_PERFMON", "%d",
	      as_nobody(try_open));
	close(fd);
	fd = open(CP_DEVICE, O_RDWR);
	check(as_nobody(try_kernel_source) == EPERM && as_nobody(try_kernel_watch) == EPERM,
	      "ioctl: kernel addresses want CAP_PERFMON of the caller", "%d %d",
	      as_nobody(try_kernel_source), as_nobody(try_kernel_watch));
	close(fd);
}
