/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "instrument.h"

#include "pub_tool_hashtable.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"

#include "call.h"
#include "marked.h"
#include "marks.h"
#include "pattern.h"
#include "site.h"
#include "trace.h"

/* An address as a temporary plus a constant; IRTemp_INVALID: a constant. */
struct root {
	IRTemp temp;
	Long offset;
	Int reg; /* where the guest state has the temporary, 0: it is no register's */
};

struct pending {
	struct root root;
	IRTemp base; /* what is stored at run time */
	UInt size;
	UChar kind;
	Bool is_told; /* its value is: it stays as it is */
	Addr ip;
};

/* A header, as stored at one place in the code. */
struct header {
	IRConst *value;
	UInt n_slots, n_accesses;
};

/* The segments of one translation, to be freed with it. */
struct translation {
	VgHashNode node; /* key: where it starts */
	Addr code;
	UInt code_bytes;
	struct comm_tool_segment *first;
};

struct builder {
	IRSB *out;
	struct root *root; /* of each temporary */
	IRTemp pos;	   /* position in the buffer, IRTemp_INVALID: not read yet */
	UInt used;	   /* slots from pos on */
	/* The segment being built. */
	Bool open;
	UInt site, entered, instructions;
	UInt n_accesses, n_bases;
	struct pending access[COMM_TRACE_MAX_ACCESSES];
	IRTemp base[COMM_TRACE_MAX_SLOTS]; /* IRTemp_INVALID: zero */
	/* Headers stored so far; their values are known when it is closed. */
	struct header *header;
	UInt n_headers, header_capacity;
	UInt reported; /* accesses the last exit's header counts */
	Addr ip;
	/* The last plain load of this instruction, to see lock-prefixed pairs. */
	struct root loaded;
	UInt loaded_size;
	struct comm_tool_segment *first;
	Int sp; /* where the guest state has the stack's top */
	Int frame_pointer;
	Bool may_mark; /* the code may make marks */
	Bool reads;    /* of the segment count */
};

static struct comm_trace *trace;
static const HChar *function; /* NULL: all */
static VgHashTable *translations;
static struct builder builder;

void comm_instrument_init(struct comm_trace *t, const HChar *wanted)
{
	trace = t;
	function = wanted;
	translations = VG_(HT_construct)("comm.translations");
}

Bool comm_instrument_reads(UInt site)
{
	return !function ||
	       comm_pattern_has(function, comm_function_get(comm_site_get(site)->function)->name);
}

static void flush(void)
{
	comm_trace_flush(trace);
}

static void emit(struct builder *b, IRStmt *statement)
{
	addStmtToIRSB(b->out, statement);
}

static IRTemp assign(struct builder *b, IRType type, IRExpr *expression)
{
	IRTemp temp = newIRTemp(b->out->tyenv, type);

	emit(b, IRStmt_WrTmp(temp, expression));
	return temp;
}

static IRExpr *address_of(const void *variable)
{
	return mkIRExpr_HWord((HWord)variable);
}

static IRTemp load_pos(struct builder *b)
{
	return assign(b, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, address_of(&trace->pos)));
}

/* Makes room for COMM_TRACE_SLACK slots at pos. */
static void check_room(struct builder *b)
{
	IRTemp pos = load_pos(b);
	IRExpr *limit = address_of(&trace->slot[COMM_TRACE_SLOTS - COMM_TRACE_SLACK]);
	IRTemp full = assign(b, Ity_I1, IRExpr_Binop(Iop_CmpLT64U, limit, IRExpr_RdTmp(pos)));
	IRDirty *dirty =
		unsafeIRDirty_0_N(0, "comm_flush", VG_(fnptr_to_fnentry)(&flush), mkIRExprVec_0());

	dirty->guard = IRExpr_RdTmp(full);
	emit(b, IRStmt_Dirty(dirty));
	b->pos = load_pos(b);
	b->used = 0;
}

static IRExpr *slot_address(struct builder *b, UInt slot)
{
	if (!slot)
		return IRExpr_RdTmp(b->pos);
	return IRExpr_RdTmp(assign(b, Ity_I64,
				   IRExpr_Binop(Iop_Add64, IRExpr_RdTmp(b->pos),
						IRExpr_Const(IRConst_U64(slot * 8ul)))));
}

