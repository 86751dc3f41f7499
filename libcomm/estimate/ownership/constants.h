/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every constant of the ownership estimator.  "From": chosen on recordings at 5 % of
 * lu, cg, seismic, tachyon, x264, barnes and minimap2 and the kernels of tests/truth,
 * unless another source is named.  The figures are mean errors of the seven programs.
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
/* Bursts, 10 to 100: evidence of all objects counts as at most so many of one object's. */
#define OWNERSHIP_KAPPA_SHARED 30.0
/*
 * Share, 0.5 to 0.95: what is assumed of an object that nobody was seen to write: the
 * reader's own.  Peers: 92 to 97 % of real programs' reads are.
 */
#define OWNERSHIP_OWN 0.8
/*
 * Ratio, 1 to 20: by how much a read is the reader's own more often than position
 * says, before anything is known of its instruction.  1: .445, 5: .387, 20: .348 but
 * the kernels' 0.77, 0.80, 0.83: reads of others' data are then taken for own ones.
 */
#define OWNERSHIP_OWN_ODDS 5.0
/* Bursts, 0.2 to 4: what that assumption is worth; at double no error moves by 0.02. */
#define OWNERSHIP_OWN_WORTH 0.5
/* Bursts, 0.1 to 5: the same for "no pair of threads is closer than another". */
#define OWNERSHIP_PAIR_WORTH 0.2
/*
 * Writes per read, 0.03 to 1: of data that are rewritten at all.  0.25 finds tables
 * written once with fewer samples (tachyon .68 to .29) and takes more live data for such.
 */
#define OWNERSHIP_WRITES_PER_READ 0.1
/* Share, 0.05 to 0.2, and bursts: reads of an unknown instruction that are of a table written once. */
#define OWNERSHIP_TABLE 0.1
#define OWNERSHIP_TABLE_WORTH 2.0
/* Share of a read under which a writer is left out: fewer rows. */
#define OWNERSHIP_SMALL 0.01

/*
 * Reads looked at in a second, 1,000 to 50,000: bounds the daemon's time, whatever the rate of
 * bursts.  Each burst has up to 3.
 */
#define OWNERSHIP_READS_PER_S 10000.0

enum {
	/* The finest level at which habits correct what position says: below, votes are of the datum's own line. */
	OWNERSHIP_HABIT_LEVEL = 3,
	/* Candidates weighed for one read. */
	OWNERSHIP_CANDIDATES = 64,
};

#endif
