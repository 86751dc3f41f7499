// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "burst.h"
#include "call_chain.h"
#include "chosen_functions.h"
#include "contention.h"
#include "copy_weight.h"
#include "engine.h"
#include "first_touch.h"
#include "instruction.h"
#include "interpreted.h"
#include "movers.h"
#include "open_slice.h"
#include "resolver.h"
#include "surveyed_reads.h"
#include "thread_lives.h"

enum {
	/* A longer time without events (a damaged recording, a suspended host) is one slice. */
	EMPTY_SLICES_MAX = 4096,
};

struct comm_engine {
	struct comm_engine_config config;
	struct comm_decoder *decoder;
	struct comm_space_table *spaces;
	struct comm_identity identity;
	void *est;
	struct comm_contention *contention;
	struct comm_movers *movers;
	uint32_t trigger;
	uint64_t period;
	uint64_t slice_start_ns;
	uint64_t last_ns;
	/* How much of the estimator's and identity's running totals is in past slices' losses. */
	uint64_t thinned, folded, threads_unfiled, ids_unfiled;
	struct comm_open_slice slice;
	struct comm_engine_stats stats; /* its losses are the slice's to tell */
	struct comm_instructions instructions;
	struct comm_resolver resolver;
	struct comm_chosen_functions chosen;
	struct comm_surveyed_reads surveyed;
	struct comm_thread_lives lives;
	struct comm_burst burst;
	struct comm_access access[1 + COMM_BURST_ACCESSES];
	/* Of each.  That of an access that is held stays the first until its burst comes. */
	struct comm_access_seen seen[1 + COMM_BURST_ACCESSES];
	/* A precise access whose burst is to come, of thread held_tid; held.n 0: none. */
	struct comm_access_burst held;
	struct comm_access held_access;
	uint32_t held_tgid, held_tid;
	bool held_left_out; /* nobody asked for what it reads */
	/* The region of thread marked_tid at its events of marked_ns. */
	uint64_t marked_ns;
	uint32_t marked_tid, marked_region;
	bool has_marks; /* of some thread, ever */
	struct comm_frames frames;
};

int comm_engine_create(const struct comm_engine_config *config, struct comm_engine **ret)
{
	struct comm_engine *engine = calloc(1, sizeof(*engine));
	int err;

	if (!engine)
		return -ENOMEM;
	engine->config = *config;
	engine->slice_start_ns = config->start_ns;
	engine->last_ns = config->start_ns;
	engine->period = 1;
	err = comm_open_slice_init(&engine->slice);
	if (!err)
		err = comm_decoder_create(config->inspect, &engine->decoder);
	if (!err)
		err = comm_space_table_create(config->inspect, &engine->spaces);
	if (!err)
		err = comm_identity_init(&engine->identity, config->inspect);
	if (!err) {
		engine->config.est.function_of = comm_sites_function_of;
		engine->config.est.sites = engine->identity.sites;
		err = config->estimator->create(&engine->config.est, &engine->est);
	}
	if (!err)
		err = comm_contention_create(config->est.cycles_per_ns, &engine->contention);
	if (!err)
		err = comm_surveyed_reads_init(&engine->surveyed);
	if (!err)
		err = comm_movers_create(engine->identity.threads, engine->spaces, &engine->movers);
	if (err) {
		comm_engine_destroy(engine);
		return err;
	}
	engine->instructions.identity = &engine->identity;
	engine->instructions.decoder = engine->decoder;
	engine->resolver = (struct comm_resolver){&engine->identity, engine->decoder,
						  engine->spaces, &engine->slice};
	engine->chosen.pattern = config->function;
	engine->chosen.identity = &engine->identity;
	engine->surveyed.resolver = &engine->resolver;
	engine->surveyed.chosen = &engine->chosen;
	engine->surveyed.movers = engine->movers;
	engine->surveyed.ops = config->estimator;
	engine->surveyed.est = engine->est;
	engine->surveyed.cycles_per_ns = config->est.cycles_per_ns;
	engine->lives =
		(struct comm_thread_lives){&engine->identity, engine->spaces, &engine->frames,
					   config->estimator, engine->est,    &engine->slice};
	*ret = engine;
	return 0;
}

