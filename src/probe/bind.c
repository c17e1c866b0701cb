/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What a value starts from (an argument, a field path, a register) is found by
 * whoever knows most: debug information, then the types that the profile
 * states, then the calling convention alone. Offsets, types and the wish for a
 * number are then the same work on whatever fetch came out of that.
 */
#include "probe/bind.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define REG_SP 7

static int refuse(struct objfile_why *why, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int refuse(struct objfile_why *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, ap);
	va_end(ap);
	return -ENOTSUP;
}

/* ---- steps on a fetch ---- */

static int deref_push(struct wcbpf_fetch *f, int32_t offset, struct objfile_why *why)
{
	if (f->deref_n == WCBPF_DEREFS_MAX)
		return refuse(why, "more than %d pointers to follow", WCBPF_DEREFS_MAX);
	f->deref[f->deref_n++] = offset;
	return 0;
}

/* From now on it is what lies at the value + offset: a word. */
static int fetch_deref(struct wcbpf_fetch *f, int32_t offset, struct objfile_why *why)
{
	int r = 0;

	if (f->bit_n)
		return refuse(why, "it is a bit field, and no address");
	if (f->memory && f->type == WCBPF_VALUE_BYTES) {
		/* An array is where it is: there is no pointer to follow. */
		f->last += offset;
	} else {
		if (f->memory)
			r = deref_push(f, f->last, why);
		f->memory = 1;
		f->last = offset;
	}
	f->type = WCBPF_VALUE_UINT;
	f->bytes = 8;
	return r;
}

/* A pointer becomes what it points to, unless the value says where already. */
static int fetch_pointee(struct wcbpf_fetch *f, bool at_address, uint8_t type, uint16_t bytes, struct objfile_why *why)
{
	int r = 0;

	if (!at_address && f->memory && (f->type == WCBPF_VALUE_UINT || f->type == WCBPF_VALUE_INT)) {
		r = deref_push(f, f->last, why);
		f->memory = 0;
		f->last = 0;
	}
	f->type = type;
	f->bytes = bytes;
	return r;
}

/* The register that has the second word if the first is in reg: of Go's order, or of the C order. */
static int second_register(bool go, bool result, uint8_t reg, uint8_t *ret)
{
	static const uint8_t go_order[] = {0, 3, 2, 5, 4, 8, 9, 10, 11}, c_order[] = {5, 4, 1, 2, 8, 9},
			     c_results[] = {0, 1};
	const uint8_t *order = go ? go_order : result ? c_results : c_order;
	size_t n = go ? sizeof(go_order) : result ? sizeof(c_results) : sizeof(c_order);

	for (size_t i = 0; i + 1 < n; i++)
		if (order[i] == reg) {
			*ret = order[i + 1];
			return 0;
		}
	return -ENOENT;
}

static int as_two_words(const struct binding *b, const struct expr *e, bool at_address, struct wcbpf_fetch *f,
			struct objfile_why *why)
{
	bool go = b->fn && b->fn->go;

	if (f->type == WCBPF_VALUE_GO_STRING)
		return 0;
	f->type = WCBPF_VALUE_GO_STRING;
	f->bytes = e->type_bytes;
	/* In memory the two words are where the first is; so are those that a pointer in a register leads to. */
	if (f->memory || at_address)
		return 0;
	if (f->from == WCBPF_FROM_REG && !f->deref_n) {
		if (second_register(go, e->moment == EXPR_EXIT, f->reg, &f->reg2) < 0)
			return refuse(why, "no register follows %%%s, so the length isn't known",
				      expr_register_name(f->reg));
		return 0;
	}
	return refuse(why, "it is no string of two words");
}

