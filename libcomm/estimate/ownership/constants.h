/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every constant of the ownership estimator.  Chosen on recordings at 5 % of the programs lu,
 * cg, seismic, tachyon, x264, barnes and minimap2 and of ten kernels.  What a factor of two
 * does: mean error of 20 programs and of the kernels, .604 and .281 as it stands
 * (tests/truth/rescore.py; docs/method/model.md says of what).
 */
#ifndef COMM_OWNERSHIP_CONSTANTS_H
#define COMM_OWNERSHIP_CONSTANTS_H

/*
 * kappa, pseudo-bursts: how many bursts a region's surroundings are worth beside its own,
 * from which predictive likelihood chooses per object and level; a decade around 1.
 */
#define OWNERSHIP_KAPPA                      \
	{                                    \
		0.03, 0.1, 0.3, 1, 3, 10, 30 \
	}
/* Bursts, 10 to 100: evidence of all objects counts as at most so many of one object's.  Doubled: .605, .281. */
#define OWNERSHIP_KAPPA_SHARED 30.0
/*
 * Share, 0.5 to 0.95: what is assumed of an object that nobody was seen to write: the
 * reader's own.  Peers: 92 to 97 % of real programs' reads are.
 */
#define OWNERSHIP_OWN 0.8
/*
 * Ratio, 1 to 20: by how much a read is the reader's own more often than position
 * says, before anything is known of its instruction.  Doubled: .585, .286; where few
 * bursts are seen, large values take reads of others' data for own ones.
 */
#define OWNERSHIP_OWN_ODDS 5.0
/* Bursts, 0.2 to 4: what that assumption is worth.  Doubled: .605, .282. */
#define OWNERSHIP_OWN_WORTH 0.5
/* Bursts, 0.1 to 5: the same for "no pair of threads is closer than another".  Doubled: .605, .280. */
#define OWNERSHIP_PAIR_WORTH 0.2
/*
 * Writes per read, 0.03 to 1: of data that are rewritten at all.  More finds tables
 * written once with fewer samples and takes more live data for such.  Doubled: .576,
 * .281, but volumes err by 1.75 instead of 1.64 powers of two; halved: .623, .280.
 */
#define OWNERSHIP_WRITES_PER_READ 0.1
/*
 * Share, 0.05 to 0.2, and bursts: reads of an unknown instruction that are of a table
 * written once.  Doubled: .592, .280 with volumes of 1.95 instead of 1.64; .609, .280.
 */
#define OWNERSHIP_TABLE 0.1
#define OWNERSHIP_TABLE_WORTH 2.0
/*
 * Share, 0.5 to 0.9, and bursts: of left-out reads foretold to cross, how many must be
 * right for a level to be trusted, and so many bursts' worth of wrong ones are assumed.  0.8
 * and 1: of what is said to cross in the programs, 47 instead of 45 % is within a factor of
 * sqrt(3) of the truth; everything trusted: 35 %.
 */
#define OWNERSHIP_TRUST 0.67
#define OWNERSHIP_TRUST_WORTH 0.5
/* Share of a read under which a writer is left out: fewer rows.  Not varied. */
#define OWNERSHIP_SMALL 0.01

/*
 * Reads looked at in a second, 1,000 to 50,000: bounds the daemon's time, whatever the rate of
 * bursts.  Each burst has up to 3.
 */
#define OWNERSHIP_READS_PER_S 10000.0

enum {
	/* The finest level at which habits correct what position says: below, votes are of the datum's own line. */
	OWNERSHIP_HABIT_LEVEL = 3,
	/* Candidates weighed for one read.  Not varied. */
	OWNERSHIP_CANDIDATES = 64,
};

#endif
