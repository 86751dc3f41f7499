// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Blocks and classes of CPython's objects (pymalloc_pools.c, python_class.c): of an interpreter that says itself where
 * which of its objects are, and of pools that lie.
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "allocator.h"
#include "own_heap.h"
#include "python_child.h"

enum { OBJECTS_MOST = 1 << 17 };

static const char script[] =
	"import gc, sys, collections, ctypes\n"
	"class Meta(type): pass\n"
	"class Order:\n"
	"  def __init__(self, i): self.i = i\n"
	"class Slots:\n"
	"  __slots__ = ('a', 'b')\n"
	"class Made(Order, metaclass=Meta): pass\n"
	"keep = [[Order(i), Slots(), Made(i), {i: i}, [i], (i, None), 1000 + i, float(i),\n"
	"  str(i) * 20, {i}, bytes(i % 600 + 1), collections.OrderedDict(a=i)] for i in "
	"range(3000)]\n"
	"keep += [str(i) * 300 for i in range(200)]\n"
	"every = {id(o): o for k in keep for o in (k if isinstance(k, list) else [k])}\n"
	"every.update((id(o), o) for o in gc.get_objects())\n"
	"for o in list(every.values()):\n"
	"  sys.stdout.write('%x %s\\n' % (id(o), type(o).__name__))\n"
	/* What is no object: the items of lists that begin with a variable of the interpreter and a type. */
	"pairs = [[None, int] * (i % 50 + 1) for i in range(1000)]\n"
	"for o in pairs:\n"
	"  sys.stdout.write('%x -\\n' % ctypes.c_void_p.from_address(id(o) + 24).value)\n"
	"print('0 end', flush=True)\n"
	"sys.stdin.read()\n";

static struct {
	uint64_t addr;
	char class[64];
} object[OBJECTS_MOST];

/* Returns how many objects there are; 0: there is no such interpreter here. */
static size_t what_python_tells(pid_t *ret_pid, int *ret_stop)
{
	FILE *file = start_python(script, ret_pid, ret_stop);
	size_t n = 0;

	while (n < OBJECTS_MOST &&
	       fscanf(file, "%lx %63s", &object[n].addr, object[n].class) == 2 && object[n].addr)
		n++;
	fclose(file);
	return n;
}

/* "Pattern" of "re.Pattern", as Python itself has it. */
static const char *last_name(const char *class)
{
	const char *dot = strrchr(class, '.');

	return dot ? dot + 1 : class;
}

static void objects_of_an_interpreter(void **state)
{
	size_t n, right = 0, wrong = 0, bare = 0, untold = 0, elsewhere = 0;
	struct own_place place = {0};
	pid_t pid;
	int stop, status;

	(void)state;
	n = what_python_tells(&pid, &stop);
	for (int turn = 0; turn < 3; turn++, clock_ns += SECOND_NS) {
		right = wrong = bare = untold = elsewhere = 0;
		for (size_t i = 0; i < n; i++) {
			uint64_t addr = object[i].addr;
			struct comm_block b;
			int err;

			if (addr < place.m.start || addr >= place.m.end)
				place = place_in(pid, addr);
			if (!place.has_python || place.m.kind == COMM_MAP_FILE) {
				elsewhere++;
				continue;
			}
			for (int ask = 0; (err = block_at(&place, addr, &b)) == -EAGAIN && ask < 3;
			     ask++)
				clock_ns += SECOND_NS / 5;
			if (err)
				untold++;
			else if (!b.class && !strcmp(object[i].class, "-"))
				right++;
			else if (!b.class)
				bare++;
			else if (b.start + b.object == addr &&
				 !strcmp(last_name(b.class), object[i].class))
				right++;
			else if (!wrong++)
				print_message("%lx is a %s, and not a %s\n", addr, object[i].class,
					      b.class);
		}
	}
	close(stop);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!n || elsewhere == n) {
		print_message("no CPython of a known version is at /usr/bin/python3\n");
		skip();
	}
	print_message("%zu objects: %zu right, %zu wrong, %zu without a class, %zu of no known "
		      "block; %zu variables\n",
		      n, right, wrong, bare, untold, elsewhere);
	assert_true(n > 20000);
	assert_int_equal(wrong, 0);
	assert_true(right > (n - elsewhere) / 100 * 95);
}

/* A pool of made blocks. */
enum { POOL = 1 << 20, BYTES = 512, AT = 48, BLOCKS = (COMM_PIECE_BYTES - AT) / BYTES };

static union {
	uint8_t byte[COMM_PIECE_BYTES];
	uint32_t word[COMM_PIECE_BYTES / 4];
	uint64_t pointer[COMM_PIECE_BYTES / 8];
} pool;
static size_t pool_bytes;

static ssize_t read_pool(void *ctx, uint64_t addr, void *buf, size_t len_bytes)
{
	(void)ctx;
	if (addr < POOL || addr - POOL >= pool_bytes)
		return -EIO;
	if (len_bytes > pool_bytes - (addr - POOL))
		len_bytes = pool_bytes - (addr - POOL);
	memcpy(buf, pool.byte + (addr - POOL), len_bytes);
	return (ssize_t)len_bytes;
}

