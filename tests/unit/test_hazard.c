// SPDX-License-Identifier: GPL-2.0-or-later
/* What the hazard estimator makes of patterns of ownership. */
#include "made_bursts.h"

/*
 * Pages of four threads alternate in one object, of which only little is observed: a
 * thread's reads of its own pages are its own even where its write was not seen.
 */
static void test_own_pages(void **state)
{
	const struct comm_est_ops *ops = &comm_est_hazard;
	void *est = est_new(ops);
	uint64_t random = 1;
	double others = 0;
	struct result r;

	(void)state;
	for (uint32_t i = 0; i < 400; i++) {
		struct comm_access a[12];
		uint32_t thread = i % 4;

		for (uint32_t j = 0; j < 12; j++) {
			uint64_t page = comm_hash_next(&random) % 32 * 4 + thread;
			uint64_t datum = base + page * 4096 + comm_hash_next(&random) % 504 * 8;

			a[j] = access_at(j < 8 && j ? a[0].datum + j * 8 : datum,
					 j < 8 ? COMM_ACCESS_WRITE : COMM_ACCESS_READ, (uint16_t)j);
		}
		feed(ops, est, i * 1000000ull, thread, a, 12);
	}
	slice(ops, est, &r);
	for (uint32_t w = 0; w < 4; w++)
		for (uint32_t reader = 0; reader < 4; reader++)
			others += w != reader ? r.bytes[w][reader] : 0;
	assert_true(others < 0.04 * r.edge_bytes);
	ops->destroy(est);
}

/* Ends the estimator; returns the share of bytes read that no thread wrote. */
static double end_unwritten(void *est)
{
	struct result r;
	struct comm_unwritten u = slice(&comm_est_hazard, est, &r);

	comm_est_hazard.destroy(est);
	return u.bytes / (u.bytes + r.edge_bytes);
}

/*
 * A constant in a page of which little is observed: read in every other burst, and
 * written in none, unlike what stands around it.
 */
static void test_constant(void **state)
{
	const struct comm_est_ops *ops = &comm_est_hazard;
	void *est = est_new(ops);
	uint64_t random = 1;

	(void)state;
	for (uint32_t i = 0; i < 400; i++) {
		uint64_t datum = base + 8 + comm_hash_next(&random) % 511 * 8;
		struct comm_access w = access_at(datum, COMM_ACCESS_WRITE, 0);
		struct comm_access c = access_at(base, COMM_ACCESS_READ, 0);

		feed(ops, est, i * 1000000ull, i % 2, i % 2 ? &c : &w, 1);
	}
	assert_true(end_unwritten(est) > 0.8);
}

/* Of what nobody can write nobody is taken for the writer, whatever stands around it. */
static void test_read_only(void **state)
{
	const struct comm_est_ops *ops = &comm_est_hazard;
	void *est = est_new(ops);
	uint64_t random = 1;
	struct comm_unwritten u;
	struct result r;

	(void)state;
	for (uint32_t i = 0; i < 400; i++) {
		uint64_t datum = base + comm_hash_next(&random) % 512 * 8;
		struct comm_access w = access_at(datum, COMM_ACCESS_WRITE, 0);
		/* Near the writes, and where only the object is the same. */
		struct comm_access c = access_at(i % 4 == 1 ? datum : base + (1 << 24) + datum % 64,
						 COMM_ACCESS_READ | COMM_ACCESS_CONSTANT, 0);

		feed(ops, est, i * 1000000ull, i % 2, i % 2 ? &c : &w, 1);
	}
	u = slice(ops, est, &r);
	assert_true(u.bytes > 0);
	assert_true(r.edge_bytes == 0);
	ops->destroy(est);
}

