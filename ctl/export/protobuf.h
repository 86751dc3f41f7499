/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages of Protocol Buffers, written field by field; https://protobuf.dev/programming-guides/encoding.
 * Memory that runs out shows in failed, in the message that holds this one, too.
 */
#ifndef CTL_PROTOBUF_H
#define CTL_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begins zeroed; the owner frees bytes. */
struct ctl_message {
	char *bytes;
	size_t n, capacity;
	bool failed;
};

/* Bytes of a value, as for a packed field. */
void ctl_message_append(struct ctl_message *m, const void *bytes, size_t n);
void ctl_message_append_varint(struct ctl_message *m, uint64_t value);
/* Foreign text as UTF-8 that hides nothing (utf8.h). */
void ctl_message_append_text(struct ctl_message *m, const char *text);

/* A field and its value. */
void ctl_message_number(struct ctl_message *m, int field, uint64_t value);
void ctl_message_fixed64(struct ctl_message *m, int field, uint64_t value);
void ctl_message_double(struct ctl_message *m, int field, double value);
void ctl_message_text(struct ctl_message *m, int field, const char *text);
/* Puts a message into another one, and ends it. */
void ctl_message_put(struct ctl_message *m, int field, struct ctl_message *inner);

#endif
