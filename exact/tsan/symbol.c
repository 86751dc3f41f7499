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
	uint64_t addr, base;
	uint64_t start, end; /* of the segment */
	const char *path;    /* NULL: in no module */
};

static int find_module(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct where *w = ctx;
	int i;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type != PT_LOAD ||
		    w->addr - (info->dlpi_addr + ph->p_vaddr) >= ph->p_memsz)
			continue;
		w->base = info->dlpi_addr;
		w->start = info->dlpi_addr + ph->p_vaddr;
		w->end = w->start + ph->p_memsz;
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

/* The symbol of a type that an address is in, and else the piece between two that it is in. */
struct search {
	uint64_t addr;
	int type;
	uint64_t start, end;
	char *name; /* NULL: is not wanted */
	size_t name_size;
};

static int look_through(struct search *s, const Elf64_Sym *sym, uint64_t n, const char *strings,
			uint64_t strings_bytes)
{
	uint64_t i;

	for (i = 0; i < n; i++, sym++) {
		uint64_t end = sym->st_value + sym->st_size;

		if (ELF64_ST_TYPE(sym->st_info) != s->type || !sym->st_size || !sym->st_shndx)
			continue;
		if (s->addr - sym->st_value < sym->st_size) {
			s->start = sym->st_value;
			s->end = end;
			if (s->name && sym->st_name < strings_bytes)
				snprintf(s->name, s->name_size, "%.*s",
					 (int)(strings_bytes - sym->st_name),
					 strings + sym->st_name);
			return 1;
		}
		if (end <= s->addr && end > s->start)
			s->start = end;
		if (sym->st_value > s->addr && sym->st_value < s->end)
			s->end = sym->st_value;
	}
	return 0;
}

static int search(const uint8_t *file, size_t bytes, struct search *s)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)file;
	const Elf64_Shdr *sh;
	uint64_t i;

	if (bytes < sizeof(*eh) || eh->e_ident[EI_MAG1] != 'E' || eh->e_shentsize != sizeof(*sh) ||
	    eh->e_shoff % 8 || !inside(bytes, eh->e_shoff, (uint64_t)eh->e_shnum * sizeof(*sh)))
		return 0;
	sh = (const Elf64_Shdr *)(file + eh->e_shoff);
	for (i = 0; i < eh->e_shnum; i++) {
		const Elf64_Shdr *strings;

		if ((sh[i].sh_type != SHT_SYMTAB && sh[i].sh_type != SHT_DYNSYM) ||
		    sh[i].sh_link >= eh->e_shnum)
			continue;
		strings = &sh[sh[i].sh_link];
		if (!inside(bytes, sh[i].sh_offset, sh[i].sh_size) || sh[i].sh_offset % 8 ||
		    !inside(bytes, strings->sh_offset, strings->sh_size))
			continue;
		if (look_through(s, (const Elf64_Sym *)(file + sh[i].sh_offset),
				 sh[i].sh_size / sizeof(Elf64_Sym),
				 (const char *)file + strings->sh_offset, strings->sh_size))
			return 1;
	}
	return 0;
}

/* By number: our own mmap() would clear cells. */
static int search_file(const char *path, struct search *s)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), found = 0;
	struct stat st;
	void *file;

	if (fd >= 0 && !fstat(fd, &st) && st.st_size > 0) {
		file = (void *)syscall(SYS_mmap, NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (file != MAP_FAILED) {
			found = search(file, st.st_size, s);
			syscall(SYS_munmap, file, st.st_size);
		}
	}
	if (fd >= 0)
		close(fd);
	return found;
}

void comm_exact_symbol(uint64_t pc, struct comm_exact_symbol *ret)
{
	struct search s = {.type = STT_FUNC, .name = ret->name, .name_size = sizeof(ret->name)};
	struct where w = {.addr = pc};
	const char *base, *p;

	ret->start = pc;
	ret->end = pc + 1;
	dl_iterate_phdr(find_module, &w);
	if (!w.path) {
		snprintf(ret->name, sizeof(ret->name), "0x%llx", (unsigned long long)pc);
		return;
	}
	s.addr = pc - w.base;
	if (search_file(w.path, &s)) {
		ret->start = s.start + w.base;
		ret->end = s.end + w.base;
		return;
	}
	for (base = p = w.path; *p; p++)
		if (*p == '/')
			base = p + 1;
	snprintf(ret->name, sizeof(ret->name), "%s+0x%llx", base,
		 (unsigned long long)(pc - w.base));
}

enum comm_exact_is_variable comm_exact_variable(uint64_t addr, uint64_t *ret_start,
						uint64_t *ret_size_bytes)
{
	struct search s = {.type = STT_OBJECT};
	struct where w = {.addr = addr};
	int found;

	dl_iterate_phdr(find_module, &w);
	if (!w.path)
		return COMM_EXACT_NO_DATA;
	s.addr = addr - w.base;
	s.start = w.start - w.base;
	s.end = w.end - w.base;
	found = search_file(w.path, &s);
	*ret_start = s.start + w.base;
	*ret_size_bytes = s.end - s.start;
	return found ? COMM_EXACT_VARIABLE : COMM_EXACT_NO_VARIABLE;
}
