// SPDX-License-Identifier: GPL-2.0-or-later
#include "clock.h"
#include "demangle.h"
#include "elfsym.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int test_elfsym_variable[8] __attribute__((used)) = {1};
static _Thread_local int test_elfsym_tls __attribute__((used)) = 5;
static int fd;
static uint64_t base; /* where this program was loaded */

__attribute__((noinline, noclone, used)) static int test_elfsym_function(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n * 3;
}

static int first_module(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	(void)ctx;
	base = info->dlpi_addr;
	return 1;
}

static int setup(void **state)
{
	(void)state;
	dl_iterate_phdr(first_module, NULL);
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -1 : 0;
}

static uint64_t vaddr(const void *p)
{
	return (uint64_t)(uintptr_t)p - base;
}

static void own_symbols(void **state)
{
	struct comm_symbol s;
	struct comm_elfsym *sym;

	(void)state;
	assert_int_equal(comm_elfsym_create(fd, -1, &sym), 0);
	assert_int_equal(comm_elfsym_function(sym, vaddr((void *)test_elfsym_function) + 1, &s), 0);
	assert_string_equal(s.name, "test_elfsym_function");
	assert_int_equal(s.start, vaddr((void *)test_elfsym_function));
	assert_true(s.end > s.start + 1);
	assert_int_equal(comm_elfsym_variable(sym, vaddr(&test_elfsym_variable[7]) + 3, &s), 0);
	assert_string_equal(s.name, "test_elfsym_variable");
	assert_int_equal(s.end - s.start, sizeof(test_elfsym_variable));
	assert_int_equal(comm_elfsym_named(sym, "test_elfsym_variable", &s), 0);
	assert_string_equal(s.name, "test_elfsym_variable");
	assert_int_equal(s.start, vaddr(test_elfsym_variable));
	assert_int_equal(comm_elfsym_named(sym, "test_elfsym_variabl", &s), -ENOENT);
	assert_int_equal(comm_elfsym_section(sym, vaddr(test_elfsym_variable), &s), 0);
	assert_string_equal(s.name, ".data");
	assert_int_equal(comm_elfsym_section(sym, vaddr(&fd), &s), 0);
	assert_string_equal(s.name, ".bss");
	assert_true(comm_elfsym_function(sym, UINT64_MAX, &s) < 0);
	assert_true(comm_elfsym_variable(sym, UINT64_MAX, &s) < 0);
	assert_true(comm_elfsym_section(sym, UINT64_MAX, &s) < 0);
	comm_elfsym_destroy(sym);
}

static void no_thread_local(void **state)
{
	struct comm_elfsym *sym;
	struct comm_symbol s;

	(void)state;
	assert_int_equal(comm_elfsym_create(fd, -1, &sym), 0);
	/* A thread-local symbol's value is an offset into the TLS block, not an address. */
	for (uint64_t at = 0; at < 4096; at += 4)
		if (comm_elfsym_variable(sym, at, &s) == 0)
			assert_string_not_equal(s.name, "test_elfsym_tls");
	comm_elfsym_destroy(sym);
}

static void plt_stubs(void **state)
{
	struct comm_elfsym *sym;
	struct comm_symbol s;
	bool found = false;

	(void)state;
	assert_int_equal(comm_elfsym_create(fd, -1, &sym), 0);
	for (uint64_t at = 0; at < 16 << 20; at += 8)
		found |= comm_elfsym_function(sym, at, &s) == 0 && s.name &&
			 !strcmp(s.name, "dl_iterate_phdr@plt");
	comm_elfsym_destroy(sym);
	assert_true(found);
}

static char *read_self(size_t *ret_bytes)
{
	struct stat st;
	char *image;

	assert_int_equal(fstat(fd, &st), 0);
	image = malloc((size_t)st.st_size);
	assert_non_null(image);
	assert_int_equal(pread(fd, image, (size_t)st.st_size, 0), st.st_size);
	*ret_bytes = (size_t)st.st_size;
	return image;
}

