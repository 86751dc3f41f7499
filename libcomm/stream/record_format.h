/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The format of a recording: this comment is the specification, the enums below
 * are its numbers.  record.h writes files of it, replay.h reads them.
 *
 * All numbers are little endian, two's complement, and stand at a multiple of
 * their width from the start of the file.  Bytes called zero are written as 0
 * and not looked at.  f64 is an IEEE 754 double.  A string is
 *	u32 length, its terminating NUL included; 0: there is no string
 *	the bytes, clean text (text.h) but for the NUL, the strings of RUN and names of threads
 *	zeros to a multiple of 8 of the string as a whole
 *
 * The file begins with 24 bytes:
 *	 0 char[8] magic, "commrec" and a NUL
 *	 8 u32 version of the format, RECORD_VERSION
 *	12 u32 byte order, RECORD_BYTE_ORDER
 *	16 u32 machine whose registers samples hold: RECORD_X86_64, as in ELF
 *	20 u32 clock of each time_ns: RECORD_CLOCK_MONOTONIC, as in Linux
 * Then come records until the end of the file, each of
 *	 0 u32 kind, enum comm_record_kind, never 0
 *	 4 u32 bytes that follow, a multiple of 8, at most RECORD_MAX_BYTES
 *	 8 fields as laid out below; offsets count from here
 * The first record is RUN and the last is END: without END, the recording was
 * cut short and holds what came before.
 *
 * What may change without a new version: a new kind of record, and new fields
 * at the end of a known one.  So a reader skips and counts records of kinds
 * that it does not know, ignores what stands behind the fields it knows, and
 * takes a record that is too short for those as damage.  Everything else (a new
 * value of an enum included, but for names of losses) is a new version, and
 * other versions are refused.
 *
 * RUN
 *	 0 u64 start_ns		 8 u64 start in ns since 1970
 *	16 f64 cycles per ns	24 f64 limit of overhead, percent
 *	32 strings: source, event, estimator, host, command, and, unless an older version wrote it,
 *	   which CPUs are on which NUMA node: "0:0-3,8;1:4-7", and the function whose
 *	   reads the run is about, "": all
 * END
 *	 0 u64 end_ns
 *
 * Events, in order of time, all begin with
 *	 0 u64 time_ns		 8 u32 tgid		12 u32 tid
 *	16 u32 cpu		20 u32 zero
 * SAMPLE
 *	24 u64 ip		32 u64 RFLAGS		40 u64 period
 *	48 u32 known, bit i: the value of register i is there; bit 30: the registers
 *	   are those after the instruction at ip; bit 31: RFLAGS is not there
 *	52 u8 mode_bits, 32 or 64	53 u8 chunks
 *	54 u16 bytes of memory in all chunks together
 *	56 u64[18] rax rcx rdx rbx rsp rbp rsi rdi r8..r15 FS and GS base
 *     200 per chunk: u64 address, u32 bytes, u32 offset into the memory
 *	 then the memory, and zeros to a multiple of 8
 * ACCESS, KCOPY and TOUCH
 *	24 access, 40 bytes:
 *		 0 u64 address	 8 u64 ip	16 u64 bytes
 *		24 u16 flags, enum comm_access_flags
 *		26 u16 latency in cycles	28 u32 period, 0: that of RATE; see COMM_ACCESS_BY_TIME
 *		32 u64 perf_mem_data_src; KCOPY: bytes of its system call
 * MARK: the regions that the thread is in at its events of the same time
 *	24 u32 regions, at most 8			28 u32 zero
 *	32 per region, outermost first: u64 address of its name
 * OBJECT: what the process calls a piece of its memory
 *	24 u64 start		32 u64 bytes, 0: none any more	40 u64 address of the name
 *	48 u32 number of its place in the process's table	52 u32 zero
 * FRAME
 *	24 u64 number
 * PROBED: what regions between probes are called, before the first MARK
 *	24 u32 number, from 1 on		28 u32 zero
 *	32 string: name
 * CENSUS: the head is of the reader
 *	24 access: the read	64 f64 bytes read that it stands for, in cycles where RATE is of time
 *	72 u64 quiet_ns and	80 u64 changed_ns after the first look, 0: never
 *	88 u32 1: its burst waits	92 u32 zero
 * WATCH: older versions wrote it, readers pass over it
 * FED: the head is of the writer
 *	24 access: the read	64 access: the last write before it; flags 0: none was seen
 *     104 u64 when it read	112 u64 when that was written
 *     120 u32 tgid and		124 u32 tid of the reader
 *     128 u32 number of the window	132 u32 enum comm_fed_how
 *     136 f64 bytes read that the pair stands for, as of CENSUS
 * SWITCH
 *	24 u32 next tid		28 u32 previous tgid
 *	32 u32 next tgid	36 u32 zero
 * FORK
 *	24 u32 tgid and		28 u32 tid of the child
 * EXEC: nothing more
 * EXIT, RENAME: nothing more where the name is not told
 *	24 char[16] name of the thread, zeros behind it
 * MMAP
 *	24 u64 start		32 u64 end		40 u64 offset
 *	48 u32 executable, 0 or 1			52 u32 zero
 * RATE
 *	24 u64 period		32 u32 enum comm_trigger	36 u32 zero
 * COST
 *	24 u64 handler_ns	32 u64 daemon_ns	40 u64 setup_ns
 *	48 u64 target_ns	56 u64 samples
 *	64 u64 daemon_idle_ns, unless an older version wrote it
 *	72 f64 limit		80 f64 floor, likewise
 * COUNT
 *	24 u64 value		32 u64 enabled_ns	40 u64 running_ns
 *	48 string: counter
 * LOSS
 *	24 u64 count		32 string: cause, as comm_loss_name() says it
 *
 * Answers of a view of the target (inspect.h) stand before the event that
 * needed them; each holds until another answer to the same question.  All begin
 *	 0 u32 tgid		 4 u32 zero
 *	 8 u64 and		16 u64 of the question, 0 unless named below
 *	24 i64 result: -errno where it is negative
 * and go on only after a result that is not negative (CODE: also -ENOENT).
 * MAPS; of the question: 1, whether there is no list now: result; older versions told that instead of the list, with 0
 *	32 u64 mappings, ordered by address; each of
 *		 0 u32 bytes of the mapping, these and the path included
 *		 4 u32 bits: 1 readable, 2 writable, 4 executable, 8 shared
 *		 8 u64 start	16 u64 end	24 u64 offset
 *		32 u64 device	40 u64 inode; of a System V segment bit 63 and its IPC
 *		   namespace, unless an older version wrote it, and its id
 *		48 u32 enum comm_mapping_kind	52 u32 dense id of the file
 *		56 string: path
 * TEXT; of the question: address, bytes asked for; result: bytes there
 *	32 the bytes, and zeros to a multiple of 8
 * CODE; of the question: ip
 *	32 u64 start of the function		40 u64 its end
 *	48 u32 line	52 u32 provisional, 0 or 1
 *	56 strings: function, inlined, module, build-id, source
 *	and, where one of these and what follows is known:
 *		u64 offset of the field		strings: type, field
 *		u64 line of an inlined call	string: its source
 *		u16 how the frame's address is computed, enum comm_frame_kind
 *		i16 from there to the caller's rbp, 0: it is in rbp; -32768: unknown
 *		i32 from the register to the frame's address
 * DATA; of the question: address
 *	32 u64 start of the variable		40 u64 its end
 *	48 strings: name, module, build-id
 * NAME; of the question: tid
 *	32 char[16] name, zeros behind it
 * TITLE
 *	32 char[64] title of the process, zeros behind it
 * GIVEN_NAME; of the question: tid
 *	32 char[64] what the program calls the thread, zeros behind it
 * BLOCKS; of the question: address of the piece
 *	32 u64 blocks, ordered by address; each of
 *		 0 u64 start	 8 u64 bytes	16 u64 bytes asked for, at least
 *	then, unless an older version wrote it, u64 blocks whose class is known, each of u32 which of them,
 *	u32 where the object begins in it, string: the class, none: that of the one before
 * ALLOCATION; of the question: address
 *	32 u64 start	40 u64 bytes	48 u64 from and 56 u64 to when that is known
 *	64 u64 code behind the call	72 u64 rsp and 80 u64 rbp there
 *	88 u64 words from rsp on, at most 24; each is u64
 */
