#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Makes one KTAP test with subtests of the lines that a part of the VM's tests prints:
# "ok NAME # figures", "not ok NAME # figures" and "skip NAME # why".
#
#	nest.sh PART NUMBER < LINES
#
# It fails when one of them did, or when there is none.  Other lines are diagnostics.
export LC_ALL=C
awk -v name="$1" -v number="$2" '
{ sub(/[ \t\r]+$/, "") }
/^(ok|not ok|skip) / {
	status = /^not / ? "not ok" : "ok"
	text = $0
	sub(/^(ok|not ok|skip) /, "", text)
	if (/^skip /) {
		if (!sub(/ # /, " # SKIP ", text))
			text = text " # SKIP"
		skipped++
	}
	n++
	line[++lines] = status " " n " " text
	failed += status == "not ok"
	next
}
$0 != "" { line[++lines] = /^#/ ? $0 : "# " $0 }
END {
	print "    KTAP version 1"
	print "    # Subtest: " name
	print "    1.." n + 0
	for (i = 1; i <= lines; i++)
		print "    " line[i]
	if (failed)
		print "not ok " number " " name
	else if (!n)
		print "not ok " number " " name " # ERROR no result"
	else
		print "ok " number " " name (skipped == n ? " # SKIP all of it" : "")
}'
