// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes stores with known contents for tests of commctl.
 *
 *   make_store KIND FILE [SECONDS]
 *
 * KIND: redis, changed, turn, hostile, markup, empty, threads, many, pool, exact, unfinished, unseen,
 * precise, pairs, moving, calls, marked, regions, uncounted, watched, both, survey,
 * awaited: as redis, but the first slice comes after a line on standard input, or
 * followed: as redis, but each slice does.
 *
 * The figures of "redis" are made up, its names are those of redis 7 with four
 * I/O threads.
 */
#include <math.h>
#include <unistd.h>

#include "estimator.h"
#include "made_names.h"
#include "store.h"

#define MS 1000000ULL
#define SECOND (1000 * MS)

static struct made_names *names;

/* Reproducible noise about 1. */
static double noise(void)
{
	static uint64_t x = 88172645463325252ULL;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return 0.8 + 0.4 * (x % 10000) / 10000.;
}

static uint32_t site(const char *function, const char *module, const char *source, uint32_t line)
{
	static uint64_t start = 0x40000;
	uint32_t f = 0;

	while (f < names->n_functions && strcmp(names->function[f].name, function))
		f++;
	if (f == names->n_functions)
		f = made_function(names, function, module, start += 0x150);
	return made_site(names, f, source, line);
}

struct flow {
	uint32_t src_thread, dst_thread, src_site, dst_site, object;
	double bytes_per_s;
	uint32_t bursts;
};

static struct comm_edge edge_of(const struct flow *flow, double seconds, double load)
{
	double bytes = flow->bytes_per_s * seconds * load * noise();

	return (struct comm_edge){
		.src_thread = flow->src_thread,
		.dst_thread = flow->dst_thread,
		.src_site = flow->src_site,
		.dst_site = flow->dst_site,
		.object = flow->object,
		.bursts = flow->bursts,
		.level = flow->bursts > 3 ? 0 : 3,
		.bytes = bytes,
		.variance = bytes * bytes / (flow->bursts + 0.2),
		.first_bytes = bytes * 0.4,
		.first_variance = bytes * bytes * 0.2 / (flow->bursts + 0.2),
	};
}