/* The same table after its page was touched: thread 3 wrote it. */
static void test_touched_constant(void **state)
{
	const struct comm_est_ops *ops = &comm_est_hazard;
	void *est = est_new(ops);
	struct comm_unwritten u;
	struct result r;

	(void)state;
	ops->touch(est, &(struct comm_touch){.time_ns = 1,
					     .datum = base,
					     .size_bytes = 4096,
					     .thread = 3,
					     .site = COMM_SITE_FIRST_WRITE});
	for (uint32_t i = 0; i < 2000; i++) {
		uint32_t w = i % 2;

		feed_exact(ops, est, i * 1000000ull + 1, 1 + w,
			   access_at(base + (w ? 8192 : i % 64 * 8),
				     w ? COMM_ACCESS_WRITE : COMM_ACCESS_READ, 0));
	}
	u = slice(ops, est, &r);
	assert_true(r.bytes[3][1] > 0.8 * (r.edge_bytes + u.bytes));
	assert_true(r.first_write_bytes == r.bytes[3][1]);
	assert_int_equal(u.bytes, 0);
	ops->destroy(est);
}

/* Thread 1 reads the words of a page, each once, after the touch of it. */
static void read_touched(struct comm_touch touch, uint16_t flags, struct result *ret)
{
	const struct comm_est_ops *ops = &comm_est_hazard;
	void *est = est_new(ops);

	touch.time_ns = 1;
	touch.datum = base;
	touch.size_bytes = 4096;
	ops->touch(est, &touch);
	for (uint32_t i = 0; i < 64; i++)
		feed_exact(ops, est, i * 1000000ull + 1, 1,
			   access_at(base + i * 8, COMM_ACCESS_READ | flags, 0));
	slice(ops, est, ret);
	ops->destroy(est);
}

/* A thread's stack was touched first by who started it; what it reads there is its own all the same. */
static void test_own_stack(void **state)
{
	const struct comm_touch touch = {.thread = 3, .site = SITE_W};
	struct result r;

	(void)state;
	for (int own = 0; own < 2; own++) {
		read_touched(touch, own ? COMM_ACCESS_OWN_STACK : 0, &r);
		assert_true(r.edge_bytes > 0);
		assert_true(r.bytes[own ? 1 : 3][1] > 0.99 * r.edge_bytes);
		assert_true((own ? r.other_bytes : r.code_bytes[0]) > 0.99 * r.edge_bytes);
	}
}

/* What the loader wrote in a page of a file is what it has made constant. */
static void test_loaded(void **state)
{
	const struct comm_touch touch = {
		.thread = 3, .site = SITE_W, .of_file = true, .loads = true};
	struct result r;

	(void)state;
	for (int i = 0; i < 2; i++) {
		read_touched(touch, i ? COMM_ACCESS_CONSTANT : 0, &r);
		assert_true(i ? r.bytes[3][1] > 63 * 8000 : r.bytes[3][1] < 8000);
	}
}

/*
 * What a thread was given as it began is its creator's, where that is known, though it lies in the
 * thread's own stack.
 */
static void test_by_creator(void **state)
{
	const struct comm_touch touch = {.thread = 3, .site = SITE_W};
	struct result r;

	(void)state;
	for (int i = 0; i < 2; i++) {
		creators[1] = i ? 2 : COMM_ID_OTHER;
		read_touched(touch, COMM_ACCESS_OWN_STACK | COMM_ACCESS_BY_CREATOR, &r);
		assert_true(r.bytes[i ? 2 : 1][1] > 0.99 * r.edge_bytes);
		assert_true(r.edge_bytes > 63 * 8000);
		assert_int_equal(r.last.src_site, i ? COMM_SITE_STARTUP : COMM_ID_OTHER);
	}
	creators[1] = COMM_ID_OTHER;
}

static void near(double value, double whole, double share)
{
	assert_true(fabs(value - share * whole) < 0.1 * whole);
}

/*
 * Two threads write one datum in turn, so which of them came last before a read is not known:
 * in doubt is the thread, but not the role that they have in common, nor the code.
 */
