/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Stripped libraries keep the names of exported functions only, and enter
 * their static ones by jumps too, so that a stack shows no name at all where
 * sem_wait() waits. Who can enter a static function is in the code itself: all
 * direct branches are collected, once, as edges between unnamed functions and
 * from named ones. That is all there is to know only if nobody has the
 * function's address: data that holds it (relocations, words, the entry point)
 * leaves it open, as does a branch from bytes that belong to no function. Code
 * that takes it (lea) is an edge of a weaker kind: a callback is entered later,
 * on behalf of who passed it. An open function, and what one can enter, has no
 * answer.
 *
 * Of a file at a fixed address code may hold absolute addresses as numbers, so
 * only position-independent files are looked at.
 */
#include "objfile/objfile.h"

#include <errno.h>
#include <string.h>

#include "objfile/extents.h"
#include "objfile/x86.h"
#include "util/cleanup.h"
#include "util/strtab.h"
#include "util/vec.h"

#define TEXT_MAX (32u << 20) /* a third of a second */

/* In edge.source, beside a node or name. */
#define NAMED 0x80000000u
#define PASSED 0x40000000u /* takes the address */
#define ID(source) ((source) & ~(NAMED | PASSED))

/* A function without a symbol. */
struct node {
	uint64_t start, end;
	uint32_t edge_at, edge_n;
	bool open; /* may be entered in ways that are not known */
};

struct edge {
	uint32_t target, source;
};

struct objfile_callers {
	struct node *nodes; /* by start */
	size_t node_n;
	struct edge *edges; /* by target, each once */
	size_t edge_n, edge_cap;
	struct strtab *names;
};

DEFINE_CLEANUP(struct objfile_callers *, objfile_callers_free)

/* While the table is made. */
struct build {
	struct objfile_callers *c;
	struct objfile *o;
	struct extent *extents;
	size_t extent_n;
};

static void build_done(struct build *b)
{
	free(b->extents);
}

struct objfile_callers *objfile_callers_free(struct objfile_callers *c)
{
	if (!c)
		return NULL;
	free(c->nodes);
	free(c->edges);
	strtab_free(c->names);
	free(c);
	return NULL;
}

