// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libc functions that move the program's data to and from descriptors.  What a system call writes or reads is the calling
 * thread's, as [pipe], [socket], [file] or else [kernel]; but what comes from a pipe or a socket that was made by
 * socketpair() was written by who wrote what was put in there, where that is known (../transit.h).  stdio is seen at its
 * edge: fread() and fwrite(), not its buffers, so that what goes through these is not known.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "channel.h"
#include "lock.h"
#include "note.h"
#include "thread.h"
#include "transit.h"

/* A call that moves data. */
struct move {
	int fd;
	uint64_t site;
	struct comm_transit_call call;
};

/* Where the parts of it stand; the first `at` bytes of them are done. */
struct parts {
	const struct iovec *v;
	int count;
	size_t at;
	uint32_t own; /* writer: the calling thread, by that site */
};

static int64_t queued(int fd)
{
	int n;

	return ioctl(fd, FIONREAD, &n) ? -1 : n;
}

static uint32_t self(void)
{
	return comm_exact_thread()->slot;
}

static const struct comm_transit_host host = {
	.map_shared = comm_exact_map_shared,
	.give_way = comm_give_way,
	.self = self,
	.queued = queued,
};

void comm_channels_init(void)
{
	comm_transit_init(&host);
}

/* The site of what the descriptor is of, and *ret_end; kind 0: of what goes through it nothing is known. */
static uint64_t site_of(int fd, struct comm_transit_end *ret_end)
{
	int err = errno;
	struct stat st = {0};
	enum comm_channel channel =
		fstat(fd, &st) ? COMM_CHANNEL_KERNEL : comm_channel_of(st.st_mode);

	*ret_end = (struct comm_transit_end){.device = st.st_dev, .number = st.st_ino};
	if (channel == COMM_CHANNEL_PIPE)
		ret_end->kind = COMM_TRANSIT_PIPE;
	else if (channel == COMM_CHANNEL_SOCKET)
		ret_end->kind = COMM_TRANSIT_SOCKET;
	errno = err;
	return COMM_SITE_CHANNELS + channel;
}

/* What is left of the part at hand; 0: there are no more. */
static size_t next_part(struct parts *parts, uint64_t *ret_addr)
{
	while (parts->count && parts->at == parts->v->iov_len) {
		parts->v++;
		parts->count--;
		parts->at = 0;
	}
	if (!parts->count)
		return 0;
	*ret_addr = (uint64_t)parts->v->iov_base + parts->at;
	return parts->v->iov_len - parts->at;
}

/* Up to the end of the granule that it begins in. */
static size_t in_granule(uint64_t addr, size_t len_bytes)
{
	size_t bytes = comm_shadow_mask + 1 - (addr & comm_shadow_mask);

	return bytes < len_bytes ? bytes : len_bytes;
}

/* What nobody is known to have written the thread that sends it has. */
static void put_all(struct comm_transit_call *call, struct parts *parts)
{
	uint32_t writer = 0;
	uint64_t addr, bytes = 0;
	size_t left, n;

	while ((left = next_part(parts, &addr))) {
		uint32_t now = __atomic_load_n(comm_cell(addr), __ATOMIC_RELAXED) >>
			       COMM_CELL_WRITER_SHIFT;

		if (!now)
			now = parts->own;
		if (now != writer) {
			comm_transit_put(call, writer, comm_exact_epoch, bytes);
			bytes = 0;
		}
		writer = now;
		n = in_granule(addr, left);
		bytes += n;
		parts->at += n;
	}
	comm_transit_put(call, writer, comm_exact_epoch, bytes);
}

/* The next bytes that were read have been written by that. */
static void set_writer(void *ctx, uint32_t writer, uint64_t date, uint64_t bytes)
{
	struct parts *parts = ctx;
	uint64_t addr;
	size_t left, n;

	if (!writer) {
		writer = parts->own;
		date = comm_exact_epoch;
	}
	while (bytes && (left = next_part(parts, &addr))) {
		n = in_granule(addr, left < bytes ? left : bytes);
		__atomic_store_n(comm_cell(addr), (uint64_t)writer << COMM_CELL_WRITER_SHIFT | date,
				 __ATOMIC_RELAXED);
		parts->at += n;
		bytes -= n;
	}
}