void comm_engine_destroy(struct comm_engine *engine)
{
	if (!engine)
		return;
	if (engine->est)
		engine->config.estimator->destroy(engine->est);
	comm_contention_destroy(engine->contention);
	comm_surveyed_reads_deinit(&engine->surveyed);
	comm_movers_destroy(engine->movers);
	comm_chosen_functions_deinit(&engine->chosen);
	comm_identity_deinit(&engine->identity);
	comm_space_table_destroy(engine->spaces);
	comm_decoder_destroy(engine->decoder);
	comm_open_slice_deinit(&engine->slice);
	free(engine);
}

static void lose(struct comm_engine *engine, enum comm_loss cause, uint64_t count)
{
	comm_open_slice_lose(&engine->slice, cause, count);
}

static uint32_t region_at(const struct comm_engine *engine, const struct comm_event *event)
{
	return engine->has_marks && event->time_ns == engine->marked_ns &&
			       event->tid == engine->marked_tid
		       ? engine->marked_region
		       : COMM_CODE_REGION_NONE;
}

/* In which region a thread spends its time, as far as samples tell. */
static void count_region(struct comm_engine *engine, const struct comm_access_burst *burst,
			 uint32_t region)
{
	if (engine->has_marks)
		comm_open_slice_count(&engine->slice, COMM_COUNTER_SAMPLED,
				      (struct comm_count){.thread = burst->thread,
							  .region = region,
							  .value = (double)burst->period});
}

/* How long the code was that a sample met, by its call path: in the unit of its period. */
static void count_length(struct comm_engine *engine, struct comm_call_chain *chain,
			 const struct comm_access_burst *out, uint32_t region)
{
	static const char *const counters[] = {
		[COMM_TRIGGER_TIME] = COMM_COUNTER_CPU,
		[COMM_TRIGGER_INSTRUCTIONS] = COMM_COUNTER_INSTRUCTIONS,
		[COMM_TRIGGER_ACCESSES] = COMM_COUNTER_ACCESSES,
	};
	const struct comm_burst *burst = chain->burst;
	const struct comm_burst_access here = {.ip = chain->sample->ip};
	struct comm_sites *sites = engine->identity.sites;
	uint64_t bytecode = burst->n_accesses ? burst->access[0].bytecode : 0;
	uint32_t site;

	if (!chain->depth || out->trigger >= sizeof(counters) / sizeof(*counters))
		return;
	if (bytecode)
		site = comm_sites_within(
			sites, comm_sites_get(sites, chain->space, bytecode, chain->time_ns),
			region);
	else
		site = comm_instruction_at(&engine->instructions, chain->space, here.ip, region,
					   comm_call_chain_of(chain, &here), chain->time_ns)
			       ->site;
	comm_open_slice_length(&engine->slice, counters[out->trigger], out->thread, site,
			       (double)out->period);
}

static void log_accesses(struct comm_engine *engine, uint32_t tgid, uint32_t tid,
			 const struct comm_access_burst *burst)
{
	uint64_t lost = comm_access_log_burst(engine->config.accesses, &engine->identity, tgid, tid,
					      burst, engine->seen);

	if (lost)
		lose(engine, COMM_LOSS_ACCESSES, lost);
}

/* A burst of thread tid. */
static void feed(struct comm_engine *engine, uint32_t tgid, uint32_t tid,
		 struct comm_access_burst *burst)
{
	engine->slice.info.bursts++;
	engine->slice.info.accesses += burst->n;
	engine->stats.bursts++;
	engine->stats.accesses += burst->n;
	comm_movers_met(engine->movers, burst->thread);
	if (comm_placements_add(&engine->slice.placements, burst->thread, burst->cpu, 1))
		lose(engine, COMM_LOSS_CELLS, 1);
	if (engine->config.estimator->burst(engine->est, burst))
		lose(engine, COMM_LOSS_WINDOW, burst->n);
	comm_contention_burst(engine->contention, burst);
	comm_surveyed_reads_burst(&engine->surveyed, burst);
	if (engine->config.accesses)
		log_accesses(engine, tgid, tid, burst);
}