static size_t redis(struct flow *flow)
{
	const char *exe = "redis-server", *libc = "libc.so.6";
	uint32_t main_thread = made_thread(names, 4242, 4242, "redis-server"), io[3], bio[3], je;
	uint32_t read_query = site("readQueryFromClient", exe, "networking.c", 2672);
	uint32_t parse = site("processMultibulkBuffer", exe, "networking.c", 2345);
	uint32_t process = site("processInputBuffer", exe, "networking.c", 2503);
	uint32_t dispatch =
		site("handleClientsWithPendingReadsUsingThreads", exe, "networking.c", 4322);
	uint32_t pending = site("getIOPendingCount", exe, "networking.c", 4155);
	uint32_t io_main = site("IOThreadMain", exe, "networking.c", 4176);
	uint32_t reply = site("_addReplyToBufferOrList", exe, "networking.c", 331);
	uint32_t write_out = site("writeToClient", exe, "networking.c", 1987);
	uint32_t move = site("__memmove_avx_unaligned_erms", libc, NULL, 0);
	uint32_t find = site("dictFind", exe, "dict.c", 744);
	uint32_t add = site("dictAddRaw", exe, "dict.c", 502);
	uint32_t sds = site("sdsnewlen", exe, "sds.c", 113);
	uint32_t submit = site("bioSubmitJob", exe, "bio.c", 197);
	uint32_t work = site("bioProcessBackgroundJobs", exe, "bio.c", 245);
	uint32_t release = site("decrRefCount", exe, "object.c", 381);
	uint32_t tick = site("serverCron", exe, "server.c", 1382);
	uint32_t purge = site("je_arena_decay", exe, NULL, 0);
	uint32_t heap = made_object(names, COMM_OBJECT_HEAP, "[heap]", "", 812 << 20);
	uint32_t arena = made_object(names, COMM_OBJECT_ANON, "[anon 7f31c8000000]", "", 64 << 20);
	uint32_t clients = made_object(names, COMM_OBJECT_STATIC, "io_threads_list", exe, 1024);
	uint32_t count = made_object(names, COMM_OBJECT_STATIC, "io_threads_pending", exe, 8192);
	uint32_t server = made_object(names, COMM_OBJECT_STATIC, "server", exe, 20480);
	uint32_t jobs = made_object(names, COMM_OBJECT_STATIC, "bio_jobs", exe, 24);
	size_t n = 0;
	char name[16];

	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "io_thd_%d", i + 1);
		io[i] = made_thread(names, 4242, 4246 + i, name);
	}
	bio[0] = made_thread(names, 4242, 4243, "bio_close_file");
	bio[1] = made_thread(names, 4242, 4244, "bio_aof");
	bio[2] = made_thread(names, 4242, 4245, "bio_lazy_free");
	je = made_thread(names, 4242, 4249, "jemalloc_bg_thd");
	for (int i = 0; i < 3; i++) {
		double f = 1 - 0.12 * i;
		uint32_t t = io[i], m = main_thread;

		flow[n++] = (struct flow){COMM_ID_OTHER, t, COMM_SITE_KERNEL, parse, heap, 9e5, 3};
		flow[n++] = (struct flow){t, m, COMM_SITE_KERNEL, parse, heap, 61e6 * f, 30};
		flow[n++] = (struct flow){t, m, read_query, process, heap, 24e6 * f, 14};
		flow[n++] = (struct flow){t, m, parse, find, heap, 17e6 * f, 9};
		flow[n++] = (struct flow){t, m, sds, move, arena, 11e6 * f, 7};
		flow[n++] = (struct flow){t, m, io_main, pending, count, 3.1e6 * f, 4};
		flow[n++] = (struct flow){m, t, reply, write_out, heap, 38e6 * f, 21};
		flow[n++] = (struct flow){m, t, move, COMM_SITE_KERNEL, heap, 52e6 * f, 25};
		flow[n++] = (struct flow){m, t, dispatch, io_main, clients, 2.4e6 * f, 3};
		flow[n++] = (struct flow){m, t, dispatch, io_main, count, 1.9e6 * f, 2};
		flow[n++] = (struct flow){m, t, tick, read_query, server, 4.6e6 * f, 5};
		flow[n++] = (struct flow){t, t, read_query, parse, heap, 40e6, 11};
		flow[n++] =
			(struct flow){t, io[(i + 1) % 3], write_out, read_query, server, 6e5, 1};
	}
	flow[n++] = (struct flow){main_thread, main_thread, add, find, heap, 380e6, 70};
	flow[n++] = (struct flow){main_thread, main_thread, reply, reply, heap, 60e6, 20};
	flow[n++] = (struct flow){main_thread, bio[2], submit, work, jobs, 2e5, 1};
	flow[n++] = (struct flow){main_thread, bio[2], sds, release, arena, 8.7e6, 5};
	flow[n++] = (struct flow){main_thread, bio[1], submit, work, jobs, 9e4, 0};
	flow[n++] = (struct flow){bio[2], main_thread, release, sds, arena, 3.3e6, 2};
	flow[n++] = (struct flow){bio[2], je, release, purge, arena, 1.2e6, 1};
	return n;
}

static size_t hostile(struct flow *flow)
{
	uint32_t a = made_thread(names, 1, 1, "\033[31mred\033[0m"),
		 b = made_thread(names, 1, 2, "\"=1;\\");
	uint32_t f = site("=cmd|'/C calc'!A0", "\033]0;title\007", "a\"b\\.c", 1);
	uint32_t g = site("\xff\xfe\n\r<script>&lt;]]>\xef\xbf\xbe\x7f", "m\xc3\xa9", "x,y.c", 2);
	/* C1 controls, text that is turned around, and an unseen mark before a formula. */
	uint32_t h = site("\xc2\x9b"
			  "31mred\xe2\x80\xaegnp.exe",
			  "\xef\xbb\xbf=1", "\x80\xc2", 3);
	uint32_t o = made_object(names, COMM_OBJECT_STATIC, "@SUM(A1)\n", "\"", 8);
	uint32_t p = made_object(names, COMM_OBJECT_STATIC, "\xe2\x81\xa6x\xe2\x80\xa8",
				 "\xf3\xa0\x80\x81", 8);

	flow[0] = (struct flow){a, b, f, g, o, 1e6, 10};
	flow[1] = (struct flow){b, a, g, f, o, 2e6, 10};
	flow[2] = (struct flow){a, b, h, f, p, 2e6, 10};
	return 3;
}