static void test_doubts(void **state)
{
	const struct comm_est_ops *ops = &comm_est_hazard;

	(void)state;
	for (int pool = 0; pool < 2; pool++) {
		void *est = est_new(ops);
		struct result r;
		double bytes;

		roles[1] = 7;
		roles[2] = pool ? 7 : 8;
		roles[3] = 9;
		for (uint32_t i = 0; i < 3000; i++) {
			/* One datum is both writers', another the first one's alone, a third the reader's own. */
			uint32_t thread = 1 + i % 3, word = i / 3 % 2;
			struct comm_access a =
				access_at(base + 64 * word,
					  thread == 3 ? COMM_ACCESS_READ : COMM_ACCESS_WRITE, 0);

			if (thread == 2 && word == 1)
				continue;
			feed(ops, est, i * 1000000ull + 1, thread, &a, 1);
			a = access_at(base + 4096, word ? COMM_ACCESS_READ : COMM_ACCESS_WRITE, 0);
			if (thread == 3)
				feed(ops, est, i * 1000000ull + 500000, thread, &a, 1);
		}
		slice(ops, est, &r);
		bytes = r.bytes[2][3];
		assert_true(bytes > 0 && r.bytes[1][3] > 2 * bytes && r.bytes[3][3] > bytes);
		near(r.doubts[2][3].thread, bytes, 0.5);
		near(r.doubts[2][3].role, bytes, pool ? 0 : 0.5);
		near(r.doubts[2][3].side, bytes, 0);
		near(r.doubts[2][3].code, bytes, 0);
		/* The first writer is as unsure of those bytes, and sure of its own. */
		near(r.doubts[1][3].thread, bytes, 0.5);
		near(r.doubts[3][3].thread, r.bytes[3][3], 0);
		ops->destroy(est);
	}
	memset(roles, 0, sizeof(roles));
}

/*
 * A constant where little is written at all, so that an unseen write proves little:
 * the writers there overwrite the same words, never the constant.
 */
static void test_constant_beside(void **state)
{
	const struct comm_est_ops *ops = &comm_est_hazard;
	void *est = est_new(ops);
	uint64_t random = 1;

	(void)state;
	for (uint32_t i = 0; i < 800; i++) {
		bool write = i % 20 == 0;
		uint64_t datum = base + (i % 4 == 1 ? 0 : 8 + comm_hash_next(&random) % 7 * 8);
		struct comm_access a =
			access_at(datum, write ? COMM_ACCESS_WRITE : COMM_ACCESS_READ, 0);

		feed(ops, est, i * 1000000ull, !write, &a, 1);
	}
	assert_true(end_unwritten(est) > 0.2);
}

enum { ROW_MOST = 512 };

/* A burst that writes or reads n words in a row. */
static void feed_row(void *est, uint64_t time_ns, uint32_t thread, uint64_t datum, uint32_t n,
		     uint16_t flags)
{
	struct comm_access row[ROW_MOST];

	assert_true(n <= ROW_MOST);
	for (uint32_t i = 0; i < n; i++)
		row[i] = access_at(datum + i * 8, flags, (uint16_t)(i * 4));
	feed(&comm_est_hazard, est, time_ns, thread, row, n);
}

enum { SWEEP_WORDS = 4096 };

/*
 * Thread 0 writes written words of an array from end to end, thread 1 reads all
 * of it.  Bursts meet a part of the words only.
 */
static double sweep_unwritten(uint32_t written)
{
	void *est = est_new(&comm_est_hazard);
	uint64_t random = 7;

	for (uint32_t i = 0; i < 400; i++) {
		uint32_t words = i % 2 ? SWEEP_WORDS : written;
		uint64_t at = comm_hash_next(&random) % (words / 16) * 16;

		feed_row(est, i * 1000000ull, i % 2, base + at * 8, 16,
			 i % 2 ? COMM_ACCESS_READ : COMM_ACCESS_WRITE);
	}
	return end_unwritten(est);
}

