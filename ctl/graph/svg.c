// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Graphviz's dot as a program of its own, not libgvc: that draws cairo and pango into every
 * process that reads a store, and ends it on input that it does not like.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl.h"
#include "drawing.h"

static int run_dot(FILE *in, FILE *out)
{
	static char *argv[] = {(char *)"dot", (char *)"-Tsvg", NULL};
	posix_spawn_file_actions_t actions;
	int status, code;
	pid_t pid;

	code = posix_spawn_file_actions_init(&actions);
	if (code)
		return -code;
	code = posix_spawn_file_actions_adddup2(&actions, fileno(in), STDIN_FILENO);
	if (!code)
		code = posix_spawn_file_actions_adddup2(&actions, fileno(out), STDOUT_FILENO);
	if (!code)
		code = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (code == ENOENT) {
		fputs("commctl: svg needs Graphviz's program dot, which is not installed (Debian: "
		      "apt install graphviz); --as dot prints the graph without it\n",
		      stderr);
		return CTL_FAILURE;
	}
	if (code)
		return -code;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	fputs("commctl: Graphviz's program dot failed to draw the graph; --as dot prints it\n",
	      stderr);
	return CTL_FAILURE;
}

static void copy(FILE *from, FILE *out)
{
	char bytes[4096];
	size_t n;

	rewind(from);
	while ((n = fread(bytes, 1, sizeof(bytes), from)) > 0)
		fwrite(bytes, 1, n, out);
}

/* Files and not pipes: either end may write as much as it likes before the other reads. */
int ctl_draw_svg(const struct ctl_panels *panels, FILE *out)
{
	FILE *graph = tmpfile(), *picture = tmpfile();
	int code = graph && picture ? ctl_draw_dot(panels, graph) : -errno;

	if (!code && (fflush(graph) || fseek(graph, 0, SEEK_SET)))
		code = -errno;
	if (!code)
		code = run_dot(graph, picture);
	if (!code)
		copy(picture, out);
	if (graph)
		fclose(graph);
	if (picture)
		fclose(picture);
	return code;
}