static void store_header(struct builder *b)
{
	IRConst *value = IRConst_U64(0);

	if (b->n_headers == b->header_capacity) {
		b->header_capacity = b->header_capacity ? 2 * b->header_capacity : 64;
		b->header = VG_(realloc)("comm.headers", b->header,
					 b->header_capacity * sizeof(*b->header));
	}
	b->header[b->n_headers++] = (struct header){value, 1 + b->n_bases, b->n_accesses};
	emit(b, IRStmt_Store(Iend_LE, slot_address(b, b->used), IRExpr_Const(value)));
}

static void open_segment(struct builder *b)
{
	if (b->pos == IRTemp_INVALID || b->used + COMM_TRACE_MAX_SLOTS > COMM_TRACE_SLACK)
		check_room(b);
	b->open = True;
	b->n_accesses = b->n_bases = b->n_headers = b->reported = 0;
	/* For the sake of a fault before the first exit. */
	store_header(b);
}

/* All accesses so far will have been made when the code gets here. */
static void report(struct builder *b)
{
	store_header(b);
	emit(b, IRStmt_Store(Iend_LE, address_of(&trace->pos),
			     slot_address(b, b->used + 1 + b->n_bases)));
	b->reported = b->n_accesses;
}

/* Adjacent accesses of one kind, with nothing between that could matter. */
static Bool merge(struct builder *b, const struct pending *next)
{
	struct pending *old;
	Bool writes = next->kind == COMM_TRACE_WRITE;

	/* What is drawn is drawn one by one. */
	if (next->kind & ~COMM_TRACE_UPDATE || next->is_told || trace->draw)
		return False;
	for (UInt i = b->n_accesses; i-- > b->reported;) {
		Bool same_base;

		old = &b->access[i];
		if (old->kind & ~COMM_TRACE_UPDATE || old->is_told)
			return False;
		same_base = old->base == next->base;
		if (same_base && old->kind == next->kind && old->size + next->size < 65536) {
			if (old->root.offset + old->size == next->root.offset) {
				old->size += next->size;
				return True;
			}
			if (next->root.offset + next->size == old->root.offset) {
				old->root.offset = next->root.offset;
				old->size += next->size;
				return True;
			}
		}
		if (same_base && old->kind == COMM_TRACE_READ && writes &&
		    old->root.offset == next->root.offset && old->size == next->size &&
		    i == b->n_accesses - 1) {
			old->kind = COMM_TRACE_UPDATE;
			return True;
		}
		/* May next move before old?  Reads may pass reads. */
		if (!writes && next->kind == COMM_TRACE_READ && old->kind == COMM_TRACE_READ)
			continue;
		if (same_base && (old->root.offset + old->size <= next->root.offset ||
				  next->root.offset + next->size <= old->root.offset))
			continue;
		return False;
	}
	return False;
}

static UChar base_of(const struct builder *b, IRTemp base)
{
	for (UInt i = 0; i < b->n_bases; i++) {
		if (b->base[i] == base)
			return i + 1;
	}
	tl_assert(0);
}

static void close_segment(struct builder *b)
{
	struct comm_tool_segment *segment;
	SizeT bytes = sizeof(*segment) + b->n_accesses * sizeof(struct comm_trace_access);
	ULong *ip;

	if (!b->open && !b->instructions && !b->entered)
		return;
	if (!b->open)
		open_segment(b);
	if (b->reported < b->n_accesses || !b->n_accesses)
		report(b);
	segment = VG_(malloc)("comm.segment", bytes + b->n_accesses * sizeof(*ip));
	ip = (ULong *)((UChar *)segment + bytes);
	*segment = (struct comm_tool_segment){
		.site = b->site,
		.entered = b->entered,
		.n_accesses = b->n_accesses,
		.n_slots = 1 + b->n_bases,
		.n_instructions = b->instructions,
		.next = b->first,
		.ip = (const uint64_t *)ip,
	};
	b->first = segment;
	for (UInt i = 0; i < b->n_accesses; i++) {
		const struct pending *p = &b->access[i];
		segment->access[i] = (struct comm_trace_access){
			.offset = p->root.offset,
			.size_bytes = p->size,
			.base = base_of(b, p->base),
			.kind = p->kind,
		};
		ip[i] = p->ip;
	}
	for (UInt i = 0; i < b->n_headers; i++)
		b->header[i].value->Ico.U64 =
			comm_segment_header(segment, b->header[i].n_slots, b->header[i].n_accesses);
	b->used += segment->n_slots;
	b->open = False;
	b->entered = b->instructions = 0;
}