/*
 * The next release of redis: what io_thd_1 hands to the main thread is four times as
 * much, io_thd_3 is handed nothing any more, and the background thread of jemalloc
 * writes what the main thread reads.
 */
static size_t changed(struct flow *flow)
{
	size_t n = redis(flow), kept = 0;
	uint32_t main_thread = flow[1].dst_thread, first = flow[1].src_thread, je;

	je = flow[n - 1].dst_thread;
	for (size_t i = 0; i < n; i++) {
		if (flow[i].src_thread == main_thread && flow[i].dst_thread == first + 2)
			continue;
		if (flow[i].src_thread == first && flow[i].dst_thread == main_thread)
			flow[i].bytes_per_s *= 4;
		flow[kept++] = flow[i];
	}
	flow[kept] = flow[1];
	flow[kept++].src_thread = je;
	return kept;
}

/* Names that want to be markup, to run, or to hide. */
static size_t markup(struct flow *flow)
{
	uint32_t a = made_thread(names, 1, 1, "</script><b>"),
		 b = made_thread(names, 1, 2, "<!--<script>");
	uint32_t f = site("</script><img src=x onerror=owned()>", "<svg onload=owned()>",
			  "/x/\"><img src=x onerror=owned()>.c", 3);
	uint32_t g = site("\xe2\x80\xae\xe2\x81\xa6reversed\xc2\x9b\xe2\x80\xa8", "${owned()}",
			  "'};owned();//", 2);
	uint32_t o =
		made_object(names, COMM_OBJECT_STATIC, "javascript:owned()&lt;", "__proto__", 8);

	names->site[f].region = made_region(names, 0, "</script><img src=x onerror=owned()>");
	names->site[g].region = made_region(names, 0, "\xe2\x80\xae<!--");
	names->site[f].type = names->site[g].type = "</script><script>owned()</script>";
	names->site[f].field = "__proto__";
	flow[0] = (struct flow){a, b, f, g, o, 1e6, 10};
	flow[1] = (struct flow){b, a, g, f, o, 2e6, 10};
	return 2;
}

/* What one thread reads; its writer is not seen. */
static size_t unseen(struct flow *flow)
{
	uint32_t a = made_thread(names, 7, 7, "writer"), b = made_thread(names, 7, 8, "reader");
	uint32_t f = site("put", "q", "q.c", 1), g = site("get", "q", "q.c", 2);
	uint32_t o = made_object(names, COMM_OBJECT_HEAP, "[heap]", "", 1 << 20);

	flow[0] = (struct flow){a, b, f, g, o, 1e6, 50};
	return 1;
}

/* As a PMU tells it: what one thread reads was modified by another, the rest is anybody's. */
static size_t precise(struct flow *flow, struct comm_origin *origin)
{
	uint32_t a = made_thread(names, 7, 7, "writer"), b = made_thread(names, 7, 8, "reader");
	uint32_t f = site("put", "q", "q.c", 1), g = site("get", "q", "q.c", 2);
	uint32_t h = site("look", "q", "q.c", 3);
	uint32_t o = made_object(names, COMM_OBJECT_STATIC, "queue", "q", 4096);

	flow[0] = (struct flow){a, b, f, g, o, 4e6, 50};
	flow[1] = (struct flow){b, a, g, f, o, 1e6, 50};
	flow[2] = (struct flow){a, a, f, h, o, 1e6, 50};
	flow[3] = (struct flow){b, a, g, h, o, 1e6, 50};
	origin[0] = (struct comm_origin){.thread = b, .site = g, .object = o};
	origin[0].from[COMM_FROM_MODIFIED] = (struct comm_origin_sums){12, 12e3, 12e3, 12e3 * 250};
	origin[0].from[COMM_FROM_OWN] = (struct comm_origin_sums){6, 6e3, 0, 0};
	origin[0].from[COMM_FROM_REMOTE_MEMORY] = (struct comm_origin_sums){2, 2e3, 0, 0};
	origin[0].from[COMM_FROM_UNKNOWN] = (struct comm_origin_sums){5, 5e3, 0, 0};
	/* Of what the writer looks at, half is its own. */
	origin[1] = (struct comm_origin){.thread = a, .site = h, .object = o};
	origin[1].from[COMM_FROM_L3] = (struct comm_origin_sums){20, 20e3, 0, 0};
	return 4;
}

