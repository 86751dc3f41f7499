// SPDX-License-Identifier: GPL-2.0-or-later
/* commctl serve: the page of a store, kept current, for browsers of this machine.  One thread, which waits and answers in turn. */
#include <argp.h>
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "answer.h"
#include "asset.h"
#include "ctl.h"
#include "followers.h"
#include "loopback.h"
#include "open.h"
#include "options.h"
#include "peer.h"
#include "request.h"
#include "source_file.h"
#include "stamp.h"

enum {
	KEY_LISTEN = 'l',
	KEY_SOURCE_DIR = 0x100,
	KEY_METRICS_FOR_ALL,

	SERVE_CONNECTIONS = 64,
	SERVE_MEMORY = 16384, /* of a request: its path, its headers */
	SERVE_TIMEOUT_S = 30,
};

/* What no write into the store tells, that its daemon is gone, shows in a page after so long. */
#define SERVE_KEPT_NS 10000000000ull

struct server {
	struct ctl_options common;
	const char *listen_at;
	bool metrics_for_all;
	struct ctl_source source;
	struct ctl_loopback at;
	struct MHD_Daemon *daemon;
	struct ctl_followers *followers;
	/* The page that was made last, for whoever asks for the same. */
	struct {
		int64_t run, from_ns;
		uint64_t version, made_ns;
		struct MHD_Response *response; /* NULL: there is none */
	} kept;
};

