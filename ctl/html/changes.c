// SPDX-License-Identifier: GPL-2.0-or-later
#include "changes.h"

#include <string.h>

#include "data.h"
#include "number.h"

enum {
	CHANGES_FLOWS = 1000, /* that a page has: those that changed come first */
	CHANGES_TEXT = 1024,
};

static void print_share(FILE *out, const struct ctl_compared_share *share)
{
	char text[CTL_OVERVIEW_SHARE + 3];

	putc('{', out);
	ctl_data_member_text(out, "part", share->title);
	ctl_data_member_text(out, "verdict", ctl_verdict_name(share->verdict));
	ctl_data_member_text(out, "a", ctl_comparison_share(share, 0, text));
	ctl_data_member_text(out, "b", ctl_comparison_share(share, 1, text));
	fputs("\"of\":", out);
	ctl_data_text(out, share->text);
	putc('}', out);
}

/* Threads of one name are told apart by their number, as a tid means nothing in another run. */
static const char *name_of(const struct comm_report *report, size_t i)
{
	static const char prefix[] = "thread ";
	const struct comm_node *node = comm_report_node_at(report, i);

	for (size_t j = 0; node->kind == COMM_NODE_THREAD && j < report->n_nodes; j++)
		if (j != i && !strcmp(comm_report_node_at(report, j)->name, node->name) &&
		    !strncmp(node->key, prefix, strlen(prefix)))
			return node->key + strlen(prefix);
	return node->name;
}

static void print_flow(FILE *out, const struct ctl_comparison *c,
		       const struct ctl_compared_flow *flow)
{
	const struct comm_report_edge *edge;
	const struct comm_report *report = c->report[ctl_comparison_named_by(c, flow, &edge)];

	putc('{', out);
	ctl_data_member_text(out, "verdict", ctl_verdict_name(flow->change.verdict));
	ctl_data_member(out, "a", flow->flow[0].value);
	ctl_data_member(out, "b", flow->flow[1].value);
	ctl_data_member(out, "times", flow->change.ratio);
	ctl_data_member(out, "low", flow->change.low);
	ctl_data_member(out, "high", flow->change.high);
	ctl_data_member_text(out, "from", name_of(report, edge->from));
	fputs("\"to\":", out);
	ctl_data_text(out, name_of(report, edge->to));
	putc('}', out);
}

void ctl_changes_print(FILE *out, const struct ctl_comparison *c, const char *other)
{
	char text[CHANGES_TEXT];

	putc('{', out);
	ctl_data_member_text(out, "other", other);
	ctl_data_member_text(out, "unlike", ctl_comparison_unlike(c, text, sizeof(text)));
	ctl_data_member_text(out, "by", c->report[0]->by->title);
	ctl_data_member(out, "alarm", c->alarm);
	ctl_data_member(out, "margin", c->margin);
	ctl_data_member_count(out, "compared", c->n_compared + c->n_shares);
	fprintf(out, "\"of_share\":%s,\"same_run\":%s,\"shares\":[", c->of_share ? "true" : "false",
		c->is_one_run ? "true" : "false");
	for (size_t i = 0; i < c->n_shares; i++) {
		fputs(i ? ",\n" : "", out);
		print_share(out, &c->share[i]);
	}
	fputs("],\"flows\":[", out);
	for (size_t i = 0; i < c->n_flows && i < CHANGES_FLOWS; i++) {
		fputs(i ? ",\n" : "", out);
		print_flow(out, c, &c->flow[i]);
	}
	fputs("]}", out);
}
