// SPDX-License-Identifier: GPL-2.0-or-later
#include "cachelines.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "cacheline.h"
#include "grouping.h"
#include "interval.h"
#include "keyed.h"
#include "line_sharing.h"
#include "schema.h"
#include "zeroed_array.h"

enum {
	/* Turns in each half of the run, without which a line may have changed its thread once. */
	TURNS_MIN = 3,
	/* Of the bursts that a well-mixed line would take a turn in, those that must. */
	TURNS_PART = 4,
};

/* Shared truly or falsely: at most so much of what is contended is the other. */
static const double clear_share = 0.25;

struct line_sums {
	uint64_t turns[2]; /* of the halves */
	uint64_t slices, slice;
};

struct use_sums {
	double block[COMM_BLOCKS_MAX]; /* accesses */
};

enum { BY_THREAD, BY_ROLE, BY_LINE, BY_OBJECT, BY_TYPE, BYS };

/* A node that uses name: described once. */
struct described {
	uint32_t by, id;
	const struct comm_node *node; /* NULL: not yet */
};

struct loading {
	struct comm_reader *reader;
	struct comm_report_whole *whole;
	struct comm_cachelines table;
	struct line_sums *line;
	struct use_sums *use;
	size_t lines_capacity, uses_capacity;
	struct comm_blocks blocks;
	struct comm_intervals intervals;
	struct comm_grouping_use by[BYS];
	COMM_KEYED(nodes, struct described, described, n_described);
	struct comm_line_sharing_cell cell[COMM_LINE_SHARING_CELLS];
	double cell_block[COMM_LINE_SHARING_CELLS][COMM_BLOCKS_MAX];
};

/* Takes a row of (datum, bursts, turns); what no daemon writes is left out. */
static int take_line(struct loading *loading, sqlite3_stmt *row, size_t block, size_t slice)
{
	int64_t bursts = sqlite3_column_int64(row, 1), turns = sqlite3_column_int64(row, 2);
	struct comm_cacheline line = {.datum = (uint64_t)sqlite3_column_int64(row, 0)};
	struct line_sums *sums;
	size_t at = 0;
	int code;

	if (line.datum != comm_cacheline_of(line.datum) || bursts <= 0 || bursts > UINT32_MAX ||
	    turns < 0 || turns > bursts)
		return 0;
	line.bursts = (uint64_t)bursts;
	line.turns = (uint64_t)turns;
	code = comm_cachelines_add(&loading->table, &line, &at);
	if (!code)
		code = comm_zeroed_array_reach(&loading->line, &loading->lines_capacity, at,
					       sizeof(*loading->line));
	if (code)
		return code;
	sums = &loading->line[at];
	sums->turns[block % 2] += line.turns;
	sums->slices += sums->slice != slice;
	sums->slice = slice;
	return 0;
}

/* Takes a row of (datum, thread, context, size_bytes, writes, object, offset, bursts, accesses). */
static int take_use(struct loading *loading, sqlite3_stmt *row, size_t block)
{
	int64_t size = sqlite3_column_int64(row, 3), bursts = sqlite3_column_int64(row, 7);
	struct comm_cacheline_use use = {
		.datum = (uint64_t)sqlite3_column_int64(row, 0),
		.thread = comm_id_column(row, 1),
		.site = comm_id_column(row, 2),
		.write = sqlite3_column_int64(row, 4),
		.object = comm_id_column(row, 5),
		.offset = sqlite3_column_int64(row, 6),
		.accesses = sqlite3_column_double(row, 8),
	};
	size_t at = 0;
	int code;

	if (size <= 0 || size > COMM_CACHELINE_BYTES ||
	    use.datum % COMM_CACHELINE_BYTES + (uint64_t)size > COMM_CACHELINE_BYTES ||
	    bursts <= 0 || bursts > UINT32_MAX || !(use.accesses > 0) || !isfinite(use.accesses) ||
	    use.offset < -1)
		return 0;
	use.size_bytes = (uint8_t)size;
	use.bursts = (uint64_t)bursts;
	code = comm_cachelines_add_use(&loading->table, &use, &at);
	if (!code)
		code = comm_zeroed_array_reach(&loading->use, &loading->uses_capacity, at,
					       sizeof(*loading->use));
	if (!code)
		loading->use[at].block[block] += use.accesses;
	return code;
}

