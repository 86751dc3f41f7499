// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf_probes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "source.h"

typedef uint32_t u32;
typedef uint64_t u64;
#include "probe.skel.h"

enum { LINKS_MAX = COMM_PROBED_MAX * (1 + COMM_REGION_PROBE_ENDS) + 1, ANY_PROCESS = -1 };

struct comm_bpf_probes {
	struct probe_bpf *bpf;
	struct bpf_link *link[LINKS_MAX];
	unsigned int n;
};

/* What the user named, for sentences: "--region-probe NAME", "--frame-probe"; and where it is. */
struct wanted {
	char option[32 + COMM_PROBED_BYTES];
	const char *path;
};

/*
 * The file of probes.  libbpf opens it for the places of its probes, and the kernel for each
 * breakpoint: by the path that could be another file, in the code of which one file's places have no
 * business.  By the descriptor (O_PATH: nothing is opened yet, and no FIFO waited for) it is the same.
 */
static int find_file(const struct wanted *wanted, char **err)
{
	int fd = open(wanted->path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return comm_source_fail(err, -errno, "%s: cannot open %s: %s", wanted->option,
					wanted->path, strerror(errno));
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return comm_source_fail(err, -EINVAL, "%s: %s is not a regular file", wanted->option,
				wanted->path);
}

static int attach(struct comm_bpf_probes *probes, const struct bpf_program *program, int file,
		  const struct wanted *wanted, const struct comm_probe_name *probe, uint64_t id,
		  char **err)
{
	LIBBPF_OPTS(bpf_usdt_opts, opts, .usdt_cookie = id);
	struct bpf_link *link;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	link = bpf_program__attach_usdt(program, ANY_PROCESS, path, probe->provider, probe->name,
					&opts);

	if (link) {
		probes->link[probes->n++] = link;
		return 0;
	}
	if (errno == ENOENT)
		return comm_source_fail(err, -ENOENT, "%s: %s has no probe %s:%s", wanted->option,
					wanted->path, probe->provider, probe->name);
	return comm_source_fail(err, -errno, "%s: cannot attach to %s:%s of %s: %s", wanted->option,
				probe->provider, probe->name, wanted->path, strerror(errno));
}

static int attach_region(struct comm_bpf_probes *probes, const struct comm_region_probe *region,
			 uint64_t id, char **err)
{
	struct wanted wanted = {.path = region->path};
	int file, rc = 0;

	snprintf(wanted.option, sizeof(wanted.option), "--region-probe %s", region->name);
	file = find_file(&wanted, err);
	if (file < 0)
		return file;
	/* Ends first: no region begins that cannot end. */
	for (unsigned int k = 0; k < region->n_ends && !rc; k++)
		rc = attach(probes, probes->bpf->progs.region_end, file, &wanted, &region->end[k],
			    id, err);
	if (!rc)
		rc = attach(probes, probes->bpf->progs.region_begin, file, &wanted, &region->begin,
			    id, err);
	close(file);
	return rc;
}

static int attach_frame(struct comm_bpf_probes *probes, const struct comm_frame_probe *frame,
			char **err)
{
	const struct wanted wanted = {.option = "--frame-probe", .path = frame->path};
	int file = find_file(&wanted, err), rc;

	if (file < 0)
		return file;
	rc = attach(probes, probes->bpf->progs.frame_begin, file, &wanted, &frame->begin, 0, err);
	close(file);
	return rc;
}

static int attach_all(struct comm_bpf_probes *probes, const struct comm_region_probe_list *list,
		      char **err)
{
	int rc = 0;

	for (unsigned int i = 0; i < list->n && !rc; i++)
		rc = attach_region(probes, &list->region[i], i + 1, err);
	return rc || !list->frame.path ? rc : attach_frame(probes, &list->frame, err);
}

int comm_bpf_probes_open(const struct comm_region_probe_list *list, int regions_fd, int frames_fd,
			 struct comm_bpf_probes **ret, char **err)
{
	struct comm_bpf_probes *probes = calloc(1, sizeof(*probes));
	int rc;

	if (!probes)
		return -ENOMEM;
	probes->bpf = probe_bpf__open();
	rc = probes->bpf ? bpf_map__reuse_fd(probes->bpf->maps.probed, regions_fd) : -errno;
	if (!rc)
		rc = bpf_map__reuse_fd(probes->bpf->maps.probed_frames, frames_fd);
	if (!rc)
		rc = probe_bpf__load(probes->bpf);
	if (rc)
		comm_source_fail(err, rc, "cannot load the BPF programs of probes: %s",
				 strerror(-rc));
	else
		rc = attach_all(probes, list, err);
	if (rc) {
		comm_bpf_probes_close(probes);
		return rc;
	}
	*ret = probes;
	return 0;
}

void comm_bpf_probes_close(struct comm_bpf_probes *probes)
{
	if (!probes)
		return;
	for (unsigned int i = probes->n; i > 0; i--)
		bpf_link__destroy(probes->link[i - 1]);
	probe_bpf__destroy(probes->bpf);
	free(probes);
}
