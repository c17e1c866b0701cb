/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "hits.h"

#include <criterion/criterion.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static struct assemble_piece pieces[512];
static char literals[8192];
static size_t piece_n, literal_n;

static const char *literal_of(const char *text, size_t n)
{
	char *copy = literals + literal_n;

	cr_assert(literal_n + n + 1 <= sizeof(literals));
	memcpy(copy, text, n);
	copy[n] = 0;
	literal_n += n + 1;
	return copy;
}

struct assemble_text text_of(const char *text)
{
	struct assemble_text t = { 0 };

	/* What was made long before has been copied. */
	if (piece_n + 64 > sizeof(pieces) / sizeof(pieces[0]) || literal_n + 2048 > sizeof(literals))
		piece_n = literal_n = 0;
	t.pieces = &pieces[piece_n];
	while (*text) {
		size_t n = strcspn(text, "{");
		struct assemble_piece *p = &pieces[piece_n++];
		uint8_t when;

		cr_assert(piece_n < sizeof(pieces) / sizeof(pieces[0]));
		t.piece_n++;
		if (n) {
			*p = (struct assemble_piece){ .literal = literal_of(text, n), .value = -1 };
			text += n;
			continue;
		}
		text++;
		if ((*text == '|' || *text == '&') && !strchr("0123456789xp", text[1])) {
			n = strcspn(text, "}");
			*p = (struct assemble_piece){ .literal = literal_of(text + 1, n - 1), .value = -1,
						      .when = *text == '|' ? ASSEMBLE_WHEN_NONE : ASSEMBLE_WHEN_SOME };
			text += n + 1;
			continue;
		}
		when = *text == '|' ? ASSEMBLE_WHEN_NONE : ASSEMBLE_WHEN_ALWAYS;
		text += *text == '|';
		*p = (struct assemble_piece){ .when = when, .format = *text == 'x' ? ASSEMBLE_FORMAT_HEX :
						       *text == 'p' ? ASSEMBLE_FORMAT_POINTER : ASSEMBLE_FORMAT_TYPED };
		text += *text == 'x' || *text == 'p';
		p->value = (int8_t)strtol(text, (char **)&text, 10);
		cr_assert_eq(*text++, '}');
	}
	return t;
}

static void value_add(struct wcbpf_op *e, const char *word)
{
	struct wcbpf_value v = { .type = WCBPF_VALUE_UINT };
	uint8_t bytes[256] = { 0 };
	int64_t number;

	switch (*word) {
	case 'u':
	case 'i':
		number = *word == 'u' ? (int64_t)strtoull(word + 1, NULL, 0) : strtoll(word + 1, NULL, 0);
		v.type = *word == 'u' ? WCBPF_VALUE_UINT : WCBPF_VALUE_INT;
		v.len = *word == 'i' && number >= INT32_MIN && number <= INT32_MAX ? 4 : 8;
		memcpy(bytes, &number, 8);
		break;
	case 's':
	case 'g':
		v.type = *word == 's' ? WCBPF_VALUE_STRING : WCBPF_VALUE_GO_STRING;
		v.len = (uint16_t)strlen(word + 1);
		v.total = v.len;
		memcpy(bytes, word + 1, v.len);
		break;
	case 'b':
		v.type = WCBPF_VALUE_BYTES;
		v.len = (uint16_t)(strlen(word + 1) / 2);
		for (uint16_t i = 0; i < v.len; i++)
			sscanf(word + 1 + 2 * i, "%2hhx", &bytes[i]);
		break;
	default:
		v.error = 1;
	}
	memcpy(e->data + e->data_len, &v, sizeof(v));
	memcpy(e->data + e->data_len + sizeof(v), bytes, v.len);
	e->data_len = (uint16_t)(e->data_len + sizeof(v) + ((v.len + 7u) & ~7u));
	e->value_n++;
}

int hit(struct rig *r, enum wcbpf_site_kind kind, uint64_t time_ns, uint32_t point, struct where w,
	const char *const *values)
{
	static struct wcbpf_op e;

	e = (struct wcbpf_op){ .head = { .kind = WCBPF_EV_OP, .time_ns = time_ns }, .goid = w.goid, .cfa = w.cfa,
			       .stack_hi = w.stack_hi, .ustack_id = w.ustack_id, .tid = w.tid, .tgid = w.tgid,
			       .point = point, .kind = (uint8_t)kind };
	for (; *values; values++)
		value_add(&e, *values);
	e.head.size = (uint32_t)offsetof(struct wcbpf_op, data) + e.data_len;
	return assemble_event(r->a, &e.head);
}

int go_birth(struct rig *r, uint64_t time_ns, uint32_t tid, uint64_t parent, uint64_t goid, uint64_t start_pc)
{
	struct wcbpf_go_birth e = {
		.head = { .kind = WCBPF_EV_GO_BIRTH, .size = sizeof(e), .time_ns = time_ns },
		.goid = goid, .parent_goid = parent, .start_pc = start_pc, .tid = tid, .tgid = 100,
	};

	return assemble_event(r->a, &e.head);
}

int go_death(struct rig *r, uint64_t time_ns, uint32_t tid, uint64_t goid)
{
	struct wcbpf_go_death e = {
		.head = { .kind = WCBPF_EV_GO_DEATH, .size = sizeof(e), .time_ns = time_ns },
		.goid = goid, .tid = tid, .tgid = 100,
	};

	return assemble_event(r->a, &e.head);
}

int go_interval(struct rig *r, const struct wcbpf_go_interval *given)
{
	struct wcbpf_go_interval e = *given;

	e.head.kind = WCBPF_EV_GO_INTERVAL;
	e.head.size = sizeof(e);
	return assemble_event(r->a, &e.head);
}

unsigned ops_of_class(const struct rig *r, const char *class)
{
	unsigned n = 0;

	for (size_t i = 1; i < r->m->op_n; i++)
		n += strcmp(rig_str(r, r->m->ops[i].class_id), class) == 0;
	return n;
}

uint32_t op_of_class(const struct rig *r, const char *class, unsigned n)
{
	for (uint32_t i = 1; i < r->m->op_n; i++) {
		if (strcmp(rig_str(r, r->m->ops[i].class_id), class) == 0 && --n == 0)
			return i;
	}
	cr_assert_fail("there is no %s", class);
	return 0;
}

uint32_t entry_of(const struct rig *r, uint64_t goid)
{
	for (uint32_t i = 1; i < r->m->thread_n; i++) {
		if (r->m->threads[i].goid == goid)
			return i;
	}
	return 0;
}
