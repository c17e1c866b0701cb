/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Hits made by hand, whose absent values lie in this program's own file and memory. */
#include "capture/constants.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "proc/proc.h"

static const char constant[] = "a constant";
static const char long_one[300] = { [0 ... 255] = 'x', [256] = 'y' };
static char changed[16] = "as in the file";

static struct proc_maps *maps;
static struct constants *c;
static struct wcbpf_op op;

static void setup(void)
{
	cr_assert_eq(proc_maps_new(&maps), 0);
	cr_assert_eq(proc_maps_snapshot(maps, (uint32_t)getpid(), 0), 0);
	cr_assert_eq(constants_new(maps, &c), 0);
	op = (struct wcbpf_op){ .head = { .kind = WCBPF_EV_OP, .size = offsetof(struct wcbpf_op, data), .time_ns = 1000 },
				.tgid = (uint32_t)getpid() };
}

static void teardown(void)
{
	constants_free(c);
	proc_maps_free(maps);
}

TestSuite(constants, .init = setup, .fini = teardown);

static void add(uint8_t type, uint8_t error, uint32_t total, const void *bytes, uint16_t len)
{
	struct wcbpf_value v = { .type = type, .error = error, .len = len, .total = total };

	memcpy(op.data + op.data_len, &v, sizeof(v));
	memcpy(op.data + op.data_len + sizeof(v), bytes, len);
	op.data_len = (uint16_t)(op.data_len + sizeof(v) + ((len + 7u) & ~7u));
	op.head.size = (uint32_t)offsetof(struct wcbpf_op, data) + op.data_len;
	op.value_n++;
}

static void add_absent(uint8_t type, const void *at, uint64_t bytes)
{
	struct wcbpf_value_place place = { (uintptr_t)at, bytes };

	add(type, WCBPF_VALUE_ABSENT, (uint32_t)bytes, &place, sizeof(place));
}

static size_t fill(void)
{
	size_t lost_n = 99;

	cr_assert_eq(constants_fill(c, &op, &lost_n), 0);
	cr_expect_eq(op.head.size, offsetof(struct wcbpf_op, data) + op.data_len);
	return lost_n;
}

/* The value at *at, which goes on to the next one. */
static struct wcbpf_value next(size_t *at, const char **ret)
{
	struct wcbpf_value v;

	cr_assert_leq(*at + sizeof(v), op.data_len);
	memcpy(&v, op.data + *at, sizeof(v));
	*ret = (const char *)op.data + *at + sizeof(v);
	*at += sizeof(v) + ((v.len + 7u) & ~7u);
	cr_assert_leq(*at, op.data_len);
	return v;
}

Test(constants, found)
{
	uint64_t number = 42;
	struct wcbpf_value v;
	const char *bytes;
	size_t at = 0;

	add(WCBPF_VALUE_UINT, WCBPF_VALUE_READ, 8, &number, 8);
	add_absent(WCBPF_VALUE_STRING, constant, 256);
	add_absent(WCBPF_VALUE_GO_STRING, constant + 2, 8);
	add_absent(WCBPF_VALUE_BYTES, constant, 3);
	add(WCBPF_VALUE_STRING, WCBPF_VALUE_READ, 3, "abc", 3);
	cr_expect_eq(fill(), 0);

	v = next(&at, &bytes);
	cr_expect(v.len == 8 && !memcmp(bytes, &number, 8));
	v = next(&at, &bytes);
	cr_expect(!v.error && v.len == 10 && v.total == 10 && !memcmp(bytes, "a constant", 10));
	v = next(&at, &bytes);
	cr_expect(!v.error && v.len == 8 && v.total == 8 && !memcmp(bytes, "constant", 8));
	v = next(&at, &bytes);
	cr_expect(!v.error && v.len == 3 && !memcmp(bytes, "a c", 3));
	v = next(&at, &bytes);
	cr_expect(!v.error && v.len == 3 && !memcmp(bytes, "abc", 3));
	cr_expect_eq(at, op.data_len);
}

