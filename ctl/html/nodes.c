// SPDX-License-Identifier: GPL-2.0-or-later
#include "nodes.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"

enum { NODES_FIRST = 256 };

struct one {
	const char *id;
	size_t number;
	char *own_id, *source; /* source: of a line */
	uint32_t line;
	const struct comm_node *node; /* NULL: written */
};

struct ctl_nodes {
	void *tree;
	struct one **one; /* in order of arrival */
	size_t n, capacity;
	size_t n_of[128]; /* by letter */
};

struct ctl_nodes *ctl_nodes_create(void)
{
	return calloc(1, sizeof(struct ctl_nodes));
}

static void keep(void *one)
{
	(void)one;
}

static void destroy_one(struct one *one)
{
	free(one->own_id);
	free(one->source);
	free(one);
}

void ctl_nodes_destroy(struct ctl_nodes *nodes)
{
	if (!nodes)
		return;
	tdestroy(nodes->tree, keep);
	for (size_t i = 0; i < nodes->n; i++)
		destroy_one(nodes->one[i]);
	free(nodes->one);
	free(nodes);
}

static int order(const void *a, const void *b)
{
	return strcmp(((const struct one *)a)->id, ((const struct one *)b)->id);
}

static struct one *make(const struct comm_node *node)
{
	struct one *one = calloc(1, sizeof(*one));

	if (!one)
		return NULL;
	one->node = node;
	one->line = node->line;
	one->own_id = strdup(node->id);
	one->source = strdup(node->source);
	one->id = one->own_id;
	if (one->own_id && one->source)
		return one;
	destroy_one(one);
	return NULL;
}

int ctl_nodes_at(struct ctl_nodes *nodes, const struct comm_node *node)
{
	const struct one key = {.id = node->id};
	void *found = tfind(&key, &nodes->tree, order);
	struct one *one;

	if (found)
		return (*(struct one **)found)->number;
	if (nodes->n == nodes->capacity) {
		size_t capacity = nodes->capacity ? 2 * nodes->capacity : NODES_FIRST;
		struct one **grown = reallocarray(nodes->one, capacity, sizeof(struct one *));

		if (!grown)
			return -ENOMEM;
		nodes->one = grown;
		nodes->capacity = capacity;
	}
	one = make(node);
	if (!one)
		return -ENOMEM;
	if (!tsearch(one, &nodes->tree, order)) {
		destroy_one(one);
		return -ENOMEM;
	}
	nodes->one[nodes->n++] = one;
	one->number = nodes->n_of[node->id[0] & 0x7f]++;
	return one->number;
}

/* Of each kind what the page tells of it, in an array: id, name and more. */
static void print_one(FILE *out, const struct comm_node *node)
{
	putc('[', out);
	ctl_data_text(out, node->id);
	putc(',', out);
	ctl_data_text(out, node->name);
	switch (node->kind) {
	case COMM_NODE_THREAD:
		fprintf(out, ",%u,%u", node->tgid, node->tid);
		break;
	case COMM_NODE_OBJECT:
		putc(',', out);
		ctl_data_text(out, node->module);
		putc(',', out);
		ctl_data_text(out, node->object_kind);
		fprintf(out, ",%llu,%u", (unsigned long long)node->size_bytes, node->tgid);
		break;
	case COMM_NODE_FUNCTION:
	case COMM_NODE_LINE:
		putc(',', out);
		ctl_data_text(out, node->module);
		if (node->kind == COMM_NODE_FUNCTION)
			break;
		putc(',', out);
		ctl_data_text(out, node->source);
		fprintf(out, ",%u,", node->line);
		ctl_data_text(out, node->inlined);
		break;
	case COMM_NODE_NAMED:
		/* Of times; to_ns is 0 of all others. */
		if (node->to_ns) {
			putc(',', out);
			ctl_data_number(out, node->from_ns / 1e9);
			putc(',', out);
			ctl_data_number(out, node->to_ns / 1e9);
		}
		break;
	}
	putc(']', out);
}

void ctl_nodes_print(struct ctl_nodes *nodes, FILE *out)
{
	bool first_letter = true;

	putc('{', out);
	for (int letter = 'a'; letter <= 'z'; letter++) {
		bool first = true;

		for (size_t i = 0; i < nodes->n; i++) {
			struct one *one = nodes->one[i];

			if (!one->node || one->id[0] != letter)
				continue;
			if (first)
				fprintf(out, "%s\"%c\":[", first_letter ? "" : ",\n", letter);
			else
				fputs(",\n", out);
			first = first_letter = false;
			print_one(out, one->node);
			one->node = NULL;
		}
		if (!first)
			putc(']', out);
	}
	putc('}', out);
}

void ctl_nodes_lines(const struct ctl_nodes *nodes,
		     void (*call)(void *arg, const char *id, const char *source, uint32_t line),
		     void *arg)
{
	for (size_t i = 0; i < nodes->n; i++) {
		const struct one *one = nodes->one[i];

		if (*one->source && one->line)
			call(arg, one->id, one->source, one->line);
	}
}
