// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libc functions that move the program's data where the compiler cannot see
 * it (others: string.c, mapping.c).  Copies are accesses of the calling thread where it calls; what a system
 * call writes or reads is that thread's too, as [pipe], [socket], [file] or else [kernel].  stdio is
 * seen at its edge: fread() and fwrite(), not its buffers.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "exact.h"
#include "note.h"
#include "thread.h"

/* Fortified callers use these; no header declares them. */
void *__memcpy_chk(void *dst, const void *src, size_t n, size_t capacity);
void *__memmove_chk(void *dst, const void *src, size_t n, size_t capacity);
void *__memset_chk(void *dst, int c, size_t n, size_t capacity);
void __chk_fail(void) __attribute__((noreturn));
void *__libc_malloc(size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);

static uint64_t site_of(int fd)
{
	int err = errno;
	struct stat st;
	enum comm_channel channel =
		fstat(fd, &st) ? COMM_CHANNEL_KERNEL : comm_channel_of(st.st_mode);

	errno = err;
	return COMM_SITE_CHANNELS + channel;
}

static void kernel_read(int fd, const void *p, ssize_t n)
{
	if (n > 0)
		comm_note_read(p, n, site_of(fd));
}

static void kernel_write(int fd, void *p, ssize_t n)
{
	if (n > 0)
		comm_note_write(p, n, site_of(fd));
}

/* rep movsb and stosb: fast on every machine with ERMS, and no call to ourselves. */
static void *copy(void *dst, const void *src, size_t n)
{
	void *ret = dst;

	__asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(n) : : "memory");
	return ret;
}

static inline void *copy_noted(void *dst, const void *src, size_t n, uint64_t pc)
{
	comm_note_read(src, n, pc);
	comm_note_write(dst, n, pc);
	return copy(dst, src, n);
}

static void *move_noted(void *dst, const void *src, size_t n, uint64_t pc)
{
	unsigned char *d = dst;
	const unsigned char *s = src;

	comm_note_read(src, n, pc);
	comm_note_write(dst, n, pc);
	if ((uintptr_t)dst - (uintptr_t)src >= n)
		return copy(dst, src, n);
	while (n--)
		d[n] = s[n];
	return dst;
}

static void *set_noted(void *dst, int c, size_t n, uint64_t pc)
{
	void *p = dst;

	comm_note_write(dst, n, pc);
	__asm__ volatile("rep stosb" : "+D"(p), "+c"(n) : "a"(c) : "memory");
	return dst;
}

void *memcpy(void *restrict dst, const void *restrict src, size_t n)
{
	return copy_noted(dst, src, n, COMM_NOTE_PC);
}

void *memmove(void *dst, const void *src, size_t n)
{
	return move_noted(dst, src, n, COMM_NOTE_PC);
}

void *memset(void *dst, int c, size_t n)
{
	return set_noted(dst, c, n, COMM_NOTE_PC);
}

void *__memcpy_chk(void *dst, const void *src, size_t n, size_t capacity)
{
	if (n > capacity)
		__chk_fail();
	return copy_noted(dst, src, n, COMM_NOTE_PC);
}

void *__memmove_chk(void *dst, const void *src, size_t n, size_t capacity)
{
	if (n > capacity)
		__chk_fail();
	return move_noted(dst, src, n, COMM_NOTE_PC);
}

void *__memset_chk(void *dst, int c, size_t n, size_t capacity)
{
	if (n > capacity)
		__chk_fail();
	return set_noted(dst, c, n, COMM_NOTE_PC);
}

static void *allocated(void *p, size_t n, uint64_t pc)
{
	if (p && n)
		comm_object_allocated((uint64_t)p, n, pc);
	return p;
}

void *comm_note_malloc(size_t bytes, uint64_t pc)
{
	return allocated(__libc_malloc(bytes), bytes, pc & ~COMM_EXACT_CALLEE);
}

void *malloc(size_t bytes)
{
	return allocated(__libc_malloc(bytes), bytes, COMM_NOTE_BEHIND);
}

void *memalign(size_t alignment, size_t bytes)
{
	return allocated(__libc_memalign(alignment, bytes), bytes, COMM_NOTE_BEHIND);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	return allocated(__libc_memalign(alignment, bytes), bytes, COMM_NOTE_BEHIND);
}

int posix_memalign(void **ret, size_t alignment, size_t bytes)
{
	void *p;

	if (!alignment || alignment % sizeof(void *) || alignment & (alignment - 1))
		return EINVAL;
	p = allocated(__libc_memalign(alignment, bytes), bytes, COMM_NOTE_BEHIND);
	if (!p)
		return ENOMEM;
	*ret = p;
	return 0;
}

void *calloc(size_t n, size_t bytes)
{
	void *p = allocated(__libc_calloc(n, bytes), n * bytes, COMM_NOTE_BEHIND);

	if (p)
		comm_note_write(p, n * bytes, COMM_NOTE_PC);
	return p;
}

