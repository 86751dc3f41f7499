/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regions: what was seen of each piece of memory at each back-off level, per
 * thread.  A region of level l holds 8 of level l - 1, down to the datum of
 * level 0; level COMM_REGION_OBJECT is the whole object, and no region crosses
 * an object.  With a granularity of 8 B the levels are 8 B, 64 B, 512 B, 4 K,
 * 32 K, 256 K and the object.  Level 0 has no region of its own: it lies in the
 * line (level 1), so that one look-up serves both.
 *
 * Numbers name regions and actors; they stay valid until the next sweep.
 * Bounded: when there is no room, NONE comes back and the caller sweeps at its
 * next convenience.  Deterministic: no address of ours is hashed.
 */
#ifndef COMM_REGION_H
#define COMM_REGION_H

#include <stdbool.h>
#include <stdint.h>

enum {
	COMM_REGION_LINE = 1,
	COMM_REGION_OBJECT = 6,
	COMM_REGION_LEVELS = 7,
	COMM_REGION_CHILDREN = 8,
	COMM_REGION_NONE = 0,
	COMM_ACTOR_SITES = 4,
	COMM_ACTOR_WHOLE = 1, /* above lines: the site wrote the region as one */
};

struct comm_region {
	uint64_t index; /* datum >> shift of its level */
	uint32_t object;
	uint32_t parent; /* NONE for an object */
	uint32_t actors; /* latest first */
	uint32_t n_actors;
	uint32_t next; /* of the same hash */
	uint32_t used; /* sweep epoch of the last use */
	uint32_t n_children;
	union {
		uint8_t read[COMM_REGION_CHILDREN]; /* lines: bursts that read the datum */
		struct {
			/* Above: data seen to be written, and bursts that wrote them, summed. */
			float n_data, n_written;
		};
	};
	float n; /* bursts that wrote it */
	uint8_t level;
	uint8_t touched; /* bit i: child i was read or written (level 0..4 children) */
	uint8_t written; /* lines: bit i: datum i was written */
};

/* A thread in a region.  Counts are of bursts, weights of accesses. */
struct comm_actor {
	uint32_t thread;
	uint32_t region;
	uint32_t next; /* of the same region */
	uint32_t same_hash;
	uint32_t parent;    /* the same thread one level up; checked when used */
	uint32_t pass;	    /* serial of the last pass of a burst over it */
	float n, weight;    /* writes: bursts, data written */
	float n_below;	    /* bursts, summed over the children */
	float weight_cover; /* part of weight: writes of the region as one */
	float n_pieces;	    /* children it was seen to write */
	float n_read, weight_read;
	double last_ns;	  /* on-CPU time of the last write, < 0: none */
	float longest_ns; /* between two bursts that wrote; < 0: before the only one */
	float recent_n, recent_weight, recent_ns; /* event-decayed activity */
	uint32_t site[COMM_ACTOR_SITES];
	float site_weight[COMM_ACTOR_SITES];
	/* Lines: bit i: the site wrote datum i; above, COMM_ACTOR_WHOLE. */
	uint8_t site_words[COMM_ACTOR_SITES];
	float word[COMM_REGION_CHILDREN]; /* lines: weight by datum */
};

struct comm_regions;

int comm_regions_create(uint64_t memory_bytes, uint32_t granularity_bytes,
			struct comm_regions **ret);
void comm_regions_destroy(struct comm_regions *regions);

/* log2 of the bytes of a region; for an object 63. */
uint32_t comm_region_shift(const struct comm_regions *regions, uint32_t level);
/* The region of a datum, made with its parents when create. */
uint32_t comm_region_find(struct comm_regions *regions, uint32_t object, uint64_t datum,
			  uint32_t level, bool create);
/* Data of a line were written. */
void comm_region_wrote(struct comm_regions *regions, uint32_t line, uint8_t mask);
/*
 * The chance that a datum which is written like those around it has been seen
 * to be: they are written unequally, as exponentially distributed rates are.
 */
double comm_region_found(const struct comm_regions *regions, uint32_t region);
struct comm_region *comm_region_at(const struct comm_regions *regions, uint32_t region);
uint32_t comm_actor_find(struct comm_regions *regions, uint32_t region, uint32_t thread,
			 bool create);
struct comm_actor *comm_actor_at(const struct comm_regions *regions, uint32_t actor);
/* The same thread's in the region above; 0 above the object. */
uint32_t comm_actor_above(struct comm_regions *regions, uint32_t actor, bool create);
/* Adds a site that wrote; words: as site_words, 0: some part of the region. */
void comm_actor_add_site(struct comm_actor *actor, uint32_t site, float weight, uint8_t words);
/*
 * Of which sites an actor's writes are, and their parts, COMM_ACTOR_SITES at most; returns how many.
 * Of a datum that it was seen to write those that wrote it, for what else stands in the line is
 * other code's business.  A site that was met too rarely to be kept is none of the others: (other).
 */
uint32_t comm_actor_sites(const struct comm_actor *actor, bool datum, uint32_t word,
			  uint32_t *ret_site, double *ret_part);

/* True when finer regions should wait until coarser ones were seen again: half of the room is taken. */
bool comm_regions_filling(const struct comm_regions *regions);
/* True when a sweep is due: three quarters of the room are taken. */
bool comm_regions_crowded(const struct comm_regions *regions);
/*
 * Begins another epoch; frees what was not used for longest when crowded, and where all was used
 * of late what no thread wrote in more than one burst.  Halves all counts when halve, but a thread
 * that was seen to write stays one.  Returns how many actors that wrote were freed.
 */
uint64_t comm_regions_sweep(struct comm_regions *regions, bool halve);

#endif
