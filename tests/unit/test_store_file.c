// SPDX-License-Identifier: GPL-2.0-or-later
/* The file of a store: what may be one, who may write it, and what becomes of it beside others. */
#include <errno.h>
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

/* What stands beside the store under a name that it uses is replaced or refused, never written. */
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
