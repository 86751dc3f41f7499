// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf_kernel.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "source.h"

static struct btf *types;

const struct btf *comm_bpf_kernel_types(void)
{
	if (!types)
		types = btf__load_vmlinux_btf();
	return types;
}

void comm_bpf_kernel_types_put(void)
{
	btf__free(types);
	types = NULL;
}

bool comm_bpf_kernel_traces(const char *name)
{
	const struct btf *btf = comm_bpf_kernel_types();
	char type[128];

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	return btf && btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF) > 0;
}

static bool has_member(const struct btf *btf, const char *type_name, const char *member_name)
{
	int id = btf__find_by_name_kind(btf, type_name, BTF_KIND_STRUCT);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	const struct btf_member *member = type ? btf_members(type) : NULL;

	for (unsigned int i = 0; type && i < btf_vlen(type); i++) {
		const char *name = btf__name_by_offset(btf, member[i].name_off);

		if (name && !strcmp(name, member_name))
			return true;
	}
	return false;
}

int comm_bpf_kernel_suits(const struct btf *btf, char **why)
{
	struct utsname kernel;

	/* The youngest of all that bpf/capture.bpf.c uses. */
	if (has_member(btf, "cgroup", "ancestors"))
		return 0;
	uname(&kernel);
	return comm_source_fail(
		why, -ENOSYS,
		"needs Linux 6.1 or later: this kernel (%s) does not list the ancestors of a "
		"cgroup, by which the BPF programs know the threads of a target; boot a newer "
		"kernel or use --source perf",
		kernel.release);
}

/* Tried with an empty program, because verifying all of our programs twice takes long. */
int comm_bpf_kernel_hooks_maps(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY);
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	const struct btf *btf = comm_bpf_kernel_types();
	int id = btf ? btf__find_by_name_kind(btf, "perf_event_mmap", BTF_KIND_FUNC) : -ENOENT;
	int fd, link;

	if (id <= 0)
		return id ? id : -ENOENT;
	opts.attach_btf_id = (uint32_t)id;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "comm_probe", "GPL", insns, 2, &opts);
	if (fd < 0)
		return fd;
	/* Loading does not tell: the function may have as many programs as it can take. */
	link = bpf_raw_tracepoint_open(NULL, fd);
	close(fd);
	if (link < 0)
		return link;
	close(link);
	return 0;
}
