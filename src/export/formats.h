/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The writers of the registry. Private to export/. */
#include "export/export.h"

int export_perfetto_write(const struct export_job *job, json_sink sink, void *arg, struct export_told *told);
int export_firefox_write(const struct export_job *job, json_sink sink, void *arg, struct export_told *told);
int export_pprof_write(const struct export_job *job, json_sink sink, void *arg, struct export_told *told);
int export_folded_write(const struct export_job *job, json_sink sink, void *arg, struct export_told *told);
int export_otlp_write(const struct export_job *job, json_sink sink, void *arg, struct export_told *told);
int export_flamegraph_write(const struct export_job *job, json_sink sink, void *arg, struct export_told *told);
int export_timeline_write(const struct export_job *job, json_sink sink, void *arg, struct export_told *told);