static int load_slice(struct loading *loading, sqlite3_stmt *lines, sqlite3_stmt *uses,
		      const struct comm_slices_one *slice, size_t number)
{
	size_t block = comm_blocks_add(&loading->blocks, slice->end_ns - slice->start_ns);
	int rc, code = 0;

	sqlite3_bind_int64(lines, 2, slice->id);
	sqlite3_bind_int64(uses, 2, slice->id);
	while (!code && (rc = sqlite3_step(lines)) == SQLITE_ROW)
		code = take_line(loading, lines, block, number);
	if (!code && rc != SQLITE_DONE)
		code = comm_schema_errno(loading->reader->db);
	while (!code && (rc = sqlite3_step(uses)) == SQLITE_ROW)
		code = take_use(loading, uses, block);
	if (!code && rc != SQLITE_DONE)
		code = comm_schema_errno(loading->reader->db);
	sqlite3_reset(lines);
	sqlite3_reset(uses);
	return code;
}

static int load_slices(struct loading *loading, const struct comm_slices *slices)
{
	sqlite3 *db = loading->reader->db;
	sqlite3_stmt *lines = NULL, *uses = NULL;
	int code = 0;

	if (sqlite3_prepare_v2(db,
			       "SELECT datum, bursts, turns FROM cacheline"
			       " WHERE run = ?1 AND slice = ?2",
			       -1, &lines, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db,
			       "SELECT datum, thread, context, size_bytes, writes, object, offset,"
			       " bursts, accesses FROM cacheline_use WHERE run = ?1 AND slice = ?2",
			       -1, &uses, NULL) != SQLITE_OK)
		code = comm_schema_errno(db);
	sqlite3_bind_int64(lines, 1, loading->whole->run.id);
	sqlite3_bind_int64(uses, 1, loading->whole->run.id);
	for (size_t i = 0; i < slices->n && !code; i++)
		if (slices->slice[i].taken)
			code = load_slice(loading, lines, uses, &slices->slice[i], i + 1);
	sqlite3_finalize(lines);
	sqlite3_finalize(uses);
	return code;
}

static int node_of(struct loading *loading, int by, const struct comm_end *end,
		   const struct comm_node **ret)
{
	static const struct comm_keyed_kind kind = {COMM_KEYED_BYTES(struct described, id)};
	struct comm_grouping_use *use = &loading->by[by];
	struct described *described;
	struct comm_shares shares;
	struct comm_node *node;
	size_t at;
	int code = use->ops->at(use, end, &shares);

	if (!code)
		code = comm_keyed_at(&loading->nodes, &kind, (uint32_t[]){by, shares.share[0].id},
				     &at);
	if (code)
		return code;
	described = &loading->described[at];
	if (!described->node) {
		node = comm_texts_alloc(&loading->whole->texts, sizeof(*node));
		code = node ? comm_grouping_describe(use, described->id, node) : -ENOMEM;
		described->node = node;
	}
	*ret = described->node;
	return code;
}