static int type_set(const struct binding *b, const struct expr *e, struct wcbpf_fetch *f, struct objfile_why *why)
{
	bool at_address = e->step_n && e->steps[e->step_n - 1].kind == EXPR_DEREF;

	if (f->bit_n && e->type != EXPR_UNTYPED && ((e->type != EXPR_UINT && e->type != EXPR_INT) || e->bit_n))
		return refuse(why, "it is a bit field: a number of %u bits", f->bit_n);
	switch (e->type) {
	case EXPR_UNTYPED:
		return 0;
	case EXPR_UINT:
	case EXPR_INT:
		if (f->type != WCBPF_VALUE_UINT && f->type != WCBPF_VALUE_INT && f->type != WCBPF_VALUE_STRING &&
		    !f->memory)
			return refuse(why, "it is no number");
		f->type = e->type == EXPR_UINT ? WCBPF_VALUE_UINT : WCBPF_VALUE_INT;
		if (f->bit_n)
			return 0; /* it has its size; its sign can be said */
		f->bytes = e->type_bytes;
		f->bit_n = e->bit_n;
		f->bit_at = e->bit_at;
		return 0;
	case EXPR_STRING:
		if (f->type == WCBPF_VALUE_GO_STRING)
			return refuse(why, "it is a string with a length: :gostring");
		return fetch_pointee(f, at_address, WCBPF_VALUE_STRING, e->type_bytes, why);
	case EXPR_BYTES:
		return fetch_pointee(f, at_address, WCBPF_VALUE_BYTES, e->type_bytes, why);
	case EXPR_TWO_WORDS:
		return as_two_words(b, e, at_address, f, why);
	}
	return refuse(why, "unknown type");
}

/* ---- where a value starts ---- */

