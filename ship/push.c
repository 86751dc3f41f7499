// SPDX-License-Identifier: GPL-2.0-or-later
#include "push.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <curl/curl.h>

#include "sink.h"

enum {
	ANSWER_KEPT = 1000,
	ANSWER_MOST = 1 << 20,
	SAID_BYTES = 300, /* of a server's words in a sentence */
	HEADER_BYTES = 8192,
	WAIT_MOST_S = 3600,
};

struct answer {
	char kept[ANSWER_KEPT + 1];
	size_t n; /* bytes that came, of which the first are kept */
};

struct ship_push {
	CURL *curl;
	struct curl_slist *headers;
	char *name; /* "pyroscope at HOST:PORT" */
	char *url;
	uint64_t timeout_ms;
	char said[CURL_ERROR_SIZE];
	struct answer answer;
};

const char *ship_push_wrong(const char *address)
{
	static const CURLUPart unwanted[] = {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_QUERY,
					     CURLUPART_FRAGMENT};
	CURLU *url = curl_url();
	const char *wrong = NULL;
	char *part = NULL;

	if (!url || curl_url_set(url, CURLUPART_URL, address, 0) != CURLUE_OK)
		wrong = "it is no address as http://HOST[:PORT][/PATH]";
	for (size_t i = 0; !wrong && i < sizeof(unwanted) / sizeof(*unwanted); i++) {
		if (curl_url_get(url, unwanted[i], &part, 0) != CURLUE_OK)
			continue;
		curl_free(part);
		wrong = i < 2 ? "it has a user or a password in it, which everybody may read in "
				"the list of processes: give a header by SHIP_HEADERS"
			      : "it has more than a path in it: ? or #";
	}
	curl_url_cleanup(url);
	return wrong;
}

static int name_it(struct ship_push *push, const char *what, const char *address, const char *path)
{
	size_t n = strlen(address), host = strcspn(address, ":") + strlen("://");

	while (n && address[n - 1] == '/')
		n--;
	if (asprintf(&push->url, "%.*s%s", (int)n, address, path) < 0)
		push->url = NULL;
	if (asprintf(&push->name, "%s at %.*s", what, (int)strcspn(address + host, "/"),
		     address + host) < 0)
		push->name = NULL;
	return push->url && push->name ? 0 : -ENOMEM;
}

static int add_header(struct ship_push *push, const char *line)
{
	struct curl_slist *more = curl_slist_append(push->headers, line);

	if (!more)
		return -ENOMEM;
	push->headers = more;
	return 0;
}

/* Lines "NAME: VALUE", as an administrator has them: no sentence has one. */
static int read_headers(struct ship_push *push, FILE *file, const char *path, char **err)
{
	char line[HEADER_BYTES];
	struct stat stat;
	int code = 0;

	if (fstat(fileno(file), &stat) < 0)
		return ship_fail(err, -errno, "cannot read %s: %s", path, strerror(errno));
	if (stat.st_mode & S_IRWXO)
		return ship_fail(err, -EACCES, "%s is for everybody: chmod o= %s", path, path);
	while (!code && fgets(line, sizeof(line), file)) {
		size_t n = strcspn(line, "\r\n");

		if (n == sizeof(line) - 1 || (n && !memchr(line, ':', n)))
			return ship_fail(err, -EINVAL,
					 "%s has a line that is no header NAME: VALUE", path);
		line[n] = '\0';
		if (n)
			code = add_header(push, line);
	}
	return !code && ferror(file) ? ship_fail(err, -EIO, "cannot read %s", path) : code;
}

static int add_headers(struct ship_push *push, char **err)
{
	const char *path = getenv("SHIP_HEADERS");
	int code = add_header(push, "Content-Type: application/json");
	FILE *file;

	/* Nobody waits for a leave to send. */
	if (!code)
		code = add_header(push, "Expect:");
	if (code || !path || !*path)
		return code;
	file = fopen(path, "re");
	if (!file)
		return ship_fail(err, -errno, "cannot read %s: %s", path, strerror(errno));
	code = read_headers(push, file, path, err);
	fclose(file);
	return code;
}

static size_t take(char *bytes, size_t one, size_t n, void *arg)
{
	struct answer *answer = arg;
	size_t room = ANSWER_KEPT - (answer->n < ANSWER_KEPT ? answer->n : ANSWER_KEPT);

	(void)one;
	if (room)
		memcpy(answer->kept + answer->n, bytes, n < room ? n : room);
	answer->n += n;
	return answer->n > ANSWER_MOST ? 0 : n;
}

static int set_up(struct ship_push *push)
{
	const char *authorities = getenv("SSL_CERT_FILE");
	long timeout_ms = (long)push->timeout_ms;
	CURL *curl = push->curl;

	if (curl_easy_setopt(curl, CURLOPT_URL, push->url) ||
	    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, push->headers) ||
	    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, push->said) ||
	    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take) ||
	    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &push->answer) ||
	    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, timeout_ms) ||
	    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, timeout_ms) ||
	    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) ||
	    /* On a connection that is used again libcurl sends again by itself. */
	    curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L) ||
	    curl_easy_setopt(curl, CURLOPT_USERAGENT, "commprof"))
		return -ENOMEM;
	/* Those of the system are no longer trusted: Debian has them in a directory. */
	if (authorities && *authorities &&
	    (curl_easy_setopt(curl, CURLOPT_CAINFO, authorities) ||
	     curl_easy_setopt(curl, CURLOPT_CAPATH, NULL)))
		return -ENOMEM;
	return 0;
}

