// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * commctl top: what waits, what is fresh and who feeds whom now, from the store while commd writes it, or at
 * any time of a run.
 */
#include <argp.h>
#include <errno.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "argument.h"
#include "ctl.h"
#include "open.h"
#include "options.h"
#include "overview.h"
#include "screen.h"
#include "utf8.h"
#include "view.h"

enum {
	KEY_WINDOW = 0x100,

	TOP_LOOK_MS = 200, /* how often the store is asked whether it was written */
	TOP_KEY_ESCAPE = 27,
	TOP_TITLE = 10,	     /* width of the overview's titles */
	TOP_LEAD_LINES = 16, /* the least lines of a screen that has the overview's lead */
};

/* Of --from: the newest of the run. */
#define TOP_LIVE INT64_MIN

/* What an overview is of. */
struct told {
	bool has, is_whole; /* not: the lead alone */
	int64_t end_ns, window_ns;
	uint64_t changes; /* of the store */
	const char *listed;
};

struct top {
	struct ctl_options options;
	struct ctl_view view;
	struct ctl_term term;
	bool batch, help, typing, frozen;
	bool shows_overview; /* in place of the rows */
	uint64_t n;	     /* of frames in batch mode; 0: no end */
	int64_t delay_ns;
	bool placed; /* the view is where --from wants it */
	struct comm_reader *reader;
	struct ctl_frame frame;
	struct ctl_overview overview; /* of the frame's window, or its lead alone */
	struct told told;
	char *problem; /* why there is no frame */
	size_t scroll;
	int signals;
};

static const struct argp_option argp_options[] = {
	{.key = CTL_BY_NAMED},
	{.key = CTL_BY},
	{NULL, 0, NULL, 0, "What is looked at:", 2},
	{.key = CTL_STORE},
	{.key = CTL_RUN},
	{"window", KEY_WINDOW, "DUR", 0, "How much of the run is shown at a time; default 1m", 0},
	{.key = CTL_FROM,
	 .doc = "Not live but from there: since the run's start, or before its end: -10m"},
	{.key = CTL_FIRST_READ},
	{.key = CTL_FRESH},
	{.key = CTL_ALL},
	{NULL, 0, NULL, 0, "For scripts:", 3},
	{"batch", 'b', NULL, 0, "Print text, as without a terminal", 0},
	{"iterations", 'n', "N", 0, "End after N times; without a terminal 1 is the default", 0},
	{"delay", 'd', "DUR", 0, "Between two times; default 2s", 0},
	{0},
};

