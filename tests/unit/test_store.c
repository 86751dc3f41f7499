// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>

#include "made_store.h"

static void test_files_have_their_mode(void **state)
{
	static const mode_t masks[] = {0, 077, 0777};
	static const char *const suffixes[] = {"", "-wal", "-shm", "-ballast"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct comm_store_config c = config();
		mode_t old = umask(masks[i]);
		struct comm_store *store = open_store(&c);
		struct comm_edge edges[10];

		begin(store);
		fill(edges, 10, 0);
		assert_int_equal(write_at(store, 0, edges, 10), 0);
		umask(old);
		for (size_t j = 0; j < 3; j++)
			assert_int_equal(mode_of(suffixes[j]), 0640);
		/* It has the writer's lock, which no reader is to keep it from. */
		assert_int_equal(mode_of(suffixes[3]), 0600);
		comm_store_close(store);
		/* A closed store is one file. */
		for (size_t j = 1; j < 4; j++)
			assert_int_equal(mode_of(suffixes[j]), 0);
		assert_int_equal(unlink(path), 0);
	}
}

static void put(const char *text, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, n), n);
	close(fd);
}

static void test_refuses_what_is_not_ours(void **state)
{
	char text[200];
	struct stat st;

	(void)state;
	put("hello\n", 6);
	refuse(-EMEDIUMTYPE, "not a commprof store");
	memset(text, 'x', sizeof(text));
	put(text, sizeof(text));
	refuse(-EMEDIUMTYPE, "not a commprof store");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, sizeof(text));
	unlink(path);
	sql("CREATE TABLE other (x)");
	refuse(-EMEDIUMTYPE, "not a commprof store");
	assert_int_equal((int)query("SELECT count(*) FROM sqlite_master"), 1);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	refuse(-EISDIR, "directory");
	rmdir(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	refuse(-EMEDIUMTYPE, "not a commprof store");
	unlink(path);
	snprintf(path, sizeof(path), "%s/none/comm.db", dir);
	refuse(-ENOENT, "directory does not exist");
	snprintf(path, sizeof(path), "/dev/null/comm.db");
	refuse(-ENOTDIR, "no directory");
}