/* A ring of threads of one name, like a pool of workers. */
static size_t threads(struct flow *flow, uint32_t n)
{
	uint32_t f = site("produce", "ring", "ring.c", 10),
		 g = site("consume", "ring", "ring.c", 20);
	uint32_t o = made_object(names, COMM_OBJECT_STATIC, "queue", "ring", 4096), first = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t t = made_thread(names, 99, 100 + i, "worker");

		first = i ? first : t;
	}
	for (uint32_t i = 0; i < n; i++)
		flow[i] = (struct flow){first + i, first + (i + 1) % n, f, g, o, 1e6 + 1e4 * i, 8};
	return n;
}

/* main calls produce, which calls put, and put itself; work calls get; nobody knows who called look. */
static size_t calls(struct flow *flow)
{
	uint32_t a = made_thread(names, 7, 7, "producer"), b = made_thread(names, 7, 8, "consumer");
	uint32_t put = site("put", "q", "q.c", 1), again = site("put", "q", "q.c", 2);
	uint32_t get = site("get", "q", "q.c", 3), look = site("look", "q", "q.c", 4);
	uint32_t o = made_object(names, COMM_OBJECT_STATIC, "queue", "q", 4096);
	uint32_t in_main =
		made_call(names, COMM_CALL_OUTERMOST, made_function(names, "main", "q", 1));
	uint32_t in_produce = made_call(names, in_main, made_function(names, "produce", "q", 2));
	uint32_t in_work =
		made_call(names, COMM_CALL_OUTERMOST, made_function(names, "work", "q", 3));

	names->site[put].caller = in_produce;
	names->site[again].caller = in_main;
	names->site[get].caller = in_work;
	flow[0] = (struct flow){a, b, put, get, o, 4e6, 50};
	flow[1] = (struct flow){a, b, again, get, o, 2e6, 50};
	flow[2] = (struct flow){b, a, get, look, o, 1e5, 50};
	flow[3] = (struct flow){a, a, put, look, o, 3e6, 50};
	return 4;
}

/* What stands in a region and reads a type, within others, of a program that marks frames, too. */
static size_t marked(struct flow *flow)
{
	uint32_t a = made_thread(names, 7, 7, "producer"), b = made_thread(names, 7, 8, "consumer");
	uint32_t put = site("put", "q", "q.c", 1), fill = site("fill", "q", "q.c", 2);
	uint32_t get = site("get", "q", "q.c", 3), sum = site("sum", "q", "q.c", 4);
	uint32_t o = made_object(names, COMM_OBJECT_STATIC, "queue", "q", 4096);
	uint32_t step = made_region(names, 0, "step");

	names->site[put].region = made_region(names, step, "write");
	names->site[fill].region = step;
	names->site[get].region = names->site[sum].region = made_region(names, 0, "read");
	names->site[get].type = names->site[sum].type = "struct message";
	names->site[get].field = "length";
	names->site[sum].field = "words[]";
	names->site[put].caller =
		made_call(names, COMM_CALL_OUTERMOST, made_function(names, "main", "q", 1));
	flow[0] = (struct flow){a, b, put, get, o, 4e6, 50};
	flow[1] = (struct flow){a, b, fill, sum, o, 2e6, 50};
	flow[2] = (struct flow){b, a, get, fill, o, 1e6, 50};
	return 3;
}

