/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads and writes that are not to count, between COMM_STOP() and COMM_START(), and a child that starts again for itself.
 * Then memory that has a name.
 */
#include <comm/mark.h>

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 1000 };

#define ALONE __attribute__((noipa))

static uint64_t words[WORDS];

static ALONE void produce(volatile uint64_t *word)
{
	for (int i = 0; i < WORDS; i++)
		word[i] = i;
}

static ALONE void hidden(volatile uint64_t *word)
{
	for (int i = 0; i < WORDS; i++)
		(void)word[i];
}

static ALONE void wanted(volatile uint64_t *word, int n)
{
	for (int i = 0; i < n; i++)
		(void)word[i];
}

static void *read_both(void *arg)
{
	(void)arg;
	hidden(words);
	COMM_START();
	wanted(words, WORDS);
	wanted(words, WORDS);
	return NULL;
}

static uint64_t large[100 * WORDS];

/* Memory that has a name, some of it, and has it no more. */
static void named(void)
{
	uint64_t *block = malloc(WORDS * sizeof(*block));

	produce(block);
	COMM_OBJECT(block, 100 * sizeof(*block), "a/head");
	wanted(block, WORDS);
	COMM_OBJECT(block, 0, NULL);
	wanted(block, 50);
	COMM_OBJECT(large, sizeof(large), "large");
	produce(large);
	wanted(large, WORDS);
	free(block);
}

static ALONE void fill(volatile uint64_t *word)
{
	for (int i = 0; i < WORDS; i++)
		word[i] = i;
}

static ALONE void read_anew(volatile uint64_t *word)
{
	for (int i = 0; i < WORDS; i++)
		(void)word[i];
}

/* Memory that is another block by the time that it loses the name. */
static int named_anew(void)
{
	uint64_t *block = malloc(WORDS * sizeof(*block)), *other;
	const uintptr_t was = (uintptr_t)block;

	COMM_OBJECT(block, WORDS * sizeof(*block), "gone");
	free(block);
	other = malloc(WORDS * sizeof(*other));
	COMM_OBJECT((void *)was, 0, NULL);
	fill(other);
	read_anew(other);
	if ((uintptr_t)other != was)
		return 1;
	free(other);
	return 0;
}

int main(void)
{
	pthread_t thread;

	/* Before and after a frame has begun; what is written while nothing counts is known. */
	COMM_STOP();
	produce(words);
	hidden(words);
	COMM_FRAME();
	if (pthread_create(&thread, NULL, read_both, NULL) || pthread_join(thread, NULL))
		return 1;
	COMM_STOP();
	if (!fork()) {
		hidden(words);
		COMM_START();
		wanted(words, 10);
		_exit(0);
	}
	wait(NULL);
	hidden(words);
	COMM_START();
	named();
	if (named_anew())
		return 1;
	COMM_STOP();
	produce(large);
	return 0;
}
