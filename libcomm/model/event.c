// SPDX-License-Identifier: GPL-2.0-or-later
#include "event.h"

static const struct {
	const char *name, *help;
	bool spared;
} losses[COMM_LOSS_MAX] = {
	[COMM_LOSS_RING] = {"ring_full", "samples dropped because the kernel's ring was full"},
	[COMM_LOSS_SCHED] = {"sched_ring_full", "scheduling events dropped: ring or table full"},
	[COMM_LOSS_LIFE] = {"life_ring_full", "fork, exec, exit or mmap events dropped: ring full, "
					      "or no hook to be had"},
	[COMM_LOSS_THROTTLE] = {"throttled", "times the kernel throttled the sampling event"},
	[COMM_LOSS_LATE] = {"late", "events that came after the merge had passed their time, "
				    "or found no memory"},
	[COMM_LOSS_NO_TEXT] = {"no_text",
			       "samples whose code could not be read: it was gone, or the "
			       "process that reads memory was killed, stopped or too late"},
	[COMM_LOSS_UNDECODED] = {"undecoded", "samples at bytes that are no known instruction"},
	[COMM_LOSS_MODE32] = {"mode32", "samples in 32-bit code, which is not decoded"},
	[COMM_LOSS_JIT] = {"jit_changed",
			   "samples in code that had changed by the time it was read"},
	[COMM_LOSS_UNMAPPED] = {"unmapped", "accesses to addresses in no known mapping"},
	[COMM_LOSS_THREADS] = {"threads_full", "threads filed under (other): table full"},
	[COMM_LOSS_WINDOW] = {"thinned", "accesses left out to bound the estimator's memory"},
	[COMM_LOSS_CELLS] = {"cells_folded", "small edges and rare placements (thread, CPU) of a "
					     "slice merged into (other); their sums are kept"},
	[COMM_LOSS_STORE] = {"slices_unstored", "slices not stored: no space, or kept from it"},
	[COMM_LOSS_BUDGET] = {"switches_unreported", "stretches of time without scheduler switches",
			      .spared = true},
	[COMM_LOSS_NO_ADDRESS] = {"no_address", "precise samples that came without an address"},
	[COMM_LOSS_IMPRECISE] = {"imprecise", "precise samples of which the processor did not tell "
					      "the instruction, or whether it reads or writes"},
	[COMM_LOSS_WATCH] = {"watch_busy", "windows without an answer: others hit the data too "
					   "often, or it went away"},
	[COMM_LOSS_IDS] = {"ids_full",
			   "lines of code, callers, marked regions and objects filed under "
			   "(other): table full"},
	[COMM_LOSS_MALFORMED] = {"malformed", "times that a ring's data were no whole record: "
					      "passed over, with what stood behind them"},
	[COMM_LOSS_UNFINISHED] = {"unfinished", "samples and other events that were not looked at "
						"when the run's time was over"},
	[COMM_LOSS_FILES] = {"files_unread", "files of the target not read for names: the process "
					     "that reads them died or took too long, or too many "
					     "waited; or mappings not read, to stay in the budget"},
	[COMM_LOSS_TOUCH] = {"touches_lost",
			     "first writes of pages not recorded: there were too many at once"},
	[COMM_LOSS_TARGETS] = {"targets_full", "processes not sampled: the kernel's list of "
					       "targets was full, or they may not be watched"},
	[COMM_LOSS_STRANGERS] = {"strangers_unreported",
				 "forks and execs of threads that no sample saw", .spared = true},
	[COMM_LOSS_NAMES] =
		{"names_unreported",
		 "stretches of time in which new names of threads were noticed late, when "
		 "a sample met them or they ended: they change so often that to notice "
		 "it costs too much of the budget",
		 .spared = true},
	[COMM_LOSS_PAUSED] = {"paused_ms", "milliseconds without samples, since the last 10 s had "
					   "cost more than the budget"},
	[COMM_LOSS_DISABLED] = {"disabled_ms", "milliseconds in which sampling was disabled",
				.spared = true},
	[COMM_LOSS_COUNTS] = {"counts_lost",
			      "times that a thread, or a counter of one, was not "
			      "counted: there were too many at once, or its CPU went offline"},
	[COMM_LOSS_STOPPED] = {"stopped", "samples between COMM_STOP() and COMM_START()",
			       .spared = true},
	[COMM_LOSS_BLOCKS] =
		{"blocks_unread",
		 "reads of a heap whose block is not known: it was not read often enough, to "
		 "stay in the budget, or changed meanwhile",
		 .spared = true},
	[COMM_LOSS_CENSUS] = {"census_full", "reads whose word was not looked at again: there were "
					     "too many at once"},
	[COMM_LOSS_LOOKS] = {"windows_off_ms",
			     "milliseconds without windows on fresh data: threads leave CPUs so "
			     "often that a look at each time costs too much of the budget",
			     .spared = true},
	[COMM_LOSS_CPUS] = {"cpus_unsampled", "times that a CPU came back and what samples or "
					      "watches there could not be opened again"},
	[COMM_LOSS_ACCESSES] = {"accesses_unwritten",
				"accesses not written to their file: disk full or file error"},
	[COMM_LOSS_RECORD] = {"unrecorded", "events not recorded: disk full or file error"},
	[COMM_LOSS_SHARED_RING] =
		{"records_ring_full",
		 "samples, scheduler switches, forks or mappings dropped: the ring that they "
		 "share was full, and kernels before 6.0 do not tell which"},
	[COMM_LOSS_UNKNOWN] = {"unknown_records",
			       "records of unknown kinds skipped: made by a newer version"},
};

const char *comm_loss_name(enum comm_loss cause)
{
	return (unsigned int)cause < COMM_LOSS_MAX ? losses[cause].name : "unknown";
}

const char *comm_loss_help(enum comm_loss cause)
{
	return (unsigned int)cause < COMM_LOSS_MAX ? losses[cause].help : "";
}

bool comm_loss_is_spared(enum comm_loss cause)
{
	return (unsigned int)cause < COMM_LOSS_MAX && losses[cause].spared;
}

size_t comm_sample_bytes(const struct comm_sample *sample)
{
	return offsetof(struct comm_sample, data) + sample->data_bytes;
}

bool comm_sample_valid(const struct comm_sample *sample)
{
	if (sample->n_chunks > COMM_SAMPLE_CHUNKS || sample->data_bytes > COMM_SAMPLE_DATA_BYTES)
		return false;
	for (int i = 0; i < sample->n_chunks; i++) {
		const struct comm_chunk *chunk = &sample->chunk[i];

		if (chunk->offset > sample->data_bytes ||
		    chunk->len_bytes > sample->data_bytes - chunk->offset)
			return false;
	}
	return true;
}

bool comm_sample_is_behind_syscall(const struct comm_sample *sample)
{
	const uint64_t resume = 1 << 16; /* RF: the interrupt may have set it */
	const uint32_t needs = 1U << COMM_RCX | 1U << COMM_R11;

	return sample->mode_bits == 64 && (sample->known & needs) == needs &&
	       !(sample->known & (COMM_SAMPLE_AFTER | COMM_SAMPLE_NO_FLAGS)) &&
	       sample->reg[COMM_RCX] == sample->ip &&
	       !((sample->reg[COMM_R11] ^ sample->flags) & ~resume);
}

bool comm_sample_is_set_up(const struct comm_sample *sample, uint64_t addr)
{
	const uint64_t bytes = 0x38;

	return sample->known >> COMM_FS_BASE & 1 && addr - sample->reg[COMM_FS_BASE] < bytes;
}