/*
 * Writers run on CPUs 0 to 3, the reader of each on CPU 16 to 19.  moving: in every second slice
 * both are on 0 to 3, in the others both on 16 to 19.
 */
static size_t pairs(struct flow *flow, struct comm_placement *placement, int second)
{
	enum { PAIRS = 4 };
	static uint32_t writer[PAIRS], reader[PAIRS], f, g, o;
	static const char *const name[PAIRS] = {"put-1", "put-2", "put-3", "$(x)\n;reboot #"};
	char get[16];

	for (uint32_t i = 0; i < PAIRS && !f; i++) {
		snprintf(get, sizeof(get), "get-%u", i + 1);
		writer[i] = made_thread(names, 300, 300 + i, name[i]);
		reader[i] = made_thread(names, 300, 310 + i, get);
	}
	if (!f) {
		f = site("put", "q", "q.c", 1);
		g = site("get", "q", "q.c", 2);
		o = made_object(names, COMM_OBJECT_STATIC, "queue", "q", 4096);
	}
	for (uint32_t i = 0; i < PAIRS; i++) {
		uint32_t far = second < 0 || second % 2 ? 16 : 0, near = second < 0 ? 0 : far;

		flow[i] = (struct flow){writer[i], reader[i], f, g, o, 4e6 + 1e5 * i, 50};
		placement[2 * i] = (struct comm_placement){writer[i], near + i, 100};
		placement[2 * i + 1] = (struct comm_placement){reader[i], far + i, 100};
	}
	/* A little goes around. */
	for (uint32_t i = 0; i < PAIRS; i++)
		flow[PAIRS + i] =
			(struct flow){reader[i], writer[(i + 1) % PAIRS], f, g, o, 1e5, 50};
	return 2 * PAIRS;
}

/*
 * A line in which two threads count side by side, one that both of them count in, and one that
 * was met twice; object is that of a run with such threads and sites, counter a static one.
 */
static void share(struct comm_cachelines *table, uint32_t first_thread, uint32_t site,
		  uint32_t object, uint32_t counter)
{
	enum { FALSE, TRUE, RARE, KINDS };
	const uint64_t datum = (1ull << COMM_DATUM_SPACE_SHIFT) + 0x10000;

	comm_cachelines_clear(table);
	for (uint32_t kind = 0; kind < KINDS; kind++) {
		uint64_t met = kind == RARE ? 0 : 6;
		const struct comm_cacheline line = {datum + 64 * kind, 2 * met + 1, met};

		comm_cachelines_add(table, &line, NULL);
		for (uint32_t i = 0; i < 4 && met; i++) {
			struct comm_cacheline_use use = {
				.datum = line.datum + (kind == FALSE ? 16 * (i / 2) : 8),
				.thread = first_thread + i / 2,
				.site = site,
				.object = kind == FALSE ? object : counter,
				.size_bytes = 8,
				.write = i % 2,
				.bursts = met,
				.accesses = (kind == FALSE ? 4e6 : 1e6) * noise(),
			};

			use.offset = (int64_t)(use.datum - datum);
			comm_cachelines_add_use(table, &use, NULL);
		}
	}
}

/* What main writes is read by another one of a pool's threads in each slice. */
static size_t pool(struct flow *flow, int second)
{
	enum { WORKERS = 12 };
	static uint32_t first, worker[WORKERS], put, get, jobs;

	if (!put) {
		first = made_thread(names, 400, 400, "main");
		for (uint32_t i = 0; i < WORKERS; i++)
			worker[i] = made_thread(names, 400, 401 + i, "worker");
		put = site("put", "pool", "pool.c", 1);
		get = site("get", "pool", "pool.c", 2);
		jobs = made_object(names, COMM_OBJECT_STATIC, "jobs", "pool", 4096);
	}
	flow[0] = (struct flow){first, worker[second % WORKERS], put, get, jobs, 1e6, 50};
	return 1;
}

