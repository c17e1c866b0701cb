/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* A Perfetto trace while it is written. Private to export/perfetto*.c. */
#include "export/pairs.h"
#include "export/proto.h"
#include "export/scene.h"
#include "util/strtab.h"

/* Field numbers of perfetto's protos/perfetto/trace. */
enum { TRACE_PACKET = 1 };
enum { PACKET_FTRACE = 1, PACKET_CLOCKS = 6, PACKET_TIMESTAMP = 8, PACKET_SEQUENCE = 10, PACKET_EVENT = 11,
       PACKET_INTERNED = 12, PACKET_FLAGS = 13, PACKET_SYSTEM = 45, PACKET_CLOCK_ID = 58, PACKET_DEFAULTS = 59,
       PACKET_TRACK = 60, PACKET_SAMPLE = 66 };
enum { SEQUENCE_CLEARED = 1, SEQUENCE_NEEDS_STATE = 2 };
enum { CLOCK_ID_REALTIME = 1, CLOCK_ID_BOOTTIME = 6 };
enum { EVENT_CATEGORY = 3, EVENT_ANNOTATION = 4, EVENT_TYPE = 9, EVENT_NAME = 10, EVENT_TRACK = 11, EVENT_FLOW = 47,
       EVENT_FLOW_END = 48, EVENT_STACK = 56 };
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3 };

/* What is interned: each kind has numbers of its own. */
enum perfetto_strings {
	PERFETTO_CATEGORY, PERFETTO_NAME, PERFETTO_ANNOTATION, PERFETTO_VALUE, PERFETTO_FUNCTION, PERFETTO_PATH,
	PERFETTO_STRINGS_MAX,
};

struct trace {
	const struct export_job *job;
	const struct model *m;
	struct export_told *told;
	json_sink sink;
	void *arg;
	struct scene scene;
	struct strtab *texts;
	struct pairs strings[PERFETTO_STRINGS_MAX];
	struct pairs frames, frame_spots, frame_places, stacks;
	uint32_t *mappings; /* by module index: number of its mapping, 0: not written yet; 0 stands for no module */
	uint32_t mapping_n;
	struct text interned; /* entries that the next packet brings */
	struct text packet;
	size_t packet_begin;
	bool started;	/* the sequence has its first packet */
	uint64_t track_n; /* tracks that are neither of threads nor of groups */
};

/* Moment of the recording as the trace counts. */
static inline uint64_t trace_ns(const struct trace *t, int64_t ns)
{
	return (uint64_t)(t->m->epoch_unix_ns + ns);
}

/* A packet of the events' sequence; ns: its time. What goes between is appended to t->packet. Its end: 0 or -errno. */
void packet_begin(struct trace *t, int64_t ns);
int packet_end(struct trace *t);

/* The number of a string; what is new is in the packet that ends next. 0, -ENOMEM. */
int perfetto_string(struct trace *t, enum perfetto_strings kind, const char *s, uint32_t *ret);
/* The number of a stack of both sides; 0: it has no frame. 0, -ENOMEM. */
int perfetto_stack(struct trace *t, uint32_t ustack, uint32_t kstack, uint32_t *ret);
/* Appends an annotation to the event. 0, -ENOMEM. */
int perfetto_annotate(struct trace *t, const char *key, const char *value); /* nothing for "" */
int perfetto_annotate_int(struct trace *t, const char *key, int64_t value);

/* sched_switch and sched_waking, one bundle a CPU. 0 or -errno. */
int perfetto_sched_write(struct trace *t);
