/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words that a user chooses from a list: what to say of one that is not in it, and which of the list
 * may have been meant.  Lists are texts of names with spaces between them, as tables make them.
 */
#ifndef CLI_CHOICE_H
#define CLI_CHOICE_H

#include <argp.h>
#include <stdbool.h>

enum { COMM_CHOICE = 48 }; /* bytes of the longest name that is suggested, with its end */

/* The name that the word is a slip of, by few letters or as a beginning; false: none is near. */
bool comm_choice_near(const char *word, const char *names, char ret[COMM_CHOICE]);

/* Ends the program: "there is no WHAT 'WORD'; choose one of NAMES; did you mean X?" */
void comm_choice_error(struct argp_state *state, const char *what, const char *word,
		       const char *names);

/*
 * argp_parse(), which does not say what may have been meant by an option that there is not.  With
 * ARGP_IN_ORDER what follows the first word that is no option is a command's.
 */
void comm_choice_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);

#endif
