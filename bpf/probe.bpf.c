// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Regions that begin and end at probes which a program contains (sys/sdt.h), and frames that begin at
 * one, for the sampling programs of capture.bpf.c, which find in probed what a thread is in, and in
 * probed_frames in which frame its process is.  A trap each, so
 * only those that somebody named are attached.
 */
#include "sample_event.h"
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>

char LICENSE[] SEC("license") = "GPL";

/* That of capture.bpf.c: the daemon makes it one. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, COMM_RAW_PROBED_THREADS);
	__type(key, __u32);
	__type(value, struct comm_raw_probed);
} probed SEC(".maps");

/* That of capture.bpf.c, too. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, COMM_RAW_PROBED_PROCESSES);
	__type(key, __u32);
	__type(value, struct comm_raw_probed_frames);
} probed_frames SEC(".maps");

/* Of this thread, not of one before it with the same id. */
static struct comm_raw_probed *own(__u32 tid)
{
	struct comm_raw_probed *p = bpf_map_lookup_elem(&probed, &tid);

	return p && p->born_ns == bpf_get_current_task_btf()->start_time ? p : 0;
}

SEC("usdt")
int region_begin(struct pt_regs *ctx)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct comm_raw_probed *p = own(tid), fresh = {};
	__u32 depth;

	if (!p) {
		fresh.born_ns = bpf_get_current_task_btf()->start_time;
		bpf_map_update_elem(&probed, &tid, &fresh, BPF_ANY);
		p = own(tid);
		if (!p)
			return 0;
	}
	depth = p->depth;
	if (depth < COMM_RAW_MARKS_MAX)
		p->id[depth] = (__u8)bpf_usdt_cookie(ctx);
	barrier();
	p->depth = depth + 1;
	return 0;
}

/* The innermost of this id ends, with what is inside it; deeper ones than are kept end first. */
SEC("usdt")
int region_end(struct pt_regs *ctx)
{
	struct comm_raw_probed *p = own((__u32)bpf_get_current_pid_tgid());
	__u8 id = (__u8)bpf_usdt_cookie(ctx);

	if (!p)
		return 0;
	if (p->depth > COMM_RAW_MARKS_MAX) {
		p->depth--;
		return 0;
	}
	for (int i = COMM_RAW_MARKS_MAX - 1; i >= 0; i--)
		if (i < p->depth && p->id[i] == id) {
			p->depth = i;
			break;
		}
	return 0;
}

SEC("usdt")
int frame_begin(struct pt_regs *ctx)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct comm_raw_probed_frames *f = bpf_map_lookup_elem(&probed_frames, &tgid), fresh = {};

	if (!f) {
		bpf_map_update_elem(&probed_frames, &tgid, &fresh, BPF_NOEXIST);
		f = bpf_map_lookup_elem(&probed_frames, &tgid);
	}
	if (f)
		__sync_fetch_and_add(&f->number, 1);
	return 0;
}
