/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "moves.h"

#include <asm/ioctls.h>
#include <asm/unistd.h>
#include <linux/socket.h>

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_vki.h"

#include "kernel.h"
#include "memory.h"
#include "site.h"
#include "trace.h"
#include "transit.h"
#include "turn.h"
#include "wait.h"

enum {
	PARTS_MAX = 1024, /* of a vector, as the kernel has it */
	SOCK_OF_STREAM = 1,
	SOCK_TYPE = 0xf,
	LOCAL = 1,
	PEEK = 2, /* flags of recv() and send() */
	OUT_OF_BAND = 1,
};

enum how {
	READS = 1,
	WRITES = 2,
	VECTOR = 4,
	MESSAGE = 8,
	HAS_FLAGS = 16,
	NOT_FOLLOWED = 32,
};

/* The descriptor comes first. */
static const struct {
	UInt syscall;
	enum how how;
} calls[] = {
	{__NR_read, READS},
	{__NR_readv, READS | VECTOR},
	{__NR_recvfrom, READS | HAS_FLAGS},
	{__NR_recvmsg, READS | MESSAGE},
	{__NR_write, WRITES},
	{__NR_writev, WRITES | VECTOR},
	{__NR_sendto, WRITES | HAS_FLAGS},
	{__NR_sendmsg, WRITES | MESSAGE},
	{__NR_pread64, NOT_FOLLOWED},
	{__NR_pwrite64, NOT_FOLLOWED},
	{__NR_preadv, NOT_FOLLOWED},
	{__NR_pwritev, NOT_FOLLOWED},
	{__NR_preadv2, NOT_FOLLOWED},
	{__NR_pwritev2, NOT_FOLLOWED},
	{__NR_recvmmsg, NOT_FOLLOWED},
	{__NR_sendmmsg, NOT_FOLLOWED},
};

struct moving {
	enum comm_channel channel;
	enum how how;
	struct comm_transit_call call;
};

/* Where the data stands; the first `at` bytes of the first part are done. */
struct parts {
	struct vki_iovec one;
	const struct vki_iovec *v;
	SizeT count, at;
	UInt own; /* actor: the calling thread, as the channel */
};

static struct comm_trace *trace;
static struct moving *moving; /* of each slot */

static int64_t queued(int fd)
{
	Int n;

	return comm_kernel(__NR_ioctl, fd, FIONREAD, (long)&n, 0, 0) ? -1 : n;
}

static uint32_t self(void)
{
	return VG_(gettid)();
}

static const struct comm_transit_host host = {
	.map_shared = comm_mem_map_shared,
	.give_way = comm_wait,
	.self = self,
	.queued = queued,
};

void comm_moves_init(struct comm_trace *of)
{
	trace = of;
	moving = VG_(calloc)("comm.moving", VG_N_THREADS, sizeof(*moving));
	comm_transit_init(&host);
}

/* Kind 0: of what goes through it nothing is known. */
static enum comm_channel channel_of(Int fd, struct comm_transit_end *ret)
{
	enum comm_channel channel;
	struct vg_stat st;

	*ret = (struct comm_transit_end){0};
	if (VG_(fstat)(fd, &st))
		return COMM_CHANNEL_KERNEL;
	channel = comm_channel_of(st.mode);
	ret->device = st.dev;
	ret->number = st.ino;
	if (channel == COMM_CHANNEL_PIPE)
		ret->kind = COMM_TRANSIT_PIPE;
	else if (channel == COMM_CHANNEL_SOCKET)
		ret->kind = COMM_TRANSIT_SOCKET;
	return channel;
}

static enum how how_of(UInt syscall)
{
	for (UInt i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].syscall == syscall)
			return calls[i].how;
	return 0;
}

static Bool is_readable(UWord addr, SizeT bytes)
{
	return bytes && VG_(am_is_valid_for_client)(addr, bytes, VKI_PROT_READ);
}

/* What the call is given may be bad addresses. */
static Bool parts_of(enum how how, const UWord *args, struct parts *ret)
{
	const struct vki_msghdr *message = (const struct vki_msghdr *)args[1];

	*ret = (struct parts){.one = {(void *)args[1], args[2]}, .v = &ret->one, .count = 1};
	if (how & VECTOR) {
		ret->v = (const struct vki_iovec *)args[1];
		ret->count = args[2];
	} else if (how & MESSAGE) {
		if (!is_readable(args[1], sizeof(*message)))
			return False;
		ret->v = message->msg_iov;
		ret->count = message->msg_iovlen;
	}
	return ret->v == &ret->one || (ret->count <= PARTS_MAX &&
				       is_readable((UWord)ret->v, ret->count * sizeof(*ret->v)));
}

static Bool is_followed(enum how how, const UWord *args)
{
	const UWord flags = how & MESSAGE ? args[2] : how & HAS_FLAGS ? args[3] : 0;

	return !(how & NOT_FOLLOWED) && !(flags & (PEEK | OUT_OF_BAND));
}