/* How many more accesses and bases there must be room for in one segment. */
static void make_room(struct builder *b, UInt n)
{
	if (b->open && (b->n_accesses + n > COMM_TRACE_MAX_ACCESSES ||
			b->n_bases + n > COMM_TRACE_MAX_SLOTS - 1))
		close_segment(b);
	if (!b->open)
		open_segment(b);
}

static void store_base(struct builder *b, IRTemp base)
{
	UInt i;

	for (i = 0; i < b->n_bases && b->base[i] != base; i++)
		;
	if (i == b->n_bases) {
		IRExpr *value =
			base == IRTemp_INVALID ? IRExpr_Const(IRConst_U64(0)) : IRExpr_RdTmp(base);

		b->base[b->n_bases++] = base;
		emit(b, IRStmt_Store(Iend_LE, slot_address(b, b->used + b->n_bases), value));
	}
}

static void add_pending(struct builder *b, struct pending next)
{
	next.ip = b->ip;
	store_base(b, next.base);
	if (!merge(b, &next))
		b->access[b->n_accesses++] = next;
}

static void add_access(struct builder *b, UChar kind, IRTemp base, Long offset, UInt size)
{
	make_room(b, 1);
	add_pending(b, (struct pending){
			       .root = {base, offset}, .base = base, .size = size, .kind = kind});
}

/* A write whose value is told. */
static void add_told(struct builder *b, UChar kind, IRTemp base, Long offset, UInt size,
		     IRExpr *value)
{
	IRTemp told = assign(b, Ity_I64, size == 8 ? value : IRExpr_Unop(Iop_32Uto64, value));

	make_room(b, 2);
	add_pending(b, (struct pending){.root = {told, b->instructions},
					.base = told,
					.kind = COMM_TRACE_TELL});
	add_pending(b, (struct pending){.root = {base, offset},
					.base = base,
					.size = size,
					.kind = kind,
					.is_told = True});
}

static struct root root_of(const struct builder *b, const IRExpr *address)
{
	if (address->tag == Iex_Const)
		return (struct root){IRTemp_INVALID, (Long)address->Iex.Const.con->Ico.U64, 0};
	tl_assert(address->tag == Iex_RdTmp);
	return b->root[address->Iex.RdTmp.tmp];
}

static void follow(struct builder *b, IRTemp temp, const IRExpr *e)
{
	struct root from;
	Long sign;

	b->root[temp] = (struct root){temp, 0, 0};
	if (b->out->tyenv->types[temp] != Ity_I64)
		return;
	if (e->tag == Iex_Get)
		b->root[temp].reg = e->Iex.Get.offset;
	if (e->tag == Iex_RdTmp) {
		b->root[temp] = b->root[e->Iex.RdTmp.tmp];
		return;
	}
	if (e->tag != Iex_Binop || (e->Iex.Binop.op != Iop_Add64 && e->Iex.Binop.op != Iop_Sub64))
		return;
	if (e->Iex.Binop.arg1->tag != Iex_RdTmp || e->Iex.Binop.arg2->tag != Iex_Const)
		return;
	sign = e->Iex.Binop.op == Iop_Add64 ? 1 : -1;
	from = b->root[e->Iex.Binop.arg1->Iex.RdTmp.tmp];
	from.offset += sign * (Long)e->Iex.Binop.arg2->Iex.Const.con->Ico.U64;
	b->root[temp] = from;
}

static void read(struct builder *b, const IRExpr *address, UInt size)
{
	struct root root = root_of(b, address);

	b->loaded = root;
	b->loaded_size = size;
	if (b->reads)
		add_access(b, COMM_TRACE_READ, root.temp, root.offset, size);
}

static void write(struct builder *b, const IRExpr *address, UInt size)
{
	struct root root = root_of(b, address);

	add_access(b, COMM_TRACE_WRITE, root.temp, root.offset, size);
}

/*
 * Whether a store may be one of a mark: of as many bytes, by an address that is neither known to be another one nor the
 * stack's.  What lies below a register that functions keep their frame in is the stack's, too: marks lie above
 * what a compiler has a pointer to.
 */
static Bool may_mark(const struct builder *b, const struct root *root, IRType type)
{
	if (!b->may_mark || (type != Ity_I64 && type != Ity_I32) || root->reg == b->sp ||
	    (root->reg == b->frame_pointer && root->offset < 0))
		return False;
	return root->temp != IRTemp_INVALID || trace->marks.process == COMM_MARKS_NOWHERE ||
	       comm_marks_is_of_process(&trace->marks, root->offset);
}