/* A word without an observed write counts as written where all similar words are. */
static void test_sweep(void **state)
{
	(void)state;
	assert_true(sweep_unwritten(SWEEP_WORDS) < 0.08);
	/* Half of it is constant; few observations bias the estimate towards written. */
	assert_true(sweep_unwritten(SWEEP_WORDS / 2) > 0.2);
}

/*
 * An array is written over and over as a whole, and read much more often.  The few bursts that
 * were seen to write it, all of one half, say little of the other.
 */
static void test_long_writes(void **state)
{
	void *est = est_new(&comm_est_hazard);
	uint64_t random = 19;

	(void)state;
	for (uint32_t i = 0; i < 2000; i++) {
		bool write = i % 500 == 100;
		uint64_t word = write ? i / 500 % 2 * 256 : comm_hash_next(&random) % 1520;

		feed_row(est, i * 1000000ull, !write, 2 * base + word * 8, write ? ROW_MOST : 16,
			 write ? COMM_ACCESS_WRITE : COMM_ACCESS_READ);
	}
	assert_true(end_unwritten(est) < 0.08);
}

/* Single stores clear an array once; other code copies all of it by long writes ever since: that wrote it. */
static void test_code_of_long_writes(void **state)
{
	const struct comm_est_ops *ops = &comm_est_hazard;
	void *est = est_new(ops);
	uint64_t random = 29;
	struct result r;

	(void)state;
	feed_row(est, 1, 0, 2 * base, ROW_MOST, COMM_ACCESS_WRITE);
	for (uint32_t i = 1; i < 400; i++) {
		struct comm_access copy =
			access_at(2 * base, COMM_ACCESS_WRITE | COMM_ACCESS_REP, 0);

		copy.size_bytes = ROW_MOST * 8;
		copy.site = SITE_W + 1;
		if (i % 10 == 5)
			feed(ops, est, i * 1000000ull, 0, &copy, 1);
		else
			feed_row(est, i * 1000000ull, 1,
				 2 * base + comm_hash_next(&random) % (ROW_MOST - 16) * 8, 16,
				 COMM_ACCESS_READ);
	}
	slice(ops, est, &r);
	assert_true(r.code_bytes[1] > 0.9 * r.bytes[0][1]);
	ops->destroy(est);
}

/* The share of first reads where each write is read so many times. */
static double first_share(uint32_t reads)
{
	void *est = est_new(&comm_est_hazard);
	uint64_t random = 11;
	struct result r;

	for (uint32_t i = 0; i < 900; i++) {
		bool write = i % (reads + 1) == 0;
		uint32_t segment = comm_hash_next(&random) & 1;
		uint64_t at = comm_hash_next(&random) % (SWEEP_WORDS / 32) * 16;

		/* Two pairs of threads; the second pair must not matter. */
		feed_row(est, i * 1000000ull, write ? segment : segment + 2,
			 base + (segment * SWEEP_WORDS / 2 + at) * 8, 16,
			 write ? COMM_ACCESS_WRITE : COMM_ACCESS_READ);
	}
	slice(&comm_est_hazard, est, &r);
	comm_est_hazard.destroy(est);
	return (r.first[0][2] + r.first[1][3]) / (r.bytes[0][2] + r.bytes[1][3]);
}

static void test_first_reads(void **state)
{
	(void)state;
	assert_true(first_share(1) > 0.9);
	assert_true(first_share(8) > 0.08 && first_share(8) < 0.2);
}

/*
 * Two threads take turns on one CPU, 4 ms each, and change data that both write
 * within microseconds: the running thread was nearly always the last writer, of lines, too, that it was not seen to write.
 */
