/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * One HTML file that needs no other: style, scripts, and the data in base64,
 * which no name that the target chose can break out of. A policy in its head
 * forbids the page to load anything.
 */
#include "export/assets.h"
#include "export/formats.h"
#include "export/timeline-data.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/text.h"

struct page {
	json_sink sink;
	void *arg;
	struct text t;
};

static int flush(struct page *p)
{
	int err = text_error(&p->t);

	if (!err && p->t.n)
		err = p->sink(p->arg, text_str(&p->t), p->t.n);
	text_clear(&p->t);
	return err;
}

/* RFC 4648, lines as long as an editor bears. */
static int base64_write(struct page *p, const struct text *data)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	enum { LINE_BYTES = 900 };
	const unsigned char *b = (const unsigned char *)text_str(data);
	int err = 0;

	for (size_t i = 0; i < data->n && !err; i += 3) {
		size_t n = data->n - i < 3 ? data->n - i : 3;
		unsigned v = (unsigned)b[i] << 16 | (n > 1 ? (unsigned)b[i + 1] << 8 : 0) | (n > 2 ? b[i + 2] : 0u);
		char four[4] = { digits[v >> 18], digits[v >> 12 & 63], n > 1 ? digits[v >> 6 & 63] : '=',
				 n > 2 ? digits[v & 63] : '=' };

		text_append_n(&p->t, four, 4);
		if (i % LINE_BYTES == LINE_BYTES - 3) {
			text_append(&p->t, "\n");
			err = flush(p);
		}
	}
	return err ? err : flush(p);
}

static void head_append(struct page *p, const struct export_job *job)
{
	struct text *t = &p->t;

	text_append(t, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
		    "script-src 'unsafe-inline'\">\n<title>");
	escape_xml(t, job->name ? job->name : "wcbpf");
	text_append(t, " - wcbpf timeline</title>\n<style>\n");
	text_append(t, asset_timeline_css);
	text_append(t, "</style>\n</head>\n<body>\n<header id=\"title\">");
	escape_xml(t, job->name ? job->name : "wcbpf");
	text_append(t, "</header>\n");
	text_append(t, asset_timeline_html);
	text_append(t, "<script type=\"text/plain\" id=\"data\">\n");
}

static void tail_append(struct page *p)
{
	text_append(&p->t, "</script>\n<script>\n");
	text_append(&p->t, asset_timeline_data_js);
	text_append(&p->t, asset_timeline_view_js);
	text_append(&p->t, asset_timeline_js);
	text_append(&p->t, "</script>\n</body>\n</html>\n");
}

int export_timeline_write(const struct export_job *job, json_sink sink, void *arg, struct export_told *told)
{
	_cleanup_(text_done) struct text data = { 0 };
	struct page p = { .sink = sink, .arg = arg };
	int err = timeline_data_make(job, &data, told);

	if (!err) {
		head_append(&p, job);
		err = base64_write(&p, &data);
	}
	if (!err) {
		tail_append(&p);
		err = flush(&p);
	}
	text_done(&p.t);
	return err;
}