static void stripped_code_has_bounds(void **state)
{
	struct comm_symbol with, s;
	struct comm_elfsym *sym;
	Elf64_Shdr *shdr;
	Elf64_Ehdr *ehdr;
	size_t bytes;
	char *image = read_self(&bytes);

	(void)state;
	assert_int_equal(comm_elfsym_create_memory(image, bytes, &sym), 0);
	assert_int_equal(comm_elfsym_function(sym, vaddr((void *)test_elfsym_function), &with), 0);
	comm_elfsym_destroy(sym);
	ehdr = (void *)image;
	shdr = (void *)(image + ehdr->e_shoff);
	for (int i = 0; i < ehdr->e_shnum; i++)
		if (shdr[i].sh_type == SHT_SYMTAB || shdr[i].sh_type == SHT_DYNSYM)
			shdr[i].sh_type = SHT_PROGBITS;
	assert_int_equal(comm_elfsym_create_memory(image, bytes, &sym), 0);
	assert_int_equal(comm_elfsym_function(sym, vaddr((void *)test_elfsym_function) + 1, &s), 0);
	assert_null(s.name);
	assert_int_equal(s.start, with.start);
	assert_int_equal(s.end, with.end);
	assert_int_equal(comm_elfsym_variables(sym), 0);
	comm_elfsym_destroy(sym);
	free(image);
}

/* A stripped program with a table of Go's (test_gopclntab has its layouts) in the place of its symbols. */
static void stripped_go_has_names(void **state)
{
	uint64_t start = vaddr((void *)test_elfsym_function);
	const uint64_t table[] = {0x08010000fffffffb, 1, start, 64, start + 4, 0, 0, 0, start, 96};
	struct comm_elfsym *sym;
	struct comm_symbol s;
	Elf64_Shdr *shdr;
	Elf64_Ehdr *ehdr;
	size_t bytes;
	char *image = read_self(&bytes), *names, *name = NULL;

	(void)state;
	ehdr = (void *)image;
	shdr = (void *)(image + ehdr->e_shoff);
	names = image + shdr[ehdr->e_shstrndx].sh_offset;
	for (int i = 0; i < ehdr->e_shnum; i++)
		if (!strcmp(names + shdr[i].sh_name, ".note.gnu.build-id"))
			name = strcpy(names + shdr[i].sh_name, ".gopclntab");
	assert_non_null(name);
	for (int i = 0; i < ehdr->e_shnum; i++) {
		if (shdr[i].sh_type == SHT_DYNSYM)
			shdr[i].sh_type = SHT_PROGBITS;
		if (shdr[i].sh_type == SHT_NOTE && names + shdr[i].sh_name == name)
			shdr[i].sh_name = 0;
		if (shdr[i].sh_type != SHT_SYMTAB)
			continue;
		shdr[i].sh_type = SHT_PROGBITS;
		shdr[i].sh_name = (Elf64_Word)(name - names);
		memcpy(image + shdr[i].sh_offset, table, sizeof(table));
		strcpy(image + shdr[i].sh_offset + 96, "main.made");
	}
	assert_int_equal(comm_elfsym_create_memory(image, bytes, &sym), 0);
	assert_int_equal(comm_elfsym_function(sym, start + 3, &s), 0);
	assert_string_equal(s.name, "main.made");
	assert_int_equal(s.start, start);
	assert_int_equal(s.end, start + 4);
	comm_elfsym_destroy(sym);
	free(image);
}

static void offsets(void **state)
{
	struct comm_elfsym *sym;
	Elf64_Phdr *phdr;
	Elf64_Ehdr *ehdr;
	size_t bytes;
	char *image = read_self(&bytes);
	uint64_t at;

	(void)state;
	assert_int_equal(comm_elfsym_create(fd, -1, &sym), 0);
	ehdr = (void *)image;
	phdr = (void *)(image + ehdr->e_phoff);
	for (int i = 0; i < ehdr->e_phnum; i++) {
		if (phdr[i].p_type != PT_LOAD)
			continue;
		assert_int_equal(
			comm_elfsym_vaddr(sym, phdr[i].p_offset, phdr[i].p_flags & ~PF_R, &at), 0);
		assert_int_equal(at, phdr[i].p_vaddr);
		/* A mapping begins at the page. */
		assert_int_equal(comm_elfsym_vaddr(sym, phdr[i].p_offset & ~4095ul,
						   phdr[i].p_flags & ~PF_R, &at),
				 0);
		if (phdr[i].p_flags & (PF_W | PF_X))
			assert_int_equal(at, phdr[i].p_vaddr & ~4095ul);
		/* The .bss begins in the rest of the file's last page. */
		if ((phdr[i].p_flags & PF_W) && (phdr[i].p_offset + phdr[i].p_filesz) % 4096) {
			assert_int_equal(comm_elfsym_vaddr(sym, phdr[i].p_offset + phdr[i].p_filesz,
							   PF_W, &at),
					 0);
			assert_int_equal(at, phdr[i].p_vaddr + phdr[i].p_filesz);
		}
	}
	assert_true(comm_elfsym_vaddr(sym, 1ull << 60, 0, &at) < 0);
	comm_elfsym_destroy(sym);
	free(image);
}

