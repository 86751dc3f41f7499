/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The matrix of threads: writers in rows, readers in columns; of the edges shown alone. */
#ifndef CTL_HEATMAP_H
#define CTL_HEATMAP_H

#include "label.h"
#include "term.h"

/* Small matrices have shares in their cells; of large ones the busiest 40 threads are shown. */
void ctl_heatmap(const struct ctl_term *term, const struct comm_query *query,
		 const struct ctl_labels *labels);

#endif
