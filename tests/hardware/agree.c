// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How many precise accesses of a recording are those that tests/hardware/known.c makes.
 *
 *	agree RECORDING TABLE
 *
 * Exits with 0 if there are any and 99 % of them have the right address, 1 if not.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "data_src.h"
#include "replay.h"

enum { INSNS_MAX = 4096, BOTH = COMM_ACCESS_READ | COMM_ACCESS_WRITE };

static struct insn {
	uint64_t ip, addr;
	unsigned int bytes, flags;
	unsigned long n;
} insns[INSNS_MAX];
static size_t n_insns;

static struct {
	unsigned long all, elsewhere, right, way, half, bytes, latency;
	unsigned long from[COMM_FROM_MAX];
} count;

static bool read_table(const char *path)
{
	FILE *f = fopen(path, "re");

	if (!f)
		return false;
	while (n_insns < INSNS_MAX) {
		struct insn *to = &insns[n_insns];

		if (fscanf(f, "%" SCNx64 " %" SCNx64 " %u %u", &to->ip, &to->addr, &to->bytes,
			   &to->flags) != 4)
			break;
		n_insns++;
	}
	fclose(f);
	return n_insns;
}

static void compare(const struct comm_precise *access)
{
	unsigned int ways = access->flags & BOTH;
	struct insn *insn = NULL;

	count.all++;
	for (size_t i = 0; i < n_insns && !insn; i++)
		if (insns[i].ip == access->ip)
			insn = &insns[i];
	if (!insn) {
		count.elsewhere++;
		return;
	}
	insn->n++;
	/* An operand that straddles two words may be reported by either. */
	count.right += access->addr - insn->addr < insn->bytes;
	count.way += !(ways & ~insn->flags);
	count.half += (insn->flags & BOTH) == BOTH && ways != BOTH;
	count.bytes += !access->size_bytes || access->size_bytes == insn->bytes;
	count.latency += access->latency_cycles > 0;
	count.from[comm_data_from(access->data_src)]++;
}

int main(int argc, char **argv)
{
	struct comm_replay *replay;
	struct comm_event event;
	unsigned long here, seen = 0, bursts = 0;
	int err = argc == 3 ? 0 : -EINVAL;

	if (!err && !read_table(argv[2])) {
		fprintf(stderr, "agree: %s is no table\n", argv[2]);
		return 2;
	}
	if (!err)
		err = comm_replay_open(argv[1], &replay);
	if (err) {
		fprintf(stderr, "agree: %s\n", strerror(-err));
		return 2;
	}
	while ((err = comm_replay_next(replay, &event)) > 0) {
		if (event.kind == COMM_EV_ACCESS)
			compare(&event.access);
		bursts += event.kind == COMM_EV_SAMPLE;
	}
	comm_replay_close(replay);
	here = count.all - count.elsewhere;
	for (size_t i = 0; i < n_insns; i++)
		seen += insns[i].n > 0;
	printf("accesses %lu, of the known code %lu, by %lu of its %zu instructions, bursts %lu\n",
	       count.all, here, seen, n_insns, bursts);
	printf("right: address %lu, direction %lu, bytes %lu; halves of read-modify-write %lu\n",
	       count.right, count.way, count.bytes, count.half);
	printf("with latency %lu; data from:", count.latency);
	for (int i = 0; i < COMM_FROM_MAX; i++)
		printf(" %s %lu", comm_data_from_name((enum comm_data_from)i), count.from[i]);
	printf("\n");
	return err < 0 || !here || (double)count.right < 0.99 * (double)here;
}
