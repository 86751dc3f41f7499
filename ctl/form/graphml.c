// SPDX-License-Identifier: GPL-2.0-or-later
#include "drawing.h"
#include "form.h"

void ctl_form_graphml(const struct comm_query *query, const struct comm_report *report)
{
	ctl_form_draw(query, report, ctl_draw_graphml);
}
