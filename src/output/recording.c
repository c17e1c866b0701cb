/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Written once for two files, so that they can't tell two stories. */
#include "output/recording.h"

void recording_write_facts(struct json *j, const struct output_facts *f)
{
	json_kv_string(j, "version", f->version);
	json_kv_string(j, "host", f->host);
	json_kv_string(j, "kernel", f->kernel);
	json_kv_string(j, "clock", f->clock);
	json_kv_string(j, "target", f->target);
	json_kv_string(j, "options", f->options);
}