/* The line's uses without their sites; of too many the first. */
static size_t make_cells(struct loading *loading, const size_t *uses, size_t n_uses)
{
	size_t n = 0;

	for (size_t i = 0; i < n_uses; i++) {
		const struct comm_cacheline_use *use = &loading->table.use[uses[i]];
		struct comm_line_sharing_cell cell = {
			.thread = use->thread,
			.bytes = comm_line_sharing_bytes(use->datum % COMM_CACHELINE_BYTES,
							 use->size_bytes),
			.write = use->write,
		};
		size_t at = 0;

		while (at < n && (loading->cell[at].thread != cell.thread ||
				  loading->cell[at].bytes != cell.bytes ||
				  loading->cell[at].write != cell.write))
			at++;
		if (at == COMM_LINE_SHARING_CELLS)
			continue;
		if (at == n) {
			loading->cell[n] = cell;
			memset(loading->cell_block[n++], 0, sizeof(*loading->cell_block));
		}
		loading->cell[at].accesses += use->accesses;
		for (size_t b = 0; b < COMM_BLOCKS_MAX; b++)
			loading->cell_block[at][b] += loading->use[uses[i]].block[b];
	}
	return n;
}

/* Of a share that was met in n bursts: Wilson's interval (origin_mix.h has the source). */
static void wilson(double share, double n, double z, double *low, double *high)
{
	double denominator = 1 + z * z / n, middle = (share + z * z / (2 * n)) / denominator;
	double half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / denominator;

	*low = share > 0 ? fmax(0, middle - half) : 0;
	*high = share < 1 ? fmin(1, middle + half) : 1;
}

/* The share that is true in a half of the blocks; NAN: nothing is contended there. */
static double half_share(struct loading *loading, size_t n_cells, size_t half)
{
	struct comm_line_sharing sharing;

	for (size_t i = 0; i < n_cells; i++) {
		loading->cell[i].accesses = 0;
		for (size_t b = half; b < COMM_BLOCKS_MAX; b += 2)
			loading->cell[i].accesses += loading->cell_block[i][b];
	}
	comm_line_sharing_judge(loading->cell, n_cells, &sharing);
	return sharing.contended > 0 ? sharing.truly / sharing.contended : NAN;
}

static const char *verdict_of(double low, double high, const double half[2])
{
	if (high <= clear_share && half[0] <= clear_share && half[1] <= clear_share)
		return "false";
	if (low >= 1 - clear_share && half[0] >= 1 - clear_share && half[1] >= 1 - clear_share)
		return "true";
	if (low > 0 && high < 1 && low >= clear_share / 2 && high <= 1 - clear_share / 2)
		return "both";
	return "unclear";
}

static void judge(struct loading *loading, const struct comm_cacheline *line,
		  const struct line_sums *sums, const size_t *uses, size_t n_uses,
		  struct comm_report_cacheline *ret)
{
	size_t n_cells = make_cells(loading, uses, n_uses);
	struct comm_estimate estimate = {.samples = line->bursts, .slices = sums->slices};
	double met, least_turns, half[2], spread, low;
	struct comm_line_sharing sharing;

	comm_line_sharing_judge(loading->cell, n_cells, &sharing);
	ret->verdict = "unclear";
	ret->accesses = sharing.accesses;
	ret->contended = ret->contended_high = sharing.contended;
	ret->contended_low = fmin((double)line->turns, sharing.contended);
	ret->true_high = 1;
	if (!(sharing.contended > 0))
		return;
	ret->true_share = sharing.truly / sharing.contended;
	met = fmax(1, (double)line->bursts * sharing.contended / sharing.accesses);
	estimate.bytes = estimate.read_bytes = sharing.contended;
	estimate.variance = sharing.contended * sharing.contended / met;
	for (size_t i = 0; i < n_cells; i++)
		for (size_t b = 0; b < COMM_BLOCKS_MAX; b++)
			estimate.sums.sum[b] += loading->cell_block[i][b] *
						loading->cell[i].contended /
						loading->cell[i].accesses;
	comm_intervals_of(&loading->intervals, &estimate, &low, &ret->contended_high, &spread);
	wilson(ret->true_share, met, loading->intervals.z, &ret->true_low, &ret->true_high);
	half[0] = half_share(loading, n_cells, 0);
	half[1] = half_share(loading, n_cells, 1);
	/* Threads that come one after the other take few turns, whatever they do there. */
	least_turns = met / (2.0 * TURNS_PART);
	if (!comm_intervals_resolve(&loading->intervals, &estimate) || sums->turns[0] < TURNS_MIN ||
	    sums->turns[1] < TURNS_MIN || line->turns < least_turns)
		return;
	ret->verdict = verdict_of(ret->true_low, ret->true_high, half);
	ret->stated = strcmp(ret->verdict, "unclear") != 0;
}

