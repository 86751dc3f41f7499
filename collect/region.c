// SPDX-License-Identifier: GPL-2.0-or-later
#include "region.h"

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum {
	NAMES = 4096,	 /* slots; three quarters of them are used */
	NAME_BYTES = 64, /* of a name, its NUL included: reports show no more */
};

int64_t collect_stack_distance;
struct comm_mark_process *collect_process = &comm_mark_process;
const struct comm_mark_module *collect_awaited;

static const char *names[NAMES];
static uint32_t n_names;
/* By the address of the text: a program mostly passes the same again. */
static const char *recent[NAMES];

struct marked_module {
	uintptr_t base;
	const struct comm_mark_module *module;
};

static const struct comm_mark_module *module_of_notes(const char *note, size_t n, size_t align)
{
	static const char owner[] = "commprof";
	size_t at = 0;

	align = align == 8 ? 8 : 4;
	while (at + sizeof(ElfW(Nhdr)) <= n) {
		const ElfW(Nhdr) *head = (const void *)(note + at);
		size_t name = at + sizeof(*head);
		size_t data = (name + head->n_namesz + align - 1) & ~(align - 1);
		int64_t distance;

		if (head->n_type == COMM_MARK_NOTE && head->n_namesz == sizeof(owner) &&
		    head->n_descsz == sizeof(distance) &&
		    !memcmp(note + name, owner, sizeof(owner))) {
			memcpy(&distance, note + data, sizeof(distance));
			return (const void *)(note + data + distance);
		}
		at = (data + head->n_descsz + align - 1) & ~(align - 1);
	}
	return NULL;
}

/* The marked module at the lowest address, as in libcomm/process/marked.c: commd sees no other. */
static int look_at_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct marked_module *lowest = arg;
	uintptr_t base = UINTPTR_MAX;

	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    info->dlpi_addr + info->dlpi_phdr[i].p_vaddr < base)
			base = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
	for (size_t i = 0; i < info->dlpi_phnum && base < lowest->base; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		const struct comm_mark_module *module;

		if (segment->p_type != PT_NOTE)
			continue;
		module = module_of_notes((const char *)(info->dlpi_addr + segment->p_vaddr),
					 segment->p_filesz, segment->p_align);
		if (module)
			*lowest = (struct marked_module){base, module};
	}
	return 0;
}

static bool take(const struct comm_mark_module *module)
{
	/* Partner: comm_mark_register() of that module. */
	uint32_t version = __atomic_load_n(&module->version, __ATOMIC_ACQUIRE);

	if (version != COMM_MARK_VERSION || module->depth != COMM_MARK_DEPTH)
		return version;
	collect_stack_distance = module->stack;
	collect_process = (struct comm_mark_process *)module->process;
	return true;
}

void collect_settle(void)
{
	const struct comm_mark_module *module = __atomic_load_n(&collect_awaited, __ATOMIC_ACQUIRE);

	if (module && take(module))
		__atomic_store_n(&collect_awaited, NULL, __ATOMIC_RELEASE);
}

static void find_module(void)
{
	struct marked_module found = {UINTPTR_MAX, &comm_mark_module};

	take(&comm_mark_module);
	dl_iterate_phdr(look_at_module, &found);
	/* Libraries are set up before the program, and may call us then. */
	if (!take(found.module))
		__atomic_store_n(&collect_awaited, found.module, __ATOMIC_RELEASE);
}

void collect_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_module);
}

static const char *keep(const char *text, size_t n, uint64_t hash)
{
	char *copy = NULL;

	for (size_t i = hash, tries = 0; tries < NAMES; i++, tries++) {
		const char **slot = &names[i & (NAMES - 1)];
		const char *have = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

		if (!have) {
			if (__atomic_fetch_add(&n_names, 1, __ATOMIC_RELAXED) >= NAMES / 4 * 3)
				break;
			copy = strndup(text, n);
			if (!copy)
				break;
			if (__atomic_compare_exchange_n(slot, &have, copy, 0, __ATOMIC_ACQ_REL,
							__ATOMIC_ACQUIRE))
				return copy;
			free(copy);
		}
		if (!strncmp(have, text, n) && !have[n])
			return have;
	}
	return "(other)";
}

const char *collect_name(const char *text)
{
	uint64_t hash = 14695981039346656037u; /* FNV-1a */
	const char **at, *have;
	size_t n, cut = NAME_BYTES - 1;

	if (!text)
		return "(unnamed)";
	at = &recent[((uintptr_t)text ^ (uintptr_t)text >> 12) & (NAMES - 1)];
	have = __atomic_load_n(at, __ATOMIC_ACQUIRE);
	if (have && !strncmp(have, text, NAME_BYTES - 1))
		return have;
	n = strnlen(text, NAME_BYTES - 1);
	/* Not within a character of UTF-8. */
	while (n == NAME_BYTES - 1 && cut && (text[cut] & 0xc0) == 0x80)
		cut--;
	n = n < cut ? n : cut;
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
	have = keep(text, n, hash ^ hash >> 32);
	__atomic_store_n(at, have, __ATOMIC_RELEASE);
	return have;
}

static size_t utf8_bytes(wchar_t c)
{
	return c < 0 ? 3 : c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : c <= 0x10ffff ? 4 : 3;
}

/* What is past Unicode stands as U+FFFD. */
static void put_utf8(char *to, wchar_t c, size_t bytes)
{
	static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};

	if (c < 0 || c > 0x10ffff)
		c = 0xfffd;
	for (size_t i = bytes; i-- > 1; c >>= 6)
		to[i] = (char)(0x80 | (c & 0x3f));
	to[0] = (char)(first[bytes == 1 ? 0 : bytes] | c);
}

const char *collect_wide_name(const void *wide)
{
	const wchar_t *from = wide;
	char text[NAME_BYTES];
	size_t n;

	if (!wide)
		return collect_name(NULL);
	for (n = 0; *from; from++) {
		size_t bytes = utf8_bytes(*from);

		if (n + bytes >= sizeof(text))
			break;
		put_utf8(text + n, *from, bytes);
		n += bytes;
	}
	text[n] = '\0';
	return collect_name(text);
}