/* What is left of the part at hand; 0: there are no more. */
static SizeT next_part(struct parts *parts, uint64_t *ret_addr)
{
	while (parts->count && parts->at == parts->v->iov_len) {
		parts->v++;
		parts->count--;
		parts->at = 0;
	}
	if (!parts->count)
		return 0;
	*ret_addr = (UWord)parts->v->iov_base + parts->at;
	return parts->v->iov_len - parts->at;
}

static Bool is_too_long(struct parts parts)
{
	SizeT bytes = 0, left;
	uint64_t addr;

	while (bytes <= COMM_TRANSIT_WRITE_MAX && (left = next_part(&parts, &addr))) {
		bytes += left < COMM_TRANSIT_WRITE_MAX ? left : COMM_TRANSIT_WRITE_MAX + 1;
		parts.at += left;
	}
	return bytes > COMM_TRANSIT_WRITE_MAX;
}

/* What nobody is known to have written the thread that sends it has. */
static void put_all(struct comm_transit_call *call, struct parts *parts)
{
	const uint64_t now_ns = *trace->clock_ns;
	UInt writer = 0, now;
	uint64_t addr, bytes = 0;
	SizeT left, n;

	while ((left = next_part(parts, &addr))) {
		n = comm_trace_writer(trace, addr, left, &now);
		if (!now)
			now = parts->own;
		if (now != writer) {
			comm_transit_put(call, writer, now_ns, bytes);
			bytes = 0;
		}
		writer = now;
		bytes += n;
		parts->at += n;
	}
	comm_transit_put(call, writer, now_ns, bytes);
}

static void set_writer(void *ctx, uint32_t writer, uint64_t date, uint64_t bytes)
{
	struct parts *parts = ctx;
	uint64_t addr;
	SizeT left, n;

	while (bytes && (left = next_part(parts, &addr))) {
		n = left < bytes ? left : bytes;
		comm_trace_set_writer(trace, addr, n, writer ? writer : parts->own,
				      writer ? date : *trace->clock_ns);
		parts->at += n;
		bytes -= n;
	}
}

static void begin_write(const struct comm_transit_end *end, Int fd, struct moving *m,
			struct parts *parts)
{
	if (is_too_long(*parts) || !comm_transit_write(end, fd, &m->call))
		return;
	put_all(&m->call, parts);
	comm_transit_sent(&m->call);
}

void comm_moves_begin(ThreadId slot, UInt thread, UInt syscall, const UWord *args)
{
	struct moving *m = &moving[slot];
	struct comm_transit_end end;
	struct parts parts;

	/* A call that a signal cut short may not have come to its end. */
	if (m->call.is_followed && m->how & WRITES)
		comm_transit_written(&m->call, -1);
	else if (m->call.is_followed)
		comm_transit_got(&m->call, -1, -1, set_writer, NULL);
	*m = (struct moving){.how = how_of(syscall)};
	if (!m->how)
		return;
	m->channel = channel_of(args[0], &end);
	if (!end.kind || !is_followed(m->how, args))
		return;
	comm_turn_begin();
	comm_trace_flush(trace);
	if (m->how & READS) {
		comm_transit_read(&end, &m->call);
	} else if (parts_of(m->how, args, &parts)) {
		parts.own = comm_trace_actor(trace, thread, comm_site_channel(m->channel));
		begin_write(&end, args[0], m, &parts);
	}
	comm_turn_end();
}

static void end_read(struct moving *m, UInt thread, const UWord *args, Long bytes)
{
	struct parts parts;

	if (bytes > 0 && !parts_of(m->how, args, &parts))
		bytes = -1;
	if (bytes > 0)
		parts.own = comm_trace_actor(trace, thread, comm_site_channel(m->channel));
	comm_turn_begin();
	comm_trace_flush(trace);
	comm_transit_got(&m->call, args[0], bytes, set_writer, &parts);
	comm_turn_end();
}

/* Of sockets that take messages whole, what is left of one that was read in part is gone. */
static void pair(const UWord *args)
{
	const Int *fds = (const Int *)args[3];
	struct comm_transit_end ends[2];

	if (args[0] != LOCAL || (args[1] & SOCK_TYPE) != SOCK_OF_STREAM)
		return;
	channel_of(fds[0], &ends[0]);
	channel_of(fds[1], &ends[1]);
	comm_transit_pair(&ends[0], &ends[1]);
}

void comm_moves_end(ThreadId slot, UInt thread, UInt syscall, const UWord *args, SysRes result)
{
	const Long bytes = sr_isError(result) ? -1 : (Long)sr_Res(result);
	struct moving *m = &moving[slot];

	if (syscall == __NR_socketpair && !bytes)
		pair(args);
	if (m->call.is_followed && m->how & WRITES)
		comm_transit_written(&m->call, bytes);
	else if (m->call.is_followed)
		end_read(m, thread, args, bytes);
	*m = (struct moving){0};
}

enum comm_channel comm_moves_channel(ThreadId slot)
{
	return moving[slot].channel;
}

/* The calls of other threads are the parent's. */
void comm_moves_forked(void)
{
	for (UInt i = 0; i < VG_N_THREADS; i++)
		moving[i] = (struct moving){0};
}