int ship_push_open(const char *what, const char *address, const char *path, uint64_t timeout_ms,
		   struct ship_push **ret, char **err)
{
	struct ship_push *push = calloc(1, sizeof(*push));
	int code;

	if (!push)
		return -ENOMEM;
	push->timeout_ms = timeout_ms;
	push->curl = curl_easy_init();
	code = push->curl ? name_it(push, what, address, path) : -ENOMEM;
	if (!code)
		code = add_headers(push, err);
	if (!code)
		code = set_up(push);
	if (code)
		ship_push_close(push);
	else
		*ret = push;
	return code;
}

void ship_push_close(struct ship_push *push)
{
	if (!push)
		return;
	curl_easy_cleanup(push->curl);
	curl_slist_free_all(push->headers);
	free(push->name);
	free(push->url);
	free(push);
}

static int fail_transfer(struct ship_push *push, CURLcode rc, char **err)
{
	const char *said = *push->said ? push->said : curl_easy_strerror(rc);
	char clean[COMM_TEXT_GROWTH * SAID_BYTES + 1];
	size_t n = strcspn(said, "\n");

	if (rc == CURLE_OPERATION_TIMEDOUT)
		return ship_fail(err, -EAGAIN, "%s does not answer within %g s", push->name,
				 (double)push->timeout_ms / 1e3);
	if (rc == CURLE_WRITE_ERROR)
		return ship_fail(err, -EAGAIN, "%s answers without an end", push->name);
	comm_text_clean(said, n < SAID_BYTES ? n : SAID_BYTES, clean, sizeof(clean));
	return ship_fail(err, -EAGAIN, "%s: %s", push->name, clean);
}

/*
 * Whether the same would be refused for ever.  What Pyroscope and Parca say of a request is JSON with a message; another
 * server, as one in front or at a wrong address, knows nothing of what is in it.
 */
static bool is_about_contents(long status, const char *said)
{
	return status == 413 ||
	       ((status == 400 || status == 422) && *said == '{' && strstr(said, "\"message\""));
}

static int fail_status(struct ship_push *push, long status, uint64_t wait_ms, char **err)
{
	char clean[COMM_TEXT_GROWTH * SAID_BYTES + 1], does[64];
	const char *to = NULL;
	int code = -EAGAIN;

	if (status >= 300 && status < 400) {
		curl_easy_getinfo(push->curl, CURLINFO_REDIRECT_URL, &to);
		comm_text_clean(to ? to : "elsewhere", SAID_BYTES, clean, sizeof(clean));
		return ship_fail(err, -EAGAIN,
				 "%s sends on to %s, which is not followed: name that by --to",
				 push->name, clean);
	}
	if (!wait_ms && is_about_contents(status, push->answer.kept))
		code = -EBADMSG;
	push->answer.kept[strcspn(push->answer.kept, "\r\n")] = '\0';
	comm_text_clean(push->answer.kept, SAID_BYTES, clean, sizeof(clean));
	if (code == -EBADMSG)
		snprintf(does, sizeof(does), "refuses a slice");
	else if (wait_ms)
		snprintf(does, sizeof(does), "wants nothing for %g s", (double)wait_ms / 1e3);
	else if (status < 300)
		snprintf(does, sizeof(does), "answers, but not as one that takes profiles");
	else
		snprintf(does, sizeof(does), "takes nothing");
	return ship_fail(err, code, "%s %s: %ld%s%s", push->name, does, status, *clean ? ", " : "",
			 clean);
}

static uint64_t wait_of(struct ship_push *push)
{
	curl_off_t seconds = 0;

	if (curl_easy_getinfo(push->curl, CURLINFO_RETRY_AFTER, &seconds) != CURLE_OK ||
	    seconds < 0)
		return 0;
	return 1000 * (uint64_t)(seconds < WAIT_MOST_S ? seconds : WAIT_MOST_S);
}

int ship_push_post(struct ship_push *push, const char *body, size_t n, uint64_t *ret_wait_ms,
		   char **err)
{
	CURL *curl = push->curl;
	long status = 0;
	CURLcode rc;

	memset(&push->answer, 0, sizeof(push->answer));
	*push->said = '\0';
	*ret_wait_ms = 0;
	rc = curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)n);
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
	if (rc == CURLE_OK)
		rc = curl_easy_perform(curl);
	if (rc != CURLE_OK)
		return fail_transfer(push, rc, err);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	/* Both answer in JSON.  A page is of who knows nothing of profiles. */
	if (status >= 200 && status < 300 &&
	    push->answer.kept[strspn(push->answer.kept, " \r\n\t")] == '{')
		return 0;
	*ret_wait_ms = wait_of(push);
	return fail_status(push, status, *ret_wait_ms, err);
}
