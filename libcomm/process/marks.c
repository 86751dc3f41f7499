// SPDX-License-Identifier: GPL-2.0-or-later
#include "marks.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum {
	SEGMENTS_MAX = 64,
	NOTES_BYTES_MAX = 4096,
	/* As in <comm/mark.h>, which is no header of ours to include: it makes marks. */
	MARK_NOTE = 2,
	MARK_VERSION = 3,
	MARK_NO_BEGUN = 2,   /* the version before regions were counted */
	MARK_NO_PROCESS = 1, /* the version that had regions alone */
	MARK_DEPTH = 8,
	STACK_MAX = 1 << 30, /* a thread's variables are nearer to its pointer */
};

#define OBJECT_MOST (UINT64_C(1) << 47) /* the end of user memory */

static const char owner[] = "commprof";

struct mark_process {
	uint32_t stopped, changes;
	uint64_t frame;
	struct {
		uint64_t start, bytes, name;
	} object[COMM_MARKED_OBJECTS_MAX];
};

struct mark_record {
	uint32_t version, depth;
	int64_t stack;
	uint64_t process;
};

static int read_all(const struct comm_marks_memory *memory, uint64_t addr, void *buf,
		    size_t len_bytes)
{
	ssize_t n = memory->read(memory->ctx, addr, buf, len_bytes);

	if (n < 0)
		return (int)n;
	return (size_t)n == len_bytes ? 0 : -EFAULT;
}

/* Offset of the distance in n bytes of notes, or -ENOENT. */
static int find_note(const uint8_t *notes, size_t n, size_t align, uint32_t type)
{
	size_t at = 0;

	align = align == 8 ? 8 : 4;
	while (n - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr head;
		size_t name = at + sizeof(head), data;

		memcpy(&head, notes + at, sizeof(head));
		if (head.n_namesz > n || head.n_descsz > n)
			break;
		data = (name + head.n_namesz + align - 1) & ~(align - 1);
		if (data + head.n_descsz > n)
			break;
		if (head.n_type == type && head.n_namesz == sizeof(owner) &&
		    head.n_descsz == sizeof(uint64_t) &&
		    !memcmp(notes + name, owner, sizeof(owner)))
			return (int)data;
		at = (data + head.n_descsz + align - 1) & ~(align - 1);
		if (at > n)
			break;
	}
	return -ENOENT;
}

int comm_marks_find_note(const struct comm_marks_memory *memory, uint64_t base, uint32_t type,
			 uint64_t *ret)
{
	Elf64_Phdr segment[SEGMENTS_MAX];
	uint8_t notes[NOTES_BYTES_MAX];
	uint64_t bias = base;
	Elf64_Ehdr head;
	int err = read_all(memory, base, &head, sizeof(head));
	unsigned int n, i;

	if (err)
		return err;
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_phentsize != sizeof(*segment))
		return -ENOENT;
	n = head.e_phnum < SEGMENTS_MAX ? head.e_phnum : SEGMENTS_MAX;
	err = read_all(memory, base + head.e_phoff, segment, n * sizeof(*segment));
	if (err)
		return err;
	/* Linkers give the offset 0 also to a segment of which the file has nothing. */
	for (i = 0; i < n; i++)
		if (segment[i].p_type == PT_LOAD && !segment[i].p_offset && segment[i].p_filesz)
			bias = base - segment[i].p_vaddr;
	for (i = 0; i < n; i++) {
		uint64_t at = bias + segment[i].p_vaddr, distance;
		int found;

		if (segment[i].p_type != PT_NOTE || segment[i].p_filesz > sizeof(notes) ||
		    read_all(memory, at, notes, segment[i].p_filesz))
			continue;
		found = find_note(notes, segment[i].p_filesz, segment[i].p_align, type);
		if (found < 0)
			continue;
		memcpy(&distance, notes + found, sizeof(distance));
		*ret = at + (uint64_t)found + distance;
		return 0;
	}
	return -ENOENT;
}

int comm_marks_find(const struct comm_marks_memory *memory, uint64_t base, uint64_t *ret)
{
	return comm_marks_find_note(memory, base, MARK_NOTE, ret);
}

int comm_marks_read(const struct comm_marks_memory *memory, uint64_t record,
		    struct comm_marks_place *ret)
{
	struct mark_record mark = {0};
	int err = read_all(memory, record, &mark, offsetof(struct mark_record, process));

	if (!err && mark.version > MARK_NO_PROCESS)
		err = read_all(memory, record, &mark, sizeof(mark));
	if (err)
		return err;
	if (!mark.version)
		return -EAGAIN;
	if (mark.version > MARK_VERSION || mark.depth != MARK_DEPTH || mark.stack > STACK_MAX ||
	    mark.stack < -STACK_MAX)
		return -EPROTO;
	*ret = (struct comm_marks_place){mark.stack, mark.process, mark.version > MARK_NO_BEGUN};
	return 0;
}

int comm_marks_objects(const struct comm_marks_memory *memory, uint64_t process,
		       struct comm_marked_objects *ret)
{
	struct mark_process now;
	int err = read_all(memory, process, &now, offsetof(struct mark_process, object));

	if (err || now.changes == ret->changes)
		return err;
	err = read_all(memory, process, &now, sizeof(now));
	if (err)
		return err;
	ret->changes = now.changes;
	for (size_t i = 0; i < COMM_MARKED_OBJECTS_MAX; i++) {
		bool is_there = now.object[i].start && now.object[i].bytes <= OBJECT_MOST &&
				now.object[i].start < OBJECT_MOST;

		ret->object[i].start = now.object[i].start;
		ret->object[i].size_bytes = is_there ? now.object[i].bytes : 0;
		ret->object[i].name = now.object[i].name;
	}
	return 1;
}