static const struct argp_option argp_options[] = {
	{.key = CTL_STORE},
	{"listen", KEY_LISTEN, "ADDRESS", 0,
	 "Where: 127.0.0.1:PORT, [::1]:PORT or unix:PATH; port 0 is any that is free; default "
	 "127.0.0.1:8517",
	 0},
	{"metrics-for-all", KEY_METRICS_FOR_ALL, NULL, 0,
	 "Over loopback /metrics answers every user of this machine, as that of Prometheus", 0},
	{"source-dir", KEY_SOURCE_DIR, "DIR", 0,
	 "As of commctl html: the lines beneath DIR that are named are in the page", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct server *server = state->input;
	const char *wrong;
	int code;

	switch (key) {
	case KEY_LISTEN:
		server->listen_at = arg;
		return 0;
	case KEY_METRICS_FOR_ALL:
		server->metrics_for_all = true;
		return 0;
	case KEY_SOURCE_DIR:
		code = ctl_source_add(&server->source, arg);
		if (code)
			argp_error(state, "--source-dir %s: %s", arg, strerror(-code));
		return 0;
	case ARGP_KEY_END:
		wrong = ctl_loopback_parse(server->listen_at, &server->at);
		if (wrong)
			argp_error(state, "--listen %s: %s", server->listen_at, wrong);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = argp_options,
	.parser = parse,
	.doc = "Serves the page of commctl html for a browser on this machine, keeps it current "
	       "while the "
	       "run goes on, and offers the runs of the store.  /metrics has what export --as "
	       "openmetrics prints, /report.json what report --json prints.",
};

static void add_headers(struct MHD_Response *response, const char *type, bool is_page)
{
	const char *policy = is_page ? ctl_asset_live_policy : "default-src 'none'";
	char whole[1024];

	snprintf(whole, sizeof(whole), "%s; frame-ancestors 'none'", policy);
	MHD_add_response_header(response, "Content-Type", type);
	MHD_add_response_header(response, "Content-Security-Policy", whole);
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
	MHD_add_response_header(response, "Cache-Control", "no-store");
}

/* Takes the body; NULL: out of memory. */
static struct MHD_Response *response_of(const struct ctl_answer *answer)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(answer->size, answer->body, MHD_RESPMEM_MUST_FREE);

	if (response)
		add_headers(response, answer->type, !strncmp(answer->type, "text/html", 9));
	else
		free(answer->body);
	return response;
}

static enum MHD_Result say(struct MHD_Connection *connection, unsigned int status,
			   const char *sentence)
{
	struct MHD_Response *response;
	struct ctl_answer answer;
	enum MHD_Result result;

	if (ctl_answer_say(status, sentence, &answer))
		return MHD_NO;
	response = response_of(&answer);
	if (!response)
		return MHD_NO;
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, "Allow", "GET, HEAD");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static void drop_kept(struct server *server)
{
	if (server->kept.response)
		MHD_destroy_response(server->kept.response);
	server->kept.response = NULL;
}

static bool is_kept(const struct server *server, const struct ctl_request *request,
		    uint64_t version)
{
	return server->kept.response && server->kept.version == version &&
	       request->what == CTL_REQUEST_PAGE && server->kept.run == request->run &&
	       server->kept.from_ns == request->from_ns &&
	       ctl_followers_now_ns() - server->kept.made_ns < SERVE_KEPT_NS;
}

static enum MHD_Result answer(struct server *server, struct MHD_Connection *connection,
			      const struct ctl_request *request)
{
	const char *store = server->common.store;
	uint64_t version = ctl_stamp(store ? store : ctl_store_default());
	uint64_t start_ns = ctl_followers_now_ns();
	struct MHD_Response *response;
	struct ctl_answer made;
	enum MHD_Result result;

	if (is_kept(server, request, version))
		return MHD_queue_response(connection, MHD_HTTP_OK, server->kept.response);
	if (ctl_answer_make(store, &server->source, request, version, &made))
		return MHD_NO;
	response = response_of(&made);
	if (!response)
		return MHD_NO;
	result = MHD_queue_response(connection, made.status, response);
	if (request->what != CTL_REQUEST_PAGE || made.status != MHD_HTTP_OK) {
		MHD_destroy_response(response);
		return result;
	}
	drop_kept(server);
	server->kept.run = request->run;
	server->kept.from_ns = request->from_ns;
	server->kept.version = version;
	server->kept.made_ns = ctl_followers_now_ns();
	server->kept.response = response;
	ctl_followers_rest(server->followers, server->kept.made_ns - start_ns);
	return result;
}

static enum MHD_Result follow(struct server *server, struct MHD_Connection *connection,
			      const struct ctl_request *request)
{
	struct MHD_Response *response = ctl_followers_add(server->followers, connection, request);
	enum MHD_Result result;

	if (!response)
		return say(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
			   "too many follow this store already");
	add_headers(response, "text/event-stream", false);
	result = MHD_queue_response(connection, MHD_HTTP_OK, response);
	MHD_destroy_response(response);
	return result;
}

struct parameters {
	struct ctl_request *request;
	const char *wrong;
};

static enum MHD_Result take_parameter(void *arg, enum MHD_ValueKind kind, const char *name,
				      const char *value)
{
	struct parameters *parameters = arg;

	(void)kind;
	parameters->wrong = ctl_request_take(parameters->request, name, value);
	return parameters->wrong ? MHD_NO : MHD_YES;
}

/* Monitoring has a user of its own. */
static bool is_trusted(const struct server *server, struct MHD_Connection *connection,
		       const struct ctl_request *request)
{
	const union MHD_ConnectionInfo *info;
	uid_t uid;

	if (ctl_loopback_is_unix(&server->at) ||
	    (request->what == CTL_REQUEST_METRICS && server->metrics_for_all))
		return true;
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	return info && !ctl_peer_uid(info->connect_fd, &uid) && ctl_peer_is_trusted(uid);
}

static bool is_host(const struct server *server, struct MHD_Connection *connection)
{
	const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");

	return ctl_loopback_is_unix(&server->at) || (host && ctl_loopback_is_host(host));
}

static bool is_read(const char *method)
{
	return !strcmp(method, MHD_HTTP_METHOD_GET) || !strcmp(method, MHD_HTTP_METHOD_HEAD);
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *connection, const char *path,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **state)
{
	struct server *server = arg;
	struct ctl_request request;
	struct parameters parameters = {&request, NULL};

	(void)version;
	(void)upload;
	/* What is answered before its end is seen, ends the connection. */
	if (!*state && is_read(method)) {
		*state = server;
		return MHD_YES;
	}
	/* A body says nothing here. */
	if (*state && *upload_size) {
		*upload_size = 0;
		return MHD_YES;
	}
	if (!is_host(server, connection))
		return say(connection, MHD_HTTP_FORBIDDEN,
			   "ask for localhost, 127.0.0.1 or [::1]: another name may be one that a "
			   "page of "
			   "others gave to this machine");
	if (!is_read(method))
		return say(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
			   "nothing can be changed here: GET and HEAD alone are answered");
	if (!ctl_request_find(path, &request))
		return say(connection, MHD_HTTP_NOT_FOUND,
			   "there are /, /runs.json, /report.json, /metrics and /events");
	if (!is_trusted(server, connection, &request))
		return say(connection, MHD_HTTP_FORBIDDEN,
			   "this is another user's: start commctl serve as your own, or with "
			   "--listen unix:PATH");
	MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, take_parameter, &parameters);
	if (parameters.wrong)
		return say(connection, MHD_HTTP_BAD_REQUEST, parameters.wrong);
	if (request.what == CTL_REQUEST_EVENTS)
		return follow(server, connection, &request);
	return answer(server, connection, &request);
}