void *realloc(void *old, size_t bytes)
{
	size_t had = old ? malloc_usable_size(old) : 0;
	/* glibc: bit 1 of the word before a block says that it is a mapping of its own. */
	int mapped = old && ((const size_t *)old)[-1] & 2;
	void *p = allocated(__libc_realloc(old, bytes), bytes, COMM_NOTE_BEHIND);

	if (!p || !old || p == old)
		return p;
	if (had > bytes)
		had = bytes;
	if (mapped) {
		comm_shadow_move((uint64_t)old, (uint64_t)p, had);
	} else {
		comm_note_read(old, had, COMM_NOTE_PC);
		comm_note_write(p, had, COMM_NOTE_PC);
	}
	return p;
}

/* The libc's own function of this name. */
#define REAL(name)                                                           \
	({                                                                   \
		static __typeof__(&(name)) real;                             \
		if (!real)                                                   \
			real = (__typeof__(&(name)))dlsym(RTLD_NEXT, #name); \
		real;                                                        \
	})

/* -1: a stream of memory or of functions.  A call that succeeds leaves errno as it is. */
static int descriptor_of(FILE *f)
{
	int err = errno, fd = fileno(f);

	errno = err;
	return fd;
}

static void vector(int fd, const struct iovec *v, int count, ssize_t n, int written)
{
	uint64_t site = n > 0 ? site_of(fd) : 0;
	int i;

	for (i = 0; i < count && n > 0; i++) {
		ssize_t part = (size_t)n < v[i].iov_len ? n : (ssize_t)v[i].iov_len;

		if (written)
			comm_note_write(v[i].iov_base, part, site);
		else
			comm_note_read(v[i].iov_base, part, site);
		n -= part;
	}
}

ssize_t read(int fd, void *p, size_t n)
{
	ssize_t ret = REAL(read)(fd, p, n);

	kernel_write(fd, p, ret);
	return ret;
}

ssize_t pread(int fd, void *p, size_t n, off_t offset)
{
	ssize_t ret = REAL(pread)(fd, p, n, offset);

	kernel_write(fd, p, ret);
	return ret;
}

ssize_t pread64(int fd, void *p, size_t n, off_t offset) __attribute__((alias("pread")));

ssize_t readv(int fd, const struct iovec *v, int count)
{
	ssize_t ret = REAL(readv)(fd, v, count);

	vector(fd, v, count, ret, 1);
	return ret;
}

ssize_t recv(int fd, void *p, size_t n, int flags)
{
	ssize_t ret = REAL(recv)(fd, p, n, flags);

	/* With MSG_TRUNC the answer may exceed the buffer. */
	kernel_write(fd, p, ret > (ssize_t)n ? (ssize_t)n : ret);
	return ret;
}

ssize_t recvfrom(int fd, void *restrict p, size_t n, int flags, struct sockaddr *restrict from,
		 socklen_t *restrict from_bytes)
{
	ssize_t ret = REAL(recvfrom)(fd, p, n, flags, from, from_bytes);

	kernel_write(fd, p, ret > (ssize_t)n ? (ssize_t)n : ret);
	return ret;
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	ssize_t ret = REAL(recvmsg)(fd, m, flags);

	if (ret > 0)
		vector(fd, m->msg_iov, m->msg_iovlen, ret, 1);
	return ret;
}

size_t fread(void *restrict p, size_t bytes, size_t n, FILE *restrict f)
{
	size_t ret = REAL(fread)(p, bytes, n, f);

	if (ret)
		kernel_write(descriptor_of(f), p, ret * bytes);
	return ret;
}

ssize_t write(int fd, const void *p, size_t n)
{
	ssize_t ret = REAL(write)(fd, p, n);

	kernel_read(fd, p, ret);
	return ret;
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t offset)
{
	ssize_t ret = REAL(pwrite)(fd, p, n, offset);

	kernel_read(fd, p, ret);
	return ret;
}

ssize_t pwrite64(int fd, const void *p, size_t n, off_t offset) __attribute__((alias("pwrite")));

ssize_t writev(int fd, const struct iovec *v, int count)
{
	ssize_t ret = REAL(writev)(fd, v, count);

	vector(fd, v, count, ret, 0);
	return ret;
}

ssize_t send(int fd, const void *p, size_t n, int flags)
{
	ssize_t ret = REAL(send)(fd, p, n, flags);

	kernel_read(fd, p, ret);
	return ret;
}

ssize_t sendto(int fd, const void *p, size_t n, int flags, const struct sockaddr *to,
	       socklen_t to_bytes)
{
	ssize_t ret = REAL(sendto)(fd, p, n, flags, to, to_bytes);

	kernel_read(fd, p, ret);
	return ret;
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	ssize_t ret = REAL(sendmsg)(fd, m, flags);

	if (ret > 0)
		vector(fd, m->msg_iov, m->msg_iovlen, ret, 0);
	return ret;
}

size_t fwrite(const void *restrict p, size_t bytes, size_t n, FILE *restrict f)
{
	size_t ret = REAL(fwrite)(p, bytes, n, f);

	if (ret)
		kernel_read(descriptor_of(f), p, ret * bytes);
	return ret;
}
