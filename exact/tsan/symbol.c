// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct where {
	uint64_t pc, base;
	const char *path; /* NULL: in no module */
};

static int find_module(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct where *w = ctx;
	int i;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type != PT_LOAD || w->pc - (info->dlpi_addr + ph->p_vaddr) >= ph->p_memsz)
			continue;
		w->base = info->dlpi_addr;
		w->path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
		return 1;
	}
	return 0;
}

/* True when [offset, offset + n) lies in the file. */
static int inside(size_t file_bytes, uint64_t offset, uint64_t n)
{
	return offset <= file_bytes && n <= file_bytes - offset;
}

static int search(const uint8_t *file, size_t bytes, uint64_t addr, char *ret, size_t size)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)file;
	const Elf64_Shdr *sh;
	uint64_t i, j;

	if (bytes < sizeof(*eh) || eh->e_ident[EI_MAG1] != 'E' || eh->e_shentsize != sizeof(*sh) ||
	    eh->e_shoff % 8 || !inside(bytes, eh->e_shoff, (uint64_t)eh->e_shnum * sizeof(*sh)))
		return 0;
	sh = (const Elf64_Shdr *)(file + eh->e_shoff);
	for (i = 0; i < eh->e_shnum; i++) {
		const Elf64_Shdr *strings;
		const Elf64_Sym *sym;

		if ((sh[i].sh_type != SHT_SYMTAB && sh[i].sh_type != SHT_DYNSYM) ||
		    sh[i].sh_link >= eh->e_shnum)
			continue;
		strings = &sh[sh[i].sh_link];
		if (!inside(bytes, sh[i].sh_offset, sh[i].sh_size) || sh[i].sh_offset % 8 ||
		    !inside(bytes, strings->sh_offset, strings->sh_size))
			continue;
		sym = (const Elf64_Sym *)(file + sh[i].sh_offset);
		for (j = 0; j < sh[i].sh_size / sizeof(*sym); j++) {
			if (ELF64_ST_TYPE(sym[j].st_info) != STT_FUNC ||
			    addr - sym[j].st_value >= sym[j].st_size ||
			    sym[j].st_name >= strings->sh_size)
				continue;
			snprintf(ret, size, "%.*s", (int)(strings->sh_size - sym[j].st_name),
				 (const char *)file + strings->sh_offset + sym[j].st_name);
			return 1;
		}
	}
	return 0;
}

/* The path behind a link such as /proc/self/exe. */
static void resolve(const char *path, char *ret, size_t size)
{
	ssize_t n = readlink(path, ret, size - 1);

	if (n < 0)
		snprintf(ret, size, "%s", path);
	else
		ret[n] = 0;
}

uint64_t comm_exact_symbol(uint64_t pc, char *ret, size_t size, char *ret_module,
			   size_t module_size)
{
	struct where w = {.pc = pc};
	const char *base, *p;
	struct stat st;
	void *file;
	int fd, found = 0;

	dl_iterate_phdr(find_module, &w);
	if (!w.path) {
		snprintf(ret, size, "0x%llx", (unsigned long long)pc);
		*ret_module = 0;
		return pc;
	}
	resolve(w.path, ret_module, module_size);
	fd = open(w.path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && !fstat(fd, &st) && st.st_size > 0) {
		/* By number: our own mmap() would clear cells. */
		file = (void *)syscall(SYS_mmap, NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (file != MAP_FAILED) {
			found = search(file, st.st_size, pc - w.base, ret, size);
			syscall(SYS_munmap, file, st.st_size);
		}
	}
	if (fd >= 0)
		close(fd);
	if (found)
		return pc - w.base;
	for (base = p = w.path; *p; p++)
		if (*p == '/')
			base = p + 1;
	snprintf(ret, size, "%s+0x%llx", base, (unsigned long long)(pc - w.base));
	return pc - w.base;
}
