/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef COMM_VERSION_H
#define COMM_VERSION_H

#define COMM_VERSION "0.1.0"

#endif