static int order_uses(const void *pa, const void *pb)
{
	const struct comm_report_cacheline_use *a = pa, *b = pb;

	if (a->byte != b->byte)
		return a->byte < b->byte ? -1 : 1;
	if (a->accesses != b->accesses)
		return a->accesses > b->accesses ? -1 : 1;
	return strcmp(a->thread->id, b->thread->id);
}

static int describe(struct loading *loading, const size_t *uses, size_t n_uses,
		    struct comm_report_cacheline *ret)
{
	struct comm_report_whole *whole = loading->whole;
	struct comm_report_cacheline_use *out = &whole->cacheline_uses[ret->first_use];
	double most = -1;
	int code = 0;

	for (size_t i = 0; i < n_uses && !code; i++) {
		const struct comm_cacheline_use *use = &loading->table.use[uses[i]];
		const struct comm_end end = {.thread = use->thread,
					     .context = use->site,
					     .object = use->object,
					     .read = use->site};
		uint32_t byte = use->datum % COMM_CACHELINE_BYTES;

		out[i] = (struct comm_report_cacheline_use){
			.byte = byte,
			.size_bytes = use->size_bytes,
			.offset = use->offset,
			.writes = use->write,
			.accesses = use->accesses,
			.bursts = use->bursts,
		};
		code = node_of(loading, BY_THREAD, &end, &out[i].thread);
		if (!code)
			code = node_of(loading, BY_ROLE, &end, &out[i].role);
		if (!code)
			code = node_of(loading, BY_LINE, &end, &out[i].place);
		if (!code)
			code = node_of(loading, BY_OBJECT, &end, &out[i].object);
		if (!code && loading->by[BY_TYPE].ops)
			code = node_of(loading, BY_TYPE, &end, &out[i].type);
		/* A line is named after what is used most of it. */
		if (!code && use->accesses > most) {
			most = use->accesses;
			ret->object = out[i].object;
			ret->offset = use->offset < 0 ? INT64_MIN : use->offset - (int64_t)byte;
		}
	}
	if (code)
		return code;
	qsort(out, n_uses, sizeof(*out), order_uses);
	ret->n_uses = n_uses;
	whole->shown.n_cacheline_uses += n_uses;
	return 0;
}

/*
 * Memory of an allocator may be given to one thread after the other, as buffers and the stacks of
 * goroutines are: who uses the same bytes of it may never be there at once.
 */
static bool may_change_hands(const struct comm_node *object)
{
	static const char *const kinds[] = {"heap", "block", "anonymous", "stack"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(object->object_kind, kinds[i]))
			return true;
	return false;
}

static int order_lines(const void *pa, const void *pb)
{
	const struct comm_report_cacheline *a = pa, *b = pb;

	if (a->stated != b->stated)
		return a->stated ? -1 : 1;
	if (a->contended != b->contended)
		return a->contended > b->contended ? -1 : 1;
	return (a->first_use > b->first_use) - (a->first_use < b->first_use);
}

/* A use in the order of its line, and there of its thread. */
struct sorted {
	uint64_t line;
	uint32_t thread;
	size_t use;
};

static int order_data(const void *pa, const void *pb)
{
	const struct sorted *a = pa, *b = pb;

	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->use > b->use) - (a->use < b->use);
}