static void identity(void **state)
{
	struct comm_elf_id id;
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(comm_elf_identify(fd, &id), 0);
	assert_int_equal(strlen(id.build_id), 40);
	assert_int_equal(strspn(id.build_id, "0123456789abcdef"), 40);
	assert_true(id.has_symtab);
	assert_true(comm_elf_identify(null, &id) < 0);
	close(null);
}

/* Every way to cut or bend the file must end in an error or a table. */
static void damaged_files(void **state)
{
	struct comm_elfsym *sym;
	size_t bytes;
	char *image = read_self(&bytes), *bent;
	struct comm_symbol s;
	uint64_t at;

	(void)state;
	bent = malloc(bytes);
	assert_non_null(bent);
	for (size_t cut = 0; cut < bytes; cut += bytes / 97 + 1) {
		if (comm_elfsym_create_memory(image, cut, &sym) < 0)
			continue;
		comm_elfsym_function(sym, 0x1000, &s);
		comm_elfsym_destroy(sym);
	}
	srand(1);
	for (int i = 0; i < 200; i++) {
		const Elf64_Ehdr *ehdr = (const void *)image;
		size_t headers = (size_t)ehdr->e_shnum * sizeof(Elf64_Shdr);

		memcpy(bent, image, bytes);
		for (int k = 0; k < 8; k++)
			bent[ehdr->e_shoff + (size_t)rand() % headers] = (char)rand();
		if (comm_elfsym_create_memory(bent, bytes, &sym) < 0)
			continue;
		comm_elfsym_function(sym, vaddr((void *)test_elfsym_function), &s);
		comm_elfsym_variable(sym, vaddr(&fd), &s);
		comm_elfsym_vaddr(sym, 0x1234, PF_X, &at);
		comm_elfsym_destroy(sym);
	}
	free(bent);
	free(image);
}

/*
 * A file whose section headers promise n symbol tables of symbols_bytes each, all the same
 * bytes of the file, and a string table.  With n_named symbols the string table is full of
 * 'x'; without, both are holes and the file takes a few KiB of a disk.
 */
static int make_bomb(unsigned int n, uint64_t symbols_bytes, uint64_t strings_bytes,
		     unsigned int n_named)
{
	enum { CODE = 1, STRINGS, TABLES };
	const off_t symbols_at = 1 << 20, strings_at = symbols_at + (off_t)symbols_bytes;
	int bomb = memfd_create("bomb", MFD_CLOEXEC);
	Elf64_Ehdr head = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_shoff = sizeof(head),
		.e_ehsize = sizeof(head),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (uint16_t)(TABLES + n),
	};
	Elf64_Shdr shdr[64] = {
		[CODE] = {.sh_type = SHT_NOBITS,
			  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			  .sh_addr = 0x1000,
			  .sh_size = 1 << 20},
		[STRINGS] = {.sh_type = SHT_STRTAB,
			     .sh_offset = (uint64_t)strings_at,
			     .sh_size = strings_bytes},
	};
	char x[4096];

	assert_true(bomb >= 0 && n <= 60);
	for (unsigned int i = 0; i < n; i++)
		shdr[TABLES + i] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
						.sh_offset = (uint64_t)symbols_at,
						.sh_size = symbols_bytes,
						.sh_link = STRINGS,
						.sh_entsize = sizeof(Elf64_Sym)};
	assert_int_equal(pwrite(bomb, &head, sizeof(head), 0), sizeof(head));
	assert_int_equal(pwrite(bomb, shdr, sizeof(shdr), sizeof(head)), sizeof(shdr));
	for (unsigned int i = 1; i < n_named; i++) {
		const Elf64_Sym s = {.st_name = i,
				     .st_info = STT_FUNC,
				     .st_shndx = CODE,
				     .st_value = 0x1000 + i,
				     .st_size = 1};

		assert_int_equal(pwrite(bomb, &s, sizeof(s), symbols_at + i * sizeof(s)),
				 sizeof(s));
	}
	memset(x, 'x', sizeof(x));
	for (uint64_t i = 0; n_named && i < strings_bytes; i += sizeof(x))
		assert_int_equal(pwrite(bomb, x, sizeof(x), strings_at + (off_t)i), sizeof(x));
	assert_int_equal(ftruncate(bomb, strings_at + (off_t)strings_bytes), 0);
	return bomb;
}

