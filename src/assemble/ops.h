/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Hits of choke points -> ops and waits. */
#include "assemble/strand.h"

/* 0, -EBADMSG, -ENOMEM. */
int assemble_op(struct assemble *a, const struct wcbpf_op *e);

enum end_how {
	END_EXIT,
	END_UNWOUND, /* its frame is gone */
	END_OPEN,    /* it is still there, the recording is over */
};
struct call_end {
	const struct values *exit;  /* END_EXIT: its values */
	const struct point *by;	    /* END of a BEGIN on its strand: whose outcome holds */
	const struct values *entry; /* by's */
	uint64_t time_ns;
	enum end_how how;
};
/* Ends a call and takes it off its strand. 0, -ENOMEM. */
int assemble_call_close(struct assemble *a, struct strand *s, struct call *c, const struct call_end *end);

/* The ops that BEGINs of that process began are over with it. */
void assemble_begun_end(struct assemble *a, uint32_t process, uint64_t time_ns);
/* Names ops that are open, and leaves them so; waits that are open are told up to now_ns. 0, -ENOMEM. */
int assemble_ops_show(struct assemble *a, uint64_t now_ns);
/* Ends what is open in the dump's sense at the recording's end: waits are cut, ops stay open. 0, -ENOMEM. */
int assemble_ops_finish(struct assemble *a, uint64_t end_ns);
