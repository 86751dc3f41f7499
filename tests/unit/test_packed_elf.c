// SPDX-License-Identifier: GPL-2.0-or-later
#include "packed_elf.h"

#include <errno.h>
#include <lzma.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SYMBOLS_MAX = 64 << 20, ROOM = 1 << 20 };

static uint8_t packed[ROOM];

static size_t pack(size_t zeros)
{
	uint8_t *plain = calloc(1, zeros);
	size_t n = 0;

	assert_non_null(plain);
	assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, NULL, plain, zeros, packed,
						 &n, sizeof(packed)),
			 LZMA_OK);
	free(plain);
	return n;
}

static void unpacks(void **state)
{
	size_t n = pack(3 << 20), bytes;
	uint8_t *zeros = calloc(1, 3 << 20);
	void *got;

	(void)state;
	assert_int_equal(comm_packed_elf_xz(packed, n, &got, &bytes), 0);
	assert_int_equal(bytes, 3 << 20);
	assert_memory_equal(got, zeros, bytes);
	free(got);
	free(zeros);
}

static void damaged(void **state)
{
	size_t n = pack(100000), bytes;
	void *got;

	(void)state;
	for (size_t cut = 0; cut < n; cut++)
		assert_int_equal(comm_packed_elf_xz(packed, cut, &got, &bytes), -ENODATA);
	for (size_t at = 0; at < n; at++) {
		packed[at] ^= 0x55;
		/* What pads a block and is not looked at may be anything. */
		if (!comm_packed_elf_xz(packed, n, &got, &bytes))
			free(got);
		packed[at] ^= 0x55;
	}
	assert_int_equal(comm_packed_elf_xz("ELF", 3, &got, &bytes), -ENODATA);
}

/* 64 MiB of zeros are 10 KB. */
static void a_bomb_is_refused(void **state)
{
	size_t n = pack((size_t)SYMBOLS_MAX + 1), bytes;
	void *got;

	(void)state;
	assert_int_equal(comm_packed_elf_xz(packed, n, &got, &bytes), -ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unpacks),
		cmocka_unit_test(damaged),
		cmocka_unit_test(a_bomb_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
