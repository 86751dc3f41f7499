/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words that a user chooses from a list: what to say of one that is not in it, and which of the list
 * may have been meant.  Lists are texts of names with spaces between them, as tables make them.
 */
#ifndef CTL_CHOICE_H
#define CTL_CHOICE_H

#include <argp.h>
#include <stdbool.h>

enum { CTL_CHOICE = 48 }; /* bytes of the longest name that is suggested, with its end */

/* The name that the word is a slip of, by few letters or as a beginning; false: none is near. */
bool ctl_choice_near(const char *word, const char *names, char ret[CTL_CHOICE]);

/* Ends the program: "there is no WHAT 'WORD'; choose one of NAMES; did you mean X?" */
void ctl_choice_error(struct argp_state *state, const char *what, const char *word,
		      const char *names);

/* argp_parse(), which does not say what may have been meant by an option that there is not. */
void ctl_choice_parse(const struct argp *argp, int argc, char **argv, void *input);

#endif