/* Memory that the program names, which may not be there: that is the kernel's to say. */
static bool fetch(void *to, const void *from, size_t bytes)
{
	const struct iovec local = {to, bytes}, remote = {(void *)from, bytes};
	int err = errno;
	bool is_there = process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)bytes;

	errno = err;
	return is_there;
}

/* Before a call, of which nothing is followed with flags of these. */
enum { NOT_FOLLOWED = MSG_PEEK | MSG_OOB };

static void follow_write(struct move *m, const struct comm_transit_end *end, const struct iovec *v,
			 int count)
{
	struct parts parts = {.v = v, .count = count};
	size_t bytes = 0;
	int err = errno;

	for (int i = 0; i < count && bytes <= COMM_TRANSIT_WRITE_MAX; i++)
		bytes += v[i].iov_len < COMM_TRANSIT_WRITE_MAX ? v[i].iov_len
							       : COMM_TRANSIT_WRITE_MAX + 1;
	if (bytes <= COMM_TRANSIT_WRITE_MAX && comm_transit_write(end, m->fd, &m->call)) {
		parts.own = comm_exact_writer(m->site);
		put_all(&m->call, &parts);
		comm_transit_sent(&m->call);
	}
	errno = err;
}

static struct move begin_write(int fd, const void *p, size_t n, int flags)
{
	const struct iovec one = {(void *)p, n};
	struct move m = {.fd = fd};
	struct comm_transit_end end;

	comm_exact_thread();
	m.site = site_of(fd, &end);
	if (end.kind && !(flags & NOT_FOLLOWED))
		follow_write(&m, &end, &one, 1);
	return m;
}

/* v: the program's own. */
static struct move begin_writev(int fd, const struct iovec *v, size_t count, int flags)
{
	struct iovec copy[IOV_MAX];
	struct move m = {.fd = fd};
	struct comm_transit_end end;

	comm_exact_thread();
	m.site = site_of(fd, &end);
	if (end.kind && !(flags & NOT_FOLLOWED) && count && count <= IOV_MAX &&
	    fetch(copy, v, count * sizeof(*v)))
		follow_write(&m, &end, copy, (int)count);
	return m;
}

static struct move begin_read(int fd, int flags)
{
	struct move m = {.fd = fd};
	struct comm_transit_end end;

	int err = errno;

	comm_exact_thread();
	m.site = site_of(fd, &end);
	if (end.kind && !(flags & NOT_FOLLOWED))
		comm_transit_read(&end, &m.call);
	errno = err;
	return m;
}

