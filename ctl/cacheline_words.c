// SPDX-License-Identifier: GPL-2.0-or-later
#include "cacheline_words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"

enum {
	NAME = 40, /* columns, of */
	NAME_BYTES = 80,
	THREAD = 18,
	FIELD = 20,
	PLACE = 60,
	SUMMARY_WORDS = 4, /* that a summary names */
	ADVISED = 8,	   /* objects that are advised about */
	NAMED = 4,	   /* of an object's threads that are named */
	PARAGRAPH = 4096,
};

static bool is_same(const struct comm_report_cacheline_use *a,
		    const struct comm_report_cacheline_use *b, bool is_pool)
{
	return a->byte == b->byte && a->size_bytes == b->size_bytes &&
	       (is_pool ? !strcmp(a->role->id, b->role->id)
			: !strcmp(a->thread->id, b->thread->id));
}

static const char *field_of(const struct comm_report_cacheline_use *use)
{
	bool known = use->type && !use->type->other && *use->type->name != '(';

	return known ? use->type->name : "";
}

/* Is the use, which begins no earlier than the word, of the same field? */
static bool joins(const struct ctl_word *word, const struct comm_report_cacheline_use *use)
{
	const struct comm_report_cacheline_use *first = word->use;
	bool same_who = word->n_threads > 1 ? !strcmp(first->role->id, use->role->id)
					    : !strcmp(first->thread->id, use->thread->id);

	if (!same_who)
		return false;
	if (use->byte == first->byte && use->size_bytes == first->size_bytes)
		return true;
	return use->byte <= word->byte + word->size_bytes &&
	       !strcmp(use->place->name, first->place->name) && !strcmp(field_of(use), word->field);
}

/* How many threads of its role use the bytes of one use, too. */
static size_t count_threads(const struct comm_report *report,
			    const struct comm_report_cacheline *line,
			    const struct comm_report_cacheline_use *of)
{
	const struct comm_report_cacheline_use *use =
		comm_report_cacheline_use_at(report, line->first_use);
	size_t n = 0;

	for (size_t i = 0; i < line->n_uses; i++) {
		size_t j = 0;

		if (!is_same(of, &use[i], true))
			continue;
		while (j < i && !is_same(&use[i], &use[j], false))
			j++;
		n += j == i;
	}
	return n;
}

/* The smallest of the words; n of them. */
static size_t least(const struct ctl_word *word, size_t n)
{
	size_t at = 0;

	for (size_t i = 1; i < n; i++)
		if (word[i].reads + word[i].writes < word[at].reads + word[at].writes)
			at = i;
	return at;
}

static void add(struct ctl_word *word, const struct comm_report_cacheline_use *use,
		const struct comm_report_cacheline_use **most)
{
	uint32_t end = use->byte + use->size_bytes;

	if (end > word->byte + word->size_bytes)
		word->size_bytes = end - word->byte;
	if (!*word->field)
		word->field = field_of(use);
	*(use->writes ? &word->writes : &word->reads) += use->accesses;
	/* Of what is met before a program's files are read, no line is known. */
	if (!*use->place->source < !*(*most)->place->source ||
	    (!*use->place->source == !*(*most)->place->source && use->accesses > word->most)) {
		word->most = use->accesses;
		*most = use;
	}
}

/* The field that begins with the use at i; its uses are taken. */
static void sum(const struct comm_report *report, const struct comm_report_cacheline *line,
		bool pools, size_t i, bool *taken, struct ctl_word *ret)
{
	const struct comm_report_cacheline_use *use =
		comm_report_cacheline_use_at(report, line->first_use);
	const struct comm_report_cacheline_use *most = &use[i];
	size_t n_threads = pools ? count_threads(report, line, most) : 1;

	*ret = (struct ctl_word){.use = most,
				 .byte = most->byte,
				 .size_bytes = most->size_bytes,
				 .field = field_of(most),
				 .n_threads = n_threads >= CTL_POOL ? n_threads : 1};
	for (; i < line->n_uses; i++) {
		if (taken[i] || !joins(ret, &use[i]))
			continue;
		taken[i] = true;
		add(ret, &use[i], &most);
	}
	ret->use = most;
}

