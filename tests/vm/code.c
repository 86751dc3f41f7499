// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "code.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "commprof.h"

enum {
	DATA_BYTES = 1 << 20,
	BLOCK = 6, /* instructions between jumps: an emulator interrupts at jumps only */
};

/* rbx: data, rcx: 5, rsi: data + 512 KiB, fs: as it is. */
static size_t emit(uint8_t *at, uint32_t form, const struct code *code, uint32_t offset,
		   struct code_truth *truth)
{
	uint64_t target = (uint64_t)code->data + offset;
	uint8_t *p = at;
	int32_t disp;

	truth->ip = (uint64_t)at;
	truth->addr = target;
	switch (form) {
	case 0: /* mov rax, [rip + disp] */
		memcpy(p, "\x48\x8b\x05", 3);
		disp = target - ((uint64_t)at + 7);
		memcpy(p + 3, &disp, 4);
		p += 7;
		truth->size_bytes = 8;
		truth->flags = CP_ACCESS_READ;
		break;
	case 1: /* mov [rbx + disp], eax */
		memcpy(p, "\x89\x83", 2);
		memcpy(p + 2, &offset, 4);
		p += 6;
		truth->size_bytes = 4;
		truth->flags = CP_ACCESS_WRITE;
		break;
	case 2: /* add qword [rbx + 8 * rcx + disp], 1 */
		memcpy(p, "\x48\x83\x84\xcb", 4);
		disp = offset - 40;
		memcpy(p + 4, &disp, 4);
		p[8] = 1;
		p += 9;
		truth->size_bytes = 8;
		truth->flags = CP_ACCESS_READ | CP_ACCESS_WRITE;
		break;
	case 3: /* movups xmm1, [rsi + disp] */
		memcpy(p, "\x0f\x10\x8e", 3);
		disp = offset - DATA_BYTES / 2;
		memcpy(p + 3, &disp, 4);
		p += 7;
		truth->size_bytes = 16;
		truth->flags = CP_ACCESS_READ;
		break;
	case 4: /* lock incw [rbx + disp] */
		memcpy(p, "\x66\xf0\xff\x83", 4);
		memcpy(p + 4, &offset, 4);
		p += 8;
		truth->size_bytes = 2;
		truth->flags = CP_ACCESS_READ | CP_ACCESS_WRITE | CP_ACCESS_ATOMIC;
		break;
	case 5: /* mov byte [rip + disp], 7: the immediate counts too */
		memcpy(p, "\xc6\x05", 2);
		disp = target - ((uint64_t)at + 7);
		memcpy(p + 2, &disp, 4);
		p[6] = 7;
		p += 7;
		truth->size_bytes = 1;
		truth->flags = CP_ACCESS_WRITE;
		break;
	default: /* movzx edx, word [rsi + 2 * rcx + disp] */
		memcpy(p, "\x0f\xb7\x94\x4e", 4);
		disp = offset - DATA_BYTES / 2 - 10;
		memcpy(p + 4, &disp, 4);
		p += 8;
		truth->size_bytes = 2;
		truth->flags = CP_ACCESS_READ;
	}
	return p - at;
}

struct code code_make(size_t n)
{
	struct code code = {.n = n};
	size_t text_bytes = n * 16 + 4096;
	uint8_t *at;
	int32_t back;

	code.text = mmap(NULL, text_bytes + DATA_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	code.data = code.text + text_bytes;
	memset(code.data, 0, DATA_BYTES);
	code.truth = calloc(n, sizeof(*code.truth));
	at = code.text;
	srandom(1);
	for (size_t i = 0; i < n; i++) {
		/* Near its own place, so that no two share an address. */
		uint32_t offset = i * (DATA_BYTES / n) + random() % (DATA_BYTES / n - 16);

		at += emit(at, random() % 7, &code, offset, &code.truth[i]);
		if (i % BLOCK == BLOCK - 1) {
			memcpy(at, "\xeb\x00", 2);
			at += 2;
		}
	}
	*at++ = 0xe9;
	back = code.text - (at + 4);
	memcpy(at, &back, 4);
	return code;
}

const struct code_truth *code_find(const struct code *code, uint64_t ip)
{
	size_t low = 0, high = code->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (code->truth[middle].ip == ip)
			return &code->truth[middle];
		if (code->truth[middle].ip < ip)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

void code_run(void *argument)
{
	const struct code *code = argument;

	asm volatile("jmp *%0"
		     :
		     : "r"(code->text), "b"(code->data), "c"(5L), "S"(code->data + DATA_BYTES / 2)
		     : "memory", "rax", "rdx", "xmm1");
}