static void store(struct builder *b, const IRExpr *address, IRExpr *data)
{
	IRType type = typeOfIRExpr(b->out->tyenv, data);
	struct root root = root_of(b, address);

	if (may_mark(b, &root, type))
		add_told(b, COMM_TRACE_WRITE, root.temp, root.offset, sizeofIRType(type), data);
	else
		write(b, address, sizeofIRType(type));
}

/* An address, or 0. */
static IRTemp if_true(struct builder *b, IRExpr *guard, IRExpr *address)
{
	return assign(b, Ity_I64, IRExpr_ITE(guard, address, IRExpr_Const(IRConst_U64(0))));
}

static void maybe(struct builder *b, UChar kind, IRExpr *guard, IRExpr *address, UInt size)
{
	add_access(b, kind, if_true(b, guard, address), 0, size);
}

static void load_guarded(struct builder *b, IRLoadG *load)
{
	IRType result, loaded;

	if (!b->reads)
		return;
	typeOfIRLoadGOp(load->cvt, &result, &loaded);
	maybe(b, COMM_TRACE_MAYBE | COMM_TRACE_READ, load->guard, load->addr, sizeofIRType(loaded));
}

static void dirty_call(struct builder *b, IRDirty *dirty)
{
	if (dirty->mFx == Ifx_None)
		return;
	/* The guard is nearly always true: XSAVE and its like. */
	if (dirty->mFx == Ifx_Read || dirty->mFx == Ifx_Modify)
		read(b, dirty->mAddr, dirty->mSize);
	if (dirty->mFx == Ifx_Write || dirty->mFx == Ifx_Modify)
		write(b, dirty->mAddr, dirty->mSize);
}

/*
 * A locked instruction comes as a load, a compare-and-swap and a retry; a
 * cmpxchg as the compare-and-swap alone.  Either reads once, and writes only if
 * it succeeds, which is known after the statement.
 */
static void compare_and_swap(struct builder *b, IRStmt *statement)
{
	IRCAS *cas = statement->Ist.CAS.details;
	Bool twice = cas->expdHi != NULL;
	IRType type = typeOfIRExpr(b->out->tyenv, cas->expdLo);
	UInt size = sizeofIRType(type) * (twice ? 2 : 1);
	struct root root = root_of(b, cas->addr);
	IROp same = type == Ity_I64   ? Iop_CasCmpEQ64
		    : type == Ity_I32 ? Iop_CasCmpEQ32
		    : type == Ity_I16 ? Iop_CasCmpEQ16
				      : Iop_CasCmpEQ8;
	IRTemp equal;

	if (b->loaded_size != size || b->loaded.temp != root.temp ||
	    b->loaded.offset != root.offset)
		read(b, cas->addr, size);
	emit(b, statement);
	equal = assign(b, Ity_I1, IRExpr_Binop(same, IRExpr_RdTmp(cas->oldLo), cas->expdLo));
	if (twice) {
		IRTemp high = assign(b, Ity_I1,
				     IRExpr_Binop(same, IRExpr_RdTmp(cas->oldHi), cas->expdHi));
		IRTemp address = assign(
			b, Ity_I64,
			IRExpr_ITE(IRExpr_RdTmp(equal), cas->addr, IRExpr_Const(IRConst_U64(0))));

		maybe(b, COMM_TRACE_MAYBE | COMM_TRACE_WRITE, IRExpr_RdTmp(high),
		      IRExpr_RdTmp(address), size);
		return;
	}
	if (b->may_mark && type == Ity_I64)
		add_told(b, COMM_TRACE_MAYBE | COMM_TRACE_WRITE,
			 if_true(b, IRExpr_RdTmp(equal), cas->addr), 0, size, cas->dataLo);
	else
		maybe(b, COMM_TRACE_MAYBE | COMM_TRACE_WRITE, IRExpr_RdTmp(equal), cas->addr, size);
}

/* A call begins or returns here. */
static void call(struct builder *b, UChar kind)
{
	IRTemp sp = assign(b, Ity_I64, IRExpr_Get(b->sp, Ity_I64));

	add_access(b, kind, sp, 0, 1);
}

static void instruction(struct builder *b, Addr ip, Bool jumped)
{
	UInt entered = comm_calls_function(ip);

	if (jumped || entered) {
		UInt site = comm_site_at(ip);

		if (site != b->site || entered) {
			close_segment(b);
			b->site = site;
			b->entered = entered;
			b->reads = comm_instrument_reads(site);
		}
	}
	b->ip = ip;
	b->loaded_size = 0;
	b->instructions++;
	if (entered)
		call(b, COMM_TRACE_ENTER);
}