/* libelf's elf_strptr() looked through all of the table for each name: 8 s for these. */
static void names_without_an_end(void **state)
{
	int bomb = make_bomb(1, 2000 * sizeof(Elf64_Sym), 64 << 20, 2000);
	uint64_t start = comm_clock_thread_ns();
	struct comm_elfsym *sym;

	(void)state;
	assert_int_equal(comm_elfsym_create(bomb, -1, &sym), 0);
	assert_int_equal(comm_elfsym_functions(sym), 0);
	comm_elfsym_destroy(sym);
	print_message("%.0f ms\n", (double)(comm_clock_thread_ns() - start) / 1e6);
	assert_true(comm_clock_thread_ns() - start < 2000000000ull);
	close(bomb);
}

/* All tables of a file together may take no more than one large one. */
static void many_tables_of_nothing(void **state)
{
	int bomb = make_bomb(40, 120 << 20, 4096, 0);
	struct rusage used;
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid) {
		struct comm_elfsym *sym;

		_exit(comm_elfsym_create(bomb, -1, &sym) != 0);
	}
	assert_int_equal(wait4(pid, &status, 0, &used), pid);
	assert_int_equal(status, 0);
	print_message("%ld MiB\n", used.ru_maxrss >> 10);
	assert_true(used.ru_maxrss < 800 << 10);
	close(bomb);
}

/* What a child saved is the same when loaded, and every cut of it is refused. */
static void saved_and_loaded(void **state)
{
	int saved = memfd_create("saved", MFD_CLOEXEC);
	struct comm_elfsym *sym, *loaded;
	struct comm_symbol s;
	struct stat st;

	(void)state;
	assert_int_equal(comm_elfsym_load(saved, &loaded), -ENODATA);
	assert_int_equal(comm_elfsym_create(fd, -1, &sym), 0);
	assert_int_equal(comm_elfsym_save(sym, saved), 0);
	assert_int_equal(comm_elfsym_load(saved, &loaded), 0);
	assert_int_equal(comm_elfsym_functions(loaded), comm_elfsym_functions(sym));
	assert_int_equal(comm_elfsym_variables(loaded), comm_elfsym_variables(sym));
	assert_int_equal(comm_elfsym_function(loaded, vaddr((void *)test_elfsym_function), &s), 0);
	assert_string_equal(s.name, "test_elfsym_function");
	assert_int_equal(comm_elfsym_section(loaded, vaddr(&fd), &s), 0);
	assert_string_equal(s.name, ".bss");
	comm_elfsym_destroy(loaded);
	comm_elfsym_destroy(sym);
	assert_int_equal(fstat(saved, &st), 0);
	for (off_t cut = 0; cut < st.st_size; cut += st.st_size / 50 + 1) {
		assert_int_equal(ftruncate(saved, st.st_size - 1 - cut), 0);
		assert_int_equal(comm_elfsym_load(saved, &loaded), -ENODATA);
	}
	close(saved);
}