#ifndef COMM_RECORD_FORMAT_H
#define COMM_RECORD_FORMAT_H

#define RECORD_MAGIC "commrec" /* with its NUL: 8 bytes */

enum {
	/* 1: structures as they lay in memory; 2: all text was ASCII */
	RECORD_VERSION = 3,
	RECORD_VERSION_OLDEST = 2, /* that is read */
	RECORD_BYTE_ORDER = 0x01020304,
	RECORD_X86_64 = 62,
	RECORD_CLOCK_MONOTONIC = 1,
	RECORD_FILE_HEAD_BYTES = 24,
	RECORD_HEAD_BYTES = 8,
	RECORD_MAX_BYTES = 64 << 20, /* 65,536 mappings with long paths fit */
	RECORD_MAPS_MISSING = 1,     /* of a question */
};

enum comm_record_kind {
	RECORD_RUN = 1,
	RECORD_END,

	RECORD_SAMPLE = 16,
	RECORD_ACCESS,
	RECORD_WATCH,
	RECORD_KCOPY,
	RECORD_SWITCH,
	RECORD_FORK,
	RECORD_EXEC,
	RECORD_EXIT,
	RECORD_MMAP,
	RECORD_RATE,
	RECORD_COST,
	RECORD_LOSS,
	RECORD_RENAME,
	RECORD_TOUCH,
	RECORD_MARK,
	RECORD_COUNT,
	RECORD_OBJECT,
	RECORD_FRAME,
	RECORD_PROBED,
	RECORD_CENSUS,
	RECORD_FED,

	RECORD_MAPS = 64,
	RECORD_TEXT,
	RECORD_CODE,
	RECORD_DATA,
	RECORD_NAME,
	RECORD_TITLE,
	RECORD_BLOCKS,
	RECORD_ALLOCATION,
	RECORD_GIVEN_NAME,
};

#endif
