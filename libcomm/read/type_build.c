// SPDX-License-Identifier: GPL-2.0-or-later
#include "type_build.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "array_grow.h"
#include "clock.h"
#include "debug_size.h"
#include "dwarf_type.h"
#include "keyed.h"
#include "packed_elf.h"
#include "type_flow.h"

enum {
	DEPTH_MAX = 96,	     /* of the nesting of DIEs */
	DIES_MAX = 64 << 20, /* looked at in one file */
	SPANS_MAX = 64,	     /* executable segments */
	SPAN_BYTES_MAX = 512 << 20,
	STATICS_MAX = 1 << 20,
	FUNCTIONS_MAX = 1 << 20,
	GOT_MAX = 1 << 18,
	VARIABLES_MAX = 1 << 16, /* places of variables of one function */
	CALLS_MAX = 1 << 16,	 /* of one function */
	LOCATIONS_MAX = 4096,	 /* of one variable */
	RANGES_MAX = 4096,	 /* of one function */
	NAME_BYTES = 512,
	CHECK_EVERY = 256, /* DIEs between two looks at the clock */
	DWARF_REGS = 16,
};

/* General registers as DWARF numbers them, by their encoding. */
static const int8_t gpr_of[DWARF_REGS] = {0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15};

struct span { /* executable bytes */
	uint64_t start, end;
	const uint8_t *bytes;
};

struct fixed {
	uint64_t start, end;
	uint32_t type;
};

struct function {
	uint64_t entry;
	Dwarf_Die die;
};

struct got {
	uint64_t slot, to;
};

struct call {
	uint64_t after;
	uint32_t type;
};

struct known_field {
	uint64_t key[2];
	uint32_t number; /* 1 + that of the table's field; 0: it could not be added */
};

static const struct comm_keyed_kind known_fields = {COMM_KEYED_BYTES(struct known_field, key)};

struct build {
	struct comm_type_table *table;
	struct comm_dwarf_types *types;
	struct comm_type_flow *flow;
	Dwarf *dwarf;
	Dwarf_CFI *cfi;
	struct span span[SPANS_MAX];
	size_t n_spans;
	struct fixed *fixed;
	size_t n_fixed, fixed_capacity;
	struct function *function;
	size_t n_functions, functions_capacity;
	struct got *got;
	size_t n_got, got_capacity;
	COMM_KEYED(known, struct known_field, known_field, n_known_fields);
	/* Of the function that is looked at. */
	struct comm_type_variable *variable;
	size_t n_variables, variables_capacity;
	struct call *call;
	size_t n_calls, calls_capacity;
	struct fixed *local;
	size_t n_local, local_capacity;
	bool has_frame_base, base_is_frame;
	int8_t base_reg;
	int64_t base_offset;
	/* The row of the frame table that was asked for last. */
	uint64_t frame_start, frame_end;
	int64_t frame_offset;
	int8_t frame_reg;
	bool frame_known;
	uint64_t stop_ns;
	uint32_t dies;
	bool stopped;
	struct comm_packed_elf packed;
};

static bool over(struct build *b)
{
	if (++b->dies >= DIES_MAX ||
	    (b->dies % CHECK_EVERY == 0 && comm_clock_thread_ns() > b->stop_ns))
		b->stopped = true;
	return b->stopped;
}

/* What the flow asks */

static bool ask_over(void *ctx)
{
	struct build *b = ctx;

	b->stopped |= comm_clock_thread_ns() > b->stop_ns;
	return b->stopped;
}

static bool is_breg(const Dwarf_Op *op, uint64_t *ret_reg, int64_t *ret_offset)
{
	if (op->atom >= DW_OP_breg0 && op->atom < DW_OP_breg0 + DWARF_REGS) {
		*ret_reg = op->atom - DW_OP_breg0;
		*ret_offset = (int64_t)op->number;
		return true;
	}
	*ret_reg = op->number;
	*ret_offset = (int64_t)op->number2;
	return op->atom == DW_OP_bregx && op->number < DWARF_REGS;
}