/* Each name is looked through, so none is of megabytes. */
static void long_names_are_refused(void **state)
{
	const size_t longest = 4096 + strlen("@plt");
	char text[8192];

	(void)state;
	memset(text, 'x', sizeof(text));
	for (size_t more = 0; more < 2; more++) {
		const uint64_t head[7] = {0x626d7973, [5] = longest + more + 1};
		int saved = memfd_create("saved", MFD_CLOEXEC);
		struct comm_elfsym *sym = NULL;

		text[longest + more] = 0;
		assert_int_equal(write(saved, head, sizeof(head)), sizeof(head));
		assert_int_equal(write(saved, text, longest + more + 1), longest + more + 1);
		assert_int_equal(comm_elfsym_load(saved, &sym), more ? -ENODATA : 0);
		comm_elfsym_destroy(sym);
		close(saved);
		text[longest] = 'x';
	}
}

static void demangles(void **state)
{
	char text[64];

	(void)state;
	assert_string_equal(comm_demangle("_ZN1a1bEi", text, sizeof(text)), "a::b(int)");
	assert_string_equal(comm_demangle("main", text, sizeof(text)), "main");
	assert_string_equal(comm_demangle("_Zgarbage", text, sizeof(text)), "_Zgarbage");
	assert_string_equal(comm_demangle("_ZN1a1bEi", text, 5), "a::b");
	assert_string_equal(comm_demangle("_ZN1aIiE1bEi", text, sizeof(text)), "a<int>::b(int)");
}

