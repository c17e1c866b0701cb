/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The scripts and styles of the pictures, from the files of their names; made by scripts/embed. Private to export/. */
extern const char asset_flamegraph_js[], asset_flamegraph_css[];
extern const char asset_timeline_data_js[], asset_timeline_view_js[], asset_timeline_js[];
extern const char asset_timeline_css[], asset_timeline_html[];