static void read_frame(struct build *b, uint64_t pc)
{
	Dwarf_Frame *frame = NULL;
	Dwarf_Addr start, end;
	Dwarf_Op *op;
	uint64_t reg;
	size_t n;

	b->frame_known = false;
	b->frame_start = pc;
	b->frame_end = pc + 1;
	if (!b->cfi || dwarf_cfi_addrframe(b->cfi, pc, &frame) != 0)
		return;
	if (dwarf_frame_info(frame, &start, &end, NULL) >= 0 && start <= pc && pc < end) {
		b->frame_start = start;
		b->frame_end = end;
	}
	if (dwarf_frame_cfa(frame, &op, &n) == 0 && n == 1 && is_breg(op, &reg, &b->frame_offset)) {
		b->frame_reg = gpr_of[reg];
		b->frame_known = true;
	}
	free(frame);
}

static bool ask_frame(void *ctx, uint64_t pc, int8_t *ret_reg, int64_t *ret_offset)
{
	struct build *b = ctx;

	if (pc < b->frame_start || pc >= b->frame_end)
		read_frame(b, pc);
	*ret_reg = b->frame_reg;
	*ret_offset = b->frame_offset;
	return b->frame_known;
}

static uint32_t fixed_at(const struct build *b, uint64_t addr, int64_t *ret_offset)
{
	size_t lo = 0, hi = b->n_fixed;

	for (size_t i = 0; i < b->n_local; i++) {
		if (addr < b->local[i].start || addr >= b->local[i].end)
			continue;
		*ret_offset = (int64_t)(addr - b->local[i].start);
		return b->local[i].type;
	}
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (b->fixed[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || addr >= b->fixed[lo - 1].end)
		return COMM_DWARF_TYPE_NONE;
	*ret_offset = (int64_t)(addr - b->fixed[lo - 1].start);
	return b->fixed[lo - 1].type;
}

static uint32_t ask_fixed(void *ctx, uint64_t addr, int64_t *ret_offset, bool *ret_is_got)
{
	const struct build *b = ctx;
	size_t lo = 0, hi = b->n_got;

	*ret_offset = 0;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (b->got[mid].slot < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	*ret_is_got = lo < b->n_got && b->got[lo].slot == addr;
	return fixed_at(b, *ret_is_got ? b->got[lo].to : addr, ret_offset);
}

static uint32_t ask_result(void *ctx, uint64_t target, uint64_t after)
{
	struct build *b = ctx;
	size_t lo = 0, hi = b->n_calls;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (b->call[mid].after < after)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < b->n_calls && b->call[lo].after == after)
		return b->call[lo].type;
	lo = 0;
	hi = b->n_functions;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (b->function[mid].entry < target)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!target || lo == b->n_functions || b->function[lo].entry != target)
		return COMM_DWARF_TYPE_NONE;
	return comm_dwarf_type_of(b->types, &b->function[lo].die);
}

static void ask_found(void *ctx, const struct comm_type_insn *insn, uint32_t type, int64_t offset)
{
	struct build *b = ctx;
	char path[COMM_DWARF_FIELD_BYTES], name[NAME_BYTES];
	struct comm_dwarf_field field;
	struct known_field *known;
	uint64_t key[2];
	uint32_t number;
	size_t at;

	if (!comm_dwarf_type_field(b->types, type, offset, insn->mem_bytes, &field, NULL))
		return;
	key[0] = (uint64_t)field.root << 32 | field.leaf;
	key[1] = field.offset;
	if (comm_keyed_at(&b->known, &known_fields, key, &at))
		return;
	known = &b->known_field[at];
	if (!known->number) {
		comm_dwarf_type_field(b->types, type, offset, insn->mem_bytes, &field, path);
		comm_dwarf_type_name(b->types, field.root, name, sizeof(name));
		if (comm_type_table_add_field(
			    b->table, &(struct comm_type_field){name, path, field.offset}, &number))
			return;
		known->number = number + 1;
	}
	comm_type_table_add(b->table, insn->addr, known->number - 1);
}

