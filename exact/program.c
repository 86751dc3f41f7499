// SPDX-License-Identifier: GPL-2.0-or-later
#include "program.h"

#include "pub_tool_clientstate.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"

enum { NAME_BYTES = 4096 };

static Bool is_file(const HChar *path, const HChar *file)
{
	struct vg_stat a, b;

	return !sr_isError(VG_(stat)(path, &a)) && !sr_isError(VG_(stat)(file, &b)) &&
	       a.dev == b.dev && a.ino == b.ino;
}

/* A script's name is not that of its interpreter; a command that was looked for in PATH is beside its file. */
static Bool is_link_to(const HChar *name, const HChar *file)
{
	HChar beside[2 * NAME_BYTES];
	const HChar *slash = VG_(strrchr)(file, '/');

	if (VG_(strchr)(name, '/') || !slash)
		return is_file(name, file);
	if (VG_(strlen)(file) + VG_(strlen)(name) >= sizeof(beside))
		return False;
	VG_(strcpy)(beside, file);
	VG_(strcpy)(beside + (slash - file) + 1, name);
	return is_file(beside, file);
}

/* Of the file asked for last, as most questions are about that: the program may go to another directory meanwhile. */
const HChar *comm_program_called(const HChar *file)
{
	static HChar last[NAME_BYTES];
	static Bool is_link;
	const HChar *name = VG_(args_the_exename);

	if (!name)
		return VG_(basename)(file);
	if (!VG_STREQ(file, last)) {
		VG_(strlcpy)(last, file, sizeof(last));
		is_link = is_link_to(name, last);
	}
	return VG_(basename)(is_link ? name : file);
}

const HChar *comm_program_name(void)
{
	return VG_(args_the_exename) ? VG_(basename)(VG_(args_the_exename)) : "";
}