static void test_turns(void **state)
{
	const struct comm_est_ops *ops = &comm_est_hazard;
	void *est = est_new(ops);
	uint64_t random = 3;
	struct result r;

	(void)state;
	for (uint32_t i = 0; i < 400; i++) {
		uint64_t start_ns = i * 4000000ull, at = base + comm_hash_next(&random) % 64 * 128;
		struct comm_access a[32];

		ops->sched(est, start_ns, (i + 1) % 2, false);
		ops->sched(est, start_ns, i % 2, true);
		for (uint16_t j = 0; j < 32; j++)
			a[j] = access_at(at + j % 16 * 8,
					 j < 16 ? COMM_ACCESS_READ : COMM_ACCESS_WRITE, j);
		feed(ops, est, start_ns + 1000000 + comm_hash_next(&random) % 2000000, i % 2, a,
		     32);
	}
	slice(ops, est, &r);
	assert_true(r.bytes[0][1] + r.bytes[1][0] < 0.1 * r.edge_bytes);
	ops->destroy(est);
}

/*
 * Pieces of one array belong to two writers in turn; bursts meet few of their lines.
 * Returns how much is attributed to the wrong writer, as a part of what is to the right one.
 */
static double wrong_owner(uint32_t piece_bytes, uint32_t bursts)
{
	const struct comm_est_ops *ops = &comm_est_hazard;
	void *est = est_new(ops);
	uint64_t random = 5;
	struct result r;
	double wrong;

	for (uint32_t i = 0; i < bursts; i++) {
		uint32_t writer = comm_hash_next(&random) & 1;
		uint64_t piece = comm_hash_next(&random) % 16 * 2 + writer;
		uint64_t at =
			piece * piece_bytes + comm_hash_next(&random) % (piece_bytes / 128) * 128;

		feed_row(est, i * 1000000ull, i % 2 ? writer + 2 : writer, 2 * base + at, 16,
			 i % 2 ? COMM_ACCESS_READ : COMM_ACCESS_WRITE);
	}
	slice(ops, est, &r);
	wrong = (r.bytes[1][2] + r.bytes[0][3]) / (r.bytes[0][2] + r.bytes[1][3]);
	ops->destroy(est);
	return wrong;
}

static void test_owners(void **state)
{
	(void)state;
	assert_true(wrong_owner(4096, 400) < 0.05);
}

/* A thread that writes one word over and over is not taken for the writer of other words. */
static void test_hot_word(void **state)
{
	const struct comm_est_ops *ops = &comm_est_hazard;
	void *est = est_new(ops);
	uint64_t random = 9;
	struct result r;

	(void)state;
	for (uint32_t i = 0; i < 240; i++) {
		uint64_t at = 2 * base + 4096 + comm_hash_next(&random) % (SWEEP_WORDS / 16) * 128;

		if (i % 3 == 1)
			feed_row(est, i * 1000000ull, 1, 2 * base, 1, COMM_ACCESS_WRITE);
		else
			feed_row(est, i * 1000000ull, i % 3, at, 16,
				 i % 3 ? COMM_ACCESS_READ : COMM_ACCESS_WRITE);
	}
	slice(ops, est, &r);
	assert_true(r.bytes[1][2] < 0.02 * r.bytes[0][2]);
	ops->destroy(est);
}

/*
 * A thread that reads only its own data is not estimated to read others' where no
 * write was seen.
 */
static void test_own_constants(void **state)
{
	const struct comm_est_ops *ops = &comm_est_hazard;
	void *est = est_new(ops);
	uint64_t random = 13;
	struct comm_unwritten u;
	struct result r;
	double others;

	(void)state;
	for (uint32_t i = 0; i < 400; i++) {
		uint32_t thread = i % 4;
		uint64_t page = 2 * base + thread * 4096, at = comm_hash_next(&random) % 16 * 8;
		const struct comm_access own[] = {access_at(page + at, COMM_ACCESS_READ, 0),
						  access_at(page + at, COMM_ACCESS_WRITE, 1)};

		if (thread < 3)
			feed(ops, est, i * 1000000ull, thread, own, 2);
		else
			feed_row(est, i * 1000000ull, 3, page + comm_hash_next(&random) % 480 * 8,
				 1, COMM_ACCESS_READ);
	}
	u = slice(ops, est, &r);
	others = r.bytes[0][3] + r.bytes[1][3] + r.bytes[2][3];
	assert_true(others < 0.01 * (others + u.bytes));
	ops->destroy(est);
}

