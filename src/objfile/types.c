/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Where arguments are is told twice: by the rules of the language, from their
 * types, and often by debug information itself. The latter knows what the
 * optimizer has done to a static function, so it comes first. The former also
 * knows what is never used; but it needs all arguments, and Go's debug
 * information of old leaves some out (those without a name). If the two
 * contradict each other, only what is stated is believed.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "objfile/shared.h"
#include "objfile/types.h"
#include "objfile/why.h"
#include "util/cleanup.h"

#define PARAMETERS_MAX 64

DEFINE_CLEANUP(struct objfile_types *, objfile_types_free)

struct objfile_types *objfile_types_free(struct objfile_types *t)
{
	if (!t)
		return NULL;
	strtab_free(t->names);
	map_free(t->definitions);
	units_free(t->units);
	image_done(&t->image);
	image_done(&t->shared);
	free(t);
	return NULL;
}

int objfile_types_new(struct objfile *o, const struct objfile_search *where, size_t bytes_max, struct objfile_types **ret)
{
	_cleanup_(objfile_types_freep) struct objfile_types *t = calloc(1, sizeof(*t));
	Elf *elf = objfile_elf(o);
	GElf_Ehdr ehdr;
	int err = t ? image_read(o, bytes_max, true, &t->image) : -ENOMEM;

	if (!err)
		err = shared_read(o, where, bytes_max - t->image.read_n, &t->image, &t->shared);
	if (!err)
		err = units_new(t->image.dwarf, &t->units);
	if (err)
		return err;
	t->is_x86_64 = gelf_getehdr(elf, &ehdr) && ehdr.e_machine == EM_X86_64 && gelf_getclass(elf) == ELFCLASS64;
	*ret = TAKE_PTR(t);
	return 0;
}

struct parameter {
	Dwarf_Die die;	 /* has name and type */
	Dwarf_Die where; /* of this copy of the function: has the place; its own, if there is only one */
	bool has_where;
};

struct function {
	struct objfile_types *t;
	uint64_t vaddr;
	Dwarf_Die die, origin;
	int language;
	bool is_clone; /* the compiler has changed its arguments */
	struct parameter args[PARAMETERS_MAX], results[PARAMETERS_MAX];
	size_t arg_n, result_n;
	bool too_many;
};

static bool is_go(const struct function *f)
{
	return f->language == DW_LANG_Go;
}

static bool is_result(const struct function *f, Dwarf_Die *parameter)
{
	return is_go(f) && die_flag(parameter, DW_AT_variable_parameter);
}

struct twin {
	Dwarf_Off of;
	struct parameter *p;
};

static bool is_twin(void *arg, Dwarf_Die *child)
{
	struct twin *twin = arg;
	Dwarf_Attribute attr;
	Dwarf_Die origin;

	if (!dwarf_attr(child, DW_AT_abstract_origin, &attr) || !dwarf_formref_die(&attr, &origin) ||
	    dwarf_dieoffset(&origin) != twin->of)
		return false;
	twin->p->where = *child;
	twin->p->has_where = true;
	return true;
}

static bool add_parameter(void *arg, Dwarf_Die *child)
{
	struct function *f = arg;
	struct parameter p = { .die = *child };
	struct twin twin = { dwarf_dieoffset(child), &p };

	if (dwarf_tag(child) != DW_TAG_formal_parameter)
		return false;
	if (dwarf_dieoffset(&f->die) == dwarf_dieoffset(&f->origin)) {
		p.where = *child;
		p.has_where = true;
	} else {
		die_each_child(&f->die, is_twin, &twin);
	}
	if (f->arg_n == PARAMETERS_MAX || f->result_n == PARAMETERS_MAX) {
		f->too_many = true;
		return true;
	}
	if (is_result(f, child))
		f->results[f->result_n++] = p;
	else
		f->args[f->arg_n++] = p;
	return false;
}

static bool is_clone_name(const char *name)
{
	static const char *const marks[] = { ".constprop.", ".isra.", ".part.", ".specialized." };

	for (size_t i = 0; name && i < sizeof(marks) / sizeof(*marks); i++)
		if (strstr(name, marks[i]))
			return true;
	return false;
}

/* Of one in several pieces the compilers put the one that it begins in first. */
static bool begins_at(Dwarf_Die *function, uint64_t vaddr)
{
	Dwarf_Addr base, lo, hi, entry;

	if (!dwarf_entrypc(function, &entry))
		return entry == vaddr;
	return dwarf_ranges(function, 0, &base, &lo, &hi) > 0 && lo == vaddr;
}