size_t ctl_words(const struct comm_report *report, const struct comm_report_cacheline *line,
		 bool pools, struct ctl_word word[CTL_WORDS], size_t *ret_left)
{
	bool *taken = calloc(line->n_uses + 1, sizeof(*taken));
	struct ctl_word next;
	size_t n = 0;

	*ret_left = 0;
	for (size_t i = 0; taken && i < line->n_uses; i++) {
		if (taken[i])
			continue;
		sum(report, line, pools, i, taken, &next);
		if (n == CTL_WORDS) {
			size_t at = least(word, n);

			(*ret_left)++;
			if (next.reads + next.writes <= word[at].reads + word[at].writes)
				continue;
			memmove(&word[at], &word[at + 1], (n - at - 1) * sizeof(*word));
			n--;
		}
		word[n++] = next;
	}
	free(taken);
	return n;
}

const char *ctl_cacheline_name(char text[CTL_CACHELINE_TEXT],
			       const struct comm_report_cacheline *line)
{
	char name[CTL_CACHELINE_TEXT];

	ctl_clean(name, NAME_BYTES + 1, line->object->name, NAME);
	if (line->offset == INT64_MIN)
		snprintf(text, CTL_CACHELINE_TEXT, "%s", name);
	else
		snprintf(text, CTL_CACHELINE_TEXT, "%.80s%c0x%" PRIx64, name,
			 line->offset < 0 ? '-' : '+',
			 line->offset < 0 ? -(uint64_t)line->offset : (uint64_t)line->offset);
	return text;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* "server.c:40 bump" */
static const char *place_text(char text[CTL_CACHELINE_TEXT], const struct comm_node *place)
{
	char name[CTL_CACHELINE_TEXT], source[CTL_CACHELINE_TEXT];

	ctl_clean(name, NAME_BYTES + 1, *place->inlined ? place->inlined : place->name, NAME);
	ctl_clean(source, NAME_BYTES + 1, base_name(place->source), NAME);
	if (*source)
		snprintf(text, CTL_CACHELINE_TEXT, "%.80s:%u %.80s", source, place->line, name);
	else
		snprintf(text, CTL_CACHELINE_TEXT, "%.80s", name);
	return text;
}

/* "worker/1234" */
static const char *thread_text(char text[CTL_CACHELINE_TEXT], const struct comm_node *thread)
{
	char name[CTL_CACHELINE_TEXT];

	ctl_clean(name, NAME_BYTES + 1, thread->name, NAME);
	if (thread->other)
		snprintf(text, CTL_CACHELINE_TEXT, "%s", name);
	else
		snprintf(text, CTL_CACHELINE_TEXT, "%.80s/%u", name, thread->tid);
	return text;
}

/* "worker/1234", "worker (12)": twelve of them */
static const char *who(char text[CTL_CACHELINE_TEXT], const struct ctl_word *word)
{
	char name[CTL_CACHELINE_TEXT];

	if (word->n_threads == 1)
		return thread_text(text, word->use->thread);
	ctl_clean(name, NAME_BYTES + 1, word->use->role->name, NAME);
	snprintf(text, CTL_CACHELINE_TEXT, "%.80s (%zu)", name, word->n_threads);
	return text;
}

double ctl_cacheline_seconds(const struct comm_report *report)
{
	return (double)(report->to_ns - report->from_ns) / 1e9;
}

/* "58 %", "<1 %", "-": none */
static const char *share(char text[CTL_NUMBER], double accesses, double all)
{
	if (!(accesses > 0))
		return "-";
	if (accesses < 0.01 * all)
		return "<1 %";
	snprintf(text, CTL_NUMBER, "%.0f %%", 100 * accesses / all);
	return text;
}

void ctl_cacheline_print(const struct ctl_term *term, const struct comm_report *report,
			 const struct comm_report_cacheline *line)
{
	char thread[CTL_CACHELINE_TEXT], place[CTL_CACHELINE_TEXT], reads[CTL_NUMBER];
	char writes[CTL_NUMBER], cut[CTL_CACHELINE_TEXT], field[CTL_CACHELINE_TEXT];
	char text[CTL_CACHELINE_TEXT];
	struct ctl_word word[CTL_WORDS];
	size_t left, n = ctl_words(report, line, true, word, &left);

	printf("%s    bytes   reads writes  %-18s %-20s mostly at%s\n", ctl_style(term, CTL_DIM),
	       "thread", "field", ctl_style(term, CTL_PLAIN));
	for (size_t i = 0; i < n; i++) {
		ctl_clean(thread, sizeof(thread), who(text, &word[i]), THREAD);
		ctl_clean(field, sizeof(field), *word[i].field ? word[i].field : "-", FIELD);
		printf("    %2u..%-2u  %6s %6s  %-*s %-*s %s\n", word[i].byte,
		       word[i].byte + word[i].size_bytes - 1,
		       share(reads, word[i].reads, line->accesses),
		       share(writes, word[i].writes, line->accesses), ctl_field(thread, THREAD),
		       thread, ctl_field(field, FIELD), field,
		       ctl_clean(cut, sizeof(cut), place_text(place, word[i].use->place),
				 term->width > 80 ? term->width - 66 : 14));
	}
	if (left)
		printf("    and %zu more of smaller ones\n", left);
}

const char *ctl_cacheline_summary(char text[CTL_CACHELINE_SUMMARY],
				  const struct comm_report *report,
				  const struct comm_report_cacheline *line)
{
	char name[CTL_CACHELINE_TEXT], field[CTL_CACHELINE_TEXT];
	struct ctl_word word[CTL_WORDS];
	size_t left, at = 0, n = ctl_words(report, line, true, word, &left);

	*text = '\0';
	for (size_t i = 0; i < n && i < SUMMARY_WORDS; i++) {
		if (*word[i].field)
			ctl_clean(field, sizeof(field), word[i].field, FIELD);
		else
			snprintf(field, sizeof(field), "bytes %u..%u", word[i].byte,
				 word[i].byte + word[i].size_bytes - 1);
		at += (size_t)snprintf(text + at, CTL_CACHELINE_SUMMARY - at, "%s%s %s %.40s",
				       i ? ", " : "", who(name, &word[i]),
				       word[i].writes > 0 ? "writes" : "reads", field);
	}
	left += n > SUMMARY_WORDS ? n - SUMMARY_WORDS : 0;
	if (left)
		snprintf(text + at, CTL_CACHELINE_SUMMARY - at, ", and %zu more", left);
	return text;
}

bool ctl_cacheline_is_false(const struct comm_report_cacheline *line)
{
	return line->stated && !strcmp(line->verdict, "false");
}

/* The threads that write in lines of the object, each once, with where it mostly does. */
struct advised {
	const struct comm_node *object;
	double high;
	size_t lines;
	const struct comm_report_cacheline *worst;
};

static size_t gather(const struct comm_report *report, struct advised advised[ADVISED])
{
	const struct comm_report_cacheline *line;
	size_t n = 0;

	for (size_t i = 0; (line = comm_report_cacheline_at(report, i)); i++) {
		size_t at = 0;

		if (!ctl_cacheline_is_false(line))
			continue;
		while (at < n && strcmp(advised[at].object->id, line->object->id) != 0)
			at++;
		if (at == ADVISED)
			continue;
		if (at == n)
			advised[n++] = (struct advised){.object = line->object, .worst = line};
		advised[at].lines++;
		advised[at].high += line->contended_high;
	}
	return n;
}

/* What a thread does with a line, from its words; at: its first word, that of none before. */
static bool span(const struct ctl_word *word, size_t n, size_t at, struct ctl_word *ret,
		 uint32_t *ret_last)
{
	const char *thread = word[at].use->thread->id;

	*ret = (struct ctl_word){.use = word[at].use};
	for (size_t i = 0; i < n; i++) {
		const struct comm_report_cacheline_use *use = word[i].use;

		if (strcmp(use->thread->id, thread) != 0)
			continue;
		if (i < at)
			return false;
		ret->reads += word[i].reads;
		ret->writes += word[i].writes;
		*ret_last = word[i].byte + word[i].size_bytes - 1;
		if (word[i].most > ret->most) {
			ret->most = word[i].most;
			ret->use = use;
		}
	}
	return true;
}

/* Who uses which bytes of the worst line, and where. */
static void name_threads(const struct comm_report *report, const struct comm_report_cacheline *line,
			 char *text, size_t size)
{
	char thread[CTL_CACHELINE_TEXT], place[CTL_CACHELINE_TEXT];
	size_t left, n, at = strlen(text), named = 0;
	struct ctl_word word[CTL_WORDS], whole;
	uint32_t last = 0;

	n = ctl_words(report, line, false, word, &left);
	for (size_t i = 0; i < n; i++) {
		/* What is met a hundred times more rarely than the rest is no part of it. */
		if (!span(word, n, i, &whole, &last) ||
		    100 * (whole.reads + whole.writes) < line->accesses)
			continue;
		if (named == NAMED) {
			snprintf(text + at, size - at, "; and others");
			return;
		}
		at += (size_t)snprintf(
			text + at, size - at, "%s %s %s bytes %u to %u, mostly at %s",
			named++ ? ";" : "", thread_text(thread, whole.use->thread),
			whole.writes > 0
				? whole.reads > 0 ? "reads and writes within" : "writes within"
				: "reads within",
			word[i].byte, last, place_text(place, whole.use->place));
	}
}

/* How a program of the source's language begins something on a line of its own; "": not known. */
static const char *hint(const char *source)
{
	static const struct {
		const char *suffix, *hint;
	} hints[] = {
		{".c", ", alignas(64) on its type or member"},
		{".h", ", alignas(64) on its type or member"},
		{".cc", ", alignas(64) on its type or member"},
		{".hh", ", alignas(64) on its type or member"},
		{".cpp", ", alignas(64) on its type or member"},
		{".hpp", ", alignas(64) on its type or member"},
		{".cxx", ", alignas(64) on its type or member"},
		{".rs", ", #[repr(align(64))] on its type"},
		{".go", ", a field cpu.CacheLinePad of golang.org/x/sys/cpu between them"},
		{".java", ", @Contended with -XX:-RestrictContended"},
	};
	const char *suffix = strrchr(source, '.');

	for (size_t i = 0; suffix && i < sizeof(hints) / sizeof(*hints); i++)
		if (!strcmp(suffix, hints[i].suffix))
			return hints[i].hint;
	return "";
}

/* Of the line's uses, the source of the one with most accesses whose source is known. */
static const char *source_of(const struct comm_report *report,
			     const struct comm_report_cacheline *line)
{
	const struct comm_report_cacheline_use *use =
		comm_report_cacheline_use_at(report, line->first_use);
	const char *source = "";
	double most = 0;

	for (size_t i = 0; i < line->n_uses; i++) {
		if (!*use[i].place->source || use[i].accesses <= most)
			continue;
		most = use[i].accesses;
		source = use[i].place->source;
	}
	return source;
}

size_t ctl_cacheline_advise(const struct ctl_term *term, const struct comm_report *report)
{
	char line[PARAGRAPH], name[CTL_CACHELINE_TEXT], high[CTL_NUMBER];
	double seconds = ctl_cacheline_seconds(report);
	struct advised advised[ADVISED];
	size_t n = gather(report, advised);

	for (size_t i = 0; i < n; i++) {
		const struct advised *one = &advised[i];

		ctl_clean(name, NAME_BYTES + 1, one->object->name, NAME);
		printf("%s", ctl_style(term, CTL_BOLD));
		snprintf(line, sizeof(line),
			 "False sharing in %s: %zu cache line%s, at most %s contended accesses a "
			 "second.",
			 name, one->lines, one->lines == 1 ? "" : "s",
			 ctl_two_digits(high, one->high / seconds));
		ctl_wrap(term, 0, 0, line);
		printf("%s", ctl_style(term, CTL_PLAIN));
		snprintf(line, sizeof(line),
			 "In the worst of them, %s:", ctl_cacheline_name(name, one->worst));
		name_threads(report, one->worst, line, sizeof(line) / 2);
		snprintf(line + strlen(line), sizeof(line) - strlen(line),
			 ". None of these threads needs what the others write there. Begin what "
			 "belongs to one thread on a line of its own%s, or keep it in the "
			 "thread's own memory and sum it up when it is read. (Processors that "
			 "fetch lines in pairs may want 128.)",
			 hint(source_of(report, one->worst)));
		ctl_wrap(term, 0, 0, line);
		printf("\n");
	}
	return n;
}
