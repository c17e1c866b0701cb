/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What the Go runtime's own words for its waits mean in ours. */
#include "assemble/state.h"

/* "" for one that is not known; the stack tells apart what Go's word doesn't. */
void assemble_go_verdict(const struct model *m, const char *reason, uint32_t ustack, enum wait_reason *ret_reason,
			 const char **ret_kind);
/* What the runtime's lock argument is for such a wait: IDENT_NONE if it names nothing of the program's. */
enum ident_kind assemble_go_ident_kind(const char *reason);
bool assemble_go_is_sleep(const char *reason);
/* May such a wait be ended by a timer itself, rather than by a goroutine that one has begun? */
bool assemble_go_has_timer(const char *reason);
/* A function that only the runtime's own goroutines begin with. */
bool assemble_go_is_system(const char *function);

/* wait_kind of what the runtime's own goroutines and its threads without one wait for: idle by design. */
#define GO_IDLE_KIND "go_idle"
#define GO_SCHEDULER_KIND "go_scheduler"