static void count_end(struct comm_engine *engine, const struct comm_burst *burst)
{
	engine->stats.ends[burst->end]++;
	engine->stats.insns += burst->n_insns;
	if (burst->n_insns)
		return;
	/* Not even the sampled instruction could be looked at. */
	if (burst->end == COMM_BURST_NO_TEXT)
		lose(engine, COMM_LOSS_NO_TEXT, 1);
	else if (burst->end == COMM_BURST_UNDECODED)
		lose(engine, COMM_LOSS_UNDECODED, 1);
	else if (burst->end == COMM_BURST_MODE32)
		lose(engine, COMM_LOSS_MODE32, 1);
	else if (burst->end == COMM_BURST_CHANGED)
		lose(engine, COMM_LOSS_JIT, 1);
}

/* The burst never came: it did not fit into the ring. */
static void feed_held(struct comm_engine *engine)
{
	if (!engine->held.n)
		return;
	engine->access[0] = engine->held_access;
	if (!engine->held_left_out)
		feed(engine, engine->held_tgid, engine->held_tid, &engine->held);
	engine->held.n = 0;
}

static bool continues_held(const struct comm_engine *engine, const struct comm_event *event)
{
	return engine->held.n && event->kind == COMM_EV_SAMPLE && event->tid == engine->held_tid &&
	       event->time_ns == engine->held.time_ns;
}

static void name_thread(struct comm_engine *engine, const struct comm_event *event,
			struct comm_access_burst *burst)
{
	struct comm_threads *threads = engine->identity.threads;

	burst->thread = comm_threads_get(threads, event->tgid, event->tid, event->time_ns);
	burst->initial = comm_threads_find(threads, event->tgid, event->tgid);
	burst->role = comm_threads_role(threads, burst->thread);
}

static void on_sample(struct comm_engine *engine, const struct comm_event *event)
{
	const struct comm_sample *sample = event->sample;
	struct comm_space *space = comm_space_get(engine->spaces, event->tgid);
	struct comm_burst *burst = &engine->burst;
	struct comm_access_burst out = {
		.time_ns = event->time_ns,
		.cpu = event->cpu,
		.trigger = engine->trigger,
		.period = sample->period ? sample->period : engine->period,
		.access = engine->access,
		.frame = comm_frames_at(&engine->frames, event->tgid, event->time_ns),
	};
	uint32_t region = region_at(engine, event);
	struct comm_call_chain chain = {
		.identity = &engine->identity,
		.space = space,
		.sample = sample,
		.burst = burst,
		.time_ns = event->time_ns,
		.depth = engine->config.callers,
	};
	/* Where accesses are sampled, the sampled one is the first, whether we have it or not. */
	uint32_t first = out.trigger == COMM_TRIGGER_ACCESSES;
	/*
	 * A sample of the kernel's time is looked at and counts for nothing: the code and names that older
	 * recordings have were first asked for by such samples, too.
	 */
	bool is_kernels = out.trigger == COMM_TRIGGER_TIME && comm_sample_is_behind_syscall(sample);

	if (continues_held(engine, event)) {
		if (!engine->held_left_out)
			engine->access[out.n++] = engine->held_access;
		engine->held.n = 0;
	} else {
		engine->slice.info.samples++;
		engine->stats.samples++;
	}
	if (!space) { /* out of memory */
		lose(engine, COMM_LOSS_NO_TEXT, 1);
		return;
	}
	comm_burst_run(engine->decoder, space, event->time_ns, sample, burst);
	comm_interpreted_tell(&engine->instructions, space, sample, event->time_ns, burst);
	comm_chosen_functions_burst(&engine->chosen, &engine->instructions, space, event->time_ns,
				    burst);
	if (!is_kernels) {
		count_end(engine, burst);
		if (engine->config.burst_done)
			engine->config.burst_done(engine->config.burst_ctx, event, burst);
	}
	name_thread(engine, event, &out);
	out.creator = comm_threads_creator(engine->identity.threads, out.thread);
	if (!is_kernels) {
		count_region(engine, &out, region);
		count_length(engine, &chain, &out, region);
	}
	out.n_insns = first ? first + burst->n_accesses + burst->n_unknown : burst->n_insns;
	out.cycles = burst->cycles;
	out.n_unknown = burst->n_unknown;
	out.yields = burst->yields;
	for (uint32_t i = 0; i < burst->n_accesses; i++) {
		const struct comm_burst_access *from = &burst->access[i];
		struct comm_access *to = &engine->access[out.n];
		struct comm_block_object block;
		const struct comm_instruction *insn;
		uint32_t site;

		/* Return addresses and saved registers (push, call, ret) are no communication. */
		if (from->flags & COMM_ACCESS_IMPLICIT || from->left_out)
			continue;
		if (!comm_resolver_access(&engine->resolver, space, from, sample->reg[COMM_RSP],
					  event->tid, event->time_ns, to, &block))
			continue;
		insn = comm_instruction_at(&engine->instructions, space, from->ip, region,
					   chain.depth ? comm_call_chain_of(&chain, from)
						       : COMM_CALL_UNKNOWN,
					   event->time_ns);
		site = insn->site;
		if (from->bytecode)
			site = comm_sites_within(engine->identity.sites,
						 comm_sites_get(engine->identity.sites, space,
								from->bytecode, event->time_ns),
						 region);
		to->site = comm_resolver_site(&engine->resolver, site, from->addr, &block);
		if (insn->keeps_heap)
			comm_resolver_lists(&engine->resolver, to);
		to->known = insn->known;
		if (out.creator && from->flags & COMM_ACCESS_READ &&
		    comm_sample_is_set_up(sample, from->addr))
			to->flags |= COMM_ACCESS_BY_CREATOR;
		if (first)
			to->insn = (uint16_t)(first + from->nth);
		engine->seen[out.n] = (struct comm_access_seen){
			from->addr, from->insn ? COMM_ACCESSES_EMULATED : COMM_ACCESSES_DECODED};
		out.n++;
	}
	if (!is_kernels)
		feed(engine, event->tgid, event->tid, &out);
}