static int find_function(struct objfile_types *t, uint64_t vaddr, const char *name, struct function *ret,
			 struct objfile_why *ret_why)
{
	Dwarf_Attribute attr;
	Dwarf_Die unit;
	bool has_function = false;
	int err = units_find(t->units, vaddr, name, &unit, &ret->die, &has_function);

	if (err && err != -ENOENT)
		return err;
	if (err || !has_function || !begins_at(&ret->die, vaddr))
		return why(ret_why, -ENOENT, "the debug information has no function at 0x%llx", (unsigned long long)vaddr);
	ret->t = t;
	ret->vaddr = vaddr;
	ret->language = dwarf_srclang(&unit);
	ret->is_clone = is_clone_name(name) || is_clone_name(units_function_name(&ret->die));
	if (!dwarf_attr(&ret->die, DW_AT_abstract_origin, &attr) || !dwarf_formref_die(&attr, &ret->origin))
		ret->origin = ret->die;
	die_each_child(&ret->origin, add_parameter, ret);
	return ret->too_many ? why(ret_why, -ENOTSUP, "it has more than %d arguments", PARAMETERS_MAX) : 0;
}

/* Layouts and places of all arguments and results. */
struct places {
	struct layout args_layout[PARAMETERS_MAX], results_layout[PARAMETERS_MAX];
	struct place args[PARAMETERS_MAX], results[PARAMETERS_MAX];
	size_t known_n; /* of args: up to the first whose type isn't understood */
	bool results_known;
};

static void read_layouts(struct function *f, struct places *p, struct signature *s)
{
	Dwarf_Die type;

	*s = (struct signature){ .args = p->args_layout, .results = p->results_layout };
	while (s->arg_n < f->arg_n && type_of(&f->args[s->arg_n].die, &type) &&
	       !layout_of(f->t, &type, &p->args_layout[s->arg_n]))
		s->arg_n++;
	p->known_n = s->arg_n;
	p->results_known = true;
	if (is_go(f)) {
		/* Where results on the stack are depends on all arguments. */
		p->results_known = s->arg_n == f->arg_n;
		while (s->result_n < f->result_n && type_of(&f->results[s->result_n].die, &type) &&
		       !layout_of(f->t, &type, &p->results_layout[s->result_n]))
			s->result_n++;
		f->result_n = s->result_n;
	} else if (type_of(&f->die, &type)) {
		f->result_n = 1;
		f->results[0].die = f->die;
		p->results_known = !layout_of(f->t, &type, &p->results_layout[0]);
		s->result_n = p->results_known;
		/* It may take the first argument's register. */
		if (!p->results_known)
			p->known_n = s->arg_n = 0;
	}
}

static void places_by_rules(struct function *f, struct places *p)
{
	struct signature s;

	read_layouts(f, p, &s);
	if (is_go(f))
		abi_go(&s, p->args, p->results);
	else if (f->language == DW_LANG_Rust)
		abi_rust(&s, p->args, p->results);
	else
		abi_sysv(&s, p->args, p->results);
}

/* Do both say the same, as far as the first word goes? */
static bool agree(const struct place *a, const struct place *b)
{
	if (a->sort != PLACE_REGISTERS || b->sort != PLACE_REGISTERS || !a->n || !b->n || a->v[0].lost || b->v[0].lost)
		return true;
	return a->v[0].reg == b->v[0].reg;
}

/* Is what the rules say true of all arguments whose place is stated? */
static bool rules_hold(struct function *f, struct places *p)
{
	for (size_t i = 0; i < p->known_n; i++) {
		struct place stated;

		if (f->args[i].has_where && location_at(&f->args[i].where, &f->die, f->vaddr, &stated) == LOCATION_KNOWN &&
		    !agree(&stated, &p->args[i]))
			return false;
	}
	return !f->is_clone;
}

/* What the function never uses isn't stated, but handed over all the same. */
static void complete(struct place *stated, const struct place *by_rules)
{
	if (stated->sort != PLACE_REGISTERS || by_rules->sort != PLACE_REGISTERS)
		return;
	for (size_t i = 0; i < stated->n; i++)
		for (size_t k = 0; stated->v[i].lost && k < by_rules->n; k++)
			if (by_rules->v[k].off == stated->v[i].off && by_rules->v[k].size == stated->v[i].size)
				stated->v[i] = by_rules->v[k];
}