/* Fields in front of the offsets, as objfile takes them: "$arg3->a.b[2]". malloc'd. */
static char *path_text(const struct expr *e, const char *more)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	if (!f)
		return NULL;
	if (e->base == EXPR_ARG)
		fprintf(f, "$arg%u", e->index + 1);
	else if (e->base == EXPR_RESULT && e->index)
		fprintf(f, "$retval%u", e->index + 1);
	else
		fputs(e->base == EXPR_RESULT ? "$retval" : e->literal, f);
	for (size_t i = 0; i < e->step_n; i++) {
		const struct expr_step *s = &e->steps[i];

		if (s->kind == EXPR_ARROW || s->kind == EXPR_DOT)
			fprintf(f, "%s%s", s->kind == EXPR_DOT ? "." : "->", s->name);
		else if (s->kind == EXPR_INDEX)
			fprintf(f, "[%d]", s->offset);
		else if (s->kind == EXPR_CAST)
			fprintf(f, "{%s}", s->name);
	}
	fputs(more, f);
	if (fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static bool has_fields(const struct expr *e)
{
	return e->step_n && e->steps[0].kind != EXPR_DEREF;
}

static bool is_pointer_type(const char *type)
{
	size_t n = strlen(type);

	return n && (type[0] == '*' || type[0] == '&' || type[n - 1] == '*' || !strcmp(type, "unsafe.Pointer"));
}

static enum probe_format natural_format(const struct objfile_value *v)
{
	return v->fetch.type == WCBPF_VALUE_UINT && is_pointer_type(v->type) ? PROBE_FORMAT_POINTER : PROBE_FORMAT_TYPE;
}

static void bound_take(const struct objfile_value *v, struct bound *ret)
{
	ret->fetch = v->fetch;
	ret->needs = v->needs;
	ret->format = natural_format(v);
}

/* What can be asked: debug information, or the types that the profile states. */
struct asking {
	const struct binding *b;
	struct objfile_types *types; /* NULL: ask signature */
	const char *signature;
};

static int ask(const struct asking *a, const struct expr *e, const char *more, struct objfile_value *ret,
	       struct objfile_why *why)
{
	_cleanup_(freep) char *path = path_text(e, more);

	if (!path)
		return -ENOMEM;
	return a->types ? objfile_types_value(a->types, a->b->fn->vaddr, a->b->fn->raw, path, ret, why)
			: objfile_go_value(a->signature, path, ret, why);
}

/* A number is wanted: of a string its length, of an interface its type word, of a pointer the pointer. */
static int ask_number(const struct asking *a, const struct expr *e, struct objfile_value *ret, struct objfile_why *why)
{
	struct objfile_why other;
	int r = ask(a, e, "", ret, why);

	if (r == -ENOMEM || (r == 0 && ret->fetch.type == WCBPF_VALUE_STRING && ret->fetch.memory))
		return r;
	if (r == 0 && ret->fetch.type == WCBPF_VALUE_STRING) {
		ret->fetch.type = WCBPF_VALUE_UINT;
		ret->fetch.bytes = 8;
	}
	if (r == 0 && ret->fetch.type != WCBPF_VALUE_GO_STRING)
		return 0;
	if (ask(a, e, ".len", ret, &other) == 0 || ask(a, e, ".type", ret, &other) == 0)
		return 0;
	return r < 0 ? r : refuse(why, "it is no number");
}

/* An offset behind it leads from where a string or an interface has its data. */
static int ask_start(const struct asking *a, const struct expr *e, bool as_number, struct objfile_value *ret,
		     struct objfile_why *why)
{
	struct objfile_why other;
	int r;

	if (as_number && (!e->step_n || e->steps[e->step_n - 1].kind != EXPR_DEREF))
		return ask_number(a, e, ret, why);
	r = ask(a, e, "", ret, why);
	if (e->step_n && e->steps[e->step_n - 1].kind == EXPR_DEREF && r != -ENOMEM &&
	    (r < 0 || ret->fetch.type == WCBPF_VALUE_GO_STRING) &&
	    (ask(a, e, ".ptr", ret, &other) == 0 || ask(a, e, ".data", ret, &other) == 0))
		return 0;
	return r;
}

static bool is_stated_pointer(const struct binding *b, const struct expr *e)
{
	const struct signature *g = e->base == EXPR_RESULT ? &b->d->results : &b->d->args;

	return e->base != EXPR_NAME && !e->step_n && e->index < g->n && (!strcmp(g->v[e->index].type, "ptr") || g->v[e->index].type[0] == '*');
}

static int go_signature_start(const struct binding *b, const struct expr *e, bool as_number, struct bound *ret,
			      struct objfile_why *why)
{
	static const struct parameter word = {.type = "ptr"};
	static const struct signature one = {.v = (struct parameter *)&word, .n = 1}, none = {0};
	const struct signature *args = &b->d->args, *results = &b->d->results;
	_cleanup_(freep) char *text = NULL;
	const char *type = "";
	struct asking a = {.b = b};
	struct objfile_value v;
	bool stated = e->base == EXPR_ARG ? args->stated : results->stated;
	int r;

	if (!stated && e->index)
		return refuse(why, "where it is depends on the types before it: they must be stated by '%s = ...'",
			      e->base == EXPR_ARG ? "args" : "results");
	/* The first one begins in the first register, if it fits at all. */
	if (!stated && e->base == EXPR_ARG)
		args = &one;
	else if (!stated)
		results = &one;
	r = signature_go(args->n ? args : &none, results, &text, &type);
	if (r == -ENOTSUP)
		return refuse(why, "'%s' is no type of Go", type);
	a.signature = text;
	if (r == 0)
		r = ask_start(&a, e, as_number, &v, why);
	if (r < 0)
		return r;
	bound_take(&v, ret);
	if (!stated || (is_stated_pointer(b, e) && v.fetch.type == WCBPF_VALUE_UINT))
		ret->format = PROBE_FORMAT_POINTER;
	return 0;
}

/* Without any statement: words of class INTEGER, as the kernel's $argN. */
static int place_unstated(const struct expr *e, struct place *ret, struct objfile_why *why)
{
	static const struct parameter word = {.type = "ulong"};
	struct parameter v[PARAMETERS_MAX];
	struct signature g = {.v = v, .n = e->index + 1};

	if (e->index >= PARAMETERS_MAX || (e->base == EXPR_RESULT && e->index > 1))
		return refuse(why, "there is no such %s", e->base == EXPR_RESULT ? "result" : "argument");
	for (size_t i = 0; i < g.n; i++)
		v[i] = word;
	return signature_native(&g, e->base == EXPR_RESULT, e->index, ret);
}

/* .ptr and .len of a string of two words. */
static int native_part(const struct expr *e, bool as_number, struct place *p, struct objfile_why *why)
{
	bool length = as_number;

	if (has_fields(e)) {
		const char *name = e->steps[0].name;

		if (e->steps[0].kind != EXPR_DOT || p->words != 2 ||
		    (strcmp(name, "len") != 0 && strcmp(name, "ptr") != 0))
			return refuse(why, "fields by name need debug information, which the file has not");
		length = name[0] == 'l';
	} else if (p->words != 2 || (!as_number && !e->step_n)) {
		return 0;
	}
	p->regs[0] = p->regs[length];
	p->offset += length ? 8 : 0;
	p->words = 1;
	p->bytes = 8;
	p->is_string = false;
	return 0;
}

static int native_start(const struct binding *b, const struct expr *e, bool as_number, struct bound *ret,
			struct objfile_why *why)
{
	const struct signature *g = e->base == EXPR_ARG ? &b->d->args : &b->d->results;
	struct wcbpf_fetch *f = &ret->fetch;
	struct place p;
	int r = g->stated ? signature_native(g, e->base == EXPR_RESULT, e->index, &p) : place_unstated(e, &p, why);

	if (b->fn->copy && e->base == EXPR_ARG)
		return refuse(why,
			      "the compiler has made it a copy of the function for some calls, and where that has its "
			      "arguments only debug information can tell");
	if (r == -ENOENT)
		return refuse(why, "the profile states only %zu", g->n);
	if (r < 0)
		return g->stated ? refuse(why, "which register has it doesn't follow from the types stated") : r;
	if (p.kind == PLACE_FLOAT)
		return refuse(why, "it is in a floating-point register, which a probe can't read");
	r = native_part(e, as_number, &p, why);
	if (r < 0)
		return r;
	f->type = p.is_string	? (p.words == 2 ? WCBPF_VALUE_GO_STRING : WCBPF_VALUE_STRING)
		  : p.is_signed ? WCBPF_VALUE_INT
				: WCBPF_VALUE_UINT;
	f->bytes = p.is_string ? WCBPF_VALUE_BYTES_MAX : p.bytes;
	if (p.kind == PLACE_REG) {
		f->from = WCBPF_FROM_REG;
		f->reg = p.regs[0];
		f->reg2 = p.words == 2 ? p.regs[1] : 0;
		ret->needs = OBJFILE_NEEDS(p.regs[0]) | (p.words == 2 ? OBJFILE_NEEDS(p.regs[1]) : 0);
	} else {
		f->from = WCBPF_FROM_CFA;
		f->at = p.offset;
		if (f->type == WCBPF_VALUE_STRING)
			f->deref[f->deref_n++] = 0;
		else
			f->memory = 1;
	}
	if (as_number && f->type == WCBPF_VALUE_STRING) {
		f->type = WCBPF_VALUE_UINT;
		f->bytes = 8;
	}
	ret->format = !g->stated			    ? PROBE_FORMAT_POINTER
		      : !strcmp(g->v[e->index].type, "ptr") ? PROBE_FORMAT_POINTER
							    : PROBE_FORMAT_TYPE;
	return 0;
}

static int marker_start(const struct binding *b, const struct expr *e, struct bound *ret, struct objfile_why *why)
{
	const struct objfile_marker *marker = e->moment == EXPR_EXIT ? b->end : b->marker;
	struct objfile_value v;
	int r;

	if (e->base != EXPR_ARG)
		return refuse(why, "a marker has numbered arguments only");
	if (has_fields(e))
		return refuse(why, "the types of a marker's arguments aren't known");
	r = objfile_marker_value(marker, e->index + 1, &v, why);
	if (r == -ENOENT)
		return refuse(why, "the marker has no argument %u", e->index + 1);
	if (r < 0)
		return r;
	bound_take(&v, ret);
	return 0;
}

static int typed_start(const struct binding *b, const struct expr *e, bool as_number, struct bound *ret,
		       struct objfile_why *why)
{
	struct objfile_types *types = b->marker ? NULL : file_types(b->file);
	struct asking a = {.b = b, .types = types};
	struct objfile_why known = {0};
	struct objfile_value v;
	int r;

	if (b->marker)
		return marker_start(b, e, ret, why);
	if (types) {
		r = ask_start(&a, e, as_number, &v, &known);
		if (r == 0) {
			bound_take(&v, ret);
			/* Shown as the profile says, whether debug information happens to be installed or not. */
			if (is_stated_pointer(b, e) && v.fetch.type != WCBPF_VALUE_STRING)
				ret->format = PROBE_FORMAT_POINTER;
		}
		if (r == 0 || r == -ENOMEM)
			return r;
		/* A register there is, but what is in it was left by anybody. */
		if (r == -ERANGE && !b->d->args.stated)
			return refuse(why, "%s", known.text);
	}
	if (e->base == EXPR_NAME && !types)
		return refuse(why, "names of arguments need debug information, which the file has not; args = ... can "
				   "state them");
	r = e->base == EXPR_NAME ? -ENOTSUP
	    : b->fn->go		 ? go_signature_start(b, e, as_number, ret, why)
				 : native_start(b, e, as_number, ret, why);
	/* What debug information says against it counts, not that it isn't stated besides. */
	if (r < 0 && types && known.text[0])
		*why = known;
	return r;
}

/* A file that is not loaded where the kernel likes has its addresses; its first byte then isn't at 0. */
static int address_start(const struct binding *b, const struct expr *e, struct bound *ret, struct objfile_why *why)
{
	uint64_t base = 0;

	if (!b->file->o->is_program || objfile_vaddr_of_offset(b->file->o->file, 0, &base) < 0 || !base)
		return refuse(
			why,
			"an address of the file is only known where it is loaded at a fixed one (no PIE, no library)");
	ret->fetch.from = WCBPF_FROM_CONST;
	ret->fetch.at = e->number;
	return 0;
}

static int base_start(const struct binding *b, const struct expr *e, bool as_number, struct bound *ret,
		      struct objfile_why *why)
{
	*ret = (struct bound){.format = PROBE_FORMAT_POINTER};
	ret->fetch.type = WCBPF_VALUE_UINT;
	ret->fetch.bytes = 8;
	switch (e->base) {
	case EXPR_REG:
		/* The stack pointer has moved where the probe is; what is meant is the function's. */
		if (e->number != REG_SP) {
			ret->fetch.from = WCBPF_FROM_REG;
			ret->fetch.reg = (uint8_t)e->number;
			ret->fetch.bytes = e->bytes;
			ret->needs = OBJFILE_NEEDS(e->number);
			return 0;
		}
		/* fallthrough */
	case EXPR_SP:
		ret->fetch.from = WCBPF_FROM_CFA;
		ret->fetch.at = -8;
		return 0;
	case EXPR_CONST:
		ret->fetch.from = WCBPF_FROM_CONST;
		ret->fetch.at = e->number;
		ret->constant = !e->step_n;
		ret->number = e->number;
		return 0;
	case EXPR_WORD:
		ret->constant = ret->is_word = true;
		ret->word = e->literal;
		return 0;
	case EXPR_ADDR:
		return address_start(b, e, ret, why);
	default:
		return typed_start(b, e, as_number, ret, why);
	}
}

static int bind_expr(const struct binding *b, const struct expr *e, bool as_number, struct bound *ret,
		     struct objfile_why *why)
{
	struct bound v;
	int r = base_start(b, e, as_number && e->type == EXPR_UNTYPED, &v, why);

	if (r < 0 || v.constant) {
		if (r == 0)
			*ret = v;
		return r;
	}
	for (size_t i = 0; r == 0 && i < e->step_n; i++)
		if (e->steps[i].kind == EXPR_DEREF) {
			r = fetch_deref(&v.fetch, e->steps[i].offset, why);
			v.format = PROBE_FORMAT_POINTER;
		}
	if (r == 0)
		r = type_set(b, e, &v.fetch, why);
	if (r < 0)
		return r;
	if (e->type != EXPR_UNTYPED)
		v.format = e->format;
	if (e->moment == EXPR_EXIT)
		v.needs = 0;
	else if (v.fetch.type == WCBPF_VALUE_GO_STRING && v.fetch.from == WCBPF_FROM_REG && !v.fetch.memory)
		v.needs |= OBJFILE_NEEDS(v.fetch.reg2);
	*ret = v;
	return 0;
}

int bind_value(const struct binding *b, const struct value *v, struct bound *ret, struct objfile_why *ret_why)
{
	struct objfile_why first = {0};

	for (size_t i = 0; i < v->alternative_n; i++) {
		struct objfile_why why = {0};
		int r = bind_expr(b, &v->alternatives[i], v->as_number, ret, &why);

		if (r == 0 || r == -ENOMEM)
			return r;
		if (!i)
			first = why.text[0] ? why : (struct objfile_why){.text = "it can't be found"};
	}
	*ret_why = first;
	return -ENOTSUP;
}
