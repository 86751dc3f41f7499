/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cases of exact_strings.c; behind each: bytes read of what produce() wrote, and bytes written. */
// clang-format off
CASE(__LINE__, strlen(src)) /* 64 0 */
CASE(__LINE__, strnlen(src, 10)) /* 10 0 */
CASE(__LINE__, strcpy(dst, src)) /* 64 64 */
CASE(__LINE__, stpcpy(dst, src)) /* 64 64 */
CASE(__LINE__, strncpy(dst, src, 100)) /* 64 100 */
CASE(__LINE__, stpncpy(dst, src, 20)) /* 20 20 */
CASE(__LINE__, strcat(dst, src)) /* 64 64 */
CASE(__LINE__, strncat(dst, src, 8)) /* 8 9 */
CASE(__LINE__, p = strdup(src)) /* 64 64 */
CASE(__LINE__, p = strndup(src, 32)) /* 32 33 */
CASE(__LINE__, memcpy(dst, src, 48)) /* 48 48 */
CASE(__LINE__, memmove(dst, src, 48)) /* 48 48 */
CASE(__LINE__, memset(dst, 1, 100)) /* 0 100 */
CASE(__LINE__, mempcpy(dst, src, 48)) /* 48 48 */
CASE(__LINE__, memccpy(dst, src, 0, 100)) /* 64 64 */
CASE(__LINE__, (bzero(dst, 40), 0)) /* 0 40 */
CASE(__LINE__, (explicit_bzero(dst, 40), 0)) /* 0 40 */
CASE(__LINE__, (bcopy(src, dst, 40), 0)) /* 40 40 */
CASE(__LINE__, memcmp(src, twin, 50)) /* 100 0 */
CASE(__LINE__, bcmp(src, twin, 50)) /* 100 0 */
CASE(__LINE__, strcmp(src, twin)) /* 128 0 */
CASE(__LINE__, strncmp(src, twin, 12)) /* 24 0 */
CASE(__LINE__, strcasecmp(src, twin)) /* 128 0 */
CASE(__LINE__, strncasecmp(src, twin, 12)) /* 24 0 */
CASE(__LINE__, memchr(src, 'b', 32)) /* 32 0 */
CASE(__LINE__, memrchr(src, 'a', 32)) /* 1 0 */
CASE(__LINE__, rawmemchr(src, 0)) /* 64 0 */
CASE(__LINE__, strchr(src, 'b')) /* 64 0 */
CASE(__LINE__, strchrnul(src, 'b')) /* 64 0 */
CASE(__LINE__, strrchr(src, 'a')) /* 64 0 */
CASE(__LINE__, strstr(src, "b")) /* 64 0 */
CASE(__LINE__, strcasestr(src, "AA")) /* 2 0 */
CASE(__LINE__, memmem(src, 64, twin, 4)) /* 8 0 */
CASE(__LINE__, strspn(src, "a")) /* 64 0 */
CASE(__LINE__, strcspn(src, "b")) /* 64 0 */
CASE(__LINE__, strpbrk(src, "b")) /* 64 0 */
