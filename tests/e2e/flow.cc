// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A flow graph of oneTBB without marks of its own: what the body of one node writes that of
 * the next reads, and the library tells ITT of each body.
 *
 *	flow CPU_MS
 */
#define TBB_USE_PROFILING_TOOLS 2
#include <tbb/flow_graph.h>

#include <cstdlib>
#include <ctime>

enum { WORDS = 1 << 14 };

static volatile long words[WORDS], sink;

/* Of CPU, not of time: a busy machine gives as many samples. */
static long used_ms()
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	long end_ms = used_ms() + (argc > 1 ? atol(argv[1]) : 1);
	tbb::flow::graph graph;
	tbb::flow::function_node<int, int> put(graph, 1, [](int turn) {
		for (int i = 0; i < WORDS; i++)
			words[i] = turn;
		return turn;
	});
	tbb::flow::function_node<int, int> get(graph, 1, [](int turn) {
		long sum = 0;

		for (int i = 0; i < WORDS; i++)
			sum += words[i];
		sink = sum;
		return turn;
	});

	tbb::flow::make_edge(put, get);
	for (int turn = 0; used_ms() < end_ms; turn++) {
		put.try_put(turn);
		graph.wait_for_all();
	}
	return 0;
}
