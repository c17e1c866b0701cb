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
