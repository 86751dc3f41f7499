/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Modules: the symbol and line tables of the ELF files that targets run, shared
 * by all files of one build-id and freed, least recently used first, when they
 * take more memory than allowed.
 */
#ifndef COMM_MODULE_H
#define COMM_MODULE_H

#include "elfsym.h"
#include "inspect.h"
#include "names.h"

struct comm_module;
struct comm_modules;

int comm_modules_create(struct comm_names *names, size_t max_bytes, struct comm_modules **ret);
void comm_modules_destroy(struct comm_modules *modules);

/*
 * The module of an open file; it lives as long as modules.  root_fd: the target's
 * root directory, where path and debug files are, or -1.  -ENOEXEC: no ELF file.
 */
int comm_modules_open(struct comm_modules *modules, int fd, int root_fd, const char *path,
		      struct comm_module **ret);
/* The module of the kernel's vdso, read from this process's mapping of it. */
int comm_modules_vdso(struct comm_modules *modules, struct comm_module **ret);

/*
 * Lines come later than symbols, from child processes (see dwjob.h), a few at a
 * time: takes the results of those that ended and starts the next ones.  Never
 * blocks.  Until a module's lines came, comm_module_code() answers are provisional.
 */
void comm_modules_poll(struct comm_modules *modules);
/* True while children are at work or modules queued: comm_modules_poll() has something to do. */
bool comm_modules_busy(const struct comm_modules *modules);
/* CPU time of the children that ended. */
uint64_t comm_modules_children_ns(const struct comm_modules *modules);

/*
 * True when the symbols are in memory; when they were freed, comm_modules_open()
 * reads them again.  Marks the module as used.
 */
bool comm_module_ready(struct comm_module *module);
/* True when the queue for lines was full: comm_modules_open() with the file queues it again. */
bool comm_module_wants_file(const struct comm_module *module);

/* As in inspect.h, for a mapping of the file; -ESTALE: not ready. */
int comm_module_code(struct comm_module *module, const struct comm_mapping *m, uint64_t ip,
		     struct comm_code *ret);
/* file: the mapping of the file that addr is in, or that its .bss follows. */
int comm_module_data(struct comm_module *module, const struct comm_mapping *file, uint64_t addr,
		     struct comm_static *ret);

/* A file name without its directories. */
const char *comm_module_base(const char *path);

#endif
