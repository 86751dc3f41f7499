// SPDX-License-Identifier: GPL-2.0-or-later
#include "type_flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array_grow.h"

enum {
	INSNS_MAX = 1 << 18, /* of one function */
	LABELS_MAX = 1 << 16,
	SLOTS = 24,  /* of the stack, whose values are known by function */
	PASSES = 6,  /* until states must have settled */
	ACTIVE = 64, /* variables in registers at once */
	RESULT = 0,  /* rax */
};

/* A pointer to offset in a type; NONE: not known to be one. */
struct value {
	uint32_t type;
	int32_t offset;
};

/* Of the registers by their numbers, and of the stack's slots from COMM_TYPE_GPRS on. */
struct state {
	struct value value[COMM_TYPE_GPRS + SLOTS];
};

/* Facts of an instruction that no state changes. */
struct fact {
	int32_t label;	      /* that it is, or -1 */
	int32_t target;	      /* label that it jumps to, or -1 */
	int64_t frame_offset; /* of its operand from the canonical frame address */
	bool in_frame;
};

struct type_label {
	uint32_t insn;
	bool reached;
	struct state state;
};

struct comm_type_flow {
	struct comm_dwarf_types *types;
	const struct comm_type_flow_ops *ops;
	void *ctx;
	struct comm_type_decoder *decoder;
	struct comm_type_insn *insn;
	struct fact *fact;
	size_t n, capacity, facts_capacity;
	struct type_label *label;
	size_t n_labels, labels_capacity;
	int64_t slot[SLOTS]; /* their offsets from the canonical frame address */
	size_t n_slots;
	struct comm_type_variable *variable;
	size_t n_variables;
	struct comm_type_variable *active[ACTIVE]; /* in registers, at the instruction looked at */
	size_t n_active, next_variable;
	bool changed;
	uint64_t all, typed;
};

static const struct value none;

int comm_type_flow_create(struct comm_dwarf_types *types, const struct comm_type_flow_ops *ops,
			  void *ctx, struct comm_type_flow **ret)
{
	struct comm_type_flow *flow = calloc(1, sizeof(*flow));
	int err;

	if (!flow)
		return -ENOMEM;
	flow->types = types;
	flow->ops = ops;
	flow->ctx = ctx;
	err = comm_type_decoder_create(&flow->decoder);
	if (err)
		free(flow);
	else
		*ret = flow;
	return err;
}

void comm_type_flow_destroy(struct comm_type_flow *flow)
{
	if (!flow)
		return;
	comm_type_decoder_destroy(flow->decoder);
	free(flow->insn);
	free(flow->fact);
	free(flow->label);
	free(flow);
}

/* Bytes that are no instruction, such as a table between the code, are passed over. */
static void decode(struct comm_type_flow *flow, uint64_t addr, const uint8_t *code, size_t bytes)
{
	size_t at = 0;

	flow->n = 0;
	while (at < bytes &&
	       !comm_array_grow(&flow->insn, flow->n, &flow->capacity, INSNS_MAX,
				sizeof(*flow->insn)) &&
	       !comm_array_grow(&flow->fact, flow->n, &flow->facts_capacity, INSNS_MAX,
				sizeof(*flow->fact))) {
		if (!comm_type_insn_decode(flow->decoder, addr + at, code + at, bytes - at,
					   &flow->insn[flow->n])) {
			at++;
			continue;
		}
		flow->fact[flow->n] = (struct fact){.label = -1, .target = -1};
		at += flow->insn[flow->n++].len_bytes;
	}
}