static const struct comm_type_flow_ops flow_ops = {
	.frame = ask_frame,
	.fixed = ask_fixed,
	.result = ask_result,
	.found = ask_found,
	.over = ask_over,
};

/* The file's code, and the slots of its global offset table */

static void find_spans(struct build *b, Elf *elf)
{
	size_t n;

	if (elf_getphdrnum(elf, &n))
		return;
	for (size_t i = 0; i < n && b->n_spans < SPANS_MAX; i++) {
		GElf_Phdr ph;
		Elf_Data *data;

		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD ||
		    !(ph.p_flags & PF_X) || ph.p_filesz > SPAN_BYTES_MAX ||
		    ph.p_vaddr + ph.p_filesz < ph.p_vaddr)
			continue;
		data = elf_getdata_rawchunk(elf, (int64_t)ph.p_offset, ph.p_filesz, ELF_T_BYTE);
		if (data && data->d_buf)
			b->span[b->n_spans++] =
				(struct span){ph.p_vaddr, ph.p_vaddr + data->d_size, data->d_buf};
	}
}

static int by_slot(const void *pa, const void *pb)
{
	const struct got *a = pa, *b = pb;

	return a->slot < b->slot ? -1 : a->slot > b->slot;
}

static void find_got(struct build *b, Elf *elf)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn))) {
		Elf_Data *data, *symbols = NULL;
		GElf_Shdr sh;
		Elf_Scn *of;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_RELA || !(sh.sh_flags & SHF_ALLOC))
			continue;
		data = elf_getdata(scn, NULL);
		of = elf_getscn(elf, sh.sh_link);
		if (of)
			symbols = elf_getdata(of, NULL);
		for (int i = 0; data && symbols && !over(b); i++) {
			GElf_Rela rela;
			GElf_Sym sym;

			if (!gelf_getrela(data, i, &rela))
				break;
			if (GELF_R_TYPE(rela.r_info) != R_X86_64_GLOB_DAT ||
			    !gelf_getsym(symbols, (int)GELF_R_SYM(rela.r_info), &sym) ||
			    !sym.st_value ||
			    comm_array_grow(&b->got, b->n_got, &b->got_capacity, GOT_MAX,
					    sizeof(*b->got)))
				continue;
			b->got[b->n_got++] = (struct got){rela.r_offset, sym.st_value};
		}
	}
	if (b->n_got)
		qsort(b->got, b->n_got, sizeof(*b->got), by_slot);
}

/* Static variables and functions */

static bool fixed_address(Dwarf_Attribute *attr, const Dwarf_Op *op, uint64_t *ret)
{
	Dwarf_Attribute at;

	if (op->atom == DW_OP_addr) {
		*ret = op->number;
		return true;
	}
	return (op->atom == DW_OP_addrx || op->atom == DW_OP_GNU_addr_index) &&
	       dwarf_getlocation_attr(attr, op, &at) == 0 && dwarf_formaddr(&at, ret) == 0;
}

static bool make_fixed(struct build *b, uint64_t addr, uint32_t type, struct fixed *ret)
{
	uint64_t bytes = comm_dwarf_type_bytes(b->types, type);

	*ret = (struct fixed){addr, addr + bytes, type};
	return bytes && addr && ret->end > addr;
}

static void add_fixed(struct build *b, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	struct fixed fixed;
	Dwarf_Op *op;
	uint64_t addr;
	size_t n;

	if (dwarf_attr(die, DW_AT_location, &attr) && dwarf_getlocation(&attr, &op, &n) == 0 &&
	    n == 1 && fixed_address(&attr, op, &addr) &&
	    make_fixed(b, addr, comm_dwarf_type_of(b->types, die), &fixed) &&
	    !comm_array_grow(&b->fixed, b->n_fixed, &b->fixed_capacity, STATICS_MAX,
			     sizeof(*b->fixed)))
		b->fixed[b->n_fixed++] = fixed;
}