/* Counts where a load found its data, if its PMU was asked. */
static void count_origin(struct comm_engine *engine, const struct comm_precise *load,
			 const struct comm_access_burst *out)
{
	/* By itself, without the bursts of others that met this load, too (weight.h). */
	if (load->data_src && load->flags & COMM_ACCESS_READ)
		comm_open_slice_load(&engine->slice, load, out->thread, out->access->site,
				     comm_access_shown(out->access), (double)out->period);
}

/* Whether the access is but a read that nobody asked for.  Of one that writes, too, the write stays. */
static bool leave_out(struct comm_engine *engine, struct comm_access *access)
{
	bool writes = access->flags & COMM_ACCESS_WRITE;

	if (!(access->flags & COMM_ACCESS_READ) ||
	    comm_chosen_functions_has(&engine->chosen, access->site))
		return false;
	access->flags &= (uint16_t)~COMM_ACCESS_READ;
	return !writes;
}

static void on_access(struct comm_engine *engine, const struct comm_event *event)
{
	struct comm_access_burst out = {
		.time_ns = event->time_ns,
		.cpu = event->cpu,
		.trigger = engine->trigger,
		.period = event->access.period ? event->access.period : engine->period,
		.access = engine->access,
		.n = 1,
		.n_insns = 1,
		.frame = comm_frames_at(&engine->frames, event->tgid, event->time_ns),
		.exact = event->kind == COMM_EV_ACCESS && engine->trigger != COMM_TRIGGER_ACCESSES,
	};
	bool left_out;

	engine->slice.info.samples++;
	engine->stats.samples++;
	if (!comm_resolver_precise(&engine->resolver, event->tgid, event->tid,
				   region_at(engine, event), event->time_ns, &event->access,
				   engine->access))
		return;
	if (event->kind == COMM_EV_KCOPY)
		comm_copy_weigh(&event->access, &out, engine->access);
	name_thread(engine, event, &out);
	left_out = leave_out(engine, engine->access);
	if (event->kind != COMM_EV_ACCESS)
		count_region(engine, &out, region_at(engine, event));
	else if (!left_out)
		count_origin(engine, &event->access, &out);
	/* What the kernel copies stands in the registers of its instruction, or of the system call. */
	engine->seen[0] = (struct comm_access_seen){
		event->access.addr,
		event->kind == COMM_EV_ACCESS ? COMM_ACCESSES_MEASURED : COMM_ACCESSES_DECODED};
	if (event->access.flags & COMM_ACCESS_BURST) {
		engine->held = out;
		engine->held_access = engine->access[0];
		engine->held_tgid = event->tgid;
		engine->held_tid = event->tid;
		engine->held_left_out = left_out;
		return;
	}
	if (left_out)
		return;
	feed(engine, event->tgid, event->tid, &out);
}

