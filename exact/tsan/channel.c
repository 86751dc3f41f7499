// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libc functions that move the program's data to and from descriptors.  What a system call writes or reads is the calling
 * thread's, as [pipe], [socket], [file] or else [kernel].  stdio is seen at its edge: fread() and fwrite(), not its buffers.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "note.h"
#include "thread.h"

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