enum { USED = 0, FREE = 1, SIZE = 9, FRESH = 10, FRESH_MOST = 11 }; /* words; FREE is a pointer */

static void make_pool(uint32_t n_fresh)
{
	memset(&pool, 0, sizeof(pool));
	pool_bytes = sizeof(pool);
	pool.word[USED] = BLOCKS - n_fresh;
	pool.word[SIZE] = BYTES / 16 - 1;
	pool.word[FRESH] = AT + (BLOCKS - n_fresh) * BYTES;
	pool.word[FRESH_MOST] = COMM_PIECE_BYTES - BYTES;
}

static void give_back(uint32_t i)
{
	pool.pointer[(AT + i * BYTES) / 8] = pool.pointer[FREE];
	pool.pointer[FREE] = POOL + AT + i * BYTES;
	pool.word[USED]--;
}

static struct comm_seen seen;
static struct comm_block_list list = {.seen = &seen};

/* What is told of the pool: 0, or an error of entering or of reading it. */
static int tell(void)
{
	const struct comm_marks_memory memory = {read_pool, NULL};
	const struct comm_range area = {POOL, POOL + (1 << 20)};
	const struct comm_heap_place place = {0};
	uint64_t before;
	void *made;
	int err;

	assert_int_equal(comm_pymalloc.open(&memory, &place, &area, &made), 0);
	err = comm_pymalloc.enter(made, &memory, &area, POOL, &before);
	if (!err) {
		assert_int_equal(before, 0);
		err = comm_pymalloc.read(made, &memory, &area, POOL, false, &list);
	}
	comm_pymalloc.close(made);
	return err;
}

static void blocks_of_a_pool(void **state)
{
	(void)state;
	make_pool(0);
	assert_int_equal(tell(), 0);
	assert_int_equal(list.n, BLOCKS);
	assert_int_equal(list.block[1].start, POOL + AT + BYTES);
	assert_int_equal(list.block[1].size_bytes, BYTES);
	assert_int_equal(list.block[1].least_bytes, BYTES - 15);
	make_pool(5);
	assert_int_equal(tell(), 0);
	assert_int_equal(list.n, BLOCKS - 5);
	give_back(1);
	give_back(20);
	give_back(0);
	assert_int_equal(tell(), 0);
	assert_int_equal(list.n, BLOCKS - 8);
	assert_int_equal(list.block[0].start, POOL + AT + 2 * BYTES);
	for (uint32_t i = 0; i < BLOCKS - 5; i++)
		if (i > 1 && i != 20)
			give_back(i);
	assert_int_equal(tell(), 0);
	assert_int_equal(list.n, 0);
}

static void damage(uint32_t word, uint32_t to, int err)
{
	uint32_t was = pool.word[word];

	pool.word[word] = to;
	if (tell() != err)
		fail_msg("word %u, %u: %d", word, to, tell());
	pool.word[word] = was;
	assert_int_equal(tell(), 0);
}

static void pools_that_lie(void **state)
{
	(void)state;
	make_pool(5);
	give_back(3);
	give_back(7);
	damage(SIZE, 32, -ENODATA);
	damage(SIZE, UINT32_MAX, -ENODATA);
	damage(SIZE, 3, -ENODATA);
	damage(FRESH_MOST, 0, -ENODATA);
	damage(FRESH, 0, -ENODATA);
	damage(FRESH, AT, -ENODATA);
	damage(FRESH, AT + BYTES + 1, -ENODATA);
	damage(FRESH, UINT32_MAX, -ENODATA);
	damage(FRESH, AT + BYTES, -EPROTO);
	damage(FRESH, AT + (BLOCKS - 4) * BYTES, -EPROTO);
	damage(USED, UINT32_MAX, -ENODATA);
	damage(USED, BLOCKS, -EPROTO);
	damage(USED, BLOCKS - 6, -EPROTO);
	damage(USED, 0, -EPROTO);
	/* The list of what was given back: to elsewhere, to itself, into a block, to what was never given out. */
	damage(2 * FREE, 0, -EPROTO);
	damage(2 * FREE + 1, 1, -EPROTO);
	damage(2 * FREE, POOL, -EPROTO);
	damage(2 * FREE, POOL + AT + 3 * BYTES + 16, -EPROTO);
	damage(2 * FREE, POOL + AT + (BLOCKS - 1) * BYTES, -EPROTO);
	damage((AT + 7 * BYTES) / 4, POOL + AT + 7 * BYTES, -EPROTO);
	damage((AT + 3 * BYTES) / 4, POOL + AT + 7 * BYTES, -EPROTO);
	damage((AT + 3 * BYTES) / 4, 1, -EPROTO);
	pool_bytes = sizeof(pool) - 1;
	assert_int_equal(tell(), -EPROTO);
	pool_bytes = 40;
	assert_int_equal(tell(), -ENODATA);
	pool_bytes = 0;
	assert_int_equal(tell(), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(objects_of_an_interpreter, setup, teardown),
		cmocka_unit_test(blocks_of_a_pool),
		cmocka_unit_test(pools_that_lie),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