static void on_mark(struct comm_engine *engine, const struct comm_event *event)
{
	struct comm_space *space = comm_space_get(engine->spaces, event->tgid);

	engine->has_marks = true;
	engine->marked_ns = event->time_ns;
	engine->marked_tid = event->tid;
	engine->marked_region = COMM_CODE_REGION_OTHER;
	if (space)
		engine->marked_region = comm_code_regions_get(engine->identity.regions, space,
							      &event->marks, event->time_ns);
}

static void on_frame(struct comm_engine *engine, const struct comm_event *event)
{
	uint64_t began =
		comm_frames_mark(&engine->frames, event->tgid, event->frame, event->time_ns);

	if (began)
		comm_open_slice_count(
			&engine->slice, COMM_COUNTER_FRAMES,
			(struct comm_count){.thread = comm_threads_get(engine->identity.threads,
								       event->tgid, event->tgid,
								       event->time_ns),
					    .value = (double)began});
}

static void on_object(struct comm_engine *engine, const struct comm_event *event)
{
	struct comm_space *space = comm_space_get(engine->spaces, event->tgid);
	const char *name = "";

	if (space && event->object.size_bytes)
		name = comm_code_regions_name(engine->identity.regions, space, event->object.name,
					      event->time_ns);
	comm_objects_mark(engine->identity.objects, event->tgid, event->object.slot,
			  event->object.start, event->object.size_bytes, name);
}

static void on_touch(struct comm_engine *engine, const struct comm_event *event)
{
	const struct comm_est_ops *ops = engine->config.estimator;
	struct comm_space *space = comm_space_get(engine->spaces, event->tgid);
	struct comm_touch touch;

	if (space && ops->touch && comm_first_touch_find(&engine->identity, space, event, &touch))
		ops->touch(engine->est, &touch);
}

/* A trap, or a look, tells no region. */
static uint32_t no_region(const struct comm_engine *engine)
{
	return engine->has_marks ? COMM_CODE_REGION_OTHER : COMM_CODE_REGION_NONE;
}

static void on_count(struct comm_engine *engine, const struct comm_event *event)
{
	struct comm_count c = {
		.thread = comm_threads_get(engine->identity.threads, event->tgid, event->tid,
					   event->time_ns),
		.value = (double)event->counted.value,
		.enabled_ns = event->counted.enabled_ns,
		.running_ns = event->counted.running_ns,
	};

	/* What a counter without a place in the PMU would have counted meanwhile. */
	if (c.running_ns && c.running_ns < c.enabled_ns)
		c.value *= (double)c.enabled_ns / (double)c.running_ns;
	comm_open_slice_count(&engine->slice, event->counted.counter, c);
}

static void collect_edges(struct comm_engine *engine)
{
	const struct comm_est_ops *ops = engine->config.estimator;
	struct comm_slice_info *slice = &engine->slice.info;
	struct comm_movers_sieve sieve = {
		.movers = engine->movers, .emit = comm_open_slice_edge, .ctx = &engine->slice};

	if (ops->slice(engine->est, slice->start_ns, slice->end_ns, comm_movers_edge, &sieve,
		       &slice->unwritten))
		/* Edges are missing; how many accesses they stood for is unknown: count all. */
		lose(engine, COMM_LOSS_WINDOW, slice->accesses ? slice->accesses : 1);
	slice->unwritten.bytes += sieve.moved.bytes;
	slice->unwritten.first_bytes += sieve.moved.first_bytes;
	comm_surveyed_reads_take(&engine->surveyed);
}

/* Counts as lost by how much a running total grew since *told, its last value. */
static void lose_more(struct comm_engine *engine, enum comm_loss cause, uint64_t total,
		      uint64_t *told)
{
	lose(engine, cause, total - *told);
	*told = total;
}

