/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a made interpreter of CPython 3.11, 3.12 or 3.13 with threads, as python_threads.h walks through it.
 */
#ifndef TESTS_MADE_PYTHON_H
#define TESTS_MADE_PYTHON_H

#include <stdint.h>
#include <string.h>

enum {
	MADE_AT = 0x600000, /* and its runtime */
	MADE_BYTES = 1 << 16,
	MADE_INTERPRETER = MADE_AT + 0x1000,
	MADE_MODULES = MADE_AT + 0x4000,
	MADE_MODULES_KEYS = MADE_AT + 0x4100,
	MADE_THREADING = MADE_AT + 0x4800,
	MADE_THREADING_DICT = MADE_AT + 0x4900,
	MADE_THREADING_KEYS = MADE_AT + 0x4a00,
	MADE_ACTIVE = MADE_AT + 0x5000,
	MADE_ACTIVE_KEYS = MADE_AT + 0x5100,
	MADE_TYPE = MADE_AT + 0x6000,
	MADE_CACHED = MADE_AT + 0x6800,
	MADE_TEXTS = MADE_AT + 0x7000,
	MADE_TEXT_BYTES = 0x100,
	MADE_THREADS = MADE_AT + 0x8000, /* each of so many bytes, with what it has */
	MADE_THREAD_BYTES = 0x800,
	MADE_OBJECT = 0x40, /* in a thread's bytes */
	MADE_VALUES = 0x100,
	MADE_DICT = 0x200,
	MADE_KEYS = 0x280,
	MADE_TID = 0x400,
	MADE_NAME = 0x500,
	MADE_THREADS_MOST = 8,
	MADE_TID_OF_FIRST = 100,
	/* Keys of dictionaries. */
	MADE_GENERAL = 0,
	MADE_UNICODE = 1,
	MADE_SPLIT = 2,
};

/* How an instance has its attributes. */
enum made_attributes { MADE_WITHOUT_DICT, MADE_SHARED_KEYS, MADE_OWN_KEYS };

struct made_python {
	unsigned int minor;
	uint8_t memory[MADE_BYTES];
	unsigned int n_threads;
	uint64_t n_texts;
};

static inline void made_put(struct made_python *made, uint64_t at, uint64_t word)
{
	memcpy(made->memory + (at - MADE_AT), &word, sizeof(word));
}

static inline void made_text_at(struct made_python *made, uint64_t at, const char *text)
{
	made_put(made, at, 1);
	made_put(made, at + 16, strlen(text));
	made_put(made, at + 32, 1 << 6 | 1 << 5 | 1 << 2); /* ASCII, compact, of bytes */
	memcpy(made->memory + (at + (made->minor == 11 ? 48 : 40) - MADE_AT), text, strlen(text));
}

static inline uint64_t made_text(struct made_python *made, const char *text)
{
	uint64_t at = MADE_TEXTS + MADE_TEXT_BYTES * made->n_texts++;

	made_text_at(made, at, text);
	return at;
}

static inline void made_keys(struct made_python *made, uint64_t at, int kind, uint64_t n)
{
	made_put(made, at + 8, 3 | 3 << 8 | (uint64_t)kind << 16);
	made_put(made, at + 24, n);
}

static inline void made_entry(struct made_python *made, uint64_t keys, uint64_t i, uint64_t key,
			      uint64_t value)
{
	made_put(made, keys + 40 + 16 * i, key);
	made_put(made, keys + 48 + 16 * i, value);
}

static inline void made_dict(struct made_python *made, uint64_t at, uint64_t keys, uint64_t values)
{
	made_put(made, at, 1);
	made_put(made, at + 32, keys);
	made_put(made, at + 40, values);
}

static inline uint64_t made_thread_at(unsigned int i)
{
	return MADE_THREADS + (uint64_t)MADE_THREAD_BYTES * i;
}

/* Its attributes are, in this order: none, its name, its tid. */
static inline void made_values(struct made_python *made, uint64_t at, uint64_t thread)
{
	made_put(made, at + 8, thread + MADE_NAME);
	made_put(made, at + 16, thread + MADE_TID);
}

static inline void made_own_dict(struct made_python *made, uint64_t thread,
				 enum made_attributes how)
{
	uint64_t keys = thread + MADE_KEYS, values = thread + MADE_VALUES;

