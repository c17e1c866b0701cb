/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Whoever can connect may toggle and dump, but for one: a browser connects to
 * the loopback interface for any page. A page's requests bear an Origin or say
 * that they come from a site; and a page whose own name was made to lead here
 * (DNS rebinding) asks for a host that is not this one.
 */
#include "serve/request.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

#define EXPECTED "expected on, off or a boolean, in a body of at most 64 bytes or, with an empty body, as ?v="

static struct serve_verdict refuse(unsigned status, const char *text)
{
	return (struct serve_verdict){.action = SERVE_REFUSE, .status = status, .text = text};
}

static struct serve_verdict refuse_method(const char *allow, const char *text)
{
	return (struct serve_verdict){.action = SERVE_REFUSE, .status = 405, .text = text, .allow = allow};
}

static bool word_is(const char *word, size_t n, const char *what)
{
	return strlen(what) == n && strncasecmp(word, what, n) == 0;
}

/* on and off in any case, and the booleans of Go's strconv.ParseBool; blanks around it are passed over. */
static bool switch_parse(const char *word, size_t n, bool *ret)
{
	static const char *const yes[] = {"on", "true", "t", "1"}, *const no[] = {"off", "false", "f", "0"};

	for (; n && isspace((unsigned char)word[0]); word++)
		n--;
	for (; n && isspace((unsigned char)word[n - 1]);)
		n--;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		if (!word_is(word, n, yes[i]) && !word_is(word, n, no[i]))
			continue;
		*ret = word_is(word, n, yes[i]);
		return true;
	}
	return false;
}

/* "NAME" or "NAME:PORT", where the name is this host's loopback interface. */
static bool host_is_loopback(const char *host)
{
	const char *end = host[0] == '[' ? strchr(host, ']') : strchr(host, ':');
	size_t n = end ? (size_t)(end - host) + (host[0] == '[') : strlen(host);
	char name[INET_ADDRSTRLEN] = {0};
	struct in_addr ip;

	if (host[n] && (host[n] != ':' || strspn(host + n + 1, "0123456789") != strlen(host + n + 1)))
		return false;
	if (word_is(host, n, "localhost") || word_is(host, n, "[::1]"))
		return true;
	if (n >= sizeof(name))
		return false;
	memcpy(name, host, n);
	return inet_pton(AF_INET, name, &ip) == 1 && ntohl(ip.s_addr) >> 24 == 127;
}

static struct serve_verdict enabled_judge(const struct serve_request *r)
{
	bool on, post = strcmp(r->method, "POST") == 0;
	const char *word = r->body_n ? r->body : r->v;
	size_t n = r->body_n ? r->body_n : r->v ? strlen(r->v) : 0;

	if (strcmp(r->method, "GET") == 0)
		return (struct serve_verdict){.action = SERVE_STATE};
	if (!post)
		return refuse_method("GET, POST", "GET tells whether recording is on, POST switches it");
	if (n > SERVE_BODY_MAX || !n || !switch_parse(word, n, &on))
		return refuse(400, EXPECTED);
	return (struct serve_verdict){.action = on ? SERVE_ON : SERVE_OFF};
}

static struct serve_verdict dump_judge(const struct serve_request *r)
{
	bool flush = true;

	if (strcmp(r->method, "GET") != 0)
		return refuse_method("GET", "GET gives a dump");
	if (r->flush && !switch_parse(r->flush, strlen(r->flush), &flush))
		return refuse(400, "expected ?flush=0 to keep what is dumped, or ?flush=1");
	return (struct serve_verdict){.action = flush ? SERVE_DUMP : SERVE_DUMP_KEEP};
}

struct serve_verdict serve_judge(const struct serve_request *r)
{
	if (!r->local && (!r->host || !host_is_loopback(r->host)))
		return refuse(403, "the Host must be localhost, 127.0.0.1 or [::1]");
	if (r->origin || (r->fetch_site && strcmp(r->fetch_site, "none") != 0))
		return refuse(403, "this is not for web pages");
	if (strcmp(r->path, "/debug/wcprof/enabled") == 0)
		return enabled_judge(r);
	if (strcmp(r->path, "/debug/wcprof/dump") == 0)
		return dump_judge(r);
	return refuse(404, "there are /debug/wcprof/enabled and /debug/wcprof/dump");
}
