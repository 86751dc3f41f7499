// SPDX-License-Identifier: GPL-2.0-or-later
/* The log of accesses: what the engine decodes stands in the file, in both forms. */
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "made_engine.h"

enum { FILE_BYTES = 1 << 20 };

/* mov (%rbx),%eax; mov %eax,(%rcx); lock incl (%rcx); hlt */
static const uint8_t three[] = {0x8b, 0x03, 0x89, 0x01, 0xf0, 0xff, 0x01, 0xf4};

static char path[64];
static struct comm_access_log *accesses;
static uint8_t file[FILE_BYTES + 1];
static size_t file_bytes;

static void begin_logged(const char *name)
{
	const struct comm_access_file_head head = {
		.start_ns = START, .start_unix_ns = 77, .cycles_per_ns = CYCLES_PER_NS};
	struct comm_engine_config config = {
		.inspect = &inspect,
		.estimator = &noting,
		.est = {.granularity_bytes = 16, .memory_bytes = 1, .cycles_per_ns = CYCLES_PER_NS},
		.slice_ns = SLICE,
		.start_ns = START,
	};

	snprintf(path, sizeof(path), "/tmp/test_access_log.%d%s", (int)getpid(), name);
	assert_int_equal(comm_access_log_create(path, &head, &accesses), 0);
	config.accesses = accesses;
	assert_int_equal(comm_engine_create(&config, &engine), 0);
	memcpy(world.text, three, sizeof(three));
}

static void end_logged(void)
{
	comm_access_log_end(accesses, START + SLICE, 0);
}

static void read_file(void)
{
	FILE *in = fopen(path, "r");

	assert_non_null(in);
	file_bytes = fread(file, 1, FILE_BYTES, in);
	file[file_bytes] = '\0';
	fclose(in);
}

static int log_setup(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	memset(world.text, 0xf4, sizeof(world.text));
	world.name = "worker";
	return 0;
}

static int log_teardown(void **state)
{
	comm_access_log_destroy(accesses);
	accesses = NULL;
	unlink(path);
	return teardown(state);
}

/* The next record behind *at of that kind, which must be there. */
static const void *next_record(size_t *at, enum comm_accesses_kind kind)
{
	for (;;) {
		struct comm_accesses_record head;

		assert_true(*at + sizeof(head) <= file_bytes);
		memcpy(&head, file + *at, sizeof(head));
		assert_int_equal(head.bytes % 8, 0);
		*at += sizeof(head) + head.bytes;
		assert_true(*at <= file_bytes);
		if (head.kind == kind)
			return file + *at - head.bytes;
	}
}

static void give_rate(enum comm_trigger trigger, uint64_t period)
{
	give(&(struct comm_event){
		.kind = COMM_EV_RATE, .time_ns = START, .trigger = trigger, .period = period});
}

static void each_access_is_a_row(void **state)
{
	const struct comm_sample sample = sample_at(TEXT);
	const struct comm_accesses_file *head = (const void *)file;
	const struct comm_accesses_function *function;
	const struct comm_accesses_object *object;
	const struct comm_accesses_row *row;
	const struct comm_accesses_end *end;
	const uint64_t addr[] = {HEAP, SHARED, SHARED, SHARED};
	const uint16_t flags[] = {COMM_ACCESSES_READ, COMM_ACCESSES_WRITE,
				  COMM_ACCESSES_READ | COMM_ACCESSES_ATOMIC,
				  COMM_ACCESSES_WRITE | COMM_ACCESSES_ATOMIC};
	const uint32_t insn[] = {0, 1, 2, 2};
	size_t at = sizeof(*head), names;
	struct stat st;

	(void)state;
	umask(0);
	begin_logged(".acc");
	give_rate(COMM_TRIGGER_TIME, 1000);
	give_sample(START + 5, SECOND, &sample);
	end_logged();
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	read_file();
	assert_memory_equal(head->magic, COMM_ACCESSES_MAGIC, 8);
	assert_int_equal(head->version, COMM_ACCESSES_VERSION);
	assert_int_equal(head->start_ns, START);
	assert_int_equal(head->start_unix_ns, 77);
	assert_true(head->cycles_per_ns == CYCLES_PER_NS);
	names = at;
	function = next_record(&names, COMM_ACCESSES_FUNCTION);
	assert_string_equal((const char *)(function + 1), "made");
	assert_int_equal(function->name_bytes, 5);
	names = at;
	object = next_record(&names, COMM_ACCESSES_OBJECT);
	assert_string_equal((const char *)(object + 1), "heap");
	for (int i = 0; i < 4; i++) {
		row = next_record(&at, COMM_ACCESSES_ROW);
		assert_int_equal(row->time_ns, START + 5);
		assert_int_equal(row->ip, TEXT + 2 * insn[i]);
		assert_int_equal(row->address, addr[i]);
		assert_int_equal(row->size_bytes, 4);
		assert_int_equal(row->flags, flags[i]);
		assert_int_equal(row->pid, TGID);
		assert_int_equal(row->tid, SECOND);
		assert_int_equal(row->cpu, 3);
		assert_int_equal(row->burst, 1);
		assert_int_equal(row->insn, insn[i]);
		assert_int_equal(row->known,
				 insn[i] ? COMM_ACCESSES_EMULATED : COMM_ACCESSES_DECODED);
		assert_int_equal(row->function, function->id);
		/* At most all of a period's accesses, and more than one: a burst takes less than that. */
		assert_true(row->weight > 1 && row->weight <= 1000 * CYCLES_PER_NS);
		assert_true((row->object == object->id) == !i);
	}
	end = next_record(&at, COMM_ACCESSES_END);
	assert_int_equal(end->rows, 4);
	assert_int_equal(end->end_ns, START + SLICE);
	assert_int_equal(at, file_bytes);
}

