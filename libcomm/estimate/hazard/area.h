/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Areas: what was seen of each piece of memory at each back-off level, per
 * thread.  An area of level l holds 8 of level l - 1, down to the datum of
 * level 0; level COMM_AREA_OBJECT is the whole object, and no area crosses
 * an object.  With a granularity of 8 B the levels are 8 B, 64 B, 512 B, 4 K,
 * 32 K, 256 K and the object.  Level 0 has no area of its own: it lies in the
 * line (level 1), so that one look-up serves both.
 *
 * Numbers name areas and actors; they stay valid until the next sweep.
 * Bounded: when there is no room, NONE comes back and the caller sweeps at its
 * next convenience.  Deterministic: no address of ours is hashed.
 */
#ifndef COMM_AREA_H
#define COMM_AREA_H

#include <stdbool.h>
#include <stdint.h>

enum {
	COMM_AREA_LINE = 1,
	COMM_AREA_OBJECT = 6,
	COMM_AREA_LEVELS = 7,
	COMM_AREA_CHILDREN = 8,
	COMM_AREA_NONE = 0,
	COMM_ACTOR_SITES = 4,
	COMM_ACTOR_WHOLE = 1, /* above lines: the site wrote the area as one */
};

struct comm_area {
	uint64_t index; /* datum >> shift of its level */
	uint32_t object;
	uint32_t parent; /* NONE for an object */
	uint32_t actors; /* latest first */
	uint32_t n_actors;
	uint32_t next; /* of the same hash */
	uint32_t used; /* sweep epoch of the last use */
	uint32_t n_children;
	union {
		uint8_t read[COMM_AREA_CHILDREN]; /* lines: bursts that read the datum */
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

/* A thread in an area.  Counts are of bursts, weights of accesses. */
struct comm_actor {
	uint32_t thread;
	uint32_t area;
	uint32_t next; /* of the same area */
	uint32_t same_hash;
	uint32_t parent;    /* the same thread one level up; checked when used */
	uint32_t pass;	    /* serial of the last pass of a burst over it */
	float n, weight;    /* writes: bursts, data written */
	float n_below;	    /* bursts, summed over the children */
	float weight_cover; /* part of weight: writes of the area as one */
	float n_pieces;	    /* children it was seen to write */
	float n_read, weight_read;
	double last_ns;	  /* on-CPU time of the last write, < 0: none */
	float longest_ns; /* between two bursts that wrote; < 0: before the only one */
	float recent_n, recent_weight, recent_ns; /* event-decayed activity */
	uint32_t site[COMM_ACTOR_SITES];
	float site_weight[COMM_ACTOR_SITES];
	/* Lines: bit i: the site wrote datum i; above, COMM_ACTOR_WHOLE. */
	uint8_t site_words[COMM_ACTOR_SITES];
	float word[COMM_AREA_CHILDREN]; /* lines: weight by datum */
};

struct comm_areas;

int comm_areas_create(uint64_t memory_bytes, uint32_t granularity_bytes, struct comm_areas **ret);
void comm_areas_destroy(struct comm_areas *areas);

/* log2 of the bytes of an area; for an object 63. */
uint32_t comm_area_shift(const struct comm_areas *areas, uint32_t level);
/* The area of a datum, made with its parents when create. */
uint32_t comm_area_find(struct comm_areas *areas, uint32_t object, uint64_t datum, uint32_t level,
			bool create);
/* Data of a line were written. */
void comm_area_wrote(struct comm_areas *areas, uint32_t line, uint8_t mask);
/*
 * The chance that a datum which is written like those around it has been seen
 * to be: they are written unequally, as exponentially distributed rates are.
 */
double comm_area_found(const struct comm_areas *areas, uint32_t area);
struct comm_area *comm_area_at(const struct comm_areas *areas, uint32_t area);
uint32_t comm_actor_find(struct comm_areas *areas, uint32_t area, uint32_t thread, bool create);
struct comm_actor *comm_actor_at(const struct comm_areas *areas, uint32_t actor);
/* The same thread's in the area above; 0 above the object. */
uint32_t comm_actor_above(struct comm_areas *areas, uint32_t actor, bool create);
/* Adds a site that wrote; words: as site_words, 0: some part of the area. */
void comm_actor_add_site(struct comm_actor *actor, uint32_t site, float weight, uint8_t words);
/*
 * Of which sites an actor's writes are, and their parts, COMM_ACTOR_SITES at most; returns how many.
 * Of a datum that it was seen to write those that wrote it, for what else stands in the line is
 * other code's business.  A site that was met too rarely to be kept is none of the others: (other).
 */
uint32_t comm_actor_sites(const struct comm_actor *actor, bool datum, uint32_t word,
			  uint32_t *ret_site, double *ret_part);

/* True when finer areas should wait until coarser ones were seen again: half of the room is taken. */
bool comm_areas_filling(const struct comm_areas *areas);
/* True when a sweep is due: three quarters of the room are taken. */
bool comm_areas_crowded(const struct comm_areas *areas);
/*
 * Begins another epoch; frees what was not used for longest when crowded, and where all was used
 * of late what no thread wrote in more than one burst.  Halves all counts when halve, but a thread
 * that was seen to write stays one.  Returns how many actors that wrote were freed.
 */
uint64_t comm_areas_sweep(struct comm_areas *areas, bool halve);

#endif