/* A library's. */
Test(constants, of_a_library)
{
	struct wcbpf_value v;
	const char *bytes;
	size_t at = 0;

	add_absent(WCBPF_VALUE_STRING, strerrordesc_np(ENOENT), 256);
	cr_expect_eq(fill(), 0);
	v = next(&at, &bytes);
	cr_expect(!v.error && v.len == strlen(strerrordesc_np(ENOENT)) && !memcmp(bytes, strerrordesc_np(ENOENT), v.len));
}

/* A string that goes on is cut, and says so; one that ends just there is not. */
Test(constants, cut)
{
	struct wcbpf_value v;
	const char *bytes;
	size_t at = 0;

	add_absent(WCBPF_VALUE_STRING, long_one, 256);
	add_absent(WCBPF_VALUE_STRING, long_one + 1, 256);
	add_absent(WCBPF_VALUE_STRING, long_one + 256, 1);
	add_absent(WCBPF_VALUE_STRING, long_one + 257, 1);
	cr_expect_eq(fill(), 0);
	v = next(&at, &bytes);
	cr_expect(v.len == 256 && v.total == 257 && !memcmp(bytes, long_one, 256));
	v = next(&at, &bytes);
	cr_expect(v.len == 256 && v.total == 256 && !memcmp(bytes, long_one + 1, 256));
	v = next(&at, &bytes);
	cr_expect(v.len == 1 && v.total == 1 && *bytes == 'y');
	v = next(&at, &bytes);
	cr_expect(v.len == 0 && v.total == 0);
}

/* What a process may have changed is not read from its file, nor is what another process has at that address. */
Test(constants, not_found)
{
	struct wcbpf_value v;
	const char *bytes;
	char local[8] = "stack";
	size_t at = 0;

	changed[0] = 'A';
	add_absent(WCBPF_VALUE_STRING, changed, 16);
	add_absent(WCBPF_VALUE_STRING, local, 8);
	add_absent(WCBPF_VALUE_STRING, (void *)0x10000, 8);
	add_absent(WCBPF_VALUE_BYTES, constant, 0);
	add_absent(WCBPF_VALUE_BYTES, constant, UINT64_MAX);
	add(WCBPF_VALUE_UINT, WCBPF_VALUE_LOST, 0, "", 0);
	add(WCBPF_VALUE_UINT, WCBPF_VALUE_NOWHERE, 0, "", 0);
	cr_expect_eq(fill(), 6);
	for (size_t i = 0; i < 6; i++) {
		v = next(&at, &bytes);
		cr_expect(v.error == WCBPF_VALUE_LOST && v.len == 0, "%zu", i);
	}
	v = next(&at, &bytes);
	cr_expect(v.error == WCBPF_VALUE_NOWHERE && v.len == 0);

	op.value_n = op.data_len = 0;
	op.tgid = (uint32_t)getpid() + 1;
	add_absent(WCBPF_VALUE_STRING, constant, 8);
	cr_expect_eq(fill(), 1);
}

/* A hit that contradicts itself is left as it is. */
Test(constants, malformed)
{
	struct wcbpf_op before;
	size_t lost_n;

	add_absent(WCBPF_VALUE_STRING, constant, 8);
	op.data_len -= 8;
	before = op;
	cr_expect_eq(constants_fill(c, &op, &lost_n), -EBADMSG);
	op.data_len += 8;
	op.value_n = 2;
	cr_expect_eq(constants_fill(c, &op, &lost_n), -EBADMSG);
	op.value_n = WCBPF_FETCHES_MAX + 1;
	cr_expect_eq(constants_fill(c, &op, &lost_n), -EBADMSG);
	op.value_n = 1;
	op.head.size--;
	cr_expect_eq(constants_fill(c, &op, &lost_n), -EBADMSG);
	cr_expect_eq(memcmp(op.data, before.data, sizeof(op.data)), 0);
	op.value_n = op.data_len = 0;
	op.head.size = offsetof(struct wcbpf_op, data);
	add(WCBPF_VALUE_STRING, WCBPF_VALUE_ABSENT, 8, "", 1);
	cr_expect_eq(constants_fill(c, &op, &lost_n), -EBADMSG);
}
