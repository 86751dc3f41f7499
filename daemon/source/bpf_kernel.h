/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the BPF programs need of a kernel, and what not all kernels that suit can do.
 * Asked by trying and from the kernel's types (BTF), not by its version: distributions
 * bring new abilities to old versions.
 */
#ifndef COMM_BPF_KERNEL_H
#define COMM_BPF_KERNEL_H

#include <stdbool.h>

struct btf; /* bpf/btf.h */

/*
 * The types of this kernel, NULL: there are none.  Some MB, which take 10 ms of CPU time to read:
 * kept for whoever asks next, until they are let go.
 */
const struct btf *comm_bpf_kernel_types(void);
void comm_bpf_kernel_types_put(void);

/* Do the BPF programs suit the kernel of these types?  -ENOSYS, and *why: a sentence. */
int comm_bpf_kernel_suits(const struct btf *btf, char **why);

/* Has this kernel a tracepoint of that name, on this architecture? */
bool comm_bpf_kernel_traces(const char *name);

/* Can a program be hooked into perf_event_mmap(), which tells of mappings?  0 or -errno. */
int comm_bpf_kernel_hooks_maps(void);

#endif
