// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A square matrix of bytes as CSV: a row for each node that writes, a column for each that
 * reads, nothing where nothing was seen.  It has no place for intervals: the long form has
 * ("commctl report --csv").
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "csv.h"
#include "exporter.h"
#include "label.h"

/* Spreadsheets take 16,384 columns, and nobody looks at as many. */
enum { MATRIX_NODES = 4096 };

struct matrix {
	struct ctl_labels labels;
	size_t *node, *place; /* the node of each row; of each node its row, from 1; 0: none */
	double *cell;
	size_t n;
};

/* By label, numbers in it as numbers: worker2 before worker10. */
static int order(const void *a, const void *b, void *arg)
{
	const struct matrix *m = arg;

	return strverscmp(m->labels.text[*(const size_t *)a], m->labels.text[*(const size_t *)b]);
}

static int find_nodes(struct matrix *m, const struct comm_report *report, char **err)
{
	for (size_t i = 0; i < report->n_shown; i++)
		m->place[comm_report_edge_at(report, i)->from] =
			m->place[comm_report_edge_at(report, i)->to] = 1;
	for (size_t i = 0; i < report->n_nodes; i++)
		if (m->place[i])
			m->node[m->n++] = i;
	if (m->n > MATRIX_NODES) {
		if (asprintf(err,
			     "a matrix of %zu nodes is more than the %d that it may have; "
			     "\"commctl report --csv\" has a line for each edge",
			     m->n, MATRIX_NODES) < 0)
			*err = NULL;
		return -EFBIG;
	}
	qsort_r(m->node, m->n, sizeof(*m->node), order, m);
	for (size_t i = 0; i < m->n; i++)
		m->place[m->node[i]] = i + 1;
	return 0;
}

static int fill(struct matrix *m, const struct comm_report *report, char **err)
{
	int code = ctl_labels_init(&m->labels, report);

	m->node = calloc(report->n_nodes + 1, sizeof(*m->node));
	m->place = calloc(report->n_nodes + 1, sizeof(*m->place));
	if (code || !m->node || !m->place)
		return -ENOMEM;
	code = find_nodes(m, report, err);
	if (code)
		return code;
	m->cell = calloc(m->n * m->n + 1, sizeof(*m->cell));
	if (!m->cell)
		return -ENOMEM;
	for (size_t i = 0; i < report->n_shown; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);

		m->cell[(m->place[edge->from] - 1) * m->n + m->place[edge->to] - 1] += edge->bytes;
	}
	return 0;
}

static void write_rows(FILE *out, const struct matrix *m)
{
	ctl_csv_field(out, "bytes: rows write, columns read");
	for (size_t i = 0; i < m->n; i++) {
		putc(',', out);
		ctl_csv_field(out, m->labels.text[m->node[i]]);
	}
	putc('\n', out);
	for (size_t i = 0; i < m->n; i++) {
		ctl_csv_field(out, m->labels.text[m->node[i]]);
		for (size_t j = 0; j < m->n; j++) {
			putc(',', out);
			if (m->cell[i * m->n + j] > 0)
				fprintf(out, "%.0f", m->cell[i * m->n + j]);
		}
		putc('\n', out);
	}
}

int ctl_export_matrix(const struct ctl_export *export, FILE *out, char **err)
{
	struct matrix m = {0};
	int code = fill(&m, export->report, err);

	if (!code)
		write_rows(out, &m);
	ctl_labels_deinit(&m.labels);
	free(m.node);
	free(m.place);
	free(m.cell);
	return code;
}
