/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Containers: the control group of one, by the ID that its runtime shows.  Runtimes put it into the name of a directory:
 * docker-ID.scope, libpod-ID.scope, cri-containerd-ID.scope, crio-ID.scope, ID alone, or machine-NAME.scope.
 */
#ifndef COMMD_CONTAINER_H
#define COMMD_CONTAINER_H

/*
 * id: all of an ID or of a name, or 12 hexadecimal digits and more that an ID begins with; with a runtime before it
 * as in "containerd://ID", too.  *ret is the path of the outermost such directory below root (malloc'ed).  0, or -errno with a
 * sentence in *err: -ENOENT: there is none; -ENOTUNIQ: there are several.
 */
int comm_container_find(const char *root, const char *id, char **ret, char **err);

#endif
