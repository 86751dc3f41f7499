/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A part of capture.bpf.c: copies what a burst may read, the top of the stack, the lines that
 * registers point to and those that bursts of the program lacked, into the sample in a scratch.
 */
#ifndef COMM_THREAD_MEMORY_H
#define COMM_THREAD_MEMORY_H

/*
 * Can v be a pointer to data?  Low values are mostly plain numbers: only a program
 * that is not position independent has memory there, between its code and its heap.
 */
static __always_inline bool like_data(__u64 v, __u64 code, __u64 code_end, __u64 low_end)
{
	if (v < MIN_ADDR || v >= USER_END || (v >= code && v < code_end))
		return false;
	return v >= 1ULL << 32 || (v >= code_end && v < low_end);
}

static __always_inline bool seen_line(const struct comm_raw_line *line, __u32 n, __u64 addr)
{
	__u32 i;

	for (i = 0; i < COMM_RAW_LINES_MAX; i++)
		if (i < n && line[i].addr == addr)
			return true;
	return false;
}

static __always_inline void read_code(struct scratch *t, struct comm_raw_line *out, __u64 ip)
{
	/* Near the end of a page the next one may not be there. */
	if (bpf_probe_read_user(out->data, COMM_RAW_LINE_BYTES, (const void *)ip)) {
		ip &= ~(COMM_RAW_LINE_BYTES - 1ULL);
		if (bpf_probe_read_user(out->data, COMM_RAW_LINE_BYTES, (const void *)ip)) {
			t->failed++;
			return;
		}
	}
	out->addr = ip;
	t->n_lines = 1;
}

/*
 * Copies the line that one register points to.  Not static and not inlined, so that
 * the verifier checks it once by itself: unrolled for 16 registers it takes half a
 * million steps.
 */
__noinline int read_line(__u64 v)
{
	struct comm_raw_line *out;
	__u64 bit, bloom, page;
	__u32 zero = 0, n;
	struct scratch *t;

	t = bpf_map_lookup_elem(&scratches, &zero);
	if (!t)
		return 0;
	n = t->n_lines;
	bloom = t->bloom;
	if (n >= max_lines || n >= COMM_RAW_LINES_MAX)
		return 0;
	if (!like_data(v, t->code, t->code_end, t->low_end))
		return 0;
	v &= ~(COMM_RAW_LINE_BYTES - 1ULL);
	if (v - t->stack < stack_bytes)
		return 0;
	out = (struct comm_raw_line *)((__u8 *)t->bytes + sizeof(struct comm_raw_sample) +
				       stack_bytes);
	bit = 1ULL << ((v >> 6) & 63);
	if ((bloom & bit) && seen_line(out, n, v))
		return 0;
	t->bloom = bloom | bit;
	page = v >> PAGE_SHIFT_BITS;
	if (t->bad_page[page % BAD_PAGES] == page && !t->retry)
		return 0;
	if (bpf_probe_read_user(out[n].data, COMM_RAW_LINE_BYTES, (const void *)v)) {
		t->bad_page[page % BAD_PAGES] = page;
		t->failed++;
		return 0;
	}
	if (t->retry)
		t->bad_page[page % BAD_PAGES] = 0;
	out[n].addr = v;
	t->n_lines = n + 1;
	return 0;
}

/* Copies the line of a place that bursts lacked.  As read_line() is, checked once by itself. */
__noinline int read_place(__u64 place)
{
	struct comm_raw_sample *s;
	__u64 v = place, page;
	__u32 zero = 0;
	struct scratch *t;

	t = bpf_map_lookup_elem(&scratches, &zero);
	if (!t)
		return 0;
	if (place & COMM_RAW_BY_REGISTER) {
		s = (struct comm_raw_sample *)t->bytes;
		v = s->reg[COMM_RAW_PLACE_REGISTER(place)];
		if (!like_data(v, t->code, t->code_end, t->low_end))
			return 0;
		if (place & COMM_RAW_BY_POINTER) {
			v += COMM_RAW_PLACE_POINTER(place);
			page = v >> PAGE_SHIFT_BITS;
			if (t->bad_page[page % BAD_PAGES] == page && !t->retry)
				return 0;
			if (bpf_probe_read_user(&v, sizeof(v), (const void *)v)) {
				t->bad_page[page % BAD_PAGES] = page;
				t->failed++;
				return 0;
			}
		}
		v += COMM_RAW_PLACE_OFFSET(place);
	}
	return read_line(v);
}

static __always_inline void read_wanted(__u64 key)
{
	const struct comm_raw_wanted *w = bpf_map_lookup_elem(&wanted, &key);
	__u32 i;

	for (i = 0; w && i < COMM_RAW_WANTED_MAX && w->place[i]; i++)
		read_place(w->place[i]);
}

static __always_inline void read_lines(struct task_struct *task, struct scratch *t,
				       struct comm_raw_sample *s, struct comm_raw_line *out)
{
	struct mm_struct *mm = task->mm;
	__u32 i;

	if (!mm)
		return;
	t->code = mm->start_code;
	t->code_end = mm->end_code;
	t->low_end = mm->brk;
	if (code_line)
		read_code(t, out, s->head.ip);
	for (i = 0; i < 16; i++)
		if (line_regs & (1U << i))
			read_line(s->reg[i]);
	read_wanted(s->program);
	read_wanted(comm_raw_code_key(s->program, s->head.ip));
	/*
	 * An object that a pointer points to seldom ends with the pointer's line: the
	 * next line too.
	 */
	for (i = 0; i < 16; i++)
		if (line_regs & (1U << i))
			read_line(s->reg[i] + COMM_RAW_LINE_BYTES);
}

static __always_inline void read_stack(struct comm_raw_sample *s, __u64 stack)
{
	__u64 edge;

	s->stack_addr = stack;
	if (!bpf_probe_read_user(s->data, stack_bytes, (const void *)stack))
		return;
	/*
	 * The stack window crosses into a page that is not there: copy only the stack
	 * pointer's own page.
	 */
	edge = (stack + stack_below_bytes) & ~(PAGE - 1ULL);
	if (edge <= stack)
		edge += PAGE;
	s->stack_addr = 0;
	if (edge - stack < stack_bytes && edge > stack + stack_below_bytes) {
		__u32 len = (edge - stack) & (COMM_RAW_STACK_MAX - 1);

		if (!bpf_probe_read_user(s->data, len, (const void *)stack)) {
			s->stack_addr = stack;
			s->stack_bytes = len;
		}
	}
}

#endif