static void collect_losses(struct comm_engine *engine)
{
	const struct comm_est_ops *ops = engine->config.estimator;
	const struct comm_identity *identity = &engine->identity;

	if (ops->thinned)
		lose_more(engine, COMM_LOSS_WINDOW, ops->thinned(engine->est), &engine->thinned);
	if (ops->folded)
		lose_more(engine, COMM_LOSS_CELLS, ops->folded(engine->est), &engine->folded);
	lose_more(engine, COMM_LOSS_THREADS, comm_threads_unfiled(identity->threads),
		  &engine->threads_unfiled);
	lose_more(engine, COMM_LOSS_IDS,
		  comm_sites_unfiled(identity->sites) + comm_objects_unfiled(identity->objects) +
			  comm_code_regions_unfiled(identity->regions) +
			  comm_calls_unfiled(identity->calls),
		  &engine->ids_unfiled);
}

/* Where in its object; -1 where the object's start is not known, or not that of all its pieces. */
static int64_t offset_of(const struct comm_engine *engine, const struct comm_cacheline_use *use)
{
	const struct comm_object *object = comm_objects_at(engine->identity.objects, use->object);

	if (object->kind == COMM_OBJECT_OTHER || object->kind == COMM_OBJECT_STACK ||
	    use->datum - object->start >= object->size_bytes)
		return -1;
	return (int64_t)(use->datum - object->start);
}

static void collect_cachelines(struct comm_engine *engine)
{
	struct comm_cachelines *table = &engine->slice.cachelines;

	if (comm_contention_take(engine->contention, table))
		lose(engine, COMM_LOSS_CELLS, 1);
	for (size_t i = 0; i < table->n_uses; i++)
		table->use[i].offset = offset_of(engine, &table->use[i]);
}

/*
 * Less than 0: it is lost.  *ret_stored_ns: slices up to then are stored; of one that is kept names are to be stored
 * yet.
 */
static int store_slice(struct comm_engine *engine, uint64_t *ret_stored_ns)
{
	const struct comm_engine_config *config = &engine->config;
	const struct comm_open_slice *slice = &engine->slice;
	struct comm_naming naming;
	int rc = 0;

	comm_identity_naming(&engine->identity, &naming);
	*ret_stored_ns = 0;
	if (config->queue) {
		rc = comm_slice_queue_put(config->queue, &slice->info, slice->edges, slice->n_edges,
					  &naming);
		*ret_stored_ns = comm_slice_queue_stored_ns(config->queue);
		return rc;
	}
	if (config->store)
		rc = comm_store_write_slice(config->store, &slice->info, slice->edges,
					    slice->n_edges, &naming);
	if (!rc)
		*ret_stored_ns = slice->info.end_ns;
	return rc;
}

static void close_slice(struct comm_engine *engine, uint64_t end_ns)
{
	struct comm_open_slice *slice = &engine->slice;
	uint64_t stored_ns;
	int stored;

	feed_held(engine);
	comm_sites_settle(engine->identity.sites);
	comm_open_slice_end(slice, engine->slice_start_ns, end_ns);
	collect_cachelines(engine);
	collect_edges(engine);
	collect_losses(engine);
	comm_open_slice_close(slice);
	if (engine->config.slice_done)
		engine->config.slice_done(engine->config.ctx, &slice->info, slice->edges,
					  slice->n_edges);
	engine->stats.slices++;
	engine->slice_start_ns = end_ns;
	stored = store_slice(engine, &stored_ns);
	if (stored_ns)
		comm_threads_stored(engine->identity.threads, stored_ns);
	/* The next slice reports this loss, and the losses of the slice not stored. */
	if (stored < 0)
		lose(engine, COMM_LOSS_STORE, 1);
	comm_open_slice_next(slice, stored >= 0);
	comm_thread_lives_forget(&engine->lives);
}