/* f(A<int, int>, B<that, that>, C<that, that> ...): 2^31 times "int". */
static void a_demangling_bomb_is_cut(void **state)
{
	static const char digit[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[1024] = "_Z1f1AIiiE", text[128];

	(void)state;
	for (int level = 1; level <= 30; level++) {
		int before = 2 * (level - 1);
		char id[8], part[32];

		if (before >= 36)
			snprintf(id, sizeof(id), "S%c%c_", digit[before / 36], digit[before % 36]);
		else
			snprintf(id, sizeof(id), "S%c_", digit[before]);
		snprintf(part, sizeof(part), "1%cI%s%sE", 'A' + level % 26, id, id);
		strcat(name, part);
	}
	comm_demangle(name, text, sizeof(text));
	assert_int_equal(strlen(text), sizeof(text) - 1);
	assert_memory_equal(text, "f(A<int, int>, B<A<int, int>, A<int, int> >,", 44);
}

static void demangles_rust(void **state)
{
	static const char *const name[][2] = {
		{"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
		{"_RNvMs_Cs1_1aNtB4_1S3new", "<a::S>::new"},
		{"_RNvXCs1_1aNtB2_1SNtNtB2_1m1T2go", "<a::S as a::m::T>::go"},
		{"_RINvCs1_1a3getmTehEE", "a::get::<u32, (str, u8)>"},
		{"_RNCNvCs1_1a3run0", "a::run::{closure#0}"},
		{"_RINvCs1_1a1fFG0_RL0_hRL1_tEuE", "a::f::<for<'a, 'b> fn(&'b u8, &'a u16)>"},
		{"_RNvCs1_1au9bcher_kva", "a::b\303\274cher"},
		{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"},
		{"_ZN50_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$Clone$GT$5clone"
		 "17h0123456789abcdefE",
		 "<alloc::vec::Vec<T> as Clone>::clone"},
		/* Not a Rust hash: in those at least five different digits occur. */
		{"_ZN1a17h0000000000000000E", "a::h0000000000000000"},
	};
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		assert_string_equal(comm_demangle(name[i][0], text, sizeof(text)), name[i][1]);
	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		char part[128];

		for (size_t len = 0; len < strlen(name[i][0]); len++) {
			snprintf(part, sizeof(part), "%.*s", (int)len, name[i][0]);
			for (size_t capacity = 1; capacity < 12; capacity++)
				assert_true(strlen(comm_demangle(part, text, capacity)) <
						    capacity ||
					    comm_demangle(part, text, capacity) == part);
		}
	}
}

/* begin, then part again and again: len_bytes in all. */
static char *repeated(const char *begin, const char *part, const char *end, size_t len_bytes)
{
	char *name = malloc(len_bytes + strlen(begin) + strlen(part) + strlen(end) + 1);
	size_t len = (size_t)sprintf(name, "%s", begin);

	while (len < len_bytes)
		len += (size_t)sprintf(name + len, "%s", part);
	strcpy(name + len, end);
	return name;
}

static void hostile_names(void **state)
{
	static const char *const name[][3] = {
		{"_Z1f", "P", "i"},	{"_ZN", "1a", "Ev"},	   {"_Z1fI", "N1aI", "E"},
		{"_Z1f", "F", "v"},	{"_RINvC1a1f", "R", "hE"}, {"_RINvC1a1f", "T", "E"},
		{"_R", "Nv", "C1a0"},	{"_R", "I", "C1aE"},	   {"_RINvC1a1f", "DI", "C1aE"},
		{"_RNvC1a", "u9", "_"}, {"_R", "Y", "hC1a"},	   {"_RINvC1a1f", "FG", "_uE"},
		{"_R", "M", "C1ah"},	{"_RINvC1a1f", "Aj1_", ""}};
	static const char *const loop[] = {
		"_RB_", "_RNvB_1a", "_RINvC1a1fB7_E", "_RINvC1a1fKB8_E", "_RINvC1a1fDB8_EL_E",
		/* Lifetimes to count: 62^11 of them, printed and not printed. */
		"_RINvC1a1fFGzzzzzzzzzzz_EuE", "_RINvXINvC1a1fFGzzzzzzzzzzz_EuEhC1a1bhE",
		"_RINvC1a1fDGzzzzzzzzzzz_C1aEL_E", "_RNvC1a1fIC1aFGzzzzzzzzzzz_EuE"};
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		for (size_t len = 30; len < 200000; len += 1 + len / 3) {
			char *long_name = repeated(name[i][0], name[i][1], name[i][2], len);
			const char *shown = comm_demangle(long_name, text, sizeof(text));

			assert_true(shown == long_name || strlen(text) < sizeof(text));
			if (len > 4096)
				assert_ptr_equal(shown, long_name);
			free(long_name);
		}
	for (size_t i = 0; i < sizeof(loop) / sizeof(loop[0]); i++)
		comm_demangle(loop[i], text, sizeof(text));
	assert_string_equal(comm_demangle(loop[5], text, sizeof(text)), loop[5]);
}

/* (that, that) of (that, that): 2^40 times "u8", and no memory is left behind. */
static void a_rust_bomb_is_cut(void **state)
{
	char name[2048] = "_RINvC1a1fThhE", text[128];
	size_t before = 10, used;

	(void)state;
	for (int level = 0; level < 40; level++) {
		static const char digit[] =
			"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
		size_t len = strlen(name), of = before - 2 - 1;
		char id[8];

		if (of < 62)
			snprintf(id, sizeof(id), "%c", digit[of]);
		else
			snprintf(id, sizeof(id), "%c%c", digit[of / 62 - 1 + 1], digit[of % 62]);
		snprintf(name + len, sizeof(name) - len, "TB%s_B%s_E", id, id);
		before = len;
	}
	strcat(name, "E");
	assert_ptr_equal(comm_demangle(name, text, sizeof(text)), text);
	assert_int_equal(strlen(text), sizeof(text) - 1);
	assert_memory_equal(text, "a::f::<(u8, u8), ((u8, u8), (u8, u8)), ", 39);

	used = mallinfo2().uordblks;
	for (int i = 0; i < 1000; i++)
		comm_demangle("_RNvNvCs1_1au9bcher_kvau9bcher_kva", text, 6);
	assert_int_equal(mallinfo2().uordblks, used);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_symbols),
		cmocka_unit_test(no_thread_local),
		cmocka_unit_test(plt_stubs),
		cmocka_unit_test(stripped_code_has_bounds),
		cmocka_unit_test(stripped_go_has_names),
		cmocka_unit_test(offsets),
		cmocka_unit_test(identity),
		cmocka_unit_test(damaged_files),
		cmocka_unit_test(names_without_an_end),
		cmocka_unit_test(many_tables_of_nothing),
		cmocka_unit_test(saved_and_loaded),
		cmocka_unit_test(long_names_are_refused),
		cmocka_unit_test(demangles),
		cmocka_unit_test(a_demangling_bomb_is_cut),
		cmocka_unit_test(demangles_rust),
		cmocka_unit_test(hostile_names),
		cmocka_unit_test(a_rust_bomb_is_cut),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
