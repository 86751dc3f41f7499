// SPDX-License-Identifier: GPL-2.0-or-later
/* What nodes are called on a terminal. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "label.h"
#include "term.h"

/* A report of the test's own, in place of the library's. */
struct made {
	struct comm_report report;
	struct comm_node node[4];
};

const struct comm_node *comm_report_node_at(const struct comm_report *report, size_t i)
{
	return &((const struct made *)report)->node[i];
}

static void add_line(struct made *made, const char *function, const char *inlined,
		     const char *call_source, uint32_t call_line)
{
	made->node[made->report.n_nodes++] = (struct comm_node){.kind = COMM_NODE_LINE,
								.name = function,
								.module = "prog",
								.source = "net/get.c",
								.line = 7,
								.inlined = inlined,
								.call_source = call_source,
								.call_line = call_line,
								.read_bytes = 1};
}

static void test_inlined_once(void **state)
{
	struct made made = {0};
	struct ctl_labels labels;

	(void)state;
	add_line(&made, "read_all", "get", "net/all.c", 12);
	add_line(&made, "get", "", "", 0);
	assert_int_equal(ctl_labels_init(&labels, &made.report), 0);
	assert_string_equal(labels.text[0], "get.c:7 get (inlined)");
	assert_string_equal(labels.text[1], "get.c:7 get");
	ctl_labels_deinit(&labels);
}

static void test_inlined_often(void **state)
{
	struct made made = {0};
	struct ctl_labels labels;

	(void)state;
	add_line(&made, "read_all", "get", "net/all.c", 12);
	add_line(&made, "read_all", "get", "net/all.c", 31);
	add_line(&made, "read_one(struct a_rather_long_name, int, long, char)", "get", "", 0);
	assert_int_equal(ctl_labels_init(&labels, &made.report), 0);
	assert_string_equal(labels.text[0], "get.c:7 get (inlined at all.c:12 in read_all)");
	assert_string_equal(labels.text[1], "get.c:7 get (inlined at all.c:31 in read_all)");
	assert_string_equal(labels.text[2], "get.c:7 get (inlined in read_one(..))");
	ctl_labels_deinit(&labels);
}

/* Characters are whole, and as wide as the terminal shows them. */
static void test_wide(void **state)
{
	static const struct {
		const char *name;
		int width;
		const char *cut;
	} names[] = {
		{"größe_schreiben", 15, "größe_schreiben"},
		{"größe_schreiben", 7, "größe.."},
		{"読み込み/7", 10, "読み込み/7"},
		{"読み込み/7", 9, "読み../7"},
		{"読み込み/7", 8, "読み../7"},
		{"読み込み/7", 7, "読../7"},
		{"a\xff\xe2\x80\xae"
		 "b",
		 40, "a\\xff\\u202eb"},
		{"e\xcc\x81", 1, "e\xcc\x81"},
	};
	char text[64];

	(void)state;
	if (!setlocale(LC_CTYPE, "C.UTF-8")) {
		print_message("no locale C.UTF-8\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_string_equal(ctl_clean(text, sizeof(text), names[i].name, names[i].width),
				    names[i].cut);
	assert_int_equal(ctl_columns("読む"), 4);
	assert_int_equal(ctl_field("読む", 10), 12);
	assert_int_equal(ctl_bytes_in("読む", 3), 3);
	setlocale(LC_CTYPE, "C");
	assert_int_equal(ctl_columns("読む"), 12);
	assert_string_equal(ctl_shown(text, sizeof(text), "読む"), "読む");
	assert_string_equal(ctl_shown(text, 9, "読む読む"), "読む..");
}

/* Where a name is cut, the number of its thread is left. */
static void test_cut(void **state)
{
	static const struct {
		const char *name;
		int width;
		const char *cut;
	} names[] = {
		{"postgres: alice shop [local]/20784", 34, "postgres: alice shop [local]/20784"},
		{"postgres: alice shop [local]/20784", 24, "postgres: alice ../20784"},
		{"postgres: alice shop [local]/20784", 10, "po../20784"},
		{"postgres: alice shop [local]/20784", 9, "postgre.."},
		{"a_function_of_a_long_name", 10, "a_functi.."},
		{"a/file/of/a/number/12x", 10, "a/file/o.."},
		{"a/file/of/a/number/12f", 10, "a/file/o.."},
		{"libjemalloc.so.2+0x811ff", 18, "libjemal..+0x811ff"},
		{"libjemalloc.so.2+0x811ff", 11, "libjemall.."},
		{"the sum of this+0xand", 10, "the sum .."},
		{"/12345678901", 10, "/1234567.."},
		{"1234567890123", 10, "12345678.."},
		{"/1234567", 3, "/12"},
		{"\033/1", 6, "\\x1b/1"},
		{"\033/1", 5, ".."},
		{"größe", 40, "gr\\u00f6\\u00dfe"},
		{"größe", 10, "gr\\u00f6.."},
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_string_equal(ctl_clean(text, sizeof(text), names[i].name, names[i].width),
				    names[i].cut);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_wide),
		cmocka_unit_test(test_inlined_once),
		cmocka_unit_test(test_inlined_often),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