/*
 * Thread 1 reads the first words of 512, one a burst; thread 0 writes all but the first now and
 * then.  Returns the part of what is read that has a writer.
 */
static double beside_stated(uint32_t read)
{
	void *est = est_new(&comm_est_hazard);
	uint64_t random = 17;
	struct comm_unwritten u;
	struct result r;

	for (uint32_t i = 0; i < 2000; i++) {
		bool write = i % 8 == 0;
		uint64_t word =
			write ? 1 + comm_hash_next(&random) % 511 : comm_hash_next(&random) % read;

		feed_row(est, i * 1000000ull, !write, 2 * base + word * 8, 1,
			 write ? COMM_ACCESS_WRITE : COMM_ACCESS_READ);
	}
	u = slice(&comm_est_hazard, est, &r);
	comm_est_hazard.destroy(est);
	return r.edge_bytes / (r.edge_bytes + u.bytes);
}

/* Many words are written as those around them are, on average; of a single one that is not known. */
static void test_one_of_many(void **state)
{
	(void)state;
	assert_true(beside_stated(1) < 0.001);
	assert_true(beside_stated(512) > 0.5);
}

/* Every other burst that waiting_stated() reads with ends at its first read. */
static bool cut;

/*
 * Bursts of thread 1 read so many times, step bytes apart, in a page that thread 3 touched first;
 * thread 2 writes the word at written.  Returns the part of what is read that has a writer;
 * *ret_polled: that which counts as waiting.
 */
static double waiting_stated(const struct comm_est_ops *ops, uint32_t times, uint32_t step,
			     uint64_t written, double *ret_polled)
{
	struct comm_unwritten u;
	void *est = est_new(ops);
	struct result r;

	ops->touch(est, &(struct comm_touch){
				.time_ns = 1, .datum = base, .size_bytes = 4096, .thread = 3});
	for (uint32_t i = 0; i < 400; i++) {
		struct comm_access a[24];
		bool reads = i % 20;
		uint32_t n = reads && !(cut && i % 2) ? times : 1;

		for (uint32_t j = 0; j < n; j++)
			a[j] = access_at(reads ? base + j * step : written,
					 reads ? COMM_ACCESS_READ : COMM_ACCESS_WRITE,
					 (uint16_t)(j * 2));
		feed(ops, est, i * 1000000ull + 2, reads ? 1 : 2, a, n);
	}
	u = slice(ops, est, &r);
	ops->destroy(est);
	assert_true(u.polled_bytes <= u.bytes);
	*ret_polled = u.polled_bytes / (r.edge_bytes + u.bytes);
	return r.edge_bytes / (r.edge_bytes + u.bytes);
}

/*
 * Who touched a page first, or writes beside a word on which a thread spins, says nothing about that:
 * it waits.  Nor does who was seen to write the very word, which is what it waits for.  Not so a table that
 * is read from end to end.
 */
