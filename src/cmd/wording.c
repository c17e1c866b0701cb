/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* By value in a small struct: usable inside printf's arguments, nothing to free. */
#include "cmd/wording.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "util/cleanup.h"

struct wording wording_count(uint64_t n)
{
	struct wording w;
	char digits[24];
	size_t length = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n), at = 0;

	for (size_t i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			w.text[at++] = ',';
		w.text[at++] = digits[i];
	}
	w.text[at] = '\0';
	return w;
}

struct wording wording_counted(uint64_t n, const char *word, const char *plural)
{
	struct wording w;
	const struct wording count = wording_count(n);

	snprintf(w.text, sizeof(w.text), "%.30s %.30s%s", count.text, n != 1 && plural ? plural : word,
		 n != 1 && !plural ? "s" : "");
	return w;
}

struct wording wording_duration(uint64_t ns)
{
	struct wording w;
	double s = (double)ns / 1e9;

	if (ns < 1000000)
		snprintf(w.text, sizeof(w.text), "%.1f us", (double)ns / 1e3);
	else if (ns < 1000000000)
		snprintf(w.text, sizeof(w.text), "%.1f ms", (double)ns / 1e6);
	else if (s < 10)
		snprintf(w.text, sizeof(w.text), "%.2f s", s);
	else if (s < 600)
		snprintf(w.text, sizeof(w.text), "%.1f s", s);
	else if (s < 3600)
		snprintf(w.text, sizeof(w.text), "%llu m %02llu s", (unsigned long long)(s / 60),
			 (unsigned long long)s % 60);
	else
		snprintf(w.text, sizeof(w.text), "%llu h %02llu m", (unsigned long long)(s / 3600),
			 (unsigned long long)(s / 60) % 60);
	return w;
}

struct wording wording_status(int status)
{
	struct wording w;

	if (WIFSIGNALED(status)) {
		const char *name = sigabbrev_np(WTERMSIG(status));

		if (name)
			snprintf(w.text, sizeof(w.text), "killed by SIG%s%s", name,
				 WCOREDUMP(status) ? " (core dumped)" : "");
		else
			snprintf(w.text, sizeof(w.text), "killed by signal %d", WTERMSIG(status));
	} else {
		snprintf(w.text, sizeof(w.text), "exit %d", WEXITSTATUS(status));
	}
	return w;
}

static void quoted_write(FILE *f, const char *word)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "_-./:=,+@%^";

	if (*word && word[strspn(word, safe)] == '\0') {
		fputs(word, f);
		return;
	}
	fputc('\'', f);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", f);
		else
			fputc(*word, f);
	}
	fputc('\'', f);
}

char *wording_command(const char *const *argv)
{
	_cleanup_(freep) char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (size_t i = 0; argv[i]; i++) {
		if (i)
			fputc(' ', f);
		quoted_write(f, argv[i]);
	}
	if (fclose(f) != 0)
		return NULL;
	return TAKE_PTR(text);
}

/* Bytes of an escape sequence at s, 0: it is none. */
static size_t escape_bytes(const char *s, const char *end)
{
	const char *at = s + 2;

	if (end - s < 3 || s[0] != '\033' || s[1] != '[')
		return 0;
	while (at < end && *at != 'm')
		at++;
	return at < end ? (size_t)(at - s) + 1 : 0;
}

/* Up to where a part of a line fits: its last blank, or the end of its first word if that alone is too long. */
static const char *part_end(const char *s, const char *end, unsigned columns, unsigned *ret_width)
{
	const char *blank = NULL;
	unsigned width = 0;
	bool word = false;

	for (const char *at = s; at < end;) {
		size_t escape = escape_bytes(at, end);

		if (escape) {
			at += escape;
			continue;
		}
		if (*at == ' ' && word)
			blank = at;
		word |= *at != ' ';
		if (width >= columns && blank) {
			*ret_width = width + 1;
			return blank;
		}
		/* Bytes that go on with a character take no column. */
		width += ((unsigned char)*at & 0xc0) != 0x80;
		at++;
	}
	*ret_width = width;
	return width > columns && blank ? blank : end;
}

/* Where a line's text begins behind its numbers: after the last wide gap in its first half. */
static unsigned text_column(const char *s, const char *end, unsigned columns)
{
	unsigned column = 0, found = 0;

	for (const char *at = s; at < end && column <= columns / 2;) {
		size_t escape = escape_bytes(at, end);

		if (escape) {
			at += escape;
			continue;
		}
		if (column >= 2 && *at != ' ' && at[-1] == ' ' && at[-2] == ' ')
			found = column;
		column += ((unsigned char)*at & 0xc0) != 0x80;
		at++;
	}
	return found ? found : 4;
}

static void line_fit(FILE *f, const char *s, const char *end, unsigned columns)
{
	unsigned width, indent;
	const char *to = part_end(s, end, columns, &width);

	fwrite(s, 1, (size_t)(to - s), f);
	indent = text_column(s, end, columns);
	while (to < end) {
		s = to + strspn(to, " ");
		to = part_end(s, end, columns - indent, &width);
		fprintf(f, "\n%*s", (int)indent, "");
		fwrite(s, 1, (size_t)(to - s), f);
	}
}

void wording_fit(FILE *f, const char *text, unsigned columns)
{
	while (*text) {
		size_t n = strcspn(text, "\n");

		line_fit(f, text, text + n, columns);
		text += n;
		if (*text == '\n')
			fputc(*text++, f);
	}
}

bool wording_has_option(const char *options, const char *word)
{
	size_t n = strlen(word);

	for (const char *s = options; (s = strstr(s, word)); s += n) {
		if ((s == options || s[-1] == ' ') && (!s[n] || s[n] == ' ' || s[n] == '='))
			return true;
	}
	return false;
}

const char *wording_left_out(const char *options)
{
	bool only = !options || wording_has_option(options, "--only"), off = !options || wording_has_option(options, "--listen");

	return !off ? "by --only" : only ? "by --only or while recording was off" : "while recording was off";
}