static struct node *node_of(const struct objfile_callers *c, uint64_t vaddr)
{
	size_t lo = 0, hi = c->node_n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->nodes[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && vaddr < c->nodes[lo - 1].end ? &c->nodes[lo - 1] : NULL;
}

static void address_known(struct objfile_callers *c, uint64_t vaddr)
{
	struct node *node = node_of(c, vaddr);

	/* Elsewhere than at its start it is a label. */
	if (node && node->start == vaddr)
		node->open = true;
}

static int make_nodes(struct build *b)
{
	struct objfile_callers *c = b->c;

	if (b->extent_n >= PASSED)
		return -ENOTSUP;
	c->nodes = calloc(b->extent_n + 1, sizeof(*c->nodes));
	if (!c->nodes)
		return -ENOMEM;
	for (size_t i = 0; i < b->extent_n; i++) {
		const struct extent *e = &b->extents[i];
		struct objfile_symbol symbol;
		int err = objfile_symbol(b->o, e->start, &symbol);

		if (err == -ENOENT)
			c->nodes[c->node_n++] = (struct node){ .start = e->start, .end = e->end };
		else if (err)
			return err;
	}
	return 0;
}

/* Who has the instruction at vaddr: a name's id or a node. */
static int source_of(struct build *b, uint64_t vaddr, uint32_t *ret)
{
	struct objfile_symbol symbol;
	const struct node *node;
	uint32_t id;
	int err;

	if (!objfile_symbol(b->o, vaddr, &symbol)) {
		err = strtab_intern_n(b->c->names, symbol.name, strcspn(symbol.name, "@"), &id);
		if (!err && id >= PASSED)
			err = -ENOTSUP;
		if (!err)
			*ret = id | NAMED;
		return err;
	}
	node = node_of(b->c, vaddr);
	if (!node)
		return -ENOENT;
	*ret = (uint32_t)(node - b->c->nodes);
	return 0;
}

static int add_edge(struct build *b, struct node *target, uint64_t from, uint32_t how)
{
	struct objfile_callers *c = b->c;
	uint32_t source;
	int err = source_of(b, from, &source);

	if (err == -ENOENT) {
		target->open = true;
		return 0;
	}
	if (!err)
		err = VEC_RESERVE(c->edges, c->edge_cap, c->edge_n + 1);
	if (err)
		return err;
	c->edges[c->edge_n++] = (struct edge){ (uint32_t)(target - c->nodes), source | how };
	return 0;
}

/* here: the function that the instruction at pc is in, if any. */
static int read_instruction(struct build *b, const struct x86_insn *insn, uint64_t pc, const struct extent *here)
{
	uint64_t to = pc + (uint64_t)insn->target;
	bool own = to >= here->start && to < here->end;
	struct node *node;

	/* Within a function only its start matters, and only as an address: others are labels. */
	if (insn->sort == X86_OTHER || (own && (insn->sort == X86_BRANCH || to != here->start)))
		return 0;
	node = node_of(b->c, to);
	if (!node)
		return 0;
	if (own)
		node->open = true;
	return own ? 0 : add_edge(b, node, pc, insn->sort == X86_ADDRESS ? PASSED : 0);
}

/*
 * Instructions are read one after the other, anew from the start of each
 * function: what lies between two of them may be none.
 */
static int read_code(struct build *b, const uint8_t *code, size_t n, uint64_t addr)
{
	size_t next = 0; /* the first extent that starts beyond the current instruction */

	for (size_t at = 0; at < n;) {
		struct extent here = { 0 };
		struct x86_insn insn;
		uint64_t pc = addr + at;
		int err;

		while (next < b->extent_n && b->extents[next].start <= pc)
			next++;
		if (next && pc < b->extents[next - 1].end)
			here = b->extents[next - 1];
		if (x86_decode(code + at, n - at, &insn))
			insn = (struct x86_insn){ .len = 1 };
		err = read_instruction(b, &insn, pc, &here);
		if (err)
			return err;
		at += insn.len;
		if (next < b->extent_n && addr + at > b->extents[next].start)
			at = b->extents[next].start - addr;
	}
	return 0;
}

static void read_words(struct objfile_callers *c, const Elf_Data *data)
{
	for (size_t at = 0; at + sizeof(uint64_t) <= data->d_size; at += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, (const char *)data->d_buf + at, sizeof(word));
		address_known(c, word);
	}
}

/* For what is filled in at load time: R_X86_64_RELATIVE, R_X86_64_IRELATIVE. Others name symbols. */
static void read_relocations(struct objfile_callers *c, Elf_Data *data)
{
	GElf_Rela rela;

	for (int i = 0; gelf_getrela(data, i, &rela); i++)
		address_known(c, (uint64_t)rela.r_addend);
}

static int read_section(struct build *b, Elf_Scn *scn, const GElf_Shdr *shdr, size_t *text_left)
{
	Elf_Data *data;

	if (!(shdr->sh_flags & SHF_ALLOC) || shdr->sh_type == SHT_NOBITS || shdr->sh_flags & SHF_COMPRESSED)
		return 0;
	if (shdr->sh_flags & SHF_EXECINSTR) {
		if (shdr->sh_size > *text_left)
			return -ENOTSUP;
		*text_left -= shdr->sh_size;
		data = elf_rawdata(scn, NULL);
		return data && data->d_buf ? read_code(b, data->d_buf, data->d_size, shdr->sh_addr) : -EBADMSG;
	}
	if (shdr->sh_type == SHT_RELA) {
		data = elf_getdata(scn, NULL);
		if (!data || !data->d_buf)
			return -EBADMSG;
		read_relocations(b->c, data);
	} else if (shdr->sh_flags & SHF_WRITE) {
		data = elf_rawdata(scn, NULL);
		if (!data || (!data->d_buf && data->d_size))
			return -EBADMSG;
		read_words(b->c, data);
	}
	return 0;
}

static int by_target(const void *pa, const void *pb)
{
	const struct edge *a = pa, *b = pb;

	if (a->target != b->target)
		return a->target < b->target ? -1 : 1;
	return a->source < b->source ? -1 : a->source > b->source;
}

