// SPDX-License-Identifier: GPL-2.0-or-later
/* Frames: when they began, by the samples that met them, and what was written in which. */
#include "frame.h"
#include "made_bursts.h"

enum { TGID = 7, MS = 1000000 };

/* n samples, one each ms from *now_ns on; returns what the last one is told. */
static struct comm_frame_at meet(struct comm_frames *frames, int n, uint64_t *now_ns)
{
	struct comm_frame_at at = {0};

	for (int i = 0; i < n; i++, *now_ns += MS)
		at = comm_frames_at(frames, TGID, *now_ns);
	return at;
}

/* A frame of n samples begins. */
static struct comm_frame_at go_on(struct comm_frames *frames, uint64_t number, int n,
				  uint64_t *now_ns)
{
	comm_frames_mark(frames, TGID, number, *now_ns);
	return meet(frames, n, now_ns);
}

static void frames_begin_between_samples(void **state)
{
	static struct comm_frames frames;
	struct comm_frame_at at;
	uint64_t now_ns = 5000ull * MS;

	(void)state;
	assert_true(meet(&frames, 1, &now_ns).began_ns == 0);
	/* Of the first one nobody knows when it began, nor of the second what was before. */
	assert_true(go_on(&frames, 10, COMM_FRAMES_MET, &now_ns).began_ns == 0);
	assert_int_equal(comm_frames_mark(&frames, TGID, 11, now_ns), 1);
	assert_true(meet(&frames, COMM_FRAMES_MET, &now_ns).began_ns == 0);
	at = go_on(&frames, 12, COMM_FRAMES_MET, &now_ns);
	assert_true(at.began_ns == (COMM_FRAMES_MET - 0.5) * MS);
	assert_true(at.before_ns == (2 * COMM_FRAMES_MET - 0.5) * MS);
	/* Told again, it is the same. */
	assert_int_equal(comm_frames_mark(&frames, TGID, 12, now_ns), 0);
	at = meet(&frames, 1, &now_ns);
	assert_true(at.began_ns == (COMM_FRAMES_MET + 0.5) * MS);
	/* Processes do not mix. */
	assert_true(comm_frames_at(&frames, TGID + 1, now_ns).began_ns == 0);
	assert_true(comm_frames_at(&frames, 0, now_ns).began_ns == 0);
	comm_frames_drop(&frames, TGID);
	assert_true(meet(&frames, 1, &now_ns).began_ns == 0);
}

/* Samples that come too rarely, or not at all for some frames, tell nothing. */
static void short_frames_are_not_known(void **state)
{
	static struct comm_frames frames;
	uint64_t now_ns = 5000ull * MS;

	(void)state;
	for (uint64_t i = 1; i < 10; i++)
		assert_true(go_on(&frames, i, COMM_FRAMES_MET - 1, &now_ns).began_ns == 0);
	assert_int_equal(comm_frames_mark(&frames, TGID, 109, now_ns), 100);
	assert_true(meet(&frames, COMM_FRAMES_MET, &now_ns).began_ns == 0);
	assert_true(go_on(&frames, 110, COMM_FRAMES_MET, &now_ns).began_ns == 0);
	assert_true(go_on(&frames, 111, COMM_FRAMES_MET, &now_ns).began_ns > 0);
	assert_true(go_on(&frames, 113, COMM_FRAMES_MET, &now_ns).began_ns == 0);
}

static void lies_are_bounded(void **state)
{
	static struct comm_frames frames;
	uint64_t now_ns = 5000ull * MS, random = 1;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		uint32_t tgid = (uint32_t)(comm_hash_next(&random) % 200);
		uint64_t number = comm_hash_next(&random) >> (random & 63);
		struct comm_frame_at at;

		comm_frames_mark(&frames, tgid, number, now_ns);
		at = comm_frames_at(&frames, tgid, now_ns + comm_hash_next(&random) % MS);
		assert_true(at.began_ns >= 0 && at.before_ns >= at.began_ns);
		if (i % 7 == 0)
			comm_frames_drop(&frames, tgid);
	}
	assert_int_equal(frames.n, COMM_FRAMES_PROCESSES);
	/* The latest number that there is: nothing is after it. */
	comm_frames_mark(&frames, TGID, UINT64_MAX, now_ns);
	assert_int_equal(comm_frames_mark(&frames, TGID, 0, now_ns), 0);
	assert_int_equal(comm_frames_mark(&frames, TGID, UINT64_MAX, now_ns), UINT64_MAX);
}

enum { BUFFER_BYTES = 1 << 15 };