static void add_function(struct build *b, Dwarf_Die *die)
{
	Dwarf_Addr entry;

	if ((dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges)) &&
	    dwarf_entrypc(die, &entry) == 0 &&
	    !comm_array_grow(&b->function, b->n_functions, &b->functions_capacity, FUNCTIONS_MAX,
			     sizeof(*b->function)))
		b->function[b->n_functions++] = (struct function){entry, *die};
}

static void walk_unit(struct build *b, Dwarf_Die *unit)
{
	Dwarf_Die stack[DEPTH_MAX];
	int depth = 0;

	if (dwarf_child(unit, &stack[0]) != 0)
		return;
	while (depth >= 0 && !over(b)) {
		Dwarf_Die *die = &stack[depth];
		int tag = dwarf_tag(die);

		if (tag == DW_TAG_variable)
			add_fixed(b, die);
		else if (tag == DW_TAG_subprogram)
			add_function(b, die);
		if ((tag == DW_TAG_namespace || tag == DW_TAG_module) && depth + 1 < DEPTH_MAX &&
		    dwarf_child(die, &stack[depth + 1]) == 0) {
			depth++;
			continue;
		}
		while (depth >= 0 && dwarf_siblingof(&stack[depth], &stack[depth]) != 0)
			depth--;
	}
}

static int by_fixed(const void *pa, const void *pb)
{
	const struct fixed *a = pa, *b = pb;

	return a->start < b->start ? -1 : a->start > b->start;
}

static int by_entry(const void *pa, const void *pb)
{
	const struct function *a = pa, *b = pb;

	return a->entry < b->entry ? -1 : a->entry > b->entry;
}

static void walk_units(struct build *b)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit;

	while (dwarf_get_units(b->dwarf, cu, &cu, NULL, NULL, &unit, NULL) == 0 && !over(b))
		if (dwarf_tag(&unit) == DW_TAG_compile_unit)
			walk_unit(b, &unit);
	if (b->n_fixed)
		qsort(b->fixed, b->n_fixed, sizeof(*b->fixed), by_fixed);
	if (b->n_functions)
		qsort(b->function, b->n_functions, sizeof(*b->function), by_entry);
}

/* One function: where its variables are, and what its calls return */

static void find_frame_base(struct build *b, Dwarf_Die *function)
{
	Dwarf_Attribute attr;
	int64_t offset;
	uint64_t reg;
	Dwarf_Op *op;
	size_t n;

	b->has_frame_base = false;
	b->base_offset = 0;
	if (!dwarf_attr_integrate(function, DW_AT_frame_base, &attr) ||
	    dwarf_getlocation(&attr, &op, &n) != 0 || n != 1)
		return;
	b->has_frame_base = true;
	b->base_is_frame = op->atom == DW_OP_call_frame_cfa;
	if (b->base_is_frame)
		return;
	if (op->atom >= DW_OP_reg0 && op->atom < DW_OP_reg0 + DWARF_REGS) {
		b->base_reg = gpr_of[op->atom - DW_OP_reg0];
	} else if (is_breg(op, &reg, &offset)) {
		b->base_reg = gpr_of[reg];
		b->base_offset = offset;
	} else {
		b->has_frame_base = false;
	}
}

/* False: the variable is in no place that the flow knows. */
static bool read_place(const struct build *b, const Dwarf_Op *op, size_t n,
		       struct comm_type_variable *ret)
{
	int64_t offset;
	uint64_t reg;

	if (n == 1 && op->atom >= DW_OP_reg0 && op->atom < DW_OP_reg0 + DWARF_REGS) {
		ret->place = COMM_TYPE_IN_REGISTER;
		ret->reg = gpr_of[op->atom - DW_OP_reg0];
		return true;
	}
	if (n == 1 && op->atom == DW_OP_fbreg && b->has_frame_base) {
		ret->place = b->base_is_frame ? COMM_TYPE_IN_FRAME : COMM_TYPE_IN_MEMORY;
		ret->reg = b->base_reg;
		ret->offset = (int64_t)(op->number + (uint64_t)b->base_offset);
		return true;
	}
	if (!n || !is_breg(op, &reg, &offset))
		return false;
	ret->reg = gpr_of[reg];
	ret->offset = offset;
	ret->place = n == 1 ? COMM_TYPE_IN_MEMORY : COMM_TYPE_NEAR_REGISTER;
	return n == 1 || (n == 2 && op[1].atom == DW_OP_stack_value);
}