static void test_spin(void **state)
{
	const struct comm_est_ops *ops = &comm_est_hazard;
	double polled;

	(void)state;
	assert_true(waiting_stated(ops, 24, 0, base + 256, &polled) < 0.01);
	assert_true(polled > 0.5);
	assert_true(waiting_stated(ops, 24, 8, base + 256, &polled) > 0.5);
	assert_true(polled == 0);
	assert_true(waiting_stated(ops, 24, 0, base, &polled) < 0.01);
	assert_true(polled > 0.5);
	/* A part of a loop is known by its reads, once the loop was met. */
	cut = true;
	assert_true(waiting_stated(ops, 24, 0, base, &polled) < 0.01);
	assert_true(polled > 0.9);
	assert_true(waiting_stated(ops, 24, 8, base + 256, &polled) > 0.5);
	assert_true(polled == 0);
	cut = false;
	/* Of a loop that yields a burst sees one turn. */
	assert_true(waiting_stated(ops, 1, 0, base, &polled) > 0.5);
	assert_true(polled == 0);
	yields = true;
	assert_true(waiting_stated(ops, 1, 0, base, &polled) < 0.01);
	assert_true(polled > 0.5);
	assert_true(waiting_stated(ops, 24, 8, base, &polled) > 0.5);
	assert_true(polled == 0);
	yields = false;
}

/* Site SITE_W + 2 is of the function of SITE_W. */
static uint32_t function_of(const void *ctx, uint32_t site)
{
	(void)ctx;
	return site == SITE_W + 2 ? SITE_W : site;
}

/*
 * Records of 8 words: one piece of code of thread 0 writes words 0 and 1 of a record, another one
 * word 3, and thread 1 reads one word of a record.
 */
static struct result records_read(uint32_t word)
{
	const struct comm_est_ops *ops = &comm_est_hazard;
	struct comm_est_config with_functions = config;
	uint64_t random = 23;
	struct result r;
	void *est;

	with_functions.function_of = function_of;
	assert_int_equal(ops->create(&with_functions, &est), 0);
	for (uint32_t i = 0; i < 4000; i++) {
		uint64_t record = 2 * base + comm_hash_next(&random) % 512 * 64;
		struct comm_access link[] = {access_at(record, COMM_ACCESS_WRITE, 0),
					     access_at(record + 8, COMM_ACCESS_WRITE, 1)};
		struct comm_access mark = access_at(record + 24, COMM_ACCESS_WRITE, 0);
		struct comm_access read = access_at(record + word * 8, COMM_ACCESS_READ, 0);

		mark.site = SITE_W + 1;
		mark.ip_key = 77;
		if (i % 4 == 0)
			feed(ops, est, i * 1000000ull, 0, link, 2);
		else if (i % 4 == 2)
			feed(ops, est, i * 1000000ull, 0, &mark, 1);
		else
			feed(ops, est, i * 1000000ull, 1, &read, 1);
	}
	slice(ops, est, &r);
	ops->destroy(est);
	return r;
}

/*
 * Which code wrote a word of a record is told by who writes that word, not the ones beside it; and
 * where none was ever seen to write what is read, nobody is told.
 */
static void test_fields(void **state)
{
	struct result r;
	double bytes;

	(void)state;
	r = records_read(1);
	bytes = r.edge_bytes;
	assert_true(r.bytes[0][1] > 0.9 * bytes && r.code_bytes[0] > 0.9 * bytes);
	r = records_read(3);
	assert_true(r.bytes[0][1] > 0.9 * r.edge_bytes && r.code_bytes[1] > 0.9 * r.edge_bytes);
	/* Nobody writes it. */
	r = records_read(5);
	assert_true(r.edge_bytes < 0.01 * bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_pages),
		cmocka_unit_test(test_constant),
		cmocka_unit_test(test_read_only),
		cmocka_unit_test(test_touched_constant),
		cmocka_unit_test(test_own_stack),
		cmocka_unit_test(test_loaded),
		cmocka_unit_test(test_by_creator),
		cmocka_unit_test(test_doubts),
		cmocka_unit_test(test_constant_beside),
		cmocka_unit_test(test_sweep),
		cmocka_unit_test(test_long_writes),
		cmocka_unit_test(test_code_of_long_writes),
		cmocka_unit_test(test_first_reads),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_owners),
		cmocka_unit_test(test_hot_word),
		cmocka_unit_test(test_own_constants),
		cmocka_unit_test(test_one_of_many),
		cmocka_unit_test(test_spin),
		cmocka_unit_test(test_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
