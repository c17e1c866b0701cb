/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* What requests ask for, and which are refused. */
#include <criterion/criterion.h>
#include <string.h>

#include "serve/request.h"

static struct serve_request request(const char *method, const char *path)
{
	return (struct serve_request){.method = method, .path = path, .host = "127.0.0.1:9000"};
}

static struct serve_verdict post(const char *body, size_t n, const char *v)
{
	struct serve_request r = request("POST", "/debug/wcprof/enabled");

	r.body = body;
	r.body_n = n;
	r.v = v;
	return serve_judge(&r);
}

static void expect(struct serve_verdict v, enum serve_action action, unsigned status)
{
	cr_expect_eq(v.action, action, "action %d, not %d (%s)", v.action, action, v.text ? v.text : "");
	cr_expect_eq(v.status, status, "status %u, not %u", v.status, status);
	if (action == SERVE_REFUSE)
		cr_expect(v.text && v.text[0]);
}

Test(request, words_that_switch)
{
	/* Go's strconv.ParseBool, and the two words. */
	static const char *const yes[] = {"on", "1", "t", "T", "TRUE", "true", "True", "ON", " on\n"};
	static const char *const no[] = {"off", "0", "f", "F", "FALSE", "false", "False", "Off", "off\r\n"};
	static const char *const neither[] = {"onn", "o", "yes", "2", "v=on", "on off", "\n", "tru", "{}"};

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		expect(post(yes[i], strlen(yes[i]), NULL), SERVE_ON, 0);
		expect(post("", 0, yes[i]), SERVE_ON, 0);
		expect(post(no[i], strlen(no[i]), NULL), SERVE_OFF, 0);
		expect(post("", 0, no[i]), SERVE_OFF, 0);
		expect(post(neither[i], strlen(neither[i]), NULL), SERVE_REFUSE, 400);
	}
	expect(post("", 0, NULL), SERVE_REFUSE, 400);
	expect(post("", 0, ""), SERVE_REFUSE, 400);
	cr_expect(strstr(post("x", 1, NULL).text, "on, off or a boolean"));
}

Test(request, a_body_of_64_bytes)
{
	char body[SERVE_BODY_MAX + 1];

	memset(body, ' ', sizeof(body));
	memcpy(body, "on", 2);
	expect(post(body, 64, NULL), SERVE_ON, 0);
	expect(post(body, 65, NULL), SERVE_REFUSE, 400);
	/* Of longer ones only the length is known. */
	expect(post(body, 1 << 20, NULL), SERVE_REFUSE, 400);
	/* A NUL within is no end. */
	expect(post("on\0", 3, NULL), SERVE_REFUSE, 400);
}

Test(request, v_counts_only_with_an_empty_body)
{
	expect(post("off", 3, "on"), SERVE_OFF, 0);
	expect(post("x", 1, "on"), SERVE_REFUSE, 400);
	expect(post("", 0, "on"), SERVE_ON, 0);
	expect(post("", 0, "                                                               on"), SERVE_REFUSE, 400);
}

Test(request, only_post_toggles)
{
	static const char *const others[] = {"PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "post"};
	struct serve_request r = request("GET", "/debug/wcprof/enabled");

	r.v = "off";
	expect(serve_judge(&r), SERVE_STATE, 0);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		r.method = others[i];
		expect(serve_judge(&r), SERVE_REFUSE, 405);
		cr_expect_str_eq(serve_judge(&r).allow, "GET, POST");
	}
}

Test(request, dumps)
{
	struct serve_request r = request("GET", "/debug/wcprof/dump");

	expect(serve_judge(&r), SERVE_DUMP, 0);
	r.flush = "0";
	expect(serve_judge(&r), SERVE_DUMP_KEEP, 0);
	r.flush = "false";
	expect(serve_judge(&r), SERVE_DUMP_KEEP, 0);
	r.flush = "1";
	expect(serve_judge(&r), SERVE_DUMP, 0);
	r.flush = "";
	expect(serve_judge(&r), SERVE_REFUSE, 400);
	r.flush = "maybe";
	expect(serve_judge(&r), SERVE_REFUSE, 400);
	/* HEAD would flush without giving anything. */
	r = request("HEAD", "/debug/wcprof/dump");
	expect(serve_judge(&r), SERVE_REFUSE, 405);
	r.method = "POST";
	expect(serve_judge(&r), SERVE_REFUSE, 405);
}

Test(request, paths)
{
	static const char *const none[] = {"/", "", "/debug/wcprof", "/debug/wcprof/enabled/", "/debug/wcprof/Dump",
					   "/debug/wcprof/dump/x", "//debug/wcprof/dump"};

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		struct serve_request r = request("GET", none[i]);

		expect(serve_judge(&r), SERVE_REFUSE, 404);
	}
}

/* A page's requests, and those of one whose name leads here. */
Test(request, browsers)
{
	static const char *const ours[] = {"localhost", "LocalHost:80", "127.0.0.1", "127.0.0.1:9000", "127.9.9.9",
					   "[::1]", "[::1]:9000"};
	static const char *const others[] = {"example.org", "example.org:9000", "localhost.example.org", "127.0.0.1.nip.io",
					     "[::2]", "10.0.0.1", "128.0.0.1", "", "127.0.0.1:x", "[::1", "[::1]x",
					     "0.0.0.0", "2130706433", "localhost:80@example.org"};
	struct serve_request r = request("GET", "/debug/wcprof/dump");

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		r.host = ours[i];
		expect(serve_judge(&r), SERVE_DUMP, 0);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		r.host = others[i];
		expect(serve_judge(&r), SERVE_REFUSE, 403);
		r.local = true;
		expect(serve_judge(&r), SERVE_DUMP, 0);
		r.local = false;
	}
	r.host = NULL;
	expect(serve_judge(&r), SERVE_REFUSE, 403);
	r.host = "localhost";
	r.fetch_site = "none";
	expect(serve_judge(&r), SERVE_DUMP, 0);
	r.fetch_site = "cross-site";
	expect(serve_judge(&r), SERVE_REFUSE, 403);
	r.fetch_site = NULL;
	r.origin = "null";
	expect(serve_judge(&r), SERVE_REFUSE, 403);
	r.local = true;
	r.method = "POST";
	r.path = "/debug/wcprof/enabled";
	r.v = "on";
	expect(serve_judge(&r), SERVE_REFUSE, 403);
}
