// SPDX-License-Identifier: GPL-2.0-or-later
#include "perfdata.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "events.h"
#include "file_notes.h"
#include "files.h"
#include "header.h"
#include "order.h"
#include "perf_access.h"
#include "processes.h"
#include "records.h"
#include "sample.h"

/* perf's own kinds of records, above all that the kernel may get. */
enum {
	HEADER_ATTR = 64,
	HEADER_TRACING_DATA = 66,
	HEADER_BUILD_ID = 67,
	FINISHED_ROUND = 68,
	AUXTRACE_INFO = 70,
	AUXTRACE = 71,
	EVENT_UPDATE = 78,
	HEADER_FEATURE = 80,
	OWN_KINDS = 64,
};

enum {
	UPDATE_NAME = 2, /* of an EVENT_UPDATE */
	NAMES_BYTES_MAX = 128 << 20,
	QUEUE_BYTES_MAX = 96 << 20,
	PENDING_MAX = 2 + COMM_LOSS_MAX,
};

struct comm_perfdata {
	const char *path;
	struct comm_perfdata_header header;
	bool looked; /* the events are all known */
	bool queued; /* a first record */
	struct comm_names *names;
	struct comm_maps *maps;
	struct comm_perfdata_files *files;
	struct comm_perfdata_processes *processes;
	struct comm_perfdata_order *order;
	struct comm_perfdata_records *records;
	uint64_t read_ns; /* time of the record read last */
	uint64_t now_ns;  /* of the event handed out last */
	struct comm_event pending[PENDING_MAX];
	size_t n_pending, next_pending;
	struct comm_sample sample;
	uint64_t loss[COMM_LOSS_MAX], told[COMM_LOSS_MAX];
	struct comm_perfdata_passed passed;
	bool ended;
	int failed; /* the data are damaged: told when what came before is handed out */
	char *why;
};

