// SPDX-License-Identifier: GPL-2.0-or-later
#include "selected.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#include "bare_name.h"
#include "symbol.h"
#include "thread.h"

enum {
	PATTERN_BYTES = 4096,
	VERDICTS =
		1
		<< 18, /* instructions; of those for which there is no room it is found out each time */
	TRIES = 16,
	FUNCTIONS_MAX = 1 << 14,
};

/* Of which function, so that its file is looked through once and not for each instruction. */
struct function {
	uint64_t start, end; /* end 0: not there yet */
	int is_selected;
};

static struct {
	char pattern[PATTERN_BYTES];
	uint64_t verdict
		[VERDICTS]; /* pc << 1 | is selected; 0: free.  Threads that meet one at once write the same. */
	uint32_t n_functions;
	struct function function[FUNCTIONS_MAX];
} * selected;

static __thread int busy __attribute__((tls_model("initial-exec")));

int comm_exact_selects;
uint64_t comm_exact_verdict[COMM_EXACT_VERDICTS];

/* Of C++ programs alone. */
extern char *__cxa_demangle(const char *name, char *buf, size_t *bytes, int *status)
	__attribute__((weak));

void comm_exact_select(const char *pattern)
{
	if (!pattern)
		return;
	selected = comm_exact_map_shared(sizeof(*selected));
	snprintf(selected->pattern, sizeof(selected->pattern), "%s", pattern);
	comm_exact_selects = 1;
}

int comm_exact_name_fits(const char *pattern, const char *name)
{
	char head[sizeof(((struct comm_exact_symbol *)0)->name)];

	snprintf(head, sizeof(head), "%.*s", (int)comm_bare_bytes(name), name);
	return !fnmatch(pattern, name, 0) || !fnmatch(pattern, head, 0);
}

static int look_up(uint64_t pc)
{
	struct comm_exact_symbol symbol;
	char *name = NULL;
	uint32_t i;
	int fits;

	comm_exact_symbol(pc - 1, &symbol);
	if (__cxa_demangle && symbol.name[0] == '_' && symbol.name[1] == 'Z')
		name = __cxa_demangle(symbol.name, NULL, NULL, NULL);
	fits = comm_exact_name_fits(selected->pattern, name ? name : symbol.name);
	free(name);
	/* Of an instruction without a symbol the verdict is enough. */
	if (symbol.end - symbol.start <= 1)
		return fits;
	i = __atomic_fetch_add(&selected->n_functions, 1, __ATOMIC_RELAXED);
	if (i < FUNCTIONS_MAX) {
		selected->function[i].start = symbol.start;
		selected->function[i].is_selected = fits;
		__atomic_store_n(&selected->function[i].end, symbol.end, __ATOMIC_RELEASE);
	}
	return fits;
}

static int find_out(uint64_t pc)
{
	static const char *const channels[COMM_CHANNELS] = COMM_CHANNEL_NAMES;
	uint32_t n = __atomic_load_n(&selected->n_functions, __ATOMIC_RELAXED), i;

	if (pc < COMM_SITE_FIRST)
		return pc >= COMM_SITE_CHANNELS && pc < COMM_SITE_UNKNOWN &&
		       !fnmatch(selected->pattern, channels[pc - COMM_SITE_CHANNELS], 0);
	for (i = 0; i < n && i < FUNCTIONS_MAX; i++)
		if (pc - 1 < __atomic_load_n(&selected->function[i].end, __ATOMIC_ACQUIRE) &&
		    pc - 1 >= selected->function[i].start)
			return selected->function[i].is_selected;
	return look_up(pc);
}

/* What is called here may read, too: that is the library's, and does not count. */
static int find_out_alone(uint64_t pc)
{
	int err = errno, ret;

	if (busy)
		return 0;
	busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ret = find_out(pc);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	busy = 0;
	errno = err;
	return ret;
}

int comm_exact_is_selected(uint64_t pc)
{
	uint64_t *recent = comm_exact_verdict_at(pc);
	const uint64_t asked = pc << 1;
	uint64_t i, tries;
	int ret;

	pc &= ~COMM_EXACT_CALLEE;
	i = pc * 0x9e3779b97f4a7c15u >> 40;
	for (tries = 0; tries < TRIES; tries++, i++) {
		uint64_t *verdict = &selected->verdict[i & (VERDICTS - 1)];
		uint64_t is = __atomic_load_n(verdict, __ATOMIC_RELAXED);

		if (is >> 1 == pc) {
			__atomic_store_n(recent, asked | (is & 1), __ATOMIC_RELAXED);
			return is & 1;
		}
		if (is)
			continue;
		/* A signal handler, or what is called here, would write the wrong one. */
		if (busy)
			return 0;
		ret = find_out_alone(pc);
		__atomic_store_n(verdict, pc << 1 | ret, __ATOMIC_RELAXED);
		return ret;
	}
	return find_out_alone(pc);
}