/* What one thread parses another one answers, in regions of 0.4 s and 0.1 s of CPU time a slice. */
static size_t regions(struct flow *flow, struct comm_count count[4])
{
	uint32_t in[2] = {made_region(names, 0, "parse"), made_region(names, 0, "answer")}, at[2];

	for (uint32_t i = 0; i < 2; i++) {
		uint32_t thread = made_thread(names, 70, 70 + i, i ? "writer" : "reader");

		at[i] = site(i ? "answer_all" : "parse_all", "q", "q.c", 10 + i);
		names->site[at[i]].region = in[i];
		/* Counter 0 is CPU time, 1 what samples stand for; each thread is in one region. */
		count[2 * i] = (struct comm_count){.thread = thread, .value = i ? 0.1e9 : 0.4e9};
		count[2 * i + 1] = (struct comm_count){
			.thread = thread, .region = in[i], .counter = 1, .value = 1};
	}
	flow[0] = (struct flow){count[0].thread,
				count[2].thread,
				at[0],
				at[1],
				made_object(names, COMM_OBJECT_HEAP, "[heap]", "", 4096),
				50e6,
				20};
	return 1;
}

/* These edges have no doubts: what a reader reads besides widens their intervals. */
static const struct comm_error_model without_doubts = {
	.sampled_ends = 2, .factor_sd = 0.3, .confusion_sd = 0.1};

/* Two thirds of the reads wait at one flow's end; of the rest some changes soon. */
static size_t survey(const struct flow *flow, struct comm_census_words *ret)
{
	static const struct {
		int flow;
		uint32_t class;
		double words;
	} cells[] = {
		{0, COMM_CENSUS_WAITS, 40},
		{1, COMM_CENSUS_CHANGED + 3, 12},
		{1, COMM_CENSUS_QUIET + COMM_CENSUS_LAGS, 8},
	};
	size_t n = sizeof(cells) / sizeof(*cells);

	for (size_t i = 0; i < n; i++)
		ret[i] = (struct comm_census_words){
			flow[cells[i].flow].dst_thread, flow[cells[i].flow].dst_site,
			flow[cells[i].flow].object,	cells[i].class,
			(uint64_t)cells[i].words,	cells[i].words * 1e6,
			cells[i].words * 1e12};
	return n;
}

/* What the estimator would know of an edge counts as read without a known writer. */
static void unsee(struct comm_edge *edge, struct comm_unwritten *unwritten)
{
	unwritten->bytes += edge->bytes;
	unwritten->first_bytes += edge->first_bytes;
	edge->bytes = edge->variance = edge->first_bytes = edge->first_variance = 0;
}