/* The code in which a scope's variables are, as one piece that holds all of it. */
static void scope_of(Dwarf_Die *scope, uint64_t *ret_start, uint64_t *ret_end)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;

	*ret_start = UINT64_MAX;
	*ret_end = 0;
	for (int i = 0; i < RANGES_MAX; i++) {
		offset = dwarf_ranges(scope, offset, &base, &start, &end);
		if (offset <= 0)
			break;
		if (start < *ret_start)
			*ret_start = start;
		if (end > *ret_end)
			*ret_end = end;
	}
}

static void add_local(struct build *b, Dwarf_Attribute *attr, const Dwarf_Op *op, uint32_t type)
{
	struct fixed fixed;
	uint64_t addr;

	if (fixed_address(attr, op, &addr) && make_fixed(b, addr, type, &fixed) &&
	    !comm_array_grow(&b->local, b->n_local, &b->local_capacity, LOCATIONS_MAX,
			     sizeof(*b->local)))
		b->local[b->n_local++] = fixed;
}

static void add_variable(struct build *b, Dwarf_Die *die, Dwarf_Die *scope)
{
	Dwarf_Attribute attr;
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;
	uint32_t type;
	Dwarf_Op *op;
	size_t n;

	if (!dwarf_attr(die, DW_AT_location, &attr))
		return;
	type = comm_dwarf_type_of(b->types, die);
	if (!type)
		return;
	for (int i = 0; i < LOCATIONS_MAX; i++) {
		struct comm_type_variable v = {.type = type};

		offset = dwarf_getlocations(&attr, offset, &base, &start, &end, &op, &n);
		if (offset <= 0)
			break;
		if (n == 1)
			add_local(b, &attr, op, type);
		if (!read_place(b, op, n, &v))
			continue;
		v.start = start;
		v.end = end;
		/* One place for all of the scope. */
		if (!start && end == UINT64_MAX)
			scope_of(scope, &v.start, &v.end);
		if (v.start < v.end &&
		    !comm_array_grow(&b->variable, b->n_variables, &b->variables_capacity,
				     VARIABLES_MAX, sizeof(*b->variable)))
			b->variable[b->n_variables++] = v;
	}
}

static void add_call(struct build *b, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die origin;
	Dwarf_Addr after;

	if (!dwarf_attr(die, DW_AT_call_return_pc, &attr) && !dwarf_attr(die, DW_AT_low_pc, &attr))
		return;
	if (dwarf_formaddr(&attr, &after) != 0)
		return;
	if (!dwarf_attr(die, DW_AT_call_origin, &attr) &&
	    !dwarf_attr(die, DW_AT_abstract_origin, &attr))
		return;
	if (dwarf_formref_die(&attr, &origin) &&
	    !comm_array_grow(&b->call, b->n_calls, &b->calls_capacity, CALLS_MAX, sizeof(*b->call)))
		b->call[b->n_calls++] = (struct call){after, comm_dwarf_type_of(b->types, &origin)};
}

static int by_after(const void *pa, const void *pb)
{
	const struct call *a = pa, *b = pb;

	return a->after < b->after ? -1 : a->after > b->after;
}

static void read_function(struct build *b, Dwarf_Die *function)
{
	Dwarf_Die stack[DEPTH_MAX];
	int depth = 0;

	b->n_variables = b->n_calls = b->n_local = 0;
	find_frame_base(b, function);
	if (dwarf_child(function, &stack[0]) != 0)
		return;
	while (depth >= 0 && !over(b)) {
		Dwarf_Die *die = &stack[depth];
		int tag = dwarf_tag(die);

		if (tag == DW_TAG_formal_parameter || tag == DW_TAG_variable)
			add_variable(b, die, depth ? &stack[depth - 1] : function);
		else if (tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site)
			add_call(b, die);
		if ((tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine ||
		     tag == DW_TAG_try_block || tag == DW_TAG_catch_block) &&
		    depth + 1 < DEPTH_MAX && dwarf_child(die, &stack[depth + 1]) == 0) {
			depth++;
			continue;
		}
		while (depth >= 0 && dwarf_siblingof(&stack[depth], &stack[depth]) != 0)
			depth--;
	}
	if (b->n_calls)
		qsort(b->call, b->n_calls, sizeof(*b->call), by_after);
}

