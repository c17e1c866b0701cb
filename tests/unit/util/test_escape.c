/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Escapes for XML and plain UTF-8. Those of lines are tested with output/, whose files they are for. */
#include <criterion/criterion.h>
#include <string.h>

#include "util/escape.h"

static void expect(void (*escape)(struct text *t, const char *s), const char *in, const char *out)
{
	struct text t = { 0 };

	escape(&t, in);
	cr_assert_eq(text_error(&t), 0);
	cr_assert_eq(strcmp(text_str(&t), out), 0, "%s became %s, expected %s", in, text_str(&t), out);
	text_done(&t);
}

Test(escape, utf8)
{
	expect(escape_utf8, "", "");
	expect(escape_utf8, "plain <&>\n\x01", "plain <&>\n\x01");
	expect(escape_utf8, "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80", "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80");
	/* A byte that begins nothing, a sequence that is cut, an overlong form, a surrogate, above the last character. */
	expect(escape_utf8, "a\x80" "b", "a\xef\xbf\xbd" "b");
	expect(escape_utf8, "\xc3", "\xef\xbf\xbd");
	expect(escape_utf8, "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd");
	expect(escape_utf8, "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	expect(escape_utf8, "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

Test(escape, xml)
{
	expect(escape_xml, "", "");
	expect(escape_xml, "a<b>&\"'c", "a&lt;b&gt;&amp;&quot;&#39;c");
	expect(escape_xml, "]]>", "]]&gt;");
	expect(escape_xml, "\x1b[0m\x7f\n", "\\x1b[0m\\x7f\\x0a");
	expect(escape_xml, "\xc2\x85\xc2\xa0", "\\xc2\\x85\xc2\xa0");
	/* U+FFFE and U+FFFF are no characters of XML; U+FFFD is. */
	expect(escape_xml, "\xef\xbf\xbe\xef\xbf\xbf\xef\xbf\xbd", "\\xef\\xbf\\xbe\\xef\\xbf\\xbf\xef\xbf\xbd");
	expect(escape_xml, "\xff", "\xef\xbf\xbd");
}