static int argument_place(struct function *f, struct places *p, size_t i, struct place *ret, struct objfile_why *ret_why)
{
	enum location location = LOCATION_UNKNOWN;

	/* Every Go function follows the rules; and of what lies on the stack only the parts that it uses may be stated. */
	if (is_go(f) && i < p->known_n && rules_hold(f, p)) {
		*ret = p->args[i];
		return 0;
	}
	if (f->args[i].has_where)
		location = location_at(&f->args[i].where, &f->die, f->vaddr, ret);
	if (location == LOCATION_KNOWN) {
		if (i < p->known_n && rules_hold(f, p))
			complete(ret, &p->args[i]);
		return 0;
	}
	if (!rules_hold(f, p))
		return why(ret_why, -ENOTSUP, location == LOCATION_GONE ?
			   "it has been optimized away" :
			   "where it is handed over isn't told, and this function doesn't follow the rules");
	if (i >= p->known_n)
		return why(ret_why, -ENOTSUP, "the type of an argument before it isn't understood");
	*ret = p->args[i];
	return 0;
}

static bool is_ellipsis(void *arg, Dwarf_Die *child)
{
	(void)arg;
	return dwarf_tag(child) == DW_TAG_unspecified_parameters;
}

/* "f(int, ...)", and of C "f()": it may be handed more than is declared. */
static bool takes_more(struct function *f)
{
	if (!f->arg_n && !die_flag(&f->die, DW_AT_prototyped) && !die_flag(&f->origin, DW_AT_prototyped))
		return true;
	return die_each_child(&f->die, is_ellipsis, NULL) || die_each_child(&f->origin, is_ellipsis, NULL);
}

static int argument_index(struct function *f, const struct path *path, size_t *ret, struct objfile_why *ret_why)
{
	for (size_t i = 0; path->head == PATH_NAMED && i < f->arg_n; i++) {
		const char *name = die_name(&f->args[i].die);

		if (!name || strcmp(name, path->name))
			continue;
		*ret = i;
		return 0;
	}
	if (path->head == PATH_NAMED)
		return why(ret_why, -ENOENT, "it has no argument named %s", path->name);
	if (path->number > f->arg_n)
		return why(ret_why, takes_more(f) ? -ENOENT : -ERANGE, "it has only %zu arguments", f->arg_n);
	*ret = path->number - 1;
	return 0;
}

/* The place that a path begins at, and the type there. */
static int find_head(struct function *f, struct places *p, const struct path *path, struct place *ret_place,
		     Dwarf_Die *ret_type, struct objfile_why *ret_why)
{
	size_t i = path->number - 1;
	int err;

	places_by_rules(f, p);
	if (path->head == PATH_RESULT) {
		if (i >= f->result_n)
			return why(ret_why, -ENOENT, f->result_n ? "it has only %zu results" : "it has no result",
				   f->result_n);
		if (!p->results_known || !type_of(&f->results[i].die, ret_type))
			return why(ret_why, -ENOTSUP, "the type of its result isn't understood");
		*ret_place = p->results[i];
		if (ret_place->sort == PLACE_CFA && !rules_hold(f, p))
			return why(ret_why, -ENOTSUP, "where its results are can't be told: not all arguments are known");
		return 0;
	}
	err = argument_index(f, path, &i, ret_why);
	if (!err)
		err = argument_place(f, p, i, ret_place, ret_why);
	if (!err && !type_of(&f->args[i].die, ret_type))
		err = why(ret_why, -ENOTSUP, "the argument has no type");
	return err;
}

int objfile_types_value(struct objfile_types *t, uint64_t vaddr, const char *name, const char *text,
			struct objfile_value *ret, struct objfile_why *ret_why)
{
	_cleanup_(freep) struct function *f = calloc(1, sizeof(*f));
	_cleanup_(freep) struct places *p = calloc(1, sizeof(*p));
	struct path path;
	struct place place;
	struct cursor c;
	Dwarf_Die type;
	int err = f && p ? path_begin(text, &path, ret_why) : -ENOMEM;

	if (!err && !t->is_x86_64)
		err = why(ret_why, -ENOTSUP, "only how x86_64 hands over arguments is known");
	if (!err)
		err = find_function(t, vaddr, name, f, ret_why);
	if (!err)
		err = find_head(f, p, &path, &place, &type, ret_why);
	if (!err)
		err = cursor_begin(&place, &c, ret_why);
	if (!err)
		err = path_walk(t, path.rest, &c, &type, ret_why);
	if (!err)
		err = cursor_finish(&c, t, &type, ret, ret_why);
	return err;
}