int main(int argc, char **argv)
{
	static const char *const counters[] = {COMM_COUNTER_CPU, COMM_COUNTER_SAMPLED};
	struct comm_count count[4];
	struct comm_store_config config = {
		.row_cap = 2000, .detail_ns = 900 * SECOND, .rollup_ns = 60 * SECOND};
	struct comm_run_info info = {.source = "perf",
				     .event = "cpu-clock",
				     .estimator = "hazard",
				     .error_model = &without_doubts,
				     .command = "redis-server *:6379 (pid 4242)",
				     .host = "db1",
				     .start_ns = 5000 * SECOND,
				     .start_unix_ns = 1795212665ULL * SECOND,
				     .overhead_limit = 0.01,
				     .granularity_bytes = 8,
				     .notes = ""};
	static const struct comm_error_model counted;
	int seconds = argc > 3 ? atoi(argv[3]) : 60;
	struct comm_store *store;
	struct flow flow[256];
	struct comm_edge edge[256];
	struct comm_unwritten_end ends[256];
	struct comm_origin origin[2] = {0};
	struct comm_placement placement[8];
	struct comm_cachelines cachelines = {0};
	static const char *const frames_counter = COMM_COUNTER_FRAMES;
	struct comm_count frames = {.value = 10};
	bool is_unseen, is_watched, is_both, is_survey;
	struct comm_census_words census[3];
	uint32_t counter;
	size_t n = 0, turns;
	int64_t run;
	char *err;

	if (argc < 3) {
		fprintf(stderr, "usage: make_store KIND FILE [SECONDS]\n");
		return 2;
	}
	names = made_names_create();
	config.path = argv[2];
	if (comm_store_open(&config, &store, &err)) {
		fprintf(stderr, "make_store: %s\n", err);
		return 1;
	}
	if (!strcmp(argv[1], "empty")) {
		comm_store_close(store);
		return 0;
	}
	if (!strcmp(argv[1], "hostile")) {
		info.command = "\033[2J\"evil\"\n\\";
		info.notes = "\033]0;x\007no BPF";
		n = hostile(flow);
	} else if (!strcmp(argv[1], "markup")) {
		info.command = info.host = info.notes = "</title></script><script>owned()</script>";
		n = markup(flow);
	} else if (!strcmp(argv[1], "threads")) {
		n = threads(flow, 64);
		info.command = "ring 64";
	} else if (!strcmp(argv[1], "many")) {
		n = threads(flow, 200);
		info.command = "ring 200";
	} else if (!strcmp(argv[1], "pool")) {
		n = pool(flow, 0);
		info.command = "pool";
	} else if (!strcmp(argv[1], "exact")) {
		info.error_model = &counted;
		n = redis(flow);
	} else if (!strcmp(argv[1], "marked")) {
		n = marked(flow);
		info.command = "q";
	} else if (!strcmp(argv[1], "calls")) {
		n = calls(flow);
		info.command = "q";
	} else if (!strcmp(argv[1], "regions") || !strcmp(argv[1], "uncounted")) {
		n = regions(flow, count);
		info.command = "q";
	} else if (!strcmp(argv[1], "unseen")) {
		n = unseen(flow);
	} else if (!strcmp(argv[1], "changed")) {
		n = changed(flow);
	} else if (!strcmp(argv[1], "precise")) {
		n = precise(flow, origin);
		info.source = "kmod";
		info.event = "ibs_op//";
		info.command = "q";
	} else if (!strcmp(argv[1], "pairs") || !strcmp(argv[1], "moving")) {
		n = pairs(flow, placement, -1);
		info.command = "q";
	} else {
		n = redis(flow);
	}
	/* A flow that grows in the middle of the run, so that this has two phases; 0: none. */
	is_watched = !strcmp(argv[1], "watched");
	is_unseen = !strcmp(argv[1], "unseen");
	is_survey = !strcmp(argv[1], "survey");
	is_both = is_survey || !strcmp(argv[1], "both");
	turns = !strcmp(argv[1], "turn") ? 1 : !strcmp(argv[1], "marked") ? 2 : 0;
	if (comm_store_begin_run(store, &info, &run))
		return 1;
	counter = made_object(names, COMM_OBJECT_STATIC, "served", "", 8);
	if (!strcmp(argv[1], "awaited"))
		(void)getchar();
	for (int s = 0; s < seconds; s++) {
		/* A wave, and a pause for a snapshot. */
		double load = (1 + 0.5 * sin(s / 7.)) * (s % 45 > 40 ? 0.2 : 1);
		struct comm_slice_info slice = {
			.start_ns = info.start_ns + s * SECOND,
			.end_ns = info.start_ns + (s + 1) * SECOND,
			.samples = 940 * noise(),
			.bursts = 800 * noise(),
			.accesses = 9100 * noise(),
			.handler_ns = 12 * MS,
			.daemon_ns = 9 * MS,
			.target_ns = 2500 * MS,
			.loss = {[COMM_LOSS_BUDGET] = s == 0,
				 [COMM_LOSS_NO_TEXT] = s % 3 == 0,
				 [COMM_LOSS_LATE] = s % 20 == 0,
				 [COMM_LOSS_UNMAPPED] = 4},
		};
		struct comm_naming naming = made_naming(names);
		double unseen = 61e6 * load, seen = 0;
		size_t n_edges = 0;

		if (!strcmp(argv[1], "followed"))
			(void)getchar();
		if (!strcmp(argv[1], "pool"))
			n = pool(flow, s);
		for (size_t i = 0; i < n; i++)
			edge[i] = edge_of(&flow[i], 1, load);
		for (size_t i = 0; i < n; i++)
			seen += edge[i].bytes;
		/* Where flows are small, so is what was read of writers that nobody saw. */
		unseen = fmin(unseen, seen);
		slice.unwritten = (struct comm_unwritten){.bytes = unseen,
							  .first_bytes = unseen * 30 / 61,
							  .polled_bytes = unseen * 20 / 61};
		/* What io_thd_1 hands to the main thread is ten times as much from then on. */
		for (size_t i = 0; i < n && turns && s >= seconds / 2; i++)
			if (flow[i].src_thread == flow[turns].src_thread &&
			    flow[i].dst_thread == flow[turns].dst_thread)
				edge[i] = edge_of(&flow[i], 1, 10 * load);
		/* Half of it was written just now, a quarter long ago, the rest nobody knows when. */
		for (size_t i = 0; i < n && turns; i++) {
			edge[i].ages.bytes[comm_age_bin(100 * MS)] = (float)(edge[i].bytes / 2);
			edge[i].ages.bytes[comm_age_bin(40 * SECOND)] = (float)(edge[i].bytes / 4);
			edge[i].ages.back[0] = (float)(edge[i].bytes / 2);
			edge[i].ages.back[COMM_AGES_BACK - 1] = (float)(edge[i].bytes / 4);
		}
		if (!strcmp(argv[1], "marked")) {
			slice.count = &frames;
			slice.n_counts = slice.n_counters = 1;
			slice.counter = &frames_counter;
		}
		/*
		 * Watchpoints saw one flow, and reads that none was written of; the estimator knows of none, or (both)
		 * of all flows but one.
		 */
		for (size_t i = 0; i < n && (is_watched || is_both); i++) {
			edge[i].watched_bytes = i == 1 ? 8e6 * load : 0;
			edge[i].watched_variance = i == 1 ? 16e12 * load * load : 0;
			slice.watched = (struct comm_watched_sums){.watches = 7,
								   .unanswered_bytes = 24e6 * load};
		}
		for (size_t i = 0; i < n && (is_unseen || is_watched || (is_both && i == 0)); i++)
			unsee(&edge[i], &slice.unwritten);
		for (size_t i = 0; i < n; i++)
			if (edge[i].bytes > 0 || edge[i].watched_bytes > 0)
				edge[n_edges++] = edge[i];
		/* As much of what nobody was seen to write at each reading end. */
		for (size_t i = 0; i < n; i++)
			ends[i] = (struct comm_unwritten_end){
				flow[i].dst_thread, flow[i].dst_site, flow[i].object,
				slice.unwritten.bytes / (double)n,
				slice.unwritten.first_bytes / (double)n};
		slice.unwritten.end = ends;
		slice.unwritten.n_ends = n;
		if (!strcmp(argv[1], "regions")) {
			slice.count = count;
			slice.n_counts = 4;
			slice.counter = counters;
			slice.n_counters = 2;
		}
		if (!strcmp(argv[1], "precise")) {
			slice.origin = origin;
			slice.n_origins = 2;
		}
		/* Of threads and names that stand in the flows, too. */
		if (is_survey) {
			slice.census = census;
			slice.n_census = survey(flow, census);
		}
		if (is_survey || !strcmp(argv[1], "sharing") || !strcmp(argv[1], "hostile") ||
		    !strcmp(argv[1], "markup")) {
			share(&cachelines, flow[flow[0].src_thread == COMM_ID_OTHER].src_thread,
			      flow[1].dst_site, flow[1].object, counter);
			slice.cachelines = &cachelines;
		}
		if (!strcmp(argv[1], "pairs") || !strcmp(argv[1], "moving")) {
			pairs(flow, placement, strcmp(argv[1], "moving") ? -1 : s);
			slice.placement = placement;
			slice.n_placements = n;
		}
		if (comm_store_write_slice(store, &slice, edge, n_edges, &naming))
			return 1;
	}
	/* Leave the store without an end of the run, as after kill -9. */
	if (!strcmp(argv[1], "unfinished"))
		_exit(0);
	if (comm_store_end_run(store, info.start_ns + seconds * SECOND, "duration"))
		return 1;
	comm_store_close(store);
	comm_cachelines_deinit(&cachelines);
	free(names);
	return 0;
}
