// SPDX-License-Identifier: GPL-2.0-or-later
#include "function_key.h"

#include <inttypes.h>
#include <string.h>

bool comm_function_is_unknown(const struct comm_node *node)
{
	return !*node->module && !*node->build_id &&
	       (!strcmp(node->name, "[first write]") || !strcmp(node->name, "[code not known]"));
}

const char *comm_function_key(struct comm_texts *texts, const struct comm_node *node)
{
	if (*node->build_id)
		return comm_texts_format(texts, "%s+0x%" PRIx64, node->build_id, node->start);
	if (*node->module)
		return comm_texts_format(texts, "%s:%s", node->module, node->name);
	return node->name;
}
