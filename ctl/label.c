// SPDX-License-Identifier: GPL-2.0-or-later
#include "label.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "term.h"

enum { LABEL_LONG = 40 };

static int order_modules(const void *pa, const void *pb, void *report)
{
	return strcmp(comm_report_node_at(report, *(const size_t *)pa)->module,
		      comm_report_node_at(report, *(const size_t *)pb)->module);
}

/* The module whose functions move most bytes; generated code counts as one module. */
static const char *usual_module(const struct comm_report *report, size_t *sorted)
{
	double best_bytes = 0, bytes = 0;
	const char *best = "", *last = NULL;

	for (size_t i = 0; i < report->n_nodes; i++)
		sorted[i] = i;
	qsort_r(sorted, report->n_nodes, sizeof(*sorted), order_modules, (void *)report);
	for (size_t i = 0; i < report->n_nodes; i++) {
		const struct comm_node *node = comm_report_node_at(report, sorted[i]);
		const char *module = node->module;

		if (!last || strcmp(last, module) != 0)
			bytes = 0;
		last = module;
		bytes += node->written_bytes + node->read_bytes;
		if (*module && strcmp(module, "[kernel]") != 0 && bytes > best_bytes) {
			best = module;
			best_bytes = bytes;
		}
	}
	return best;
}

static int order_names(const void *pa, const void *pb, void *report)
{
	return strcmp(comm_report_node_at(report, *(const size_t *)pa)->name,
		      comm_report_node_at(report, *(const size_t *)pb)->name);
}

/* Marks nodes whose name another node of the report has too. */
static void find_twins(const struct comm_report *report, size_t *sorted, bool *twin)
{
	for (size_t i = 0; i < report->n_nodes; i++)
		sorted[i] = i;
	qsort_r(sorted, report->n_nodes, sizeof(*sorted), order_names, (void *)report);
	for (size_t i = 1; i < report->n_nodes; i++) {
		if (order_names(&sorted[i - 1], &sorted[i], (void *)report) != 0)
			continue;
		twin[sorted[i - 1]] = true;
		twin[sorted[i]] = true;
	}
}

/* Whether another thread of the node's process is in the report. */
static bool has_siblings(const struct comm_report *report, const struct comm_node *node)
{
	for (size_t i = 0; i < report->n_nodes; i++) {
		const struct comm_node *other = comm_report_node_at(report, i);

		if (other != node && other->kind == COMM_NODE_THREAD && other->tgid == node->tgid)
			return true;
	}
	return false;
}

/* The file name: a module of an exact run is a whole path. */
static const char *base_name(const char *module)
{
	const char *slash = strrchr(module, '/');

	return slash && slash[1] ? slash + 1 : module;
}

/* A function of a stripped file is called "libz.so.1+0x5d80": module included. */
static bool names_module(const struct comm_node *node)
{
	const char *module = base_name(node->module);
	size_t len = strlen(module);

	return !strncmp(node->name, module, len) &&
	       (!node->name[len] || !strncmp(node->name + len, "+0x", 3));
}

/* Cuts a long list of parameters, which is not worth its room. */
static void shorten(char *name)
{
	size_t len = strlen(name), depth = 0;

	if (len < LABEL_LONG || name[len - 1] != ')')
		return;
	for (size_t i = len; i-- > 0;) {
		depth += name[i] == ')';
		depth -= name[i] == '(';
		if (depth)
			continue;
		if (i && len - i > 4)
			strcpy(name + i, "(..)");
		return;
	}
}

/* Where a function is inlined: "(inlined at a.c:7 in f)". */
static void add_call(const struct comm_node *node, char *ret, size_t capacity)
{
	const char *slash = strrchr(node->call_source, '/');
	char function[CTL_LABEL];

	snprintf(function, sizeof(function), "%s", node->name);
	shorten(function);
	if (*node->call_source)
		snprintf(ret, capacity, " (inlined at %s:%u in %s)",
			 slash ? slash + 1 : node->call_source, node->call_line, function);
	else
		snprintf(ret, capacity, " (inlined in %s)", function);
}