static int make_lines(struct loading *loading)
{
	const struct comm_cachelines *table = &loading->table;
	struct comm_report_whole *whole = loading->whole;
	struct sorted *sorted = calloc(table->n_uses + 1, sizeof(*sorted));
	size_t *uses = calloc(table->n_uses + 1, sizeof(*uses)), n = 0, at;
	int code = 0;

	whole->cachelines = calloc(table->n_lines + 1, sizeof(*whole->cachelines));
	whole->cacheline_uses = calloc(table->n_uses + 1, sizeof(*whole->cacheline_uses));
	if (!sorted || !uses || !whole->cachelines || !whole->cacheline_uses)
		code = -ENOMEM;
	for (size_t i = 0; i < table->n_uses && !code; i++)
		sorted[i] = (struct sorted){comm_cacheline_of(table->use[i].datum),
					    table->use[i].thread, i};
	if (!code)
		qsort(sorted, table->n_uses, sizeof(*sorted), order_data);
	for (size_t from = 0; from < table->n_uses && !code; from += n) {
		uint64_t datum = sorted[from].line;
		const struct comm_cacheline key = {.datum = datum};
		struct comm_report_cacheline *line = &whole->cachelines[whole->shown.n_cachelines];

		for (n = 0; from + n < table->n_uses && sorted[from + n].line == datum; n++)
			uses[n] = sorted[from + n].use;
		code = comm_cachelines_add(&loading->table, &key, &at);
		/* Uses without their line are of a damaged store. */
		if (code || !table->line[at].bursts)
			continue;
		line->first_use = whole->shown.n_cacheline_uses;
		line->bursts = table->line[at].bursts;
		line->turns = table->line[at].turns;
		judge(loading, &table->line[at], &loading->line[at], uses, n, line);
		code = describe(loading, uses, n, line);
		if (!code && strcmp(line->verdict, "false") != 0 &&
		    may_change_hands(line->object)) {
			line->verdict = "unclear";
			line->stated = false;
		}
		whole->shown.n_cachelines += !code;
	}
	free(sorted);
	free(uses);
	if (!code)
		qsort(whole->cachelines, whole->shown.n_cachelines, sizeof(*whole->cachelines),
		      order_lines);
	return code;
}

static int load(struct loading *loading, const struct comm_slices *slices, char **err)
{
	static const struct comm_grouping_ops *const ops[BY_TYPE] = {
		[BY_THREAD] = &comm_grouping_thread,
		[BY_ROLE] = &comm_grouping_role,
		[BY_LINE] = &comm_grouping_line,
		[BY_OBJECT] = &comm_grouping_object,
	};
	struct comm_report_whole *whole = loading->whole;
	int code = load_slices(loading, slices);

	if (code)
		return comm_reader_fail_db(loading->reader, err, code);
	for (int i = 0; i < BY_TYPE && !code; i++)
		code = comm_grouping_open(&loading->by[i], ops[i], NULL, 0, loading->reader,
					  &whole->run, &whole->texts, err);
	if (code)
		return code;
	code = comm_grouping_open(&loading->by[BY_TYPE], &comm_grouping_type, NULL, 0,
				  loading->reader, &whole->run, &whole->texts, NULL);
	/* Of a run without types fields have no names. */
	if (code && code != -ENODATA)
		return comm_reader_fail_db(loading->reader, err, code);
	comm_intervals_init(&loading->intervals, &whole->estimator_model, &loading->blocks, NULL,
			    whole->shown.confidence);
	code = make_lines(loading);
	return code ? comm_reader_fail_db(loading->reader, err, code) : 0;
}

int comm_cachelines_load(struct comm_reader *reader, const struct comm_slices *slices,
			 struct comm_report_whole *whole, char **err)
{
	struct loading *loading = calloc(1, sizeof(*loading));
	int code;

	if (!loading)
		return comm_reader_fail_db(reader, err, -ENOMEM);
	loading->reader = reader;
	loading->whole = whole;
	code = load(loading, slices, err);
	for (int i = 0; i < BYS; i++)
		comm_grouping_close(&loading->by[i]);
	comm_cachelines_deinit(&loading->table);
	comm_keyed_deinit(&loading->nodes);
	free(loading->line);
	free(loading->use);
	free(loading);
	return code;
}
