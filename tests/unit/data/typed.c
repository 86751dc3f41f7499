// SPDX-License-Identifier: GPL-2.0-or-later
/* What each function reads is known by its construction: test_types.c has the list. */
#include <stdio.h>
#include <stdlib.h>

#ifdef __clang__
#define ALONE __attribute__((noinline))
#else
#define ALONE __attribute__((noinline, noclone))
#endif

struct address {
	int street, city;
};

typedef struct {
	short kind;
	unsigned int low : 4, high : 12;
	union {
		long number;
		double real;
		struct address *at;
	} value;
} answer;

struct client;
typedef long handler(struct client *);

struct client {
	long id;
	struct address address[3];
	char *querybuf;
	struct client *next, **friends;
	answer answer;
	handler *handle;
	int n_friends;
	struct address last;
	char name[16];
};

struct shared {
	struct client *client;
	long hits[8];
	struct address home;
};

struct pair {
	void *key;
	struct client *of;
};

struct shared shared;
static struct client all[12];
static struct client *head;
static long sum;

ALONE long read_id(const struct client *c)
{
	return c->id;
}

ALONE long read_array(struct client *c, int i)
{
	return c->address[i].city + c->address[2].street;
}

ALONE long read_list(struct client *c)
{
	long n = 0;

	for (; c; c = c->next)
		n += c->n_friends;
	return n;
}

ALONE long read_far(struct client *c)
{
	return c->next->next->querybuf[2];
}

ALONE long read_walk(void)
{
	long n = 0;

	for (int i = 0; i < 12; i++)
		n += all[i].id;
	return n;
}

ALONE long read_global(int i)
{
	return shared.hits[i] + shared.home.city + shared.client->n_friends;
}

ALONE long read_head(void)
{
	return head->answer.kind;
}

ALONE long read_bits(answer *a)
{
	return a->high;
}

ALONE long read_union(struct client *c)
{
	return c->answer.value.at->street;
}

ALONE struct client *find(int i)
{
	return &all[i];
}

ALONE long read_result(int i)
{
	return find(i)->last.city;
}

ALONE long read_friends(struct client *c)
{
	long n = 0;

	for (int i = 0; i < c->n_friends; i++)
		n += c->friends[i]->id;
	return n;
}

static inline struct address *last_of(struct client *c)
{
	return &c->last;
}

ALONE long read_inlined(struct client *c)
{
	return last_of(c)->street;
}

ALONE long read_kept(struct client *a, struct client *b, struct client *c)
{
	long n = read_id(a) + read_id(b) + read_id(c);

	n += read_head();
	return n + a->n_friends + b->last.city + c->answer.kind;
}

ALONE long read_either(struct client *a, struct client *b, int which)
{
	struct client *c = which ? a : b;

	return c->id;
}

ALONE long read_switch(struct client *c, int what)
{
	switch (what) {
	case 0:
		return c->id;
	case 1:
		return c->n_friends;
	case 2:
		return c->last.street;
	case 3:
		return c->answer.kind + read_head();
	case 4:
		return c->next->id * 3;
	case 5:
		return c->n_friends + 7l * read_id(c);
	default:
		return what;
	}
}

ALONE long read_void(void *data)
{
	struct client *c = data;

	return c->last.city;
}

ALONE long read_called(struct client *c)
{
	return c->handle(c->next) + 1;
}

ALONE long read_static(int i)
{
	static struct address places[4];

	places[i & 3].city++;
	return places[(i + 1) & 3].street;
}

ALONE long read_name(struct client *c, int i)
{
	return c->name[i];
}

ALONE long read_pairs(struct pair *p, int n)
{
	long found = 0;

	while (n--)
		found += (p++)->of->id;
	return found;
}

/* Another type in the same register, by way of the loop's end. */
ALONE long read_turns(struct client *c, int n)
{
	struct address *a = &c->address[0];
	void *p = c;
	long got = 0;

	for (int i = 0; i < n; i++) {
		if (i & 1)
			got += ((struct address *)p)->city;
		else
			got += ((struct client *)p)->n_friends;
		p = i & 1 ? (void *)c : (void *)a;
	}
	return got;
}

int main(int argc, char **argv)
{
	struct client *c = &all[1];
	struct pair pair = {argv, c};

	head = shared.client = c->next = c;
	c->querybuf = c->name;
	c->friends = &head;
	c->n_friends = 1;
	c->handle = (handler *)read_id;
	sum += read_array(c, argc) + read_list(argc > 9 ? c : NULL) + read_far(c) + read_walk();
	sum += read_global(argc) + read_bits(&c->answer) + read_result(argc);
	sum += read_friends(c) + read_inlined(c) + read_kept(c, c, c) + read_either(c, c, argc);
	sum += read_switch(c, argc) + read_void(c) + read_called(c) + read_static(argc);
	sum += read_name(c, argc) + read_pairs(&pair, 1) + read_turns(c, argc);
	if (argc > 9)
		sum += read_union(c);
	printf("%ld\n", sum);
	return 0;
}
