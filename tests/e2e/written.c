// SPDX-License-Identifier: GPL-2.0-or-later
/* Static arrays of which it is known how often each word is written and read, half of the writes of one in a child. */
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile uint64_t table[100], sink[100];

int main(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < 100; i++)
		table[i] = i;
	for (int i = 0; i < 400; i++)
		sum += table[i % 100];
	if (fork())
		wait(NULL);
	for (int i = 0; i < 100; i++)
		sink[i] = i;
	return sum == 0;
}
