/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Root is for setting up.  Once the events are open, only what reading a target's
 * /proc entries needs is kept: CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH,
 * CAP_CHECKPOINT_RESTORE (map_files), and CAP_KILL to end the children that read
 * debug information as user nobody.  Under sudo the process also becomes the invoking
 * user, who then owns the store and can read it.
 */
#ifndef COMMD_PRIVILEGE_H
#define COMMD_PRIVILEGE_H

/*
 * Call before the store is made: from here on files belong to the user behind sudo,
 * if that user may write where the store shall be.  0 or -errno.
 */
int comm_privilege_become_user(const char *store_path);
/* Call once all events are open.  0 or -errno. */
int comm_privilege_drop(void);

#endif