static void statement(struct builder *b, IRStmt *s, Bool by_line, Addr *next)
{
	IRExpr *rhs;

	switch (s->tag) {
	case Ist_IMark:
		instruction(b, s->Ist.IMark.addr, by_line || s->Ist.IMark.addr != *next);
		*next = s->Ist.IMark.addr + s->Ist.IMark.len;
		break;
	case Ist_WrTmp:
		rhs = s->Ist.WrTmp.data;
		if (rhs->tag == Iex_Load)
			read(b, rhs->Iex.Load.addr, sizeofIRType(rhs->Iex.Load.ty));
		follow(b, s->Ist.WrTmp.tmp, rhs);
		break;
	case Ist_Store:
		store(b, s->Ist.Store.addr, s->Ist.Store.data);
		break;
	case Ist_LoadG:
		load_guarded(b, s->Ist.LoadG.details);
		break;
	case Ist_StoreG:
		maybe(b, COMM_TRACE_MAYBE | COMM_TRACE_WRITE, s->Ist.StoreG.details->guard,
		      s->Ist.StoreG.details->addr,
		      sizeofIRType(typeOfIRExpr(b->out->tyenv, s->Ist.StoreG.details->data)));
		break;
	case Ist_Dirty:
		dirty_call(b, s->Ist.Dirty.details);
		break;
	case Ist_CAS:
		compare_and_swap(b, s);
		return; /* has been emitted */
	case Ist_Exit:
		/* Instructions are counted by the segment, so it must end here. */
		close_segment(b);
		break;
	default:
		break;
	}
	emit(b, s);
}

static void remember(Addr start, const VexGuestExtents *extents, struct comm_tool_segment *first)
{
	struct translation *translation;

	if (!first)
		return;
	translation = VG_(malloc)("comm.translation", sizeof(*translation));
	translation->node.key = start;
	translation->code = extents->base[0];
	translation->code_bytes = extents->len[0];
	translation->first = first;
	VG_(HT_add_node)(translations, translation);
}

IRSB *comm_instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
		      const VexGuestExtents *extents, const VexArchInfo *arch, IRType guest_word,
		      IRType host_word)
{
	struct builder *b = &builder;
	Addr next = 0;
	Int i = 0;

	if (guest_word != host_word)
		VG_(tool_panic)("host and guest differ in word size");
	b->out = deepCopyIRSBExceptStmts(in);
	b->pos = IRTemp_INVALID;
	b->used = 0;
	b->open = False;
	b->entered = b->instructions = 0;
	b->site = 0;
	b->reads = comm_instrument_reads(0);
	b->first = NULL;
	b->sp = layout->offset_SP;
	b->frame_pointer = layout->offset_FP;
	b->may_mark = comm_marked_code(extents->base[0]);
	/* Only temporaries of the incoming code are ever asked for. */
	b->root = VG_(malloc)("comm.roots", (in->tyenv->types_used + 1) * sizeof(*b->root));
	for (Int t = 0; t < in->tyenv->types_used; t++)
		b->root[t] = (struct root){t, 0, 0};
	for (; i < in->stmts_used && in->stmts[i]->tag != Ist_IMark; i++)
		emit(b, in->stmts[i]);
	for (; i < in->stmts_used; i++) {
		if (in->stmts[i]->tag != Ist_NoOp)
			statement(b, in->stmts[i], comm_site_by_line(), &next);
	}
	if (comm_calls_wanted() && in->jumpkind == Ijk_Ret)
		call(b, COMM_TRACE_LEAVE);
	close_segment(b);
	VG_(free)(b->root);
	remember(closure->nraddr, extents, b->first);
	return b->out;
}

static Word same_translation(const void *left, const void *right)
{
	const struct translation *a = left, *b = right;

	return a->code != b->code || a->code_bytes != b->code_bytes;
}

void comm_instrument_discard(Addr start, VexGuestExtents extents)
{
	/* A wrapped function and its wrapper start at the same address. */
	struct translation probe = {
		.node = {.key = start}, .code = extents.base[0], .code_bytes = extents.len[0]};
	struct translation *found = VG_(HT_gen_remove)(translations, &probe, same_translation);

	if (!found)
		return;
	comm_trace_flush(trace);
	while (found->first) {
		struct comm_tool_segment *next = found->first->next;

		VG_(free)(found->first);
		found->first = next;
	}
	VG_(free)(found);
}
