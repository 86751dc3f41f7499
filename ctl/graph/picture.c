// SPDX-License-Identifier: GPL-2.0-or-later
#include "picture.h"

#include <math.h>
#include <string.h>

#include "notes.h"
#include "number.h"
#include "ramp.h"
#include "utf8.h"

enum { PICTURE_SWATCH = 24, PICTURE_SWATCHES = CTL_RAMP_DECADES + 1 };

static const char *const anchors[] = {"start", "middle", "end"};

static void escaped(FILE *out, const char *text)
{
	while (*text) {
		int n;
		const char *shown = ctl_utf8_take(&text, &n);

		if (strchr("<>&\"'", *shown))
			fprintf(out, "&#%d;", *shown);
		else
			fwrite(shown, 1, n, out);
	}
}

void ctl_picture_begin(FILE *out, double width, double height, const char *title)
{
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		"viewBox=\"0 0 %.0f %.0f\" role=\"img\" font-family=\"sans-serif\" "
		"font-size=\"12\">\n<title>",
		width, height, width, height);
	escaped(out, title);
	/* Hatched is what is seen, but not confirmed. */
	fputs("</title>\n<defs><pattern id=\"unresolved\" width=\"5\" height=\"5\" "
	      "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
	      "<rect width=\"2\" height=\"5\" fill=\"#fff\" fill-opacity=\"0.7\"/></pattern>"
	      "</defs>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
	      out);
}

void ctl_picture_end(FILE *out)
{
	fputs("</svg>\n", out);
}

void ctl_picture_text(FILE *out, double x, double y, enum ctl_picture_anchor anchor,
		      const char *text)
{
	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchors[anchor]);
	escaped(out, text);
	fputs("</text>\n", out);
}

void ctl_picture_upward(FILE *out, double x, double y, const char *text)
{
	fprintf(out, "<text transform=\"translate(%.1f %.1f) rotate(-90)\">", x, y);
	escaped(out, text);
	fputs("</text>\n", out);
}

const char *ctl_picture_fit(char text[CTL_LABEL], const char *name, double width)
{
	size_t length = strlen(name), most = width / CTL_PICTURE_CHAR;

	if (most >= CTL_LABEL)
		most = CTL_LABEL - 1;
	if (length <= most || most < 6)
		snprintf(text, CTL_LABEL, "%.*s", (int)ctl_utf8_start(name, most), name);
	else
		snprintf(text, CTL_LABEL, "%.*s..%s",
			 (int)ctl_utf8_start(name, most - most / 3 - 2), name,
			 name + ctl_utf8_start(name, length - most / 3));
	return text;
}

static void tooltip(FILE *out, const struct ctl_panel *panel, const struct comm_report_edge *edge)
{
	char bytes[CTL_NUMBER], range[CTL_NUMBER];

	fputs("<title>", out);
	escaped(out, panel->labels.text[edge->from]);
	fputs(" &gt; ", out);
	escaped(out, panel->labels.text[edge->to]);
	fprintf(out, ": %s", ctl_bytes(bytes, edge->bytes));
	if (!panel->report->exact)
		fprintf(out, " (%s)%s", ctl_range(range, edge->low, edge->high),
			edge->resolved ? "" : ", not confirmed");
	fputs("</title>", out);
}

void ctl_picture_cell(FILE *out, double x, double y, double width, double height,
		      const struct ctl_panel *panel, const struct comm_report_edge *edge,
		      double bytes, double largest)
{
	char colour[CTL_RAMP];

	fprintf(out, "<g><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>",
		x, y, width, height, edge ? ctl_ramp(colour, bytes, largest) : "#f1f2f4");
	if (edge && !edge->resolved)
		fprintf(out,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
			"fill=\"url(#unresolved)\"/>",
			x, y, width, height);
	if (edge)
		tooltip(out, panel, edge);
	fputs("</g>\n", out);
}

void ctl_picture_legend(FILE *out, double x, double y, double largest, const char *unit)
{
	char colour[CTL_RAMP], bytes[CTL_NUMBER], text[2 * CTL_NUMBER];

	for (int i = 0; i < PICTURE_SWATCHES; i++) {
		double value = largest * pow(10, -i);

		fprintf(out,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"14\" fill=\"%s\"/>\n", x,
			y - 12, ctl_ramp(colour, value, largest));
		snprintf(text, sizeof(text), "%s%s", ctl_bytes(bytes, value), unit);
		ctl_picture_text(out, x + 18, y, CTL_START, text);
		x += PICTURE_SWATCH + CTL_PICTURE_CHAR * strlen(text);
	}
	fprintf(out,
		"<rect x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"14\" fill=\"#414487\"/>"
		"<rect x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"14\" "
		"fill=\"url(#unresolved)\"/>\n",
		x, y - 12, x, y - 12);
	ctl_picture_text(out, x + 18, y, CTL_START, "not confirmed");
}

double ctl_picture_notes(FILE *out, double y, const struct ctl_panels *panels, double *ret_width)
{
	struct ctl_notes notes;

	*ret_width = 0;
	for (size_t i = 0; i < panels->n_courses; i++) {
		ctl_notes_write(&notes, panels, &panels->course[i].whole);
		y += i ? CTL_PICTURE_LINE / 2 : 0;
		for (size_t j = 0; j < CTL_NOTES; j++) {
			y += CTL_PICTURE_LINE;
			*ret_width =
				fmax(*ret_width, CTL_PICTURE_CHAR * (double)strlen(notes.line[j]));
			if (out)
				ctl_picture_text(out, CTL_PICTURE_EDGE, y, CTL_START,
						 notes.line[j]);
		}
	}
	return y;
}