static void run_function(struct build *b, Dwarf_Die *function)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;

	read_function(b, function);
	for (int i = 0; i < RANGES_MAX && !b->stopped; i++) {
		offset = dwarf_ranges(function, offset, &base, &start, &end);
		if (offset <= 0)
			break;
		for (size_t s = 0; s < b->n_spans; s++) {
			const struct span *span = &b->span[s];

			if (start < span->start || end > span->end || start >= end)
				continue;
			comm_type_flow_run(b->flow, start, span->bytes + (start - span->start),
					   end - start, b->variable, b->n_variables);
			break;
		}
	}
}

static int build(struct build *b, Elf *code, Elf *debug, struct comm_type_counts *ret_counts)
{
	int err;

	if (elf_kind(code) != ELF_K_ELF || elf_kind(debug) != ELF_K_ELF ||
	    !comm_debug_size_fits(debug))
		return -ENODATA;
	comm_packed_elf_unpack(debug, &b->packed);
	b->dwarf = dwarf_begin_elf(debug, DWARF_C_READ, NULL);
	if (!b->dwarf)
		return -ENODATA;
	b->cfi = dwarf_getcfi_elf(code);
	err = comm_dwarf_types_create(b->dwarf, &b->types);
	if (!err)
		err = comm_type_flow_create(b->types, &flow_ops, b, &b->flow);
	if (!err) {
		find_spans(b, code);
		find_got(b, code);
		walk_units(b);
		for (size_t i = 0; i < b->n_functions && !over(b); i++)
			run_function(b, &b->function[i].die);
		comm_type_table_sort(b->table);
		comm_type_flow_counts(b->flow, &ret_counts->all, &ret_counts->typed);
		ret_counts->functions = b->n_functions;
		if (!comm_type_table_rows(b->table))
			err = -ENODATA;
	}
	comm_type_flow_destroy(b->flow);
	comm_dwarf_types_destroy(b->types);
	if (b->cfi)
		dwarf_cfi_end(b->cfi);
	dwarf_end(b->dwarf);
	return err;
}

static int build_table(int code_fd, int dwarf_fd, unsigned int cpu_ms,
		       struct comm_type_table *table, struct comm_type_counts *ret_counts)
{
	struct build b = {.table = table,
			  .stop_ns = comm_clock_thread_ns() + (uint64_t)cpu_ms * 1000000u};
	Elf *code = elf_begin(code_fd, ELF_C_READ, NULL);
	Elf *debug = elf_begin(dwarf_fd, ELF_C_READ, NULL);
	int err = code && debug ? build(&b, code, debug, ret_counts) : -ENODATA;

	elf_end(debug);
	elf_end(code);
	comm_packed_elf_deinit(&b.packed);
	free(b.fixed);
	free(b.function);
	free(b.got);
	comm_keyed_deinit(&b.known);
	free(b.variable);
	free(b.call);
	free(b.local);
	return err;
}

int comm_type_build(int code, int dwarf, unsigned int cpu_ms, struct comm_type_table **ret,
		    struct comm_type_counts *ret_counts)
{
	struct comm_type_counts counts = {0};
	struct comm_type_table *table;
	int err = comm_type_table_create(&table);

	if (err)
		return err;
	elf_version(EV_CURRENT);
	err = build_table(code, dwarf, cpu_ms, table, &counts);
	if (err) {
		comm_type_table_destroy(table);
		return err;
	}
	*ret = table;
	if (ret_counts)
		*ret_counts = counts;
	return 0;
}
