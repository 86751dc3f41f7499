/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Modules: the tables of symbols, lines and types of the ELF files that targets run, shared
 * by all files of one build-id and freed, least recently used first, when they
 * take more memory than allowed.
 */
#ifndef COMM_MODULE_H
#define COMM_MODULE_H

#include "inspect.h"
#include "names.h"
#include "parser.h"

struct comm_module;
struct comm_modules;

/* parser: reads the files; both outlive the modules. */
int comm_modules_create(struct comm_names *names, struct comm_parser *parser, size_t max_bytes,
			struct comm_modules **ret);
void comm_modules_destroy(struct comm_modules *modules);

/*
 * The module of a file that a process has mapped; it lives as long as modules, and its symbols
 * are in memory until the next call.  Files are read by the parser: -EINPROGRESS: this call
 * asked it; -EAGAIN: asked before, still to come.  Lines and types come later than symbols:
 * until then comm_module_code() answers are provisional.
 */
int comm_modules_get(struct comm_modules *modules, uint32_t tgid, const struct comm_mapping *m,
		     struct comm_module **ret);
/* Lines and types of what is read from now on are left until a sample is in it, or not any more. */
void comm_modules_only_symbols(struct comm_modules *modules, bool only);
/* Calls fn for each file whose debug information is not read in full, as it comes; outlives modules. */
void comm_modules_tell_unread(struct comm_modules *modules, comm_inspect_unread_fn *fn, void *ctx);
/* What the parser read for modules. */
void comm_modules_take(struct comm_modules *modules, const struct comm_parsed *parsed);
/* The module of the kernel's vdso, read from this process's mapping of it. */
int comm_modules_vdso(struct comm_modules *modules, struct comm_module **ret);
/* Files not read since too many were asked for. */
uint64_t comm_modules_lost(const struct comm_modules *modules);

/* As in inspect.h, for a mapping of the file; -ESTALE: its symbols are not in memory. */
int comm_module_code(struct comm_module *module, const struct comm_mapping *m, uint64_t ip,
		     struct comm_code *ret);
/* The same, where file is a mapping of it, and ip in a copy of its text; -ENOENT: that is no place of its code. */
int comm_module_copied(struct comm_module *module, const struct comm_mapping *file, uint64_t ip,
		       struct comm_code *ret);
/* file: the mapping of the file that addr is in, or that its .bss follows. */
int comm_module_data(struct comm_module *module, const struct comm_mapping *file, uint64_t addr,
		     struct comm_static *ret);
/*
 * Where the variable of that name, as it is in the file, is in a process.  file: its lowest mapping of the file; two
 * segments may share the page that others begin with.  -ENOENT: the file has none.
 */
int comm_module_variable(struct comm_module *module, const struct comm_mapping *file,
			 const char *name, uint64_t *ret);

#endif