static void a_table_says_the_same(void **state)
{
	const struct comm_sample sample = sample_at(TEXT);
	unsigned int n = 0;
	double weight, cycle;

	(void)state;
	begin_logged(".csv");
	give_rate(COMM_TRIGGER_TIME, 1000);
	give_sample(START + 5, SECOND, &sample);
	end_logged();
	read_file();
	for (const uint8_t *at = file; *at; at++)
		n += *at == '\n';
	assert_int_equal(n, 5);
	assert_int_equal(sscanf((const char *)file,
				"time,pid,tid,cpu,ip,function,module,address,bytes,access,flags,"
				"weight,known,object_kind,object,burst,insn,cycle\n"
				"0.001000005,7,8,3,0x400000,\"made\",\"made\",0x600000,4,R,,%lf,"
				"decoded,\"heap\",\"[heap]\",1,0,%lf\n"
				"0.001000005,7,8,3,0x400002,%n",
				&weight, &cycle, &n),
			 2);
	assert_true(weight > 1);
	assert_non_null(strstr((const char *)file, ",0x700000,4,W,atomic,"));
}

/* Of the machine's own samples: what it told comes first, and the burst behind it is one observation with it. */
static void what_the_machine_told_is_measured(void **state)
{
	struct comm_sample sample = sample_at(TEXT);
	const struct comm_accesses_row *row;
	size_t at = sizeof(struct comm_accesses_file);

	(void)state;
	begin_logged(".acc");
	give_rate(COMM_TRIGGER_ACCESSES, 500);
	give_precise(COMM_EV_ACCESS, HEAP + 64, COMM_ACCESS_READ | COMM_ACCESS_BURST);
	give_sample(START, SECOND, &sample);
	give_precise(COMM_EV_ACCESS, HEAP + 72, COMM_ACCESS_WRITE);
	/* Its burst never comes. */
	give_precise(COMM_EV_ACCESS, HEAP + 80, COMM_ACCESS_READ | COMM_ACCESS_BURST);
	comm_engine_finish(engine, START + SLICE);
	end_logged();
	read_file();
	row = next_record(&at, COMM_ACCESSES_ROW);
	assert_int_equal(row->address, HEAP + 64);
	assert_int_equal(row->known, COMM_ACCESSES_MEASURED);
	assert_int_equal(row->tid, SECOND);
	for (int i = 0; i < 4; i++) {
		row = next_record(&at, COMM_ACCESSES_ROW);
		assert_int_not_equal(row->known, COMM_ACCESSES_MEASURED);
		assert_int_equal(row->burst, 1);
		assert_int_equal(row->tid, SECOND);
	}
	for (uint32_t i = 0; i < 2; i++) {
		row = next_record(&at, COMM_ACCESSES_ROW);
		assert_int_equal(row->address, HEAP + 72 + 8 * i);
		assert_int_equal(row->known, COMM_ACCESSES_MEASURED);
		assert_int_equal(row->flags, i ? COMM_ACCESSES_READ : COMM_ACCESSES_WRITE);
		assert_int_equal(row->burst, 2 + i);
		assert_int_equal(row->pid, TGID);
	}
	(void)next_record(&at, COMM_ACCESSES_END);
}