static void index_edges(struct objfile_callers *c)
{
	struct edge *fit;
	size_t n = 0;

	if (!c->edge_n)
		return;
	qsort(c->edges, c->edge_n, sizeof(*c->edges), by_target);
	for (size_t i = 0; i < c->edge_n; i++) {
		struct node *node = &c->nodes[c->edges[i].target];

		if (n && !by_target(&c->edges[n - 1], &c->edges[i]))
			continue;
		if (!node->edge_n++)
			node->edge_at = (uint32_t)n;
		c->edges[n++] = c->edges[i];
	}
	c->edge_n = n;
	fit = realloc(c->edges, n * sizeof(*fit));
	if (fit)
		c->edges = fit;
}

static int check_file(Elf *elf, uint64_t *ret_entry)
{
	GElf_Ehdr ehdr;

	if (!elf || !gelf_getehdr(elf, &ehdr) || ehdr.e_machine != EM_X86_64 || ehdr.e_type != ET_DYN ||
	    ehdr.e_ident[EI_CLASS] != ELFCLASS64 || ehdr.e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOTSUP;
	*ret_entry = ehdr.e_entry;
	return 0;
}

int objfile_callers_new(struct objfile *o, struct objfile_callers **ret)
{
	_cleanup_(objfile_callers_freep) struct objfile_callers *c = calloc(1, sizeof(*c));
	_cleanup_(build_done) struct build b = { .c = c, .o = o };
	Elf *elf = objfile_elf(o);
	size_t text_left = TEXT_MAX;
	uint64_t entry;
	int err;

	if (!c)
		return -ENOMEM;
	err = check_file(elf, &entry);
	if (!err)
		err = strtab_new(&c->names);
	if (!err)
		err = extents_read(elf, &b.extents, &b.extent_n);
	if (!err)
		err = make_nodes(&b);
	for (Elf_Scn *scn = NULL; !err && c->node_n && (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr shdr;

		err = gelf_getshdr(scn, &shdr) ? read_section(&b, scn, &shdr, &text_left) : -EBADMSG;
	}
	if (err)
		return err;
	if (c->edge_n >= UINT32_MAX)
		return -ENOTSUP;
	address_known(c, entry);
	index_edges(c);
	*ret = TAKE_PTR(c);
	return 0;
}

static int by_name(const void *pa, const void *pb)
{
	return strcmp(*(const char *const *)pa, *(const char *const *)pb);
}

static int add_name(struct objfile_reached *r, const char *name)
{
	for (size_t i = 0; i < r->n; i++) {
		if (r->names[i] == name)
			return 0;
	}
	if (r->n == OBJFILE_REACHED_MAX)
		return -ENOENT;
	r->names[r->n++] = name;
	return 0;
}

/* Adds the node's named sources to r, its others to todo if they are new. */
static int visit(const struct objfile_callers *c, uint32_t index, struct objfile_reached *r, uint32_t *todo,
		 size_t *todo_n, bool *seen)
{
	const struct node *node = &c->nodes[index];

	if (node->open || !node->edge_n)
		return -ENOENT;
	for (uint32_t i = 0; i < node->edge_n; i++) {
		uint32_t source = c->edges[node->edge_at + i].source, id = ID(source);
		int err;

		r->passed |= (source & PASSED) != 0;
		if (source & NAMED) {
			err = add_name(r, strtab_str(c->names, id));
			if (err)
				return err;
		} else if (!seen[id]) {
			seen[id] = true;
			todo[(*todo_n)++] = id;
		}
	}
	return 0;
}

int objfile_callers_find(const struct objfile_callers *c, uint64_t vaddr, struct objfile_reached *ret)
{
	_cleanup_(freep) uint32_t *todo = NULL;
	_cleanup_(freep) bool *seen = NULL;
	const struct node *node = node_of(c, vaddr);
	struct objfile_reached r = { 0 };
	size_t todo_n = 0;

	if (!node)
		return -ENOENT;
	r.start = node->start;
	todo = calloc(c->node_n, sizeof(*todo));
	seen = calloc(c->node_n, sizeof(*seen));
	if (!todo || !seen)
		return -ENOMEM;
	todo[todo_n++] = (uint32_t)(node - c->nodes);
	seen[node - c->nodes] = true;
	while (todo_n) {
		int err = visit(c, todo[--todo_n], &r, todo, &todo_n, seen);

		if (err)
			return err;
	}
	if (!r.n)
		return -ENOENT;
	qsort(r.names, r.n, sizeof(*r.names), by_name);
	*ret = r;
	return 0;
}