/* Until a signal says so. */
static void loop(struct server *server, int signals)
{
	int daemon = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
	struct pollfd fds[2] = {{.fd = daemon, .events = POLLIN},
				{.fd = signals, .events = POLLIN}};
	MHD_UNSIGNED_LONG_LONG most;
	int wait_ms;

	while (!fds[1].revents) {
		wait_ms = ctl_followers_look(server->followers);
		if (MHD_get_timeout(server->daemon, &most) == MHD_YES &&
		    (wait_ms < 0 || most < (unsigned int)wait_ms))
			wait_ms = (int)(most < INT32_MAX ? most : INT32_MAX);
		poll(fds, 2, wait_ms);
		MHD_run(server->daemon);
	}
	/* The daemon must not end while one of its connections is suspended. */
	ctl_followers_end(server->followers);
	MHD_run(server->daemon);
}

static int catch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int serve(struct server *server)
{
	char url[CTL_LOOPBACK_URL];
	int signals = catch_signals();

	if (signals < 0)
		return ctl_error(-errno, NULL);
	server->followers = ctl_followers_create(server->common.store);
	if (server->followers)
		server->daemon = MHD_start_daemon(
			MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, server,
			MHD_OPTION_LISTEN_SOCKET, server->at.fd, MHD_OPTION_CONNECTION_LIMIT,
			(unsigned int)SERVE_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
			(unsigned int)SERVE_TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
			(size_t)SERVE_MEMORY, MHD_OPTION_STRICT_FOR_CLIENT, 1,
			MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
	if (!server->daemon) {
		ctl_followers_destroy(server->followers);
		close(signals);
		return ctl_error(-ENOMEM, NULL);
	}
	ctl_loopback_url(&server->at, url);
	puts(url);
	fflush(stdout);
	loop(server, signals);
	drop_kept(server);
	MHD_stop_daemon(server->daemon);
	ctl_followers_destroy(server->followers);
	close(signals);
	return CTL_OK;
}

int ctl_serve(int argc, char **argv)
{
	struct server server = {.listen_at = "127.0.0.1"};
	char *err;
	int code;

	ctl_options_parse(&argp, NULL, argc, argv, &server.common);
	code = ctl_loopback_listen(&server.at, &err);
	if (code)
		code = ctl_error(code, err);
	else
		code = serve(&server);
	ctl_loopback_remove(&server.at);
	ctl_source_deinit(&server.source);
	return code;
}
