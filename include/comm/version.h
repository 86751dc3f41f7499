/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The version of all of commprof.  What cannot include this file says the same, and
 * tests/static/version.sh checks it: kmod/ (dkms builds it alone), and documents that name its folder.
 */
#ifndef COMM_VERSION_H
#define COMM_VERSION_H

#define COMM_VERSION "0.1.0"

#endif
