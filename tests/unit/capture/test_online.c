/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Turns of CPUs, by lists of our own. That one was away between two looks is tested where one can be taken: tests/vm. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/internal.h"

#define CPUS 8

static char path[] = "/tmp/wcbpf-online-XXXXXX";
static int list_fd;
static struct online *o;

static void list_write(const char *text)
{
	cr_assert_eq(ftruncate(list_fd, 0), 0);
	cr_assert_eq(pwrite(list_fd, text, strlen(text), 0), (ssize_t)strlen(text));
}

static void setup(void)
{
	list_fd = mkostemp(path, O_CLOEXEC);
	cr_assert_geq(list_fd, 0);
	list_write("0-1,4\n");
	cr_assert_eq(online_new(path, CPUS, &o), 0);
}

static void teardown(void)
{
	online_free(o);
	close(list_fd);
	unlink(path);
}

TestSuite(online, .init = setup, .fini = teardown);

static void check(const char *on)
{
	uint32_t n = 0;

	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		cr_assert_eq(online_turn(o, cpu) > 0, on[cpu] == '1', "CPU %u", cpu);
		n += on[cpu] == '1';
	}
	cr_assert_eq(online_n(o), n);
	cr_assert_eq(online_cpu_n(o), CPUS);
}

Test(online, as_the_list_says)
{
	check("11001000");
	cr_assert_eq(online_turn(o, CPUS), 0);
	cr_assert_not(online_look(o));
	check("11001000");
}

Test(online, a_turn_is_another_one_each_time)
{
	uint32_t first = online_turn(o, 1), stays = online_turn(o, 0), second;

	list_write("0,4-5\n");
	cr_assert(online_look(o));
	check("10001100");
	list_write("0-1,4-5\n");
	cr_assert(online_look(o));
	check("11001100");
	second = online_turn(o, 1);
	cr_assert_neq(second, first);
	cr_assert_eq(online_turn(o, 0), stays);
	cr_assert_not(online_look(o));
	cr_assert_eq(online_turn(o, 1), second);
}

Test(online, more_than_there_may_be)
{
	list_write("0-4000\n");
	cr_assert(online_look(o));
	check("11111111");
}

Test(online, a_list_that_can_not_be_read_changes_nothing)
{
	list_write("no list\n");
	cr_assert_not(online_look(o));
	check("11001000");
	list_write("0\n");
	cr_assert(online_look(o));
	check("10000000");
}

Test(online, without_a_list_all_may_be)
{
	online_free(o);
	cr_assert_eq(online_new("/nonexistent/online", CPUS, &o), 0);
	check("11111111");
	cr_assert_not(online_look(o));
}

Test(online, the_system_s_own)
{
	online_free(o);
	cr_assert_eq(online_new(NULL, 4096, &o), 0);
	cr_assert_eq(online_n(o), (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
}