static void note_parts(const struct iovec *v, int count, ssize_t n, uint64_t site, int written)
{
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

/* After it; n: what it returned. */
static void end_write(struct move *m, const struct iovec *v, int count, ssize_t n)
{
	int err = errno;

	comm_transit_written(&m->call, n);
	note_parts(v, count, n, m->site, 0);
	errno = err;
}

static void end_read(struct move *m, const struct iovec *v, int count, ssize_t n)
{
	struct parts parts = {.v = v, .count = count};
	int err = errno;

	note_parts(v, count, n, m->site, 1);
	if (n > 0 && m->call.is_followed)
		parts.own = comm_exact_writer(m->site);
	comm_transit_got(&m->call, m->fd, n, set_writer, &parts);
	errno = err;
}

/* Of a file at an offset, or of a stream. */
static void moved(int fd, const void *p, ssize_t n, int written)
{
	const struct iovec one = {(void *)p, n > 0 ? n : 0};
	struct comm_transit_end end;

	if (n > 0)
		note_parts(&one, 1, n, site_of(fd, &end), written);
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

ssize_t read(int fd, void *p, size_t n)
{
	const struct iovec one = {p, n};
	struct move m = begin_read(fd, 0);
	ssize_t ret = REAL(read)(fd, p, n);

	end_read(&m, &one, 1, ret);
	return ret;
}

ssize_t pread(int fd, void *p, size_t n, off_t offset)
{
	ssize_t ret = REAL(pread)(fd, p, n, offset);

	moved(fd, p, ret, 1);
	return ret;
}

ssize_t pread64(int fd, void *p, size_t n, off_t offset) __attribute__((alias("pread")));

ssize_t readv(int fd, const struct iovec *v, int count)
{
	struct move m = begin_read(fd, 0);
	ssize_t ret = REAL(readv)(fd, v, count);

	end_read(&m, v, count, ret);
	return ret;
}

/* With MSG_TRUNC the answer may exceed the buffer. */
static void end_receive(struct move *m, void *p, size_t n, ssize_t ret)
{
	const struct iovec one = {p, n};

	end_read(m, &one, 1, ret > (ssize_t)n ? (ssize_t)n : ret);
}

ssize_t recv(int fd, void *p, size_t n, int flags)
{
	struct move m = begin_read(fd, flags);
	ssize_t ret = REAL(recv)(fd, p, n, flags);

	end_receive(&m, p, n, ret);
	return ret;
}

ssize_t recvfrom(int fd, void *restrict p, size_t n, int flags, struct sockaddr *restrict from,
		 socklen_t *restrict from_bytes)
{
	struct move m = begin_read(fd, flags);
	ssize_t ret = REAL(recvfrom)(fd, p, n, flags, from, from_bytes);

	end_receive(&m, p, n, ret);
	return ret;
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	struct move m = begin_read(fd, flags);
	ssize_t ret = REAL(recvmsg)(fd, message, flags);

	end_read(&m, ret > 0 ? message->msg_iov : NULL, ret > 0 ? message->msg_iovlen : 0, ret);
	return ret;
}

size_t fread(void *restrict p, size_t bytes, size_t n, FILE *restrict f)
{
	size_t ret = REAL(fread)(p, bytes, n, f);

	if (ret)
		moved(descriptor_of(f), p, ret * bytes, 1);
	return ret;
}

ssize_t write(int fd, const void *p, size_t n)
{
	const struct iovec one = {(void *)p, n};
	struct move m = begin_write(fd, p, n, 0);
	ssize_t ret = REAL(write)(fd, p, n);

	end_write(&m, &one, 1, ret);
	return ret;
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t offset)
{
	ssize_t ret = REAL(pwrite)(fd, p, n, offset);

	moved(fd, p, ret, 0);
	return ret;
}

ssize_t pwrite64(int fd, const void *p, size_t n, off_t offset) __attribute__((alias("pwrite")));

ssize_t writev(int fd, const struct iovec *v, int count)
{
	struct move m = begin_writev(fd, v, count > 0 ? count : 0, 0);
	ssize_t ret = REAL(writev)(fd, v, count);

	end_write(&m, v, count, ret);
	return ret;
}

ssize_t send(int fd, const void *p, size_t n, int flags)
{
	const struct iovec one = {(void *)p, n};
	struct move m = begin_write(fd, p, n, flags);
	ssize_t ret = REAL(send)(fd, p, n, flags);

	end_write(&m, &one, 1, ret);
	return ret;
}

ssize_t sendto(int fd, const void *p, size_t n, int flags, const struct sockaddr *to,
	       socklen_t to_bytes)
{
	const struct iovec one = {(void *)p, n};
	struct move m = begin_write(fd, p, n, flags);
	ssize_t ret = REAL(sendto)(fd, p, n, flags, to, to_bytes);

	end_write(&m, &one, 1, ret);
	return ret;
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	struct msghdr copy;
	bool is_there = fetch(&copy, message, sizeof(copy));
	struct move m = begin_writev(fd, is_there ? copy.msg_iov : NULL,
				     is_there ? copy.msg_iovlen : 0, flags);
	ssize_t ret = REAL(sendmsg)(fd, message, flags);

	if (ret > 0)
		end_write(&m, message->msg_iov, message->msg_iovlen, ret);
	else
		end_write(&m, NULL, 0, ret);
	return ret;
}

size_t fwrite(const void *restrict p, size_t bytes, size_t n, FILE *restrict f)
{
	size_t ret = REAL(fwrite)(p, bytes, n, f);

	if (ret)
		moved(descriptor_of(f), p, ret * bytes, 0);
	return ret;
}

/* Of sockets that take messages whole, what is left of one that was read in part is gone. */
int socketpair(int domain, int type, int protocol, int fds[2])
{
	int ret = REAL(socketpair)(domain, type, protocol, fds);
	struct comm_transit_end ends[2];

	if (ret || domain != AF_UNIX || (type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) != SOCK_STREAM)
		return ret;
	comm_exact_thread();
	site_of(fds[0], &ends[0]);
	site_of(fds[1], &ends[1]);
	comm_transit_pair(&ends[0], &ends[1]);
	return ret;
}