	if (how == MADE_SHARED_KEYS) {
		made_dict(made, thread + MADE_DICT, MADE_CACHED, values);
		made_values(made, values + (made->minor == 13 ? 8 : 0), thread);
		return;
	}
	made_dict(made, thread + MADE_DICT, keys, 0);
	made_keys(made, keys, MADE_UNICODE, 3);
	made_entry(made, keys, 0, MADE_TEXTS, 0);
	made_entry(made, keys, 1, MADE_TEXTS + 3 * MADE_TEXT_BYTES, thread + MADE_TID);
	made_entry(made, keys, 2, MADE_TEXTS + 2 * MADE_TEXT_BYTES, thread + MADE_NAME);
}

static inline void made_thread(struct made_python *made, const char *name, enum made_attributes how)
{
	uint64_t i = made->n_threads++, thread = made_thread_at((unsigned int)i);
	uint64_t object = thread + MADE_OBJECT, values = thread + MADE_VALUES;

	made_put(made, object, 1);
	made_put(made, object + 8, MADE_TYPE);
	made_put(made, thread + MADE_TID + 16, made->minor == 11 ? 1 : 1 << 3);
	made_put(made, thread + MADE_TID + 24, MADE_TID_OF_FIRST + i);
	made_text_at(made, thread + MADE_NAME, name);
	made_put(made, MADE_ACTIVE_KEYS + 24, i + 1);
	made_put(made, MADE_ACTIVE_KEYS + 40 + 24 * i + 16, object);
	if (how != MADE_WITHOUT_DICT) {
		made_put(made, object - 24, thread + MADE_DICT);
		made_own_dict(made, thread, how);
	} else if (made->minor == 11) {
		made_put(made, object - 32, values);
		made_values(made, values, thread);
	} else if (made->minor == 12) {
		made_put(made, object - 24, values - 1);
		made_values(made, values, thread);
	} else {
		made_values(made, object + 24, thread);
	}
}

/* Modules, the module "threading", and the type of threads; there are no threads. */
static inline void made_start(struct made_python *made, unsigned int minor)
{
	static const uint64_t told[12] = {[1] = 0x030d0000, [5] = 632, [8] = 24, [11] = 0x1800};
	uint64_t modules = minor == 11 ? 888 : minor == 12 ? 944 : 0x1800;

	*made = (struct made_python){.minor = minor};
	if (minor == 13) {
		memcpy(made->memory, told, sizeof(told));
		memcpy(made->memory, "xdebugpy", 8);
	}
	made_put(made, MADE_AT + (minor == 13 ? 632 : 40), MADE_INTERPRETER);
	made_put(made, MADE_INTERPRETER + modules, MADE_MODULES);
	made_text(made, "sys");
	made_text(made, "threading");
	made_text(made, "_name");
	made_text(made, "_native_id");
	made_text(made, "_active");
	made_dict(made, MADE_MODULES, MADE_MODULES_KEYS, 0);
	made_keys(made, MADE_MODULES_KEYS, MADE_UNICODE, 2);
	made_entry(made, MADE_MODULES_KEYS, 0, MADE_TEXTS, MADE_TYPE);
	made_entry(made, MADE_MODULES_KEYS, 1, MADE_TEXTS + MADE_TEXT_BYTES, MADE_THREADING);
	made_put(made, MADE_THREADING + 16, MADE_THREADING_DICT);
	made_dict(made, MADE_THREADING_DICT, MADE_THREADING_KEYS, 0);
	made_keys(made, MADE_THREADING_KEYS, MADE_UNICODE, 1);
	made_entry(made, MADE_THREADING_KEYS, 0, MADE_TEXTS + 4 * MADE_TEXT_BYTES, MADE_ACTIVE);
	made_dict(made, MADE_ACTIVE, MADE_ACTIVE_KEYS, 0);
	made_keys(made, MADE_ACTIVE_KEYS, MADE_GENERAL, 0);
	made_put(made, MADE_TYPE + 168, 1 << 4 | (minor == 13 ? 1 << 2 : 0));
	made_put(made, MADE_TYPE + (minor == 11 ? 872 : 880), MADE_CACHED);
	made_keys(made, MADE_CACHED, MADE_SPLIT, 3);
	for (uint64_t i = 0; i < 3; i++)
		made_entry(made, MADE_CACHED, i, MADE_TEXTS + (i ? i + 1 : 0) * MADE_TEXT_BYTES, 0);
}

#endif