/* Names are the target's. */
static void a_name_is_no_formula_and_no_column(void **state)
{
	const struct comm_accesses_row row = {.flags = COMM_ACCESSES_WRITE | COMM_ACCESSES_REP |
						       COMM_ACCESSES_OWN_STACK};
	const struct comm_function function = {.name = "=cmd(\"a\",b)", .module = "m,n"};
	const struct comm_object object = {.kind = COMM_OBJECT_STACK, .name = "a\"b"};
	struct comm_access_file *out;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/test_access_log.%d.csv", (int)getpid());
	assert_int_equal(comm_access_file_create(path, &(struct comm_access_file_head){0}, &out),
			 0);
	assert_int_equal(comm_access_file_row(out, &row, &function, &object), 0);
	assert_int_equal(comm_access_file_end(out, 1, 0), 0);
	comm_access_file_destroy(out);
	read_file();
	unlink(path);
	assert_non_null(strstr((const char *)file,
			       "0.000000000,0,0,0,0x0,\"'=cmd(\"\"a\"\",b)\",\"m,n\",0x0,0,W,"
			       "rep stack,0,measured,\"stack\",\"a\"\"b\",0,0,0\n"));
}

/* A name that comes later is told again, once. */
static void a_function_is_named_again_when_it_is_known(void **state)
{
	const struct comm_accesses_row row = {.function = 5};
	struct comm_function function = {.name = "?", .pending = true};
	const struct comm_object object = {.name = ""};
	const struct comm_accesses_function *told;
	struct comm_access_file *out;
	size_t at = sizeof(struct comm_accesses_file);

	(void)state;
	snprintf(path, sizeof(path), "/tmp/test_access_log.%d.acc", (int)getpid());
	assert_int_equal(comm_access_file_create(path, &(struct comm_access_file_head){0}, &out),
			 0);
	assert_int_equal(comm_access_file_row(out, &row, &function, &object), 0);
	assert_int_equal(comm_access_file_row(out, &row, &function, &object), 0);
	function.name = "parse";
	function.pending = false;
	assert_int_equal(comm_access_file_row(out, &row, &function, &object), 0);
	assert_int_equal(comm_access_file_row(out, &row, &function, &object), 0);
	assert_int_equal(comm_access_file_end(out, 1, 0), 0);
	comm_access_file_destroy(out);
	read_file();
	unlink(path);
	told = next_record(&at, COMM_ACCESSES_FUNCTION);
	assert_string_equal((const char *)(told + 1), "?");
	told = next_record(&at, COMM_ACCESSES_FUNCTION);
	assert_string_equal((const char *)(told + 1), "parse");
	assert_int_equal(told->id, 5);
	while (at + 24 < file_bytes)
		(void)next_record(&at, COMM_ACCESSES_ROW);
	(void)next_record(&at, COMM_ACCESSES_END);
	assert_int_equal(at, file_bytes);
}

/* A limit on the file's size stands in for a full disk. */
static void a_full_disk_is_counted(void **state)
{
	const struct rlimit small = {2000, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
	const struct comm_sample sample = sample_at(TEXT);
	int err;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	begin_logged(".acc");
	for (int i = 0; i < 10; i++)
		give_sample(START + 5, SECOND, &sample);
	comm_access_log_look(accesses, START + 500 * SLICE);
	assert_int_equal(comm_access_log_lost(accesses, &err), 0);
	assert_int_equal(err, EFBIG);
	give_sample(START + 6, SECOND, &sample);
	assert_int_equal(comm_access_log_lost(accesses, &err), 4);
	assert_int_equal(lost(COMM_LOSS_ACCESSES), 4);
	assert_int_equal(world.n_bursts, 11);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
}

static void a_file_that_is_deleted_is_an_error(void **state)
{
	int err;

	(void)state;
	begin_logged(".acc");
	comm_access_log_look(accesses, START + 500 * SLICE);
	comm_access_log_lost(accesses, &err);
	assert_int_equal(err, 0);
	unlink(path);
	comm_access_log_look(accesses, START + 1000 * SLICE);
	comm_access_log_lost(accesses, &err);
	assert_int_equal(err, ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_access_is_a_row, log_setup, log_teardown),
		cmocka_unit_test_setup_teardown(a_table_says_the_same, log_setup, log_teardown),
		cmocka_unit_test_setup_teardown(what_the_machine_told_is_measured, log_setup,
						log_teardown),
		cmocka_unit_test(a_name_is_no_formula_and_no_column),
		cmocka_unit_test(a_function_is_named_again_when_it_is_known),
		cmocka_unit_test_setup_teardown(a_full_disk_is_counted, log_setup, log_teardown),
		cmocka_unit_test_setup_teardown(a_file_that_is_deleted_is_an_error, log_setup,
						log_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