static int64_t parse_duration(struct argp_state *state, const char *option, const char *arg)
{
	int64_t ns = 0;

	if (comm_parse_duration(arg, &ns) || ns < 1)
		argp_error(state, "%s wants a time such as 10s or 2m, not '%s'", option, arg);
	return ns;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct top *top = state->input;

	switch (key) {
	case KEY_WINDOW:
		top->view.window_ns = parse_duration(state, "--window", arg);
		return 0;
	case 'b':
		top->batch = true;
		return 0;
	case 'n':
		top->n = ctl_count_argument(state, "-n", 1, arg);
		return 0;
	case 'd':
		top->delay_ns = parse_duration(state, "-d", arg);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* No flow is confirmed in the window: what else it says stands below. */
static bool is_empty(const struct top *top)
{
	return !top->frame.n_rows && !top->view.depth && !*top->view.filter;
}

static bool is_told(const struct told *wanted, const struct told *told)
{
	return told->has && told->is_whole == wanted->is_whole && told->end_ns == wanted->end_ns &&
	       told->window_ns == wanted->window_ns && told->changes == wanted->changes &&
	       told->listed == wanted->listed;
}

/* What stands above the rows or in their place.  Keys that sort or find need no other than is there. */
static int read_overview(struct top *top, char **err)
{
	const struct ctl_view *view = &top->view;
	struct told told = {.has = true,
			    .is_whole = top->shows_overview || is_empty(top),
			    .end_ns = top->frame.end_ns,
			    .window_ns = view->window_ns};
	struct comm_query query = COMM_QUERY_INIT;
	int64_t from_ns = told.end_ns - view->window_ns;
	int64_t run;
	uint64_t run_end_ns;
	int code;

	/* Inside of a flow it says nothing. */
	if (view->depth && !told.is_whole) {
		top->overview = (struct ctl_overview){0};
		top->told = (struct told){0};
		return 0;
	}
	if (!view->fresh && !view->first_read)
		told.listed = view->by ? view->by : "thread";
	if (comm_reader_newest(top->reader, &run, &run_end_ns, &told.changes, NULL))
		told.has = false;
	if (told.has && is_told(&told, &top->told))
		return 0;
	query.run = view->run;
	query.label = view->label;
	query.from_ns = from_ns > 0 ? from_ns : 0;
	query.to_ns = told.end_ns;
	if (told.is_whole)
		code = ctl_overview_make(top->reader, &query, &top->overview, err);
	else
		code = ctl_overview_lead(top->reader, &query, told.listed, &top->overview, err);
	told.has &= !code;
	top->told = told;
	return code;
}

/* Reads what the view shows now; on failure the frame is empty, and problem says why. */
static int refresh_frame(struct top *top)
{
	char *err = NULL;
	int code;

	free(top->problem);
	top->problem = NULL;
	ctl_frame_deinit(&top->frame);
	code = ctl_view_read(&top->view, &top->term, top->reader, &top->frame, &err);
	if (!code)
		code = read_overview(top, &err);
	if (code) {
		top->problem = err ? err : strdup(strerror(-code));
		return code;
	}
	if (top->view.selected >= top->frame.n_rows)
		top->view.selected = top->frame.n_rows ? top->frame.n_rows - 1 : 0;
	return 0;
}

/* The next frame; the first is of the window that --from names. */
static int take_frame(struct top *top)
{
	int code = refresh_frame(top);
	int64_t from_ns = top->options.query.from_ns;

	if (code || top->placed)
		return code;
	top->placed = true;
	if (from_ns == TOP_LIVE)
		return 0;
	if (from_ns < 0)
		from_ns += top->frame.run_ns;
	from_ns = from_ns < 0 ? 0 : from_ns;
	top->view.end_ns = from_ns + top->view.window_ns;
	return refresh_frame(top);
}

/*
 * Whether a frame is to come that is not there yet: a commd is running that has not written the
 * first slice of the run, or, where any run will do, the store has none.  The problem says so then.
 */
static bool is_awaited(struct top *top)
{
	const struct ctl_view *view = &top->view;
	const struct comm_run *run = NULL;
	struct comm_runs *runs;
	bool awaited;

	if (top->placed || comm_reader_runs(top->reader, &runs, NULL))
		return false;
	for (size_t i = 0; i < comm_runs_count(runs); i++) {
		const struct comm_run *one = comm_runs_at(runs, i);

		if (view->run ? one->id == view->run
			      : !view->label || !strcmp(one->label, view->label))
			run = one;
	}
	awaited = run ? run->state == COMM_RUN_RUNNING && run->end_ns == run->start_ns
		      : !comm_runs_count(runs) && !view->run && !view->label;
	if (awaited) {
		free(top->problem);
		if (!run)
			top->problem = strdup("Waiting for a run: the store holds none yet.");
		else if (asprintf(&top->problem,
				  "Waiting for the first slice of run %lld, which commd is "
				  "about to write.",
				  (long long)run->id) < 0)
			top->problem = NULL;
	}
	comm_runs_free(runs);
	return awaited;
}

static void print_line(const struct top *top, const char *text)
{
	printf("%.*s\n", (int)ctl_bytes_in(text, top->term.width), text);
}

static void print_frame(const struct top *top)
{
	for (size_t i = 0; i < top->frame.n_head; i++) {
		/* What waits is said before who feeds whom. */
		for (size_t j = 0; i == CTL_HEAD_WHERE && j < top->overview.n_lead; j++)
			ctl_screen_print_line(&top->term, &top->overview.line[j]);
		print_line(top, top->frame.head[i]);
	}
	for (size_t i = 0; i < top->frame.n_rows; i++)
		print_line(top, top->frame.row[i].text);
	for (size_t i = 0; i < top->frame.n_foot; i++)
		print_line(top, top->frame.foot[i]);
	for (size_t i = top->overview.n_lead; i < top->overview.n; i++)
		ctl_screen_print_line(&top->term, &top->overview.line[i]);
	fflush(stdout);
}

/* The first frame, once it is there; without a run nothing says that one will come. */
static int await_frame(struct top *top)
{
	const struct timespec look = {0, TOP_LOOK_MS * 1000000L};
	int64_t run = 0;
	uint64_t end_ns, changes;
	bool said = false;
	int code = take_frame(top);

	comm_reader_newest(top->reader, &run, &end_ns, &changes, NULL);
	while (code == -ENODATA && run && is_awaited(top)) {
		if (!said && top->problem)
			fprintf(stderr, "commctl: %s\n", top->problem);
		said = true;
		nanosleep(&look, NULL);
		code = take_frame(top);
	}
	return code;
}

static int run_batch(struct top *top)
{
	const struct timespec delay = {top->delay_ns / 1000000000, top->delay_ns % 1000000000};
	uint64_t n = top->n ? top->n : top->batch ? 0 : 1;
	int code;

	/* Programs want whole names. */
	if (!isatty(STDOUT_FILENO) && !getenv("COLUMNS"))
		top->term.width = CTL_VIEW_LINE;
	code = await_frame(top);
	for (uint64_t i = 0; !code; i++) {
		if (i)
			puts("");
		print_frame(top);
		if (i + 1 == n || ferror(stdout))
			break;
		nanosleep(&delay, NULL);
		code = take_frame(top);
	}
	if (code) {
		code = ctl_error(code, top->problem);
		top->problem = NULL;
	}
	return code;
}

static void draw_line(int y, int attributes, const char *text)
{
	move(y, 0);
	clrtoeol();
	attrset(attributes);
	/* Never as a format: it holds names from the target. */
	addnstr(text, (int)ctl_bytes_in(text, COLS - 1));
	attrset(A_NORMAL);
}

/* How many bytes of it a line of the screen has behind a title. */
static size_t wrapped(const char *text)
{
	size_t fits = ctl_bytes_in(text, COLS - 1 - TOP_TITLE), n = fits;

	while (text[n] && n && text[n] != ' ')
		n--;
	return n ? n : fits;
}

/*
 * A line of the overview, in as many lines of the screen as it takes.  Returns the next one, or y where
 * there are not so many before limit.
 */
static int draw_wrapped(int y, int limit, const struct ctl_overview_line *line)
{
	int column = *line->share ? TOP_TITLE + CTL_OVERVIEW_SHARE : TOP_TITLE, next = y;
	char text[CTL_OVERVIEW_LINE + CTL_OVERVIEW_SHARE + 3], *at;

	snprintf(text, sizeof(text), "%-*s%s", column - TOP_TITLE, line->share, line->text);
	for (at = text; *at && next < limit; next++) {
		at += wrapped(at);
		at += strspn(at, " ");
	}
	if (*at)
		return y;
	at = text;
	for (int i = y; i < next; i++) {
		size_t n = wrapped(at);

		draw_line(i, A_BOLD, i == y ? line->title : "");
		mvaddnstr(i, TOP_TITLE, at, (int)n);
		at += n;
		at += strspn(at, " ");
	}
	return next;
}

/* Those lines of the overview, as far as there is room. */
static int draw_lines(int y, int limit, const struct top *top, size_t from, size_t to)
{
	int next;

	for (size_t i = from; i < to; i++, y = next) {
		next = draw_wrapped(y, limit, &top->overview.line[i]);
		if (next == y)
			break;
	}
	return y;
}

static void draw_overview(const struct top *top)
{
	int y = 0;

	draw_line(y++, A_BOLD, top->frame.head[CTL_HEAD_RUN]);
	draw_line(y++, A_NORMAL, top->frame.head[CTL_HEAD_COST]);
	draw_lines(y, LINES - 1, top, 0, top->overview.n);
	draw_line(LINES - 1, A_DIM, "o flows   left right another window   ? help   q quit");
}

static const char *const help_lines[] = {
	"up down, j k    select a row        Enter, l  into it",
	"Backspace, h    out again           Esc       all the way out",
	"left right      a window back, on   Space     stop and go on",
	"End, G          live                w W       window longer, shorter",
	"a  also what is not confirmed       s         sort by share, change, name",
	"f  first reads                      /         rows with a text",
	"e  fresh data alone, or what the estimator says",
	"o  what waits, what is fresh, who feeds whom: the screen of commctl report",
	"b  begin by process, role, thread, function, object or line",
	"q  quit",
	"",
	"An arrow marks what certainly changed since the window before.",
};

static void draw(struct top *top)
{
	const struct ctl_frame *frame = &top->frame;
	size_t y = 0, capacity, i;

	/* The least lines of a screen that has that line of the head. */
	static const int least_lines[] = {
		[CTL_HEAD_RUN] = 8,    [CTL_HEAD_COST] = 0,	[CTL_HEAD_WHERE] = 6,
		[CTL_HEAD_BLANK] = 14, [CTL_HEAD_COLUMNS] = 10,
	};

	erase();
	if (top->help) {
		for (; y < sizeof(help_lines) / sizeof(*help_lines) && (int)y < LINES; y++)
			draw_line((int)y, A_NORMAL, help_lines[y]);
		refresh();
		return;
	}
	if (top->shows_overview && !top->problem) {
		draw_overview(top);
		refresh();
		return;
	}
	if (top->problem)
		draw_line(LINES > 2 ? 2 : 0, A_BOLD, top->problem);
	for (i = 0; i < frame->n_head; i++) {
		/* Rows keep half of the screen. */
		if (i == CTL_HEAD_WHERE && LINES >= TOP_LEAD_LINES && !top->problem)
			y = (size_t)draw_lines((int)y, LINES / 2, top, 0, top->overview.n_lead);
		if (LINES >= least_lines[i])
			draw_line((int)y++,
				  i == CTL_HEAD_RUN || i == CTL_HEAD_COLUMNS ? A_BOLD : A_NORMAL,
				  frame->head[i]);
	}
	capacity = LINES > (int)(y + frame->n_foot + 1) ? LINES - y - frame->n_foot - 1 : 0;
	if (top->view.selected < top->scroll)
		top->scroll = top->view.selected;
	if (capacity && top->view.selected >= top->scroll + capacity)
		top->scroll = top->view.selected - capacity + 1;
	for (i = top->scroll; i < frame->n_rows && i < top->scroll + capacity; i++)
		draw_line((int)y++, i == top->view.selected ? A_REVERSE : A_NORMAL,
			  frame->row[i].text);
	for (i = 0; i < frame->n_foot && (int)y < LINES - 1; i++)
		draw_line((int)y++, A_DIM, frame->foot[i]);
	if (!top->problem)
		draw_lines((int)y + 1, LINES - 1, top, top->overview.n_lead, top->overview.n);
	if (top->typing) {
		char line[CTL_VIEW_FILTER + 2];

		snprintf(line, sizeof(line), "/%s", top->view.filter);
		draw_line(LINES - 1, A_BOLD, line);
	} else {
		draw_line(LINES - 1, A_DIM,
			  top->frozen ? "stopped: Space goes on   ? help   q quit"
				      : "? help   Enter into   / find   q quit");
	}
	refresh();
}

static void go_in(struct top *top)
{
	struct ctl_view *view = &top->view;

	if (!top->frame.has_deeper || view->selected >= top->frame.n_rows)
		return;
	view->step[view->depth++] = top->frame.row[view->selected].step;
	view->selected = 0;
	*view->filter = '\0';
}

static void step_window(struct top *top, int direction)
{
	struct ctl_view *view = &top->view;
	int64_t end_ns = top->frame.end_ns + direction * view->window_ns;

	if (end_ns < view->window_ns)
		end_ns = view->window_ns < top->frame.run_ns ? view->window_ns : top->frame.run_ns;
	/* On past the end it is live again. */
	view->end_ns = end_ns >= top->frame.run_ns ? 0 : end_ns;
	top->frozen = view->end_ns != 0;
}

/* Text of the filter goes on until Enter. */
static void type_key(struct top *top, int key)
{
	char *filter = top->view.filter;
	size_t n = strlen(filter);

	if (key == '\n' || key == KEY_ENTER) {
		top->typing = false;
	} else if (key == TOP_KEY_ESCAPE) {
		top->typing = false;
		*filter = '\0';
	} else if (key == KEY_BACKSPACE || key == 0x7f || key == '\b') {
		if (n)
			filter[ctl_utf8_start(filter, n - 1)] = '\0';
	} else if (key >= ' ' && key <= 0xff && n + 1 < CTL_VIEW_FILTER) {
		filter[n] = (char)key;
		filter[n + 1] = '\0';
	}
	top->view.selected = 0;
}

enum pressed {
	PRESSED_QUIT,
	PRESSED_LOOK, /* the frame is as it was */
	PRESSED_READ, /* another one is wanted */
};

static enum pressed press(struct top *top, int key)
{
	struct ctl_view *view = &top->view;

	if (top->help) {
		top->help = false;
		return PRESSED_LOOK;
	}
	if (top->typing) {
		type_key(top, key);
		return PRESSED_READ;
	}
	switch (key) {
	case 'q':
		return PRESSED_QUIT;
	case '?':
		top->help = true;
		return PRESSED_LOOK;
	case KEY_DOWN:
	case 'j':
		view->selected += view->selected + 1 < top->frame.n_rows;
		return PRESSED_LOOK;
	case KEY_UP:
	case 'k':
		view->selected -= view->selected > 0;
		return PRESSED_LOOK;
	case '\n':
	case KEY_ENTER:
	case 'l':
		go_in(top);
		break;
	case KEY_BACKSPACE:
	case 0x7f:
	case '\b':
	case 'h':
		view->depth -= view->depth > 0;
		view->selected = 0;
		break;
	case TOP_KEY_ESCAPE:
		view->depth = 0;
		*view->filter = '\0';
		view->selected = 0;
		break;
	case KEY_LEFT:
		step_window(top, -1);
		break;
	case KEY_RIGHT:
		step_window(top, 1);
		break;
	case KEY_END:
	case 'G':
		view->end_ns = 0;
		top->frozen = false;
		break;
	case ' ':
		top->frozen = !top->frozen;
		view->end_ns = top->frozen ? top->frame.end_ns : 0;
		break;
	case 'w':
		view->window_ns *= view->window_ns < INT64_MAX / 4 ? 2 : 1;
		break;
	case 'W':
		view->window_ns /= view->window_ns > 2000000000 ? 2 : 1;
		break;
	case 'a':
		view->all = !view->all;
		break;
	case 'f':
		view->first_read = !view->first_read || view->fresh;
		view->fresh = false;
		break;
	case 'e':
		view->fresh = !view->fresh;
		break;
	case 'o':
		top->shows_overview = !top->shows_overview;
		break;
	case 'b':
		view->by = ctl_view_next_by(view->by);
		view->depth = 0;
		view->selected = 0;
		break;
	case 's':
		view->sort = (view->sort + 1) % CTL_SORTS;
		break;
	case '/':
		top->typing = true;
		*view->filter = '\0';
		break;
	default:
		return PRESSED_LOOK;
	}
	return PRESSED_READ;
}

/* Whether the store was written since the frame was read. */
static bool is_stale(struct top *top, uint64_t *changes)
{
	int64_t run;
	uint64_t end_ns, now;

	if (comm_reader_newest(top->reader, &run, &end_ns, &now, NULL) || now == *changes)
		return false;
	*changes = now;
	return true;
}

/* Signals end the loop, so that the terminal is given back whatever ends the program. */
static int catch_signals(struct top *top)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	top->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return top->signals < 0 ? -errno : 0;
}

/*
 * The next key, or ERR.  A terminal may send what its type does not list, such as End on a vt100:
 * the rest of that is no keys, and its first byte not Escape.
 */
static int next_key(void)
{
	int key = getch(), next;

	if (key != TOP_KEY_ESCAPE)
		return key;
	next = getch();
	if (next != '[' && next != 'O') {
		if (next != ERR)
			ungetch(next);
		return key;
	}
	do
		next = getch();
	while (next != ERR && (next < '@' || next > '~'));
	return ERR;
}

/* awaited: there is no frame yet. */
static void loop(struct top *top, bool awaited)
{
	struct pollfd fds[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
				{.fd = top->signals, .events = POLLIN}};
	enum pressed pressed;
	uint64_t changes = 0;

	is_stale(top, &changes);
	for (;;) {
		int key;

		draw(top);
		poll(fds, 2, TOP_LOOK_MS);
		if (fds[1].revents || (fds[0].revents & (POLLHUP | POLLERR)))
			return;
		key = next_key();
		if (key == KEY_RESIZE) {
			/* Names are cut to the width. */
			top->term.width = COLS;
		} else if (key != ERR) {
			pressed = press(top, key);
			if (pressed == PRESSED_QUIT)
				return;
			if (pressed == PRESSED_LOOK)
				continue;
		} else if (!awaited && (top->frozen || !is_stale(top, &changes))) {
			continue;
		}
		awaited = take_frame(top) == -ENODATA && is_awaited(top);
	}
}

static int run_screen(struct top *top)
{
	SCREEN *screen;
	int code = take_frame(top);
	bool awaited = code == -ENODATA && is_awaited(top);

	if (code && !awaited) {
		code = ctl_error(code, top->problem);
		top->problem = NULL;
		return code;
	}
	top->frozen = top->options.query.from_ns != TOP_LIVE;
	if (catch_signals(top))
		return ctl_error(-errno, NULL);
	set_escdelay(25);
	screen = newterm(NULL, stdout, stdin);
	if (!screen) {
		fprintf(stderr,
			"commctl: no screen can be made on a terminal of type '%s': --batch "
			"prints text\n",
			getenv("TERM") ? getenv("TERM") : "");
		return CTL_FAILURE;
	}
	set_term(screen);
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	if (COLS != top->term.width) {
		top->term.width = COLS;
		if (!awaited)
			refresh_frame(top);
	}
	loop(top, awaited);
	endwin();
	delscreen(screen);
	close(top->signals);
	return CTL_OK;
}

/* Whether there is a terminal that has a cursor to move. */
static bool is_screen(void)
{
	const char *type = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && type && *type &&
	       strcmp(type, "dumb") != 0;
}

int ctl_top(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = parse,
		.doc = "What waits, what is fresh and who feeds whom now: the newest part of the "
		       "latest run, again whenever "
		       "commd has written; ? lists the keys.",
	};
	struct top top = {.options.query = {.from_ns = TOP_LIVE},
			  .view = {.window_ns = 60000000000},
			  .delay_ns = 2000000000};
	const struct comm_query *query = &top.options.query;
	int code;

	ctl_options_parse(&argp, NULL, argc, argv, &top.options);
	top.view.run = query->run;
	top.view.label = query->label;
	top.view.by = query->by;
	top.view.first_read = query->first_read;
	top.view.fresh = query->fresh;
	top.view.all = top.options.all;
	ctl_term_init(&top.term);
	code = ctl_open(top.options.store, &top.reader, NULL);
	if (code)
		return code;
	if (top.batch || !is_screen())
		code = run_batch(&top);
	else
		code = run_screen(&top);
	ctl_frame_deinit(&top.frame);
	free(top.problem);
	comm_reader_close(top.reader);
	return code;
}