/* twin: another label would be the same without what only twins need. */
static void write_label(const struct ctl_labels *labels, const struct comm_node *node, bool twin,
			char text[CTL_LABEL])
{
	char inlined[2 * CTL_LABEL] = "";
	char name[CTL_LABEL], raw[4 * CTL_LABEL], module[CTL_LABEL] = "", place[CTL_LABEL] = "";
	const char *slash;

	if (*node->module && strcmp(node->module, labels->module) != 0 && !names_module(node))
		snprintf(module, sizeof(module), *node->module == '[' ? " %s" : " [%s]",
			 base_name(node->module));
	snprintf(name, sizeof(name), "%s", *node->inlined ? node->inlined : node->name);
	shorten(name);
	switch (node->kind) {
	case COMM_NODE_THREAD:
		if (twin && node->tid)
			snprintf(place, sizeof(place), "/%u%s", node->tid,
				 node->tid == node->tgid && has_siblings(labels->report, node)
					 ? " main"
					 : "");
		snprintf(raw, sizeof(raw), "%s%s", node->name, place);
		break;
	case COMM_NODE_LINE:
		slash = strrchr(node->source, '/');
		if (*node->source)
			snprintf(place, sizeof(place), "%s:%u ", slash ? slash + 1 : node->source,
				 node->line);
		if (*node->inlined && twin)
			add_call(node, inlined, sizeof(inlined));
		else if (*node->inlined)
			strcpy(inlined, " (inlined)");
		snprintf(raw, sizeof(raw), "%s%s%s%s", place, name, inlined, module);
		break;
	case COMM_NODE_OBJECT:
		/* The private memory of two processes may have one name. */
		if (twin && node->tgid && !node->tid)
			snprintf(place, sizeof(place), "/%u", node->tgid);
		snprintf(raw, sizeof(raw), "%s%s%s", name, place, module);
		break;
	default:
		snprintf(raw, sizeof(raw), "%s%s", name, module);
	}
	ctl_shown(text, CTL_LABEL, raw);
}

static int order_labels(const void *pa, const void *pb, void *labels)
{
	const struct ctl_labels *all = labels;

	return strcmp(all->text[*(const size_t *)pa], all->text[*(const size_t *)pb]);
}

/* A function may be inlined at several places: where two look alike, their labels tell where. */
static void tell_calls(struct ctl_labels *labels, size_t *sorted, bool *twin)
{
	size_t n = 0;

	for (size_t i = 0; i < labels->report->n_nodes; i++) {
		twin[i] = false;
		if (*comm_report_node_at(labels->report, i)->inlined)
			sorted[n++] = i;
	}
	qsort_r(sorted, n, sizeof(*sorted), order_labels, labels);
	for (size_t i = 1; i < n; i++)
		if (!order_labels(&sorted[i - 1], &sorted[i], labels))
			twin[sorted[i - 1]] = twin[sorted[i]] = true;
	for (size_t i = 0; i < n; i++)
		if (twin[sorted[i]])
			write_label(labels, comm_report_node_at(labels->report, sorted[i]), true,
				    labels->text[sorted[i]]);
}

int ctl_labels_init(struct ctl_labels *labels, const struct comm_report *report)
{
	size_t *sorted = calloc(report->n_nodes + 1, sizeof(*sorted));
	bool *twin = calloc(report->n_nodes + 1, sizeof(*twin));
	int code = 0;

	labels->report = report;
	labels->text = calloc(report->n_nodes + 1, sizeof(*labels->text));
	if (!sorted || !twin || !labels->text) {
		ctl_labels_deinit(labels);
		code = -ENOMEM;
		goto out;
	}
	labels->module = usual_module(report, sorted);
	find_twins(report, sorted, twin);
	for (size_t i = 0; i < report->n_nodes; i++)
		write_label(labels, comm_report_node_at(report, i),
			    twin[i] && !*comm_report_node_at(report, i)->inlined, labels->text[i]);
	tell_calls(labels, sorted, twin);
out:
	free(sorted);
	free(twin);
	return code;
}

void ctl_labels_deinit(struct ctl_labels *labels)
{
	free(labels->text);
	labels->text = NULL;
}

size_t ctl_target_length(const char *command)
{
	const char *pid = strstr(command, " (pid ");

	return pid ? (size_t)(pid - command) : strlen(command);
}