static int read_header(struct comm_perfdata *data, int fd, char **err)
{
	struct stat st;

	if (fstat(fd, &st))
		return comm_perfdata_fail(err, -errno, "cannot read %s: %s", data->path,
					  strerror(errno));
	if (S_ISDIR(st.st_mode))
		return comm_perfdata_fail(
			err, -EISDIR,
			"%s is a directory (perf record --threads makes such): only a single "
			"perf.data file can be read",
			data->path);
	if (!S_ISREG(st.st_mode))
		return comm_perfdata_fail(err, -ENOTBLK,
					  "%s is no regular file: perf.data can only be read from "
					  "one",
					  data->path);
	data->header.info.written_unix_ns =
		(uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	data->header.path = data->path;
	data->header.files = data->files;
	return comm_perfdata_header_read(&data->header, fd, (uint64_t)st.st_size, err);
}

/* Never blocks: opening a FIFO would wait for a writer. */
static int open_file(struct comm_perfdata *data, char **err)
{
	int fd = open(data->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;

	if (fd < 0)
		return comm_perfdata_fail(err, -errno, "cannot read %s: %s", data->path,
					  strerror(errno));
	rc = read_header(data, fd, err);
	if (rc) {
		close(fd);
		return rc;
	}
	return comm_perfdata_records_open(data->path, fd, data->header.data_offset,
					  data->header.data_bytes, &data->records, err);
}

static int refuse_aux(const struct comm_perfdata *data, char **err)
{
	return comm_perfdata_fail(
		err, -ENOTSUP,
		"%s holds raw traces (Arm's SPE, Intel's PT), which only perf decodes: run "
		"'perf inject --itrace=M -i FILE -o NEW' and give commd the new file",
		data->path);
}

static int refuse_compressed(const struct comm_perfdata *data, char **err)
{
	return comm_perfdata_fail(err, -ENOTSUP,
				  "%s is compressed by other means than zstd: record again "
				  "without perf record's -z",
				  data->path);
}

/* All that the file says of its events has been read. */
static int look_at_events(struct comm_perfdata *data, char **err)
{
	struct utsname machine;
	bool any = false;

	data->looked = true;
	if (data->header.aux)
		return refuse_aux(data, err);
	if (data->header.other_compression)
		return refuse_compressed(data, err);
	if (comm_perfdata_events_look(&data->header.events, data->header.info.cpuid))
		return comm_perfdata_fail(
			err, -EBADMSG,
			"the records of %s do not tell which event they are of: record again "
			"with perf record --sample-identifier",
			data->path);
	for (size_t i = 0; i < data->header.events.n; i++) {
		const struct comm_perfdata_event *e = &data->header.events.event[i];

		if (!e->accesses)
			continue;
		any = true;
		if (!(e->attr.sample_type & PERF_SAMPLE_TIME) ||
		    !(e->attr.sample_type & PERF_SAMPLE_TID) ||
		    !(e->attr.sample_type & PERF_SAMPLE_IP))
			return comm_perfdata_fail(
				err, -ENODATA,
				"the samples of %s lack their time, thread or instruction: "
				"record again with perf mem record",
				data->path);
	}
	if (!any)
		return comm_perfdata_fail(
			err, -ENODATA,
			"%s has no samples of memory accesses with their addresses: record "
			"with perf mem record, or perf record -d of a memory event",
			data->path);
	uname(&machine);
	comm_perfdata_files_machine(data->files, !strcmp(machine.nodename, data->header.info.host),
				    !strcmp(data->header.info.arch, "x86_64"));
	comm_perfdata_notes(&data->header.events, &data->header.info);
	return 0;
}

static int take_attr(struct comm_perfdata *data, const unsigned char *body, size_t bytes,
		     char **err)
{
	uint32_t attr_bytes = 0;
	uint64_t id;
	int rc;

	if (bytes >= COMM_PERFDATA_ATTR_MIN)
		memcpy(&attr_bytes, body + offsetof(struct perf_event_attr, size),
		       sizeof(attr_bytes));
	if (attr_bytes < COMM_PERFDATA_ATTR_MIN || attr_bytes > bytes)
		return comm_perfdata_damaged(data->path, "list of events", err);
	rc = comm_perfdata_events_add(&data->header.events, body, attr_bytes);
	for (size_t at = attr_bytes; bytes - at >= sizeof(id) && !rc; at += sizeof(id)) {
		memcpy(&id, body + at, sizeof(id));
		rc = comm_perfdata_events_add_id(&data->header.events, id);
	}
	return rc == -ENOSPC ? comm_perfdata_damaged(data->path, "list of events", err) : rc;
}

/* Names come before the events' ids are in order: the one that an id is of is searched. */
static void take_update(struct comm_perfdata *data, const unsigned char *body, size_t bytes)
{
	uint64_t type, id;

	if (bytes < 2 * sizeof(uint64_t))
		return;
	memcpy(&type, body, sizeof(type));
	memcpy(&id, body + sizeof(type), sizeof(id));
	for (size_t i = 0; i < data->header.events.n_ids && type == UPDATE_NAME; i++)
		if (data->header.events.id[i].id == id)
			comm_perfdata_events_name(&data->header.events,
						  data->header.events.id[i].event,
						  (const char *)body + 16, bytes - 16);
}

/* Behind this record stands what it says, up to a multiple of 8. */
static int skip_tracing_data(struct comm_perfdata *data, const unsigned char *body, size_t bytes,
			     char **err)
{
	uint32_t more = 0;

	if (bytes >= sizeof(more))
		memcpy(&more, body, sizeof(more));
	return comm_perfdata_records_skip(data->records, (more + 7) & ~7u, err);
}

/* A record of the kernel's kinds waits for its time, if it is of use. */
static int queue_record(struct comm_perfdata *data, const struct perf_event_header *h)
{
	const unsigned char *body = (const unsigned char *)(h + 1);
	size_t bytes = h->size - sizeof(*h);
	bool is_sample = h->type == PERF_RECORD_SAMPLE;
	const struct comm_perfdata_event *event;
	struct comm_perfdata_sample sample;
	int err;

	switch (h->type) {
	case PERF_RECORD_SAMPLE:
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
	case PERF_RECORD_THROTTLE:
		break;
	default:
		return 0;
	}
	event = comm_perfdata_events_of(&data->header.events, is_sample, body, bytes);
	if (!event) {
		data->loss[COMM_LOSS_UNKNOWN]++;
		return 0;
	}
	if (is_sample && !event->accesses) {
		data->passed.other++;
		return 0;
	}
	err = is_sample ? comm_perfdata_sample(&event->attr, body, bytes, &sample)
			: comm_perfdata_sample_id(&event->attr, body, bytes, &sample);
	if (err || sample.time_ns >> 63) {
		data->loss[COMM_LOSS_MALFORMED]++;
		return 0;
	}
	/* Without sample_id_all only samples have a time. */
	if (!is_sample && !event->attr.sample_id_all)
		sample.time_ns = data->read_ns;
	data->read_ns = sample.time_ns;
	data->queued = true;
	return comm_perfdata_order_push(data->order, sample.time_ns, h, h->size);
}

static int take_record(struct comm_perfdata *data, const struct perf_event_header *h, char **err)
{
	const unsigned char *body = (const unsigned char *)(h + 1);
	size_t bytes = h->size - sizeof(*h);
	uint64_t feature;
	int rc;

	/* perf compresses none of its own kinds; a stream within the stream might never end. */
	if (comm_perfdata_records_packed(data->records) && h->type >= OWN_KINDS)
		return 0;
	switch (h->type) {
	case HEADER_ATTR:
		return data->looked ? 0 : take_attr(data, body, bytes, err);
	case HEADER_TRACING_DATA:
		return skip_tracing_data(data, body, bytes, err);
	case HEADER_BUILD_ID:
		comm_perfdata_header_build_id(&data->header, h->misc, body, bytes);
		return 0;
	case FINISHED_ROUND:
		comm_perfdata_order_round(data->order);
		return 0;
	case AUXTRACE_INFO:
	case AUXTRACE:
		return refuse_aux(data, err);
	case COMM_PERFDATA_COMPRESSED:
	case COMM_PERFDATA_COMPRESSED2:
		return comm_perfdata_records_unpack(data->records, err);
	case EVENT_UPDATE:
		if (!data->looked)
			take_update(data, body, bytes);
		return 0;
	case HEADER_FEATURE:
		if (bytes < sizeof(feature) || data->looked)
			return 0;
		memcpy(&feature, body, sizeof(feature));
		comm_perfdata_header_feature(&data->header, feature, body + sizeof(feature),
					     bytes - sizeof(feature));
		return 0;
	default:
		if (h->type >= OWN_KINDS)
			return 0;
		rc = data->looked ? 0 : look_at_events(data, err);
		return rc ? rc : queue_record(data, h);
	}
}

/* Reads up to the first record of the kernel's, so that refusals and facts come at once. */
static int read_beginning(struct comm_perfdata *data, char **err)
{
	const struct perf_event_header *h;
	int rc;

	/* In a file all of them are known by now, in a pipe's they come as records. */
	if (data->header.events.n) {
		rc = look_at_events(data, err);
		if (rc)
			return rc;
	}
	do {
		rc = comm_perfdata_records_next(data->records, &h, err);
		if (rc <= 0)
			break;
		rc = take_record(data, h, err);
	} while (!rc && !data->queued);
	if (rc < 0 || data->looked)
		return rc < 0 ? rc : 0;
	return look_at_events(data, err);
}

int comm_perfdata_open(const char *path, struct comm_perfdata **ret, char **err)
{
	struct comm_perfdata *data = calloc(1, sizeof(*data));
	int rc;

	*err = NULL;
	if (!data)
		return -ENOMEM;
	data->path = path;
	rc = comm_names_create(NAMES_BYTES_MAX, &data->names);
	if (!rc)
		rc = comm_maps_create(data->names, &data->maps);
	if (!rc)
		rc = comm_perfdata_processes_create(data->maps, &data->processes);
	if (!rc)
		rc = comm_perfdata_files_create(data->names, data->maps, &data->files);
	if (!rc)
		rc = comm_perfdata_order_create(QUEUE_BYTES_MAX, &data->order);
	if (!rc)
		rc = open_file(data, err);
	if (!rc)
		rc = read_beginning(data, err);
	if (rc) {
		comm_perfdata_close(data);
		return rc;
	}
	*ret = data;
	return 0;
}

void comm_perfdata_close(struct comm_perfdata *data)
{
	if (!data)
		return;
	comm_perfdata_records_close(data->records);
	comm_perfdata_order_destroy(data->order);
	comm_perfdata_files_destroy(data->files);
	comm_perfdata_processes_destroy(data->processes);
	comm_maps_destroy(data->maps);
	comm_names_destroy(data->names);
	comm_perfdata_events_deinit(&data->header.events);
	free(data->why);
	free(data);
}

const struct comm_perfdata_info *comm_perfdata_info(const struct comm_perfdata *data)
{
	return &data->header.info;
}

static void push_pending(void *ctx, const struct comm_event *event)
{
	struct comm_perfdata *data = ctx;

	data->pending[data->n_pending++] = *event;
}

/* Losses that came up since this was asked last, as events. */
static void push_losses(struct comm_perfdata *data)
{
	for (int i = 0; i < COMM_LOSS_MAX; i++) {
		if (data->loss[i] != data->told[i])
			push_pending(data, &(struct comm_event){
						   .kind = COMM_EV_LOSS,
						   .time_ns = data->now_ns,
						   .cause = (uint32_t)i,
						   .count = data->loss[i] - data->told[i],
					   });
		data->told[i] = data->loss[i];
	}
}

static void on_sample(struct comm_perfdata *data, const struct perf_event_header *h)
{
	const unsigned char *body = (const unsigned char *)(h + 1);
	size_t bytes = h->size - sizeof(*h);
	const struct comm_perfdata_event *event =
		comm_perfdata_events_of(&data->header.events, true, body, bytes);
	struct comm_perf_access access;
	struct comm_perfdata_sample s;

	if (!event || comm_perfdata_sample(&event->attr, body, bytes, &s))
		return;
	if ((h->misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER) {
		data->passed.kernel++;
		return;
	}
	access = (struct comm_perf_access){
		.time_ns = s.time_ns,
		.addr = s.addr,
		.ip = s.ip,
		.weight = s.weight,
		.data_src = s.data_src,
		.period = event->attr.freq ? 1 : event->attr.sample_period,
		.pid = s.pid,
		.tid = s.tid,
		.cpu = (uint16_t)s.cpu,
		.ways = comm_perf_access_ways(s.data_src),
		.exact = !event->says_exact || h->misc & PERF_RECORD_MISC_EXACT_IP,
		.bursts = event->all && s.regs,
		.regs_abi = s.regs_abi,
		.regs_mask = event->attr.sample_regs_intr,
		.regs = s.regs,
	};
	if (!access.ways)
		access.ways = event->ways;
	if (!access.ways) {
		data->passed.other++;
		return;
	}
	if (s.period)
		access.period = s.period;
	comm_perf_access_push(&access, &data->sample, data->loss, push_pending, data);
}

/* Fields of a record before its id; false: it is too short. */
static bool fields(const struct perf_event_header *h, void *to, size_t bytes)
{
	if (h->size - sizeof(*h) < bytes)
		return false;
	memcpy(to, h + 1, bytes);
	return true;
}

/* The file's id, 0 when it is of none; negative: the mapping is left out. */
static int64_t map_file(struct comm_perfdata *data, const struct perf_event_header *h,
			uint32_t tgid)
{
	struct comm_perfdata_mapping mapping;
	int64_t file = comm_perfdata_mapping(h, &mapping);

	if (!file)
		file = comm_perfdata_processes_map(data->processes, tgid, &mapping);
	if (file > 0 && mapping.build_id)
		comm_perfdata_files_build_id_of(data->files, (uint32_t)file, mapping.build_id,
						mapping.build_id_bytes);
	return file;
}

static void on_map(struct comm_perfdata *data, const struct perf_event_header *h,
		   struct comm_event *out)
{
	uint32_t tgid;

	/* The kernel's own mappings have the process -1. */
	if (!fields(h, &tgid, sizeof(tgid)) || tgid == UINT32_MAX ||
	    (h->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL)
		return;
	if (map_file(data, h, tgid) < 0) {
		data->loss[COMM_LOSS_MALFORMED]++;
		return;
	}
	out->kind = COMM_EV_MMAP;
	out->tgid = out->tid = tgid;
}

static void on_name(struct comm_perfdata *data, const struct perf_event_header *h,
		    struct comm_event *out)
{
	uint32_t w[2]; /* pid, tid */

	if (!fields(h, w, sizeof(w))) {
		data->loss[COMM_LOSS_MALFORMED]++;
		return;
	}
	out->tgid = w[0];
	out->tid = w[1];
	out->kind = h->misc & PERF_RECORD_MISC_COMM_EXEC ? COMM_EV_EXEC : COMM_EV_RENAME;
	if (out->kind == COMM_EV_EXEC)
		comm_perfdata_processes_exec(data->processes, w[0]);
	comm_perfdata_processes_name(data->processes, w[1], (const char *)(h + 1) + sizeof(w),
				     h->size - sizeof(*h) - sizeof(w));
}

static void on_life(struct comm_perfdata *data, const struct perf_event_header *h,
		    struct comm_event *out)
{
	uint32_t w[4]; /* pid, ppid, tid, ptid */

	if (!fields(h, w, sizeof(w))) {
		data->loss[COMM_LOSS_MALFORMED]++;
		return;
	}
	if (h->type == PERF_RECORD_EXIT) {
		out->kind = COMM_EV_EXIT;
		out->tgid = w[0];
		out->tid = w[2];
		comm_perfdata_processes_exit(data->processes, w[0], w[2]);
		return;
	}
	out->kind = COMM_EV_FORK;
	out->tgid = w[1];
	out->tid = w[3];
	out->fork.child_tgid = w[0];
	out->fork.child_tid = w[2];
	comm_perfdata_processes_fork(data->processes, w[1], w[3], w[0], w[2]);
}

static void on_lost(struct comm_perfdata *data, const struct perf_event_header *h)
{
	uint64_t w[2] = {0};

	if (h->type == PERF_RECORD_LOST && fields(h, w, sizeof(w)))
		data->loss[COMM_LOSS_RING] += w[1];
	else if (h->type == PERF_RECORD_LOST_SAMPLES && fields(h, w, sizeof(w[0])))
		data->loss[COMM_LOSS_RING] += w[0];
}

/* A record whose time has come: changes the processes, and becomes events. */
static void deliver(struct comm_perfdata *data, const struct perf_event_header *h, uint64_t time_ns)
{
	struct comm_event out = {.time_ns = time_ns};

	data->now_ns = time_ns;
	switch (h->type) {
	case PERF_RECORD_SAMPLE:
		on_sample(data, h);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		on_map(data, h, &out);
		break;
	case PERF_RECORD_COMM:
		on_name(data, h, &out);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		on_life(data, h, &out);
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		on_lost(data, h);
		break;
	case PERF_RECORD_THROTTLE:
		data->loss[COMM_LOSS_THROTTLE]++;
		break;
	default:
		break;
	}
	/* What was there before perf began has time 0: no event, the view knows it. */
	if (out.kind && time_ns)
		push_pending(data, &out);
}

/* No record follows: what is queued goes out, then what was lost. */
static void end(struct comm_perfdata *data)
{
	data->ended = true;
	comm_perfdata_order_end(data->order);
}

int comm_perfdata_next(struct comm_perfdata *data, struct comm_event *ret, char **err)
{
	*err = NULL;
	for (;;) {
		const struct perf_event_header *h;
		uint64_t time_ns;
		size_t bytes;
		int rc;

		if (data->next_pending < data->n_pending) {
			*ret = data->pending[data->next_pending++];
			return 1;
		}
		data->n_pending = data->next_pending = 0;
		h = comm_perfdata_order_next(data->order, &time_ns, &bytes);
		if (h) {
			deliver(data, h, time_ns);
			if (data->now_ns)
				push_losses(data);
			continue;
		}
		if (data->ended) {
			data->loss[COMM_LOSS_LATE] = comm_perfdata_order_late(data->order);
			data->loss[COMM_LOSS_FILES] = comm_perfdata_files_unread(data->files);
			push_losses(data);
			if (data->n_pending)
				continue;
			*err = data->why;
			data->why = NULL;
			return data->failed;
		}
		rc = comm_perfdata_records_next(data->records, &h, err);
		if (rc > 0)
			rc = take_record(data, h, err);
		else
			end(data);
		if (rc < 0) {
			data->failed = rc;
			data->why = *err;
			*err = NULL;
			end(data);
		}
	}
}

uint64_t comm_perfdata_end_ns(const struct comm_perfdata *data)
{
	return data->now_ns;
}

bool comm_perfdata_cut(const struct comm_perfdata *data)
{
	return data->header.cut || comm_perfdata_records_cut(data->records);
}

void comm_perfdata_passed(const struct comm_perfdata *data, struct comm_perfdata_passed *ret)
{
	*ret = data->passed;
}

uint64_t comm_perfdata_absent(const struct comm_perfdata *data, const char **ret_path)
{
	return comm_perfdata_files_absent(data->files, ret_path);
}

static int view_maps(void *ctx, uint32_t tgid, const struct comm_mapping **ret, size_t *ret_n)
{
	return comm_perfdata_processes_maps(((struct comm_perfdata *)ctx)->processes, tgid, ret,
					    ret_n);
}

static ssize_t view_text(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
			 void *buf, size_t len_bytes)
{
	(void)tgid;
	return comm_perfdata_files_text(((struct comm_perfdata *)ctx)->files, m, addr, buf,
					len_bytes);
}

static int view_code(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t ip,
		     struct comm_code *ret)
{
	(void)tgid;
	if (m->kind == COMM_MAP_FILE || m->kind == COMM_MAP_VDSO)
		return comm_perfdata_files_code(((struct comm_perfdata *)ctx)->files, m, ip, ret);
	*ret = (struct comm_code){.function = "[jit]", .module = "[jit]", .build_id = ""};
	return -ENOENT;
}

static int view_data(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
		     struct comm_static *ret)
{
	struct comm_perfdata *data = ctx;
	const struct comm_mapping *file = m;

	*ret = (struct comm_static){.name = "", .module = "", .build_id = ""};
	/* The .bss is anonymous memory that follows the file's last mapping. */
	if (m->kind == COMM_MAP_ANON && m->start)
		file = comm_perfdata_processes_at(data->processes, tgid, m->start - 1);
	if (!file || file->kind != COMM_MAP_FILE || file->shared)
		return -ENOENT;
	return comm_perfdata_files_data(data->files, file, addr, ret);
}

static int view_thread_name(void *ctx, uint32_t tgid, uint32_t tid, char name[16])
{
	(void)tgid;
	return comm_perfdata_processes_thread(((struct comm_perfdata *)ctx)->processes, tid, name);
}

static const struct comm_inspect_ops view_ops = {
	.maps = view_maps,
	.maps_at_once = true,
	.text = view_text,
	.code = view_code,
	.data = view_data,
	.thread_name = view_thread_name,
};

void comm_perfdata_view(struct comm_perfdata *data, struct comm_inspect *ret)
{
	ret->ops = &view_ops;
	ret->ctx = data;
}

int comm_perfdata_inspect(struct comm_perfdata *data, struct comm_inspect *ret)
{
	comm_perfdata_view(data, ret);
	return comm_perfdata_files_start(data->files);
}
