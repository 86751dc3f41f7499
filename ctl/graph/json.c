// SPDX-License-Identifier: GPL-2.0-or-later
#include "json.h"

#include "acyclic.h"
#include "drawing.h"
#include "form.h"

/* One report is as "commctl report --json" prints it; several are an array of such objects. */
int ctl_draw_json(const struct ctl_panels *panels, FILE *out)
{
	size_t n = ctl_panels_count(panels);
	struct ctl_json json = {.out = out};

	if (panels->acyclic)
		return ctl_acyclic_json(panels, out);
	ctl_json_begin(&json);
	if (n > 1)
		ctl_json_open(&json, "panels", '[');
	for (size_t i = 0; i < n; i++) {
		const struct ctl_panel *panel = ctl_panels_at(panels, i);

		if (n > 1) {
			ctl_json_open(&json, NULL, '{');
			ctl_json_string(&json, "title", panel->title);
		}
		ctl_form_json_members(&json, panel->report);
		if (n > 1)
			ctl_json_close(&json, '}');
	}
	if (n > 1)
		ctl_json_close(&json, ']');
	ctl_json_close(&json, '}');
	return 0;
}
