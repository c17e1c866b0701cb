/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What a request asks for. Pure: no sockets, no library. */
#include <stdbool.h>
#include <stddef.h>

enum { SERVE_BODY_MAX = 64 };

struct serve_request {
	const char *method, *path;
	const char *v, *flush; /* of the query, NULL: not given */
	const char *host, *origin, *fetch_site; /* headers, NULL: not sent */
	bool local;	       /* over a unix socket: no browser comes that way */
	const char *body;      /* body_n bytes, no NUL; of a longer one than SERVE_BODY_MAX only that it is */
	size_t body_n;
};

enum serve_action { SERVE_REFUSE, SERVE_STATE, SERVE_ON, SERVE_OFF, SERVE_DUMP, SERVE_DUMP_KEEP };

struct serve_verdict {
	enum serve_action action;
	unsigned status;   /* of SERVE_REFUSE */
	const char *text;  /* likewise: one sentence */
	const char *allow; /* likewise: methods that the path has, NULL: not for the method */
};

struct serve_verdict serve_judge(const struct serve_request *r);