static bool find_insn(const struct comm_type_flow *flow, uint64_t addr, size_t *ret)
{
	size_t lo = 0, hi = flow->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (flow->insn[mid].addr < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	*ret = lo;
	return lo < flow->n && flow->insn[lo].addr == addr;
}

static void find_labels(struct comm_type_flow *flow)
{
	flow->n_labels = 0;
	for (size_t i = 0; i < flow->n; i++) {
		size_t to;

		if ((flow->insn[i].op != COMM_TYPE_JUMP && flow->insn[i].op != COMM_TYPE_BRANCH) ||
		    !find_insn(flow, (uint64_t)flow->insn[i].value, &to))
			continue;
		if (flow->fact[to].label < 0) {
			if (comm_array_grow(&flow->label, flow->n_labels, &flow->labels_capacity,
					    LABELS_MAX, sizeof(*flow->label)))
				continue;
			flow->label[flow->n_labels].insn = (uint32_t)to;
			flow->label[flow->n_labels].reached = false;
			flow->fact[to].label = (int32_t)flow->n_labels++;
		}
		flow->fact[i].target = flow->fact[to].label;
	}
}

/* In order of address: whoever answers remembers the last row of the frame's table. */
static void find_frames(struct comm_type_flow *flow)
{
	for (size_t i = 0; i < flow->n; i++) {
		const struct comm_type_insn *insn = &flow->insn[i];
		int64_t offset;
		int8_t reg;

		if (!insn->has_mem ||
		    (insn->base != COMM_TYPE_RSP && insn->base != COMM_TYPE_RBP) ||
		    !flow->ops->frame(flow->ctx, insn->addr, &reg, &offset) || reg != insn->base)
			continue;
		flow->fact[i].in_frame = true;
		/* Any offset may stand in the file. */
		flow->fact[i].frame_offset = (int64_t)((uint64_t)insn->disp - (uint64_t)offset);
	}
}

static bool is_stack(const struct comm_type_flow *flow, size_t i)
{
	return flow->fact[i].in_frame ||
	       (flow->insn[i].has_mem && flow->insn[i].base == COMM_TYPE_RSP);
}

static struct value *slot_of(struct comm_type_flow *flow, struct state *state, size_t i, bool make)
{
	const struct fact *fact = &flow->fact[i];

	if (!fact->in_frame || flow->insn[i].index >= 0)
		return NULL;
	for (size_t s = 0; s < flow->n_slots; s++)
		if (flow->slot[s] == fact->frame_offset)
			return &state->value[COMM_TYPE_GPRS + s];
	if (!make || flow->n_slots == SLOTS)
		return NULL;
	flow->slot[flow->n_slots] = fact->frame_offset;
	return &state->value[COMM_TYPE_GPRS + flow->n_slots++];
}

/* The variable on the stack that an operand is in. */
static const struct comm_type_variable *on_stack(const struct comm_type_flow *flow, size_t i,
						 int64_t *ret_offset)
{
	const struct comm_type_insn *insn = &flow->insn[i];
	const struct fact *fact = &flow->fact[i];

	for (size_t v = 0; v < flow->n_variables; v++) {
		const struct comm_type_variable *var = &flow->variable[v];

		if (insn->addr < var->start || insn->addr >= var->end)
			continue;
		if (var->place == COMM_TYPE_IN_FRAME && fact->in_frame)
			*ret_offset =
				(int64_t)((uint64_t)fact->frame_offset - (uint64_t)var->offset);
		else if (var->place == COMM_TYPE_IN_MEMORY && var->reg == insn->base)
			*ret_offset = (int64_t)((uint64_t)insn->disp - (uint64_t)var->offset);
		else
			continue;
		if (*ret_offset >= 0 &&
		    (uint64_t)*ret_offset < comm_dwarf_type_bytes(flow->types, var->type))
			return var;
	}
	return NULL;
}

/* What an operand is of: a type, and where in it.  is_got: no variable, but a pointer to one. */
static struct value operand(struct comm_type_flow *flow, const struct state *state, size_t i,
			    bool *ret_is_got)
{
	const struct comm_type_insn *insn = &flow->insn[i];
	const struct comm_type_variable *var;
	struct value v = none;
	int64_t offset;

	*ret_is_got = false;
	if (insn->base == COMM_TYPE_RSP || insn->base == COMM_TYPE_RBP) {
		var = on_stack(flow, i, &offset);
		if (var)
			return (struct value){var->type, (int32_t)offset};
		if (insn->base == COMM_TYPE_RSP)
			return none;
	}
	if (insn->base < 0) {
		v.type = flow->ops->fixed(flow->ctx, (uint64_t)insn->disp, &offset, ret_is_got);
		v.offset = (int32_t)offset;
		if (v.type)
			return v;
	} else {
		v = state->value[insn->base];
	}
	/* The pointer may be what the processor calls the index. */
	if (!v.type && insn->index >= 0 && !insn->is_scaled)
		v = state->value[insn->index];
	if (v.type)
		v.offset = (int32_t)((uint32_t)v.offset + (uint32_t)insn->disp);
	return v;
}

/* Of an array: a pointer to an element. */
static struct value to_element(struct comm_type_flow *flow, struct value v)
{
	v.type = comm_dwarf_type_element(flow->types, v.type);
	return v;
}

/* The value that is loaded from such a place. */
static struct value loaded(struct comm_type_flow *flow, struct value from, unsigned int bytes)
{
	struct comm_dwarf_field field;

	if (!from.type || bytes != sizeof(uint64_t) ||
	    !comm_dwarf_type_field(flow->types, from.type, from.offset, bytes, &field, NULL) ||
	    field.rest)
		return none;
	return (struct value){comm_dwarf_pointee(flow->types, field.leaf), 0};
}

/* Elements of an array are as good as each other: walking through one keeps the type. */
static struct value meet(struct comm_type_flow *flow, struct value a, struct value b)
{
	struct comm_dwarf_field x, y;

	if (!a.type || !comm_dwarf_type_same(flow->types, a.type, b.type))
		return none;
	if (a.offset == b.offset)
		return a;
	if (!comm_dwarf_type_field(flow->types, a.type, a.offset, 1, &x, NULL) ||
	    !comm_dwarf_type_field(flow->types, a.type, b.offset, 1, &y, NULL) ||
	    x.offset != y.offset || x.leaf != y.leaf || x.rest != y.rest)
		return none;
	return a;
}

static void enter(struct comm_type_flow *flow, int32_t at, const struct state *state)
{
	struct type_label *label = &flow->label[at];

	if (!label->reached) {
		label->reached = flow->changed = true;
		label->state = *state;
		return;
	}
	for (size_t i = 0; i < COMM_TYPE_GPRS + flow->n_slots; i++) {
		struct value *to = &label->state.value[i];

		if (!to->type || meet(flow, *to, state->value[i]).type)
			continue;
		*to = none;
		flow->changed = true;
	}
}

static void place(struct comm_type_flow *flow, const struct comm_type_variable *var,
		  struct state *state)
{
	uint32_t type = comm_dwarf_pointee(flow->types, var->type);

	/* A "void *" tells less than what went into it. */
	if (!type)
		return;
	if (var->place == COMM_TYPE_IN_REGISTER)
		state->value[var->reg] = (struct value){type, 0};
	else if (!state->value[var->reg].type)
		state->value[var->reg] = (struct value){type, (int32_t)(0 - (uint64_t)var->offset)};
}

static bool in_register(const struct comm_type_variable *var)
{
	return var->place == COMM_TYPE_IN_REGISTER || var->place == COMM_TYPE_NEAR_REGISTER;
}

/* Variables come into registers and go; after a label all those that are there count anew. */
static void place_variables(struct comm_type_flow *flow, uint64_t pc, bool all, struct state *state)
{
	size_t kept = 0;

	for (size_t i = 0; i < flow->n_active; i++)
		if (flow->active[i]->end > pc)
			flow->active[kept++] = flow->active[i];
	flow->n_active = kept;
	for (size_t i = 0; all && i < kept; i++)
		place(flow, flow->active[i], state);
	for (; flow->next_variable < flow->n_variables; flow->next_variable++) {
		struct comm_type_variable *var = &flow->variable[flow->next_variable];

		if (var->start > pc)
			break;
		if (!in_register(var) || var->end <= pc)
			continue;
		place(flow, var, state);
		if (flow->n_active < ACTIVE)
			flow->active[flow->n_active++] = var;
	}
}

/* A variable that stays where it is has the new value. */
static void replace_variables(struct comm_type_flow *flow, const struct comm_type_insn *insn,
			      struct state *state)
{
	for (size_t i = 0; i < flow->n_active; i++)
		if ((insn->written >> flow->active[i]->reg & 1) &&
		    flow->active[i]->end > insn->addr + insn->len_bytes)
			place(flow, flow->active[i], state);
}

static struct value fixed(struct comm_type_flow *flow, uint64_t addr)
{
	struct value v = none;
	int64_t offset = 0;
	bool is_got;

	v.type = flow->ops->fixed(flow->ctx, addr, &offset, &is_got);
	v.offset = (int32_t)offset;
	return is_got ? none : to_element(flow, v);
}

/* What the instruction sets dst to. */
static struct value result(struct comm_type_flow *flow, const struct state *state, size_t i,
			   struct value mem, bool is_got)
{
	const struct comm_type_insn *insn = &flow->insn[i];
	struct value v = none;
	struct value *slot;

	switch ((enum comm_type_op)insn->op) {
	case COMM_TYPE_COPY:
		return state->value[insn->src];
	case COMM_TYPE_CHOOSE:
		return meet(flow, state->value[insn->dst], state->value[insn->src]);
	case COMM_TYPE_LOAD:
		v = is_got ? to_element(flow, mem) : loaded(flow, mem, insn->mem_bytes);
		slot = v.type ? NULL : slot_of(flow, (struct state *)(uintptr_t)state, i, false);
		return slot ? *slot : v;
	case COMM_TYPE_ADDRESS:
		return is_got ? none : to_element(flow, mem);
	case COMM_TYPE_CONSTANT:
		return fixed(flow, (uint64_t)insn->value);
	case COMM_TYPE_ADD:
		v = state->value[insn->dst];
		v.offset = (int32_t)((uint32_t)v.offset + (uint32_t)insn->value);
		return v;
	case COMM_TYPE_INDEX:
		v = state->value[insn->dst];
		if (!v.type)
			return state->value[insn->src];
		return state->value[insn->src].type ? none : v;
	default:
		return none;
	}
}

static void step(struct comm_type_flow *flow, struct state *state, size_t i, bool tell)
{
	const struct comm_type_insn *insn = &flow->insn[i];
	struct value mem = none, v;
	bool is_got = false;
	struct value *slot;

	if (insn->has_mem)
		mem = operand(flow, state, i, &is_got);
	if (tell && insn->reads && !is_got) {
		flow->all += !is_stack(flow, i);
		flow->typed += !is_stack(flow, i) && mem.type;
		if (mem.type)
			flow->ops->found(flow->ctx, insn, mem.type, mem.offset);
	}
	v = insn->dst >= 0 ? result(flow, state, i, mem, is_got) : none;
	if (insn->op == COMM_TYPE_STORE && insn->mem_bytes == sizeof(uint64_t)) {
		slot = slot_of(flow, state, i, true);
		if (slot)
			*slot = state->value[insn->src];
	}
	for (int r = 0; r < COMM_TYPE_GPRS; r++)
		if (insn->written >> r & 1)
			state->value[r] = none;
	if (insn->dst >= 0 && (insn->written >> insn->dst & 1))
		state->value[insn->dst] = v;
	if (insn->op == COMM_TYPE_CALL)
		state->value[RESULT].type = comm_dwarf_pointee(
			flow->types, flow->ops->result(flow->ctx, (uint64_t)insn->value,
						       insn->addr + insn->len_bytes));
}

/*
 * rest: labels that no path leads to are reached by a way that is not seen, such as a table of
 * jumps; else they are passed over, for the path may come from below.
 */
static void pass(struct comm_type_flow *flow, bool rest, bool tell)
{
	struct state state = {0};
	bool reached = true;

	flow->n_active = flow->next_variable = 0;
	flow->changed = false;
	for (size_t i = 0; i < flow->n; i++) {
		const struct comm_type_insn *insn = &flow->insn[i];
		int32_t label = flow->fact[i].label;
		bool all = label >= 0 || !reached;

		if (label >= 0 && reached)
			enter(flow, label, &state);
		if (label >= 0 && flow->label[label].reached) {
			state = flow->label[label].state;
			reached = true;
		} else if (!reached && (label < 0 || rest)) {
			memset(&state, 0, sizeof(state));
			reached = true;
			if (label >= 0)
				enter(flow, label, &state);
		}
		place_variables(flow, insn->addr, all, &state);
		if (!reached)
			continue;
		step(flow, &state, i, tell);
		replace_variables(flow, insn, &state);
		if (flow->fact[i].target >= 0)
			enter(flow, flow->fact[i].target, &state);
		if (insn->op == COMM_TYPE_END || insn->op == COMM_TYPE_JUMP)
			reached = false;
	}
}

/* States that do not settle: at labels nothing is known but where variables are. */
static void forget(struct comm_type_flow *flow)
{
	for (size_t i = 0; i < flow->n_labels; i++) {
		flow->label[i].reached = true;
		memset(&flow->label[i].state, 0, sizeof(flow->label[i].state));
	}
}

static int by_start(const void *pa, const void *pb)
{
	const struct comm_type_variable *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->end > b->end ? -1 : a->end < b->end;
}

void comm_type_flow_run(struct comm_type_flow *flow, uint64_t addr, const uint8_t *code,
			size_t code_bytes, struct comm_type_variable *variable, size_t n)
{
	bool rest = false;

	decode(flow, addr, code, code_bytes);
	find_labels(flow);
	find_frames(flow);
	if (n)
		qsort(variable, n, sizeof(*variable), by_start);
	flow->variable = variable;
	flow->n_variables = n;
	flow->n_slots = 0;
	for (int i = 0;; i++) {
		if (flow->ops->over(flow->ctx))
			return;
		if (i == PASSES) {
			forget(flow);
			break;
		}
		pass(flow, rest, false);
		if (!flow->changed && rest)
			break;
		rest |= !flow->changed;
	}
	pass(flow, true, true);
}

void comm_type_flow_counts(const struct comm_type_flow *flow, uint64_t *ret_all,
			   uint64_t *ret_typed)
{
	*ret_all = flow->all;
	*ret_typed = flow->typed;
}
