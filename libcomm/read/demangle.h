/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * C++ and Rust symbol names (old and v0) made readable, by libiberty.  The names are
 * hostile: a few hundred bytes of back references can stand for gigabytes, so the output
 * is cut, never grown.
 */
#ifndef COMM_DEMANGLE_H
#define COMM_DEMANGLE_H

#include <stddef.h>

/*
 * Writes the readable form of name to ret and returns ret; returns name itself
 * when it is not a mangled name, or one too long or too deep.  A longer form is cut to
 * size_bytes.
 */
const char *comm_demangle(const char *name, char *ret, size_t size_bytes);

#endif