void comm_engine_advance(struct comm_engine *engine, uint64_t now_ns)
{
	uint64_t slice_ns = engine->config.slice_ns;

	while (now_ns >= engine->slice_start_ns && now_ns - engine->slice_start_ns >= slice_ns) {
		uint64_t over = (now_ns - engine->slice_start_ns) / slice_ns;

		close_slice(engine, engine->slice_start_ns +
					    (over > EMPTY_SLICES_MAX ? over * slice_ns : slice_ns));
	}
	if (now_ns > engine->last_ns)
		engine->last_ns = now_ns;
}

void comm_engine_finish(struct comm_engine *engine, uint64_t end_ns)
{
	comm_engine_advance(engine, end_ns);
	if (end_ns > engine->slice_start_ns)
		close_slice(engine, end_ns);
}

void comm_engine_event(void *ctx, const struct comm_event *event)
{
	struct comm_engine *engine = ctx;

	if (!continues_held(engine, event))
		feed_held(engine);
	comm_engine_advance(engine, event->time_ns);
	engine->stats.events++;
	switch ((enum comm_event_kind)event->kind) {
	case COMM_EV_SAMPLE:
		on_sample(engine, event);
		break;
	case COMM_EV_ACCESS:
	case COMM_EV_KCOPY:
		on_access(engine, event);
		break;
	case COMM_EV_TOUCH:
		on_touch(engine, event);
		break;
	case COMM_EV_MARK:
		on_mark(engine, event);
		break;
	case COMM_EV_FRAME:
		on_frame(engine, event);
		break;
	case COMM_EV_OBJECT:
		on_object(engine, event);
		break;
	case COMM_EV_PROBED:
		comm_code_regions_probed(engine->identity.regions, event->probed.id,
					 event->probed.name);
		break;
	case COMM_EV_CENSUS:
		comm_surveyed_reads_word(&engine->surveyed, event, engine->trigger,
					 no_region(engine));
		break;
	case COMM_EV_FED:
		comm_surveyed_reads_pair(&engine->surveyed, event, engine->trigger,
					 no_region(engine));
		break;
	case COMM_EV_SWITCH:
		comm_thread_lives_switch(&engine->lives, event);
		break;
	case COMM_EV_FORK:
		comm_threads_fork(engine->identity.threads, event);
		break;
	case COMM_EV_EXEC:
		comm_thread_lives_exec(&engine->lives, event);
		break;
	case COMM_EV_RENAME:
		if (*event->name)
			comm_threads_named(engine->identity.threads, event);
		else
			comm_threads_renamed(engine->identity.threads, event->tgid, event->tid);
		break;
	case COMM_EV_EXIT:
		comm_thread_lives_exit(&engine->lives, event);
		break;
	case COMM_EV_MMAP:
		comm_space_changed(engine->spaces, event->tgid);
		break;
	case COMM_EV_RATE:
		engine->trigger = event->trigger;
		engine->period = event->period;
		break;
	case COMM_EV_COST:
		engine->slice.info.handler_ns += event->cost.handler_ns;
		engine->slice.info.daemon_ns += event->cost.daemon_ns;
		engine->slice.info.daemon_idle_ns += event->cost.daemon_idle_ns;
		engine->slice.info.setup_ns += event->cost.setup_ns;
		engine->slice.info.target_ns += event->cost.target_ns;
		comm_budgets_add(&engine->slice.info.budgets, event->cost.limit, event->cost.floor);
		break;
	case COMM_EV_COUNT:
		on_count(engine, event);
		break;
	case COMM_EV_LOSS:
		if (event->cause < COMM_LOSS_MAX)
			lose(engine, (enum comm_loss)event->cause, event->count);
		if ((event->cause == COMM_LOSS_BUDGET || event->cause == COMM_LOSS_SCHED) &&
		    engine->config.estimator->sched_lost)
			engine->config.estimator->sched_lost(engine->est, event->time_ns);
		break;
	}
}

void comm_engine_stats(const struct comm_engine *engine, struct comm_engine_stats *ret)
{
	*ret = engine->stats;
	memcpy(ret->loss, engine->slice.all_losses, sizeof(ret->loss));
}

bool comm_engine_is_shared(const struct comm_engine *engine, uint32_t tgid, uint64_t addr)
{
	return comm_space_is_shared(engine->spaces, tgid, addr);
}

const struct comm_identity *comm_engine_identity(const struct comm_engine *engine)
{
	return &engine->identity;
}
