// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How the address sanitizer is set in each fuzzer, as far as ASAN_OPTIONS does not say otherwise.  Few
 * inputs free more than the quarantine holds, and a larger one only leaves the caches.  Two frames
 * tell suppressions which library allocated; malloc_context_size=30 tells more of a finding.
 */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "quarantine_size_mb=1:thread_local_quarantine_size_kb=16:malloc_context_size=2:"
	       "max_malloc_fill_size=256";
}