/* Of how many words each buffer is, and how far behind a boundary the first one begins. */
static uint64_t words = 512, offset;

static float back_sum[COMM_AGES_BACK];
static double crossing;

static void collect_back(void *ctx, const struct comm_edge *e)
{
	(void)ctx;
	if (e->src_thread != 1 || e->dst_thread != 2)
		return;
	crossing += e->bytes;
	for (int i = 0; i < COMM_AGES_BACK; i++)
		back_sum[i] += e->ages.back[i];
}

/*
 * In each frame thread 1 writes one of four buffers for half of it, and then thread 2 reads that of so
 * many frames before.  Returns the part of what crosses that is told to be from there.
 */
static double told(const struct comm_est_ops *ops, uint64_t back, uint64_t frame_ns,
		   double *ret_wrong)
{
	void *est = est_new(ops);
	uint64_t random = 1, now_ns = 10ull * frame_ns;
	struct comm_unwritten unwritten;

	memset(back_sum, 0, sizeof(back_sum));
	crossing = 0;
	for (uint64_t ms = 0; ms < 20 * frame_ns / MS; ms++, now_ns += MS) {
		uint64_t frame = now_ns / frame_ns, at = now_ns % frame_ns;
		bool writes = at < frame_ns / 2;
		uint64_t buffer =
			base + offset + (writes ? frame : frame - back) % 4 * BUFFER_BYTES;
		uint64_t first = comm_hash_next(&random) % (words - 12);
		struct comm_access a[12];
		struct comm_access_burst burst = {
			.time_ns = now_ns,
			.thread = writes ? 1 : 2,
			.trigger = COMM_TRIGGER_TIME,
			.period = MS,
			.n_insns = 64,
			.cycles = 64,
			.n = 12,
			.access = a,
			.frame = {(float)at + 1, (float)(at + frame_ns + 1)}};

		if (ops->sched && at % (frame_ns / 2) == 0) {
			ops->sched(est, now_ns, writes ? 2 : 1, false);
			ops->sched(est, now_ns, writes ? 1 : 2, true);
		}
		for (uint16_t i = 0; i < 12; i++)
			a[i] = access_at(buffer + (first + i) * 8,
					 writes ? COMM_ACCESS_WRITE : COMM_ACCESS_READ, i);
		assert_int_equal(ops->burst(est, &burst), 0);
	}
	assert_int_equal(ops->slice(est, 0, UINT64_MAX, collect_back, NULL, &unwritten), 0);
	ops->destroy(est);
	assert_true(crossing > 0);
	*ret_wrong = 0;
	for (uint64_t i = 0; i < COMM_AGES_BACK; i++)
		*ret_wrong += i == back ? 0 : back_sum[i] / crossing;
	return back_sum[back] / crossing;
}

static void data_is_told_by_frames(void **state)
{
	(void)state;
	for (uint64_t back = 0; back < COMM_AGES_BACK; back++) {
		double wrong, right = told(&comm_est_hazard, back, 100ull * MS, &wrong);

		if (right < 0.7 || wrong > 0.05)
			fail_msg("%d frames back: %.3f right, %.3f wrong", (int)back, right, wrong);
		/* Where hardly more samples meet a frame than must, most is. */
		right = told(&comm_est_hazard, back, 40ull * MS, &wrong);
		if (right < 0.5 || wrong > 0.05)
			fail_msg("%d short frames back: %.3f right, %.3f wrong", (int)back, right,
				 wrong);
	}
}

/* Buffers that stand one behind the other, and begin anywhere: a region of memory has parts of two. */
static void what_is_not_told_is_not_known(void **state)
{
	static const uint64_t offsets[] = {0, 0x20, 0x720, 0xff8, 0x2720, 0x4000, 0x7ff8};

	(void)state;
	words = BUFFER_BYTES / 8;
	for (uint64_t back = 0; back < COMM_AGES_BACK; back++) {
		for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++) {
			double wrong, right;

			offset = offsets[i];
			right = told(&comm_est_hazard, back, 160ull * MS, &wrong);
			if (right < 0.25 || wrong > 0.05)
				fail_msg("%d frames back, %#x behind a boundary: %.3f right, %.3f "
					 "wrong",
					 (int)back, (unsigned int)offset, right, wrong);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_begin_between_samples),
		cmocka_unit_test(short_frames_are_not_known),
		cmocka_unit_test(lies_are_bounded),
		cmocka_unit_test(data_is_told_by_frames),
		cmocka_unit_test(what_is_not_told_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
