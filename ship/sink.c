// SPDX-License-Identifier: GPL-2.0-or-later
#include "sink.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct ship_sink_ops *const sinks[] = {&ship_directory, &ship_database,
						    &ship_pyroscope, &ship_parca};

const struct ship_sink_ops *ship_sink_find(const char *to)
{
	for (size_t i = 0; i < sizeof(sinks) / sizeof(*sinks); i++)
		if (!strncmp(to, sinks[i]->prefix, strlen(sinks[i]->prefix)))
			return sinks[i];
	return NULL;
}

const char *ship_sink_forms(void)
{
	static char forms[128];

	const size_t n = sizeof(sinks) / sizeof(*sinks);

	if (!*forms)
		for (size_t i = 0; i < n; i++)
			snprintf(forms + strlen(forms), sizeof(forms) - strlen(forms), "%s%s",
				 !i	     ? ""
				 : i + 1 < n ? ", "
					     : " or ",
				 sinks[i]->form);
	return forms;
}

int ship_fail(char **err, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vasprintf(err, format, args) < 0)
		*err = NULL;
	va_end(args);
	return code;
}
