// SPDX-License-Identifier: GPL-2.0-or-later
#include "slice_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "queued_slice.h"
#include "worker.h"

enum { SLOTS = 1 << 13 }; /* a power of two */

/* A ring of one who puts and one who takes. */
struct comm_slice_queue {
	struct comm_store *store;
	struct comm_queued_slice *slot[SLOTS];
	struct comm_worker worker;

	/* Of who puts: */
	struct comm_slice_packer packer;
	uint64_t put, full;
	size_t most_bytes;

	/* Of the thread, read by the other; each stands alone but for taken, which gives slots back. */
	uint64_t taken, stored_ns, unstored;
	size_t waiting_bytes; /* grows by the one, shrinks by the other */
	int lost;
	/* Of who puts, read by the thread. */
	uint64_t until_ns;

	/* Of the thread alone: */
	struct comm_slice_unpacker unpacker;
	uint64_t loss[COMM_LOSS_MAX]; /* of slices that were not stored */
};

static bool is_late(const struct comm_slice_queue *queue)
{
	return comm_clock_now_ns() > __atomic_load_n(&queue->until_ns, __ATOMIC_RELAXED);
}

static int write_slice(struct comm_slice_queue *queue, struct comm_queued_slice *slice)
{
	struct comm_naming naming;
	int err;

	if (is_late(queue))
		return -ETIMEDOUT;
	for (int i = 0; i < COMM_LOSS_MAX; i++)
		slice->info.loss[i] += queue->loss[i];
	memset(queue->loss, 0, sizeof(queue->loss));
	err = comm_slice_unpack(&queue->unpacker, slice, &naming);
	return err ? err
		   : comm_store_write_slice(queue->store, &slice->info, slice->edges,
					    slice->n_edges, &naming);
}

static void store_slice(struct comm_slice_queue *queue, struct comm_queued_slice *slice)
{
	int rc = write_slice(queue, slice);

	if (rc < 0) {
		for (int i = 0; i < COMM_LOSS_MAX; i++)
			queue->loss[i] += slice->info.loss[i];
		queue->loss[COMM_LOSS_STORE]++;
		__atomic_fetch_add(&queue->unstored, 1, __ATOMIC_RELAXED);
	}
	/* Of a slice that is kept names are to be stored yet. */
	if (!rc)
		__atomic_store_n(&queue->stored_ns, slice->info.end_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&queue->lost, comm_store_lost(queue->store), __ATOMIC_RELAXED);
}

static void serve(void *arg)
{
	struct comm_slice_queue *queue = arg;

	for (;;) {
		struct comm_queued_slice *slice;
		size_t at = queue->taken % SLOTS;

		comm_worker_wait(&queue->worker);
		slice = queue->slot[at];
		if (!slice)
			break;
		queue->slot[at] = NULL;
		store_slice(queue, slice);
		__atomic_fetch_sub(&queue->waiting_bytes, slice->bytes, __ATOMIC_RELAXED);
		free(slice);
		/* Pairs with the load in comm_slice_queue_put(): the slot is empty. */
		__atomic_store_n(&queue->taken, queue->taken + 1, __ATOMIC_RELEASE);
	}
}

int comm_slice_queue_create(struct comm_store *store, struct comm_slice_queue **ret)
{
	struct comm_slice_queue *queue = calloc(1, sizeof(*queue));

	if (!queue)
		return -ENOMEM;
	queue->store = store;
	queue->until_ns = UINT64_MAX;
	comm_worker_init(&queue->worker);
	*ret = queue;
	return 0;
}

void comm_slice_queue_destroy(struct comm_slice_queue *queue)
{
	if (!queue)
		return;
	for (size_t i = 0; i < SLOTS; i++)
		free(queue->slot[i]);
	comm_slice_packer_deinit(&queue->packer);
	comm_slice_unpacker_deinit(&queue->unpacker);
	comm_worker_deinit(&queue->worker);
	free(queue);
}

int comm_slice_queue_start(struct comm_slice_queue *queue)
{
	return comm_worker_start(&queue->worker, serve, queue);
}

int comm_slice_queue_put(struct comm_slice_queue *queue, const struct comm_slice_info *info,
			 const struct comm_edge *edges, size_t n_edges,
			 const struct comm_naming *naming)
{
	/* Pairs with the store in serve(). */
	uint64_t taken = __atomic_load_n(&queue->taken, __ATOMIC_ACQUIRE);
	size_t waiting = __atomic_load_n(&queue->waiting_bytes, __ATOMIC_RELAXED), now;
	size_t most = waiting < COMM_SLICE_QUEUE_BYTES ? COMM_SLICE_QUEUE_BYTES - waiting : 0;
	struct comm_queued_slice *slice;
	int err = -ENOBUFS;

	if (queue->put - taken < SLOTS)
		err = comm_slice_pack(&queue->packer, info, edges, n_edges, naming,
				      comm_slice_queue_stored_ns(queue), waiting ? most : SIZE_MAX,
				      &slice);
	if (err) {
		queue->full += err == -ENOBUFS;
		return err;
	}
	now = __atomic_add_fetch(&queue->waiting_bytes, slice->bytes, __ATOMIC_RELAXED);
	if (now > queue->most_bytes)
		queue->most_bytes = now;
	queue->slot[queue->put++ % SLOTS] = slice;
	comm_worker_tell(&queue->worker);
	return 0;
}

uint64_t comm_slice_queue_stored_ns(const struct comm_slice_queue *queue)
{
	return __atomic_load_n(&queue->stored_ns, __ATOMIC_RELAXED);
}

int comm_slice_queue_lost(const struct comm_slice_queue *queue)
{
	return __atomic_load_n(&queue->lost, __ATOMIC_RELAXED);
}

int comm_slice_queue_end(struct comm_slice_queue *queue, uint64_t until_ns, uint64_t give_up_ns)
{
	__atomic_store_n(&queue->until_ns, until_ns, __ATOMIC_RELAXED);
	return comm_worker_end(&queue->worker, give_up_ns);
}

void comm_slice_queue_stats(const struct comm_slice_queue *queue,
			    struct comm_slice_queue_stats *ret)
{
	*ret = (struct comm_slice_queue_stats){
		.unstored = __atomic_load_n(&queue->unstored, __ATOMIC_RELAXED),
		.full = queue->full,
		.most_bytes = queue->most_bytes,
	};
}