static void test_one_writer(void **state)
{
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	char pid[32];
	int pipes[2], status;
	pid_t child;
	char byte;

	(void)state;
	snprintf(pid, sizeof(pid), "process %d ", getpid());
	refuse(-EBUSY, pid);
	comm_store_close(store);

	/* A killed writer leaves no lock behind. */
	assert_int_equal(pipe(pipes), 0);
	child = fork();
	if (!child) {
		open_store(&c);
		if (write(pipes[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	snprintf(pid, sizeof(pid), "process %d ", child);
	refuse(-EBUSY, pid);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	comm_store_close(open_store(&c));
	close(pipes[0]);
	close(pipes[1]);
}

/* Whatever name leads to it, a file has one writer, and only a name of its own does. */
static void test_links(void **state)
{
	struct comm_store_config c = config();
	struct comm_store *store;
	char real[128], other[160], pid[32];
	struct stat st;

	(void)state;
	snprintf(pid, sizeof(pid), "process %d ", getpid());
	strcpy(real, path);
	snprintf(other, sizeof(other), "%s/other.db", dir);
	store = open_store(&c);
	assert_int_equal(link(real, other), 0);
	strcpy(path, other);
	refuse(-EBUSY, pid);
	assert_int_equal(unlink(other), 0);
	assert_int_equal(symlink(real, other), 0);
	refuse(-ELOOP, "symbolic link");
	strcpy(path, real);
	comm_store_close(store);
	/* Links to the file, or that the file is, when nobody writes. */
	strcpy(path, other);
	refuse(-ELOOP, "symbolic link");
	assert_int_equal(unlink(other), 0);
	assert_int_equal(link(real, other), 0);
	refuse(-EMLINK, "hard links");
	assert_int_equal(unlink(real), 0);
	comm_store_close(open_store(&c));
	/* An empty file of somebody else does not become a store. */
	assert_int_equal(rename(other, real), 0);
	put("", 0);
	assert_int_equal(chmod(other, 0600), 0);
	strcpy(path, real);
	assert_int_equal(unlink(real), 0);
	assert_int_equal(symlink(other, real), 0);
	refuse(-ELOOP, "symbolic link");
	assert_int_equal(stat(other, &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	/* A link in the directory's path is no other file. */
	snprintf(other, sizeof(other), "%s/directory", dir);
	assert_int_equal(symlink(dir, other), 0);
	snprintf(path, sizeof(path), "%s/directory/new.db", dir);
	comm_store_close(open_store(&c));
}

/* What stands beside the store under a name that it uses is replaced or refused, never written. */
/* What another user has put into a directory where all may is not written to. */
static void test_planted(void **state)
{
	static const char *const suffixes[] = {"-wal", "-shm", "-journal", ""};
	struct comm_store_config c = config();
	struct comm_store *store;
	char name[160], *err;
	int fd;

	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(chmod(dir, 01777), 0);
	comm_store_close(open_store(&c));
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
		fd = open(name, O_RDWR | O_CREAT, 0666);
		assert_int_equal(*suffixes[i] ? write(fd, "planted", 7) : 7, 7);
		assert_int_equal(close(fd), 0);
		assert_int_equal(chown(name, 65534, 65534), 0);
		if (!comm_store_open(&c, &store, &err))
			fail_msg("%s", suffixes[i]);
		if (!*suffixes[i])
			assert_non_null(strstr(err, "another user made it"));
		free(err);
		assert_int_equal(unlink(name), 0);
	}
	/* In a directory of one's own it may be another's: root's, at a store of a user. */
	assert_int_equal(chmod(dir, 0755), 0);
	comm_store_close(open_store(&c));
	assert_int_equal(chown(path, 65534, 65534), 0);
	comm_store_close(open_store(&c));
}

static void test_links_beside(void **state)
{
	static const char *const suffixes[] = {"-ballast", "-wal", "-shm", "-journal"};
	struct comm_store_config c = config();
	char victim[160], name[160], text[16];
	struct stat st;

	(void)state;
	snprintf(victim, sizeof(victim), "%s/victim", dir);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		for (int kind = 0; kind < 3; kind++) {
			struct comm_store *store;
			char *err;
			int fd;

			fd = open(victim, O_RDWR | O_CREAT | O_TRUNC, 0600);
			assert_int_equal(write(fd, "precious", 8), 8);
			close(fd);
			snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
			assert_int_equal(kind == 0   ? link(victim, name)
					 : kind == 1 ? symlink(victim, name)
						     : mkfifo(name, 0600),
					 0);
			if (comm_store_open(&c, &store, &err) == 0) {
				begin(store);
				comm_store_close(store);
			} else {
				free(err);
			}
			fd = open(victim, O_RDONLY);
			assert_int_equal(read(fd, text, sizeof(text)), 8);
			assert_int_equal(fstat(fd, &st), 0);
			assert_int_equal(st.st_mode & 0777, 0600);
			close(fd);
			unlink(name);
			unlink(path);
		}
	}
}

/* The file is taken away while a run is written: noticed with the next slice. */
static void test_taken_away(void **state)
{
	struct comm_store_config c = config();
	struct comm_edge edges[500];
	char moved[160], real[128];
	struct comm_store *store;

	(void)state;
	fill(edges, 500, 0);
	snprintf(moved, sizeof(moved), "%s/moved.db", dir);
	strcpy(real, path);
	/* Moved: all of the run is in the moved file, and nothing is left behind. */
	store = open_store(&c);
	begin(store);
	assert_int_equal(write_at(store, 0, edges, 500), 0);
	assert_int_equal(comm_store_lost(store), 0);
	assert_int_equal(rename(path, moved), 0);
	assert_int_equal(write_at(store, 1, edges, 500), 0);
	assert_int_equal(comm_store_lost(store), -ESTALE);
	assert_int_equal(comm_store_end_run(store, START + 2 * SECOND, "moved"), 0);
	comm_store_close(store);
	strcpy(path, moved);
	assert_true(query("SELECT count(*) FROM slice WHERE level = 0") == 2);
	assert_true(query("SELECT how = 'moved' FROM run") == 1);
	assert_true(read_bytes() == 2 * fill(edges, 500, 0));
	strcpy(path, real);
	assert_int_equal(mode_of("-wal") + mode_of("-shm") + mode_of("-ballast"), 0);
	/* Deleted. */
	store = open_store(&c);
	begin(store);
	assert_int_equal(unlink(path), 0);
	write_at(store, 1, edges, 500);
	assert_int_equal(comm_store_lost(store), -ENOENT);
	comm_store_close(store);
	assert_int_equal(mode_of("-wal") + mode_of("-shm") + mode_of("-ballast"), 0);
	/* Replaced by another store: that one is left alone. */
	store = open_store(&c);
	begin(store);
	assert_int_equal(rename(moved, path), 0);
	write_at(store, 1, edges, 500);
	assert_int_equal(comm_store_lost(store), -ENOENT);
	comm_store_close(store);
	assert_true(query("SELECT count(*) FROM slice WHERE level = 0") == 2);
	/* Cut: nothing is written any more, or the rest would be damaged as well. */
	store = open_store(&c);
	begin(store);
	assert_int_equal(write_at(store, 0, edges, 500), 0);
	assert_int_equal(truncate(path, 8192), 0);
	assert_int_equal(write_at(store, 1, edges, 500), -ENODATA);
	assert_int_equal(comm_store_lost(store), -ENODATA);
	assert_int_equal(comm_store_end_run(store, START + 2 * SECOND, "cut"), -ENODATA);
	comm_store_close(store);
	refuse(-EUCLEAN, "damaged");
}

/* SQLite's log is cut: the next slice would be written behind a hole, and with it into the store. */
static void test_log_is_cut(void **state)
{
	struct comm_store_config c = config();
	struct comm_edge edges[500];
	struct comm_store *store = open_store(&c);
	struct stat st;
	char log[160];
	sqlite3 *db;

	(void)state;
	fill(edges, 500, 0);
	snprintf(log, sizeof(log), "%s-wal", path);
	begin(store);
	assert_int_equal(write_at(store, 0, edges, 500), 0);
	/* Not by a checkpoint, which another program may ask for at any time. */
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "SELECT count(*) FROM slice; PRAGMA wal_checkpoint(TRUNCATE)",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(stat(log, &st), 0);
	assert_int_equal(st.st_size, 0);
	sqlite3_close(db);
	assert_int_equal(write_at(store, 1, edges, 500), 0);
	assert_int_equal(comm_store_lost(store), 0);
	assert_int_equal(write_at(store, 2, edges, 500), 0);
	assert_int_equal(truncate(log, 8192), 0);
	assert_int_equal(write_at(store, 3, edges, 500), -ENODATA);
	assert_int_equal(comm_store_lost(store), -ENODATA);
	assert_int_equal(comm_store_end_run(store, START + 4 * SECOND, "cut"), -ENODATA);
	comm_store_close(store);
	/* What the store had by the checkpoint. */
	assert_true(query("SELECT count(*) FROM slice WHERE level = 0") >= 1);
	assert_true(query("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> "
			  "'ok'") == 0);
}

/* Runs fn as user nobody, who may not write here. */
static void as_nobody(void (*fn)(void))
{
	pid_t child = fork();
	int status;

	if (!child) {
		if (!geteuid() && (setgid(65534) || setuid(65534)))
			_exit(2);
		fn();
		_exit(0);
	}
	waitpid(child, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void refused_for_permission(void)
{
	struct comm_store_config c = config();
	struct comm_store *store;
	char *err = NULL;
	int code = comm_store_open(&c, &store, &err);

	if (code != -EACCES || !err || !strstr(err, "permission")) {
		fprintf(stderr, "%d: %s\n", code, err ? err : "");
		_exit(1);
	}
	free(err);
}

static void read_as_nobody(void)
{
	struct comm_reader *reader;
	struct comm_runs *runs;
	char *err = NULL;

	if (comm_reader_open(path, &reader, &err) || comm_reader_runs(reader, &runs, &err) ||
	    comm_runs_count(runs) != 1 || comm_runs_at(runs, 0)->samples != 50) {
		fprintf(stderr, "%s\n", err ? err : "wrong runs");
		_exit(1);
	}
	comm_runs_free(runs);
	comm_reader_close(reader);
}

static void test_permissions(void **state)
{
	struct comm_store_config c = config();
	struct comm_edge edges[10];
	struct comm_store *store;

	(void)state;
	make_finished(5);
	chmod(path, 0400);
	chmod(dir, 0500);
	as_nobody(refused_for_permission);
	chmod(dir, 0755);
	if (geteuid())
		return;
	/* Readers need no write permission, neither for the store nor for its directory. */
	chmod(path, 0644);
	as_nobody(refused_for_permission);
	as_nobody(read_as_nobody);
	/* A reader also works beside a live writer. */
	unlink(path);
	store = open_store(&c);
	begin(store);
	for (int i = 0; i < 5; i++) {
		fill(edges, 10, i);
		assert_int_equal(write_at(store, i, edges, 10), 0);
	}
	chmod(path, 0644);
	snprintf(path + strlen(path), 8, "-wal");
	chmod(path, 0644);
	strcpy(path + strlen(path) - 4, "-shm");
	chmod(path, 0644);
	path[strlen(path) - 4] = '\0';
	as_nobody(read_as_nobody);
	comm_store_close(store);
}

static void test_read_only_file_system(void **state)
{
	(void)state;
	if (mount("none", dir, "tmpfs", 0, "size=4m") < 0) {
		print_message("skipped: mounting a tmpfs needs root\n");
		skip();
	}
	make_finished(5);
	assert_int_equal(mount("none", dir, NULL, MS_REMOUNT | MS_RDONLY, "size=4m"), 0);
	refuse(-EROFS, "read-only");
	assert_true(read_bytes() > 0);
	umount2(dir, MNT_DETACH);
}

static void test_stores_what_it_is_given(void **state)
{
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_edge edge = {.src_thread = 1,
				 .dst_thread = 2,
				 .src_site = 2,
				 .dst_site = 3,
				 .object = 4,
				 .bursts = 9,
				 .level = 3,
				 .bytes = 0.1,
				 .variance = 2.5,
				 .first_bytes = 0.05,
				 .first_variance = 1e300};

	(void)state;
	assert_int_equal(comm_store_end_run(store, 1, "early"), -EINVAL);
	assert_int_equal(write_at(store, 0, &edge, 1), -EINVAL);
	assert_int_equal(begin(store), 1);
	assert_int_equal(write_at(store, 0, &edge, 1), 0);
	assert_true(query("SELECT bytes FROM edge WHERE src_thread = 1 AND dst_thread = 2 AND"
			  " src_context = 2 AND dst_context = 3 AND object = 4 AND bursts = 9 AND"
			  " level = 3 AND variance = 2.5 AND first_bytes = 0.05 AND"
			  " first_variance = 1e300") == 0.1);
	assert_true(query("SELECT n FROM loss WHERE cause = 'late'") == 2);
	assert_true(query("SELECT unwritten_bytes * 10 + unwritten_first_bytes FROM slice") == 73);
	assert_true(query("SELECT end_ns IS NULL AND how IS NULL FROM run") == 1);

	/* A thread that was renamed and ended; an object that grew. */
	snprintf(names->thread[1].name, sizeof(names->thread[1].name), "renamed-7");
	names->thread[1].end_ns = 77;
	names->object[4].size_bytes = 16;
	assert_int_equal(write_at(store, 1, &edge, 1), 0);
	assert_true(query("SELECT end_ns FROM thread WHERE id = 1 AND name = 'renamed-7'"
			  " AND role = 'renamed'") == 77);
	assert_true(query("SELECT size_bytes FROM object WHERE id = 4") == 16);
	assert_int_equal(comm_store_end_run(store, START + 2 * SECOND, "target exited"), 0);
	assert_true(query("SELECT how = 'target exited' AND end_ns = 1002000000000 FROM run") == 1);

	/* Functions, sites and contexts are the same ones in the next run. */
	assert_int_equal(begin(store), 2);
	assert_int_equal(write_at(store, 0, &edge, 1), 0);
	assert_true(query("SELECT count(*) FROM site") == 2 + 2);
	assert_true(query("SELECT count(*) FROM context") == 2 + 2);
	assert_true(query("SELECT count(*) FROM function") == 2 + 2);
	comm_store_close(store);
}

/* A place in the table of threads is given again: each thread has a row, by its id. */
static const struct comm_object *same_object(const void *ctx, uint32_t id)
{
	static const struct comm_object object = {.kind = COMM_OBJECT_HEAP, .name = "[heap]"};

	(void)ctx;
	(void)id;
	return &object;
}

/* More ends than have room in a row: the largest are kept, and no byte is lost. */
static void test_many_unwritten_ends(void **state)
{
	enum { ENDS = 30000 };
	struct comm_unwritten_end *end = calloc(ENDS, sizeof(*end));
	struct comm_slice_info info = {
		.start_ns = START,
		.end_ns = START + SECOND,
		.unwritten = {.bytes = 7.0 * ENDS, .end = end, .n_ends = ENDS},
	};
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_naming naming = made_naming(names);

	(void)state;
	naming.n_objects = 1 + ENDS / 6;
	naming.object_at = same_object;
	for (uint32_t i = 0; i < ENDS; i++)
		end[i] = (struct comm_unwritten_end){1 + i / 5000, 2, 1 + i % 5000, 7, 0};
	assert_int_equal(begin(store), 1);
	assert_int_equal(comm_store_write_slice(store, &info, NULL, 0, &naming), 0);
	assert_true(query("SELECT length(ends) > 5000 FROM unwritten") == 1);
	assert_true(query("SELECT unwritten_bytes FROM slice") == 7.0 * ENDS);
	comm_store_close(store);
	free(end);
}

static int write_empty(struct comm_store *store, int second)
{
	const struct comm_slice_info info = {.start_ns = START + second * SECOND,
					     .end_ns = START + (second + 1) * SECOND,
					     .daemon_ns = 100,
					     .loss = {[COMM_LOSS_LATE] = 2}};
	struct comm_naming naming = made_naming(names);

	return comm_store_write_slice(store, &info, NULL, 0, &naming);
}

/* Slices without a sample wait for the next, or for their time to be over; none is lost. */
static void test_empty_slices(void **state)
{
	struct comm_store_config c = config();
	struct comm_edge edge = {.src_thread = 1, .dst_thread = 2, .bytes = 1, .bursts = 1};
	struct comm_store *store;

	(void)state;
	c.empty_ns = 5 * SECOND;
	store = open_store(&c);
	begin(store);
	for (int i = 0; i < 3; i++)
		assert_int_equal(write_empty(store, i), 1);
	assert_true(query("SELECT count(*) FROM slice") == 0);
	assert_int_equal(write_at(store, 3, &edge, 1), 0);
	assert_true(query("SELECT count(*) FROM slice") == 4);
	assert_true(query("SELECT total(n) FROM loss") == 3 * 2 + 2);
	for (int i = 4; i < 8; i++)
		assert_int_equal(write_empty(store, i), 1);
	assert_int_equal(write_empty(store, 8), 0);
	assert_true(query("SELECT count(*) FROM slice") == 9);
	assert_int_equal(write_empty(store, 9), 1);
	assert_int_equal(comm_store_end_run(store, START + 10 * SECOND, "duration"), 0);
	assert_true(query("SELECT count(*) FROM slice WHERE level = 0") == 10);
	assert_true(query("SELECT total(daemon_ns) FROM slice WHERE level = 0") == 9 * 100);
	/* Each in the wide slice, once. */
	assert_true(query("SELECT total(daemon_ns) FROM slice WHERE level = 1") == 9 * 100);
	assert_true(query("SELECT count(*) FROM (SELECT DISTINCT start_ns FROM slice WHERE level = "
			  "0)") == 10);
	comm_store_close(store);
}

static void test_thread_of_a_later_round(void **state)
{
	enum { LATER = 1 + 2 * COMM_THREADS_MAX, NEVER = 1 + 3 * COMM_THREADS_MAX };
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_edge edges[] = {
		{.src_thread = 1, .dst_thread = LATER, .bytes = 1, .bursts = 1},
		{.src_thread = NEVER, .dst_thread = LATER, .bytes = 2, .bursts = 1},
		{.src_thread = LATER, .dst_thread = UINT32_MAX, .bytes = 4, .bursts = 1},
	};

	(void)state;
	begin(store);
	assert_int_equal(write_at(store, 0, edges, 1), 0);
	assert_true(query("SELECT count(*) FROM thread WHERE id > 65536") == 0);
	names->thread[1].round = 2;
	names->thread[1].tid = 777;
	assert_int_equal(write_at(store, 1, edges, 3), 0);
	assert_true(query("SELECT tid FROM thread WHERE id = 131073") == 777);
	assert_true(query("SELECT count(*) FROM thread WHERE id = 1 AND tid <> 777") == 1);
	assert_true(query("SELECT bytes FROM edge WHERE src_thread = 1 AND dst_thread = 131073") ==
		    1);
	assert_true(query("SELECT bytes FROM edge WHERE src_thread = 0 AND dst_thread = 131073") ==
		    2);
	assert_true(query("SELECT bytes FROM edge WHERE src_thread = 131073 AND dst_thread = 0") ==
		    4);
	comm_store_close(store);
}

/* A line that reads two fields is two contexts of one site. */
static void test_types(void **state)
{
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_edge edge = {.src_site = 2, .dst_site = 3, .bytes = 1, .bursts = 1};

	(void)state;
	assert_int_equal(begin(store), 1);
	names->site[2].type = "struct client";
	names->site[2].field = "querybuf";
	names->site[2].field_offset = 72;
	names->site[3] = names->site[2];
	names->site[3].field = "";
	names->site[3].field_offset = 0;
	assert_int_equal(write_at(store, 0, &edge, 1), 0);
	comm_store_close(store);
	assert_true(query("SELECT count(*) FROM context c JOIN type t ON t.id = c.type"
			  " WHERE t.name = 'struct client'") == 2);
	assert_true(query("SELECT count(DISTINCT site) FROM context WHERE type > 1") == 1);
	assert_true(query("SELECT offset FROM type WHERE field = 'querybuf'") == 72);
	assert_true(query("SELECT count(*) FROM context WHERE type < 1") == 0);
}

/* Code whose name, and whose caller's, come when its slice is stored already. */
static void test_names_that_come_later(void **state)
{
	static const char same[] = "SELECT count(*) FROM edge JOIN context c ON c.id = src_context"
				   " JOIN site s ON s.id = c.site"
				   " JOIN function f ON f.id = s.function WHERE f.name = 'late'";
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_edge edge = {.src_site = 2, .dst_site = 3, .bytes = 1, .bursts = 1};
	uint32_t own = made_function(names, "[unknown]", "m", 0);
	uint32_t late = made_function(names, "late", "m", 0x40), call = made_call(names, 1, own);
	uint32_t function = names->site[2].function;

	(void)state;
	assert_int_equal(begin(store), 1);
	names->function[own].pending = true;
	names->site[2].function = own;
	names->site[2].pending = 1;
	names->site[3].caller = call;
	assert_int_equal(write_at(store, 0, &edge, 1), 0);
	assert_true(query(same) == 0);
	/* The same code, by another site that is named at once. */
	names->site[4] = names->site[2];
	names->site[4].pending = 0;
	names->site[4].function = late;
	edge.src_site = 4;
	assert_int_equal(write_at(store, 1, &edge, 1), 0);
	assert_true(query(same) == 1);
	names->function[own] = names->function[late];
	names->site[2].function = late;
	names->site[2].pending = 0;
	edge.src_site = 2;
	assert_int_equal(write_at(store, 2, &edge, 1), 0);
	assert_true(query(same) == 3);
	assert_true(query("SELECT count(DISTINCT c.site) FROM edge JOIN context c"
			  " ON c.id = src_context") == 1);
	assert_true(
		query("SELECT count(*) FROM edge JOIN context c ON c.id = dst_context JOIN call k"
		      " ON k.id = c.caller JOIN function f ON f.id = k.function"
		      " WHERE f.name = 'late'") == 3);
	names->site[2].function = function;
	names->site[3].caller = COMM_CALL_UNKNOWN;
	comm_store_close(store);
}

/* An inner region may come first, and one of a damaged file may be its own parent. */
static void test_regions(void **state)
{
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_edge edge = {.src_site = 2, .dst_site = 3, .bytes = 1, .bursts = 1};
	uint32_t inner = made_region(names, 3, "inner"), outer = made_region(names, 0, "outer");
	uint32_t round = made_region(names, 4, "round");

	(void)state;
	assert_true(inner == 2 && outer == 3 && round == 4);
	assert_int_equal(begin(store), 1);
	names->site[2].region = inner;
	names->site[3].region = round;
	assert_int_equal(write_at(store, 0, &edge, 1), 0);
	assert_true(query("SELECT count(*) FROM edge JOIN context c ON c.id = src_context"
			  " JOIN region r ON r.id = c.region JOIN region p ON p.id = r.parent"
			  " WHERE r.name = 'inner' AND p.name = 'outer' AND p.parent = 0") == 1);
	assert_true(query("SELECT count(*) FROM edge JOIN context c ON c.id = dst_context"
			  " JOIN region r ON r.id = c.region WHERE r.name = 'round'") == 1);
	assert_true(query("SELECT count(*) FROM region") <= 2 + 2 + 128);
	names->site[2].region = names->site[3].region = COMM_CODE_REGION_NONE;
	comm_store_close(store);
}

static void test_runs_say_what_they_are(void **state)
{
	const struct comm_error_model model = {
		.sampled_ends = 1.5, .factor_sd = 0.25, .confusion_sd = 0.125, .doubt_sd = 3};
	struct comm_run_info info = {.estimator = "test", .error_model = &model};
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	int64_t run;

	(void)state;
	assert_int_equal(comm_store_begin_run(store, &info, &run), 0);
	assert_true(query("SELECT sampled_ends = 1.5 AND factor_sd = 0.25 AND"
			  " confusion_sd = 0.125 AND doubt_sd = 3 FROM run") == 1);
	assert_int_equal(comm_store_begin_run(store, &info, &run), 0);
	/* Version 4, variant 10 (RFC 4122), and another one for each run. */
	assert_true(query("SELECT count(DISTINCT uuid) FROM run WHERE uuid LIKE"
			  " '________-____-4___-____-____________'"
			  " AND substr(uuid, 20, 1) IN ('8', '9', 'a', 'b')"
			  " AND uuid NOT GLOB '*[^-0-9a-f]*'") == 2);
	/*
	 * A run without an error model is refused, as its errors are unknown and not
	 * none; no estimator's model is the exact one.
	 */
	info.error_model = NULL;
	assert_int_equal(comm_store_begin_run(store, &info, &run), -EINVAL);
	for (size_t i = 0; comm_estimators[i]; i++)
		assert_false(comm_error_model_is_exact(&comm_estimators[i]->error_model));
	comm_store_close(store);
}

/* In thousandths of the bytes without guesses, and no more than all of them. */
static void test_doubts(void **state)
{
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_edge edge = {.src_thread = 1,
				 .dst_thread = 2,
				 .bytes = 300,
				 .guess_bytes = 100,
				 .bursts = 1,
				 .doubts = {.thread = 50, .role = 1, .side = 0.04f, .code = 201}};

	(void)state;
	assert_int_equal(begin(store), 1);
	assert_int_equal(write_at(store, 0, &edge, 1), 0);
	edge.doubts = (struct comm_doubts){.thread = NAN, .role = -1, .code = INFINITY};
	assert_int_equal(write_at(store, 1, &edge, 1), 0);
	assert_true(query("SELECT count(*) FROM edge WHERE thread_doubt = 250 AND role_doubt = 5"
			  " AND side_doubt = 0 AND code_doubt = 1000") == 1);
	assert_true(query("SELECT count(*) FROM edge WHERE thread_doubt = 0 AND role_doubt = 0"
			  " AND side_doubt = 0 AND code_doubt = 1000") == 1);
	comm_store_close(store);
}

static void test_survives_nonsense(void **state)
{
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_edge edges[] = {
		{.src_thread = 1, .dst_thread = 2, .bytes = NAN, .variance = NAN},
		{.src_thread = 1, .dst_thread = 3, .bytes = INFINITY, .first_bytes = -INFINITY},
		{.src_thread = 1, .dst_thread = 4, .bytes = -5},
		{.src_thread = 4000000000U, .dst_thread = 1, .src_site = 4000000000U, .bytes = 3},
		{.src_thread = 1, .dst_thread = 2, .object = 4000000000U, .bytes = 4},
		/* The same key twice. */
		{.src_thread = 5, .dst_thread = 6, .bytes = 10, .bursts = UINT32_MAX},
		{.src_thread = 5, .dst_thread = 6, .bytes = 20, .bursts = 7},
	};

	(void)state;
	begin(store);
	assert_int_equal(write_at(store, 0, edges, 7), 0);
	assert_true(query("SELECT sum(bytes) FROM edge") == 37);
	assert_true(query("SELECT bytes FROM edge WHERE src_thread = 0 AND dst_thread = 1") == 3);
	assert_true(query("SELECT bytes FROM edge WHERE src_thread = 5") == 30);
	assert_true(query("SELECT bursts FROM edge WHERE src_thread = 5") == UINT32_MAX);
	assert_int_equal(write_at(store, 1, NULL, 0), 0);
	comm_store_close(store);
}

static void test_kill(void **state)
{
	struct comm_store_config c = config();
	struct comm_report *report;
	struct comm_query q = COMM_QUERY_INIT;
	struct comm_edge edges[500];
	int pipes[2], status, n = 0;
	char byte;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	child = fork();
	if (!child) {
		struct comm_store *store = open_store(&c);

		begin(store);
		for (int i = 0;; i++) {
			fill(edges, 500, 1);
			if (write_at(store, i, edges, 500) || write(pipes[1], "x", 1) != 1)
				_exit(1);
		}
	}
	close(pipes[1]);
	while (n < 100 && read(pipes[0], &byte, 1) == 1)
		n++;
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	/* Slices that the killed writer reported as stored must be there, too. */
	while (read(pipes[0], &byte, 1) == 1)
		n++;
	close(pipes[0]);
	report = report_of(&q);
	assert_int_equal(report->run->state, COMM_RUN_UNFINISHED);
	assert_string_equal(report->run->how, "unfinished");
	assert_true(report->run->slices == (unsigned int)n ||
		    report->run->slices == (unsigned int)n + 1);
	assert_int_equal(report->run->end_ns - report->run->start_ns, report->run->slices * SECOND);
	assert_true(report->read_bytes - report->unwritten_bytes ==
		    fill(edges, 500, 1) * report->run->slices);
	comm_report_free(report);
	make_finished(2);
	assert_true(query("SELECT count(*) FROM run") == 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_files_have_their_mode),
		TEST(test_refuses_what_is_not_ours),
		TEST(test_one_writer),
		TEST(test_links),
		TEST(test_links_beside),
		TEST(test_planted),
		TEST(test_taken_away),
		TEST(test_log_is_cut),
		TEST(test_permissions),
		TEST(test_read_only_file_system),
		TEST(test_stores_what_it_is_given),
		TEST(test_many_unwritten_ends),
		TEST(test_empty_slices),
		TEST(test_thread_of_a_later_round),
		TEST(test_types),
		TEST(test_names_that_come_later),
		TEST(test_regions),
		TEST(test_runs_say_what_they_are),
		TEST(test_doubts),
		TEST(test_survives_nonsense),
		TEST(test_kill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
