/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of commd; `commd --help` is its documentation. */
#ifndef COMMD_OPTIONS_H
#define COMMD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler.h"

struct comm_config_file;
struct comm_source;

enum { COMM_PIDS_MAX = 256 };

struct comm_options {
	pid_t pid[COMM_PIDS_MAX];
	int n_pids;
	const char *cgroup;		   /* path below the mount point, or absolute */
	const char *container;		   /* ID or name, as of container.h */
	const struct comm_source *source;  /* of comm_sources[], or comm_source_auto */
	const char *source_arg;		   /* behind the colon of its name, "" when none */
	double overhead;		   /* share; 0 when a rate was given */
	double overhead_floor;		   /* least budget: share of the time of all CPUs */
	double daemon_cpu;		   /* most that commd uses, likewise */
	double rate_hz;			   /* per CPU; 0 when a budget was given */
	uint32_t watch_per_s;		   /* windows of the module; 0: none */
	uint32_t debug_registers;	   /* of each CPU, that watchpoints may take */
	struct comm_counter_list counters; /* to be counted for each thread */
	uint32_t callers;		   /* so many functions that called; 0: nobody asked */
	struct comm_region_probe_list probes;
	const char *store;
	const char *label; /* of the run; NULL: none */
	bool slice_given;
	uint64_t slice_ns, duration_ns; /* duration 0: until a signal */
	uint64_t quota_bytes, detail_ns;
	uint32_t granularity_bytes;
	const char *calls;    /* functions whose calls are told apart; NULL: none */
	const char *function; /* what these read counts alone; NULL: all */
	const char *record;   /* NULL: none */
	const char *accesses; /* likewise, of the decoded accesses */
	const char *control;  /* of control.h; NULL: none */
	uint64_t delay_ns;    /* until samples are taken; UINT64_MAX: until that is commanded */
	bool no_follow, no_collectors, alloc_sites, quiet, verbose, doctor;
	bool reload;	/* of another commd's options, see reload.h */
	char **command; /* NULL: attach */
	/* The configuration file, and what it says; NULL: there is none. */
	const char *config_path;
	const struct comm_config_file *config;
};

/* Exits with 2 and a sentence on bad usage, 0 after --help and --version. */
void comm_options_parse(int argc, char **argv, struct comm_options *ret);

#endif
