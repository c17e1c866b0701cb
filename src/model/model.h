/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * The in-memory model of one recording: threads, processes, ops, waits, rows,
 * stacks and modules, with one string table. No I/O, no clock.
 *
 * Times are ns since the epoch of the recording (relative time 0) and lie in
 * [0, end_ns]. Objects refer to each other by index into the model's vectors;
 * index 0 of every vector is a blank "none" entry, so 0 never names anything
 * and a real op's index is its id in a dump that wcbpf wrote. String ids are
 * ids of model.strings; 0 is "".
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/cleanup.h"
#include "util/strtab.h"

enum op_kind { OP_CALL, OP_CALL_EXEC, OP_LAZY, OP_EXEC, OP_EXEC_PHASE, OP_SERVICE_START, OP_SESSION_PHASE, OP_IO, OP_INTERNAL, OP_KIND_MAX };
enum work_type { WORK_ENGINE, WORK_USER, WORK_EXTERNAL, WORK_TYPE_MAX };
enum op_outcome { OUTCOME_NONE, OUTCOME_HIT, OUTCOME_EXECUTED, OUTCOME_JOINED, OUTCOME_DO_NOT_CACHE, OUTCOME_OK, OUTCOME_ERROR, OUTCOME_CANCELED, OP_OUTCOME_MAX };
enum link_kind { LINK_NESTED_CLIENT, LINK_RESULT, LINK_REUSED_RESULT, LINK_KIND_MAX };

/* Why a thread waited. The first seven are wcprof's own words. */
enum wait_reason {
	REASON_CALL_EXEC, REASON_SINGLEFLIGHT, REASON_LAZY, REASON_SERVICE, REASON_LOCK, REASON_EXEC, REASON_IO,
	REASON_SYNC, REASON_SLEEP, REASON_POLL, REASON_CPU, REASON_FAULT, REASON_STOPPED, REASON_SIGNAL, REASON_OTHER,
	REASON_MAX,
};
enum wait_outcome { WAIT_OUTCOME_NONE, WAIT_WOKEN, WAIT_TIMEOUT, WAIT_INTERRUPTED, WAIT_KILLED, WAIT_OUTCOME_MAX };
enum waker_ctx { WAKER_NONE, WAKER_UNKNOWN, WAKER_TASK, WAKER_TIMER, WAKER_DISK, WAKER_NET, WAKER_IRQ, WAKER_CTX_MAX };
/* Why a mutex's owner is not known, when that is known. */
enum owner_unknown {
	OWNER_UNKNOWN_NONE, OWNER_UNKNOWN_FAULT, OWNER_UNKNOWN_BEGAN_BEFORE, OWNER_UNKNOWN_NO_THREAD, OWNER_UNKNOWN_MAX,
};
enum { CLIPPED_BEFORE = 1, CLIPPED_AFTER = 2 }; /* bits of clipped */

/* The words of FORMATS for each enum, and back; *_parse gives -EINVAL for a word that is none. */
const char *op_kind_name(enum op_kind k);
const char *work_type_name(enum work_type w);
const char *op_outcome_name(enum op_outcome o);	    /* "" for NONE */
const char *link_kind_name(enum link_kind k);
const char *wait_reason_name(enum wait_reason r);
const char *wait_outcome_name(enum wait_outcome o); /* "" for NONE */
const char *waker_ctx_name(enum waker_ctx c);	    /* "" for NONE */
const char *owner_unknown_name(enum owner_unknown u); /* "" for NONE */
int op_kind_parse(const char *word, enum op_kind *ret);
int work_type_parse(const char *word, enum work_type *ret);
int op_outcome_parse(const char *word, enum op_outcome *ret);
int link_kind_parse(const char *word, enum link_kind *ret);
int wait_reason_parse(const char *word, enum wait_reason *ret);
int wait_outcome_parse(const char *word, enum wait_outcome *ret);
int waker_ctx_parse(const char *word, enum waker_ctx *ret);
int owner_unknown_parse(const char *word, enum owner_unknown *ret);

/* A timed interval: of a process (OP_EXEC), of one program in it (OP_EXEC_PHASE), of a thread (OP_INTERNAL), or any op of a dump. */
struct model_op {
	uint64_t id;	 /* as in the dump; equals the index if wcbpf recorded it */
	int64_t start_ns, end_ns;
	uint64_t result;
	uint64_t goid;	 /* of the goroutine that began it, 0: none or not known */
	uint32_t parent; /* op index, 0: none */
	uint32_t class_id, ident_id, client_id, meta_id; /* strings */
	uint32_t pid, tid;   /* of who began it */
	uint32_t ustack;     /* stack index: where it began, 0: not known */
	int32_t exit_status; /* as wait(2) gives it; only if has_exit_status */
	uint8_t kind, work, outcome; /* enums above */
	uint8_t clipped;	 /* CLIPPED_* */
	bool open;		 /* not ended when the recording did; end_ns is that moment */
	bool has_exit_status;
	bool unwound;		 /* ended because its frame was left without an exit; end_ns is when that was noticed */
	bool flushed;		 /* an earlier dump took it out: here only to be referred to, no event any more; id 0: not even that */
	bool late;		 /* private to who flushes: it ended when that dump was being written */
};

/*
 * What waits of one sort have in common, and their totals. The totals count
 * every interval of the recording, also those that found no place in waits.
 */
struct model_row {
	uint64_t count;	      /* off-CPU intervals */
	uint64_t blocked_ns, runnable_ns;
	uint32_t thread;	 /* thread index, 0: of any */
	uint32_t kstack, ustack; /* stack indexes */
	uint32_t comm_id;	 /* string: thread name */
	uint32_t kind_id;	 /* string: wait_kind, 0: unknown */
	int32_t syscall;	 /* -1: none */
	uint32_t state;		 /* kernel task state bits; 0: runnable */
	uint32_t futex_op;	 /* operation and flags as given to futex(), only if has_futex_op */
	uint8_t reason;		 /* enum wait_reason */
	bool has_futex_op;
	bool parked;		 /* goroutines that did not run: time of no thread */
};

/* One system call's blocking (or one stretch of blocking outside any). blocked + runnable + on-CPU = end - start. */
struct model_wait {
	int64_t start_ns, end_ns;
	int64_t blocked_ns, runnable_ns;
	int64_t wake_ns;	/* -1: unknown */
	int64_t timeout_ns;	/* what the call asked for, as given: relative or absolute; only if has_timeout */
	uint32_t row : 24;	/* row index; of its longest interval */
	uint32_t outcome : 4;	/* enum wait_outcome */
	uint32_t ctx : 4;	/* enum waker_ctx */
	uint32_t op;		/* op index of the waiter */
	uint32_t target;	/* op index, 0: none */
	uint32_t ident_id;	/* string: the named resource */
	uint32_t thread;	/* thread index, 0 in a dump without threads */
	uint32_t waker;		/* thread index, 0: none or not a thread of the recording */
	/*
	 * Without waker: waker index, of one that is no thread of the recording; 0: none. See model_wait_waker().
	 * With it: what that was at. See model_wait_waker_op().
	 */
	uint32_t outside_waker : 24;
	uint32_t clipped : 2;	/* CLIPPED_* */
	uint32_t owner_unknown : 3; /* enum owner_unknown, NONE if the owner is known */
	uint32_t has_timeout : 1;
	uint32_t word_kind : 2;	/* private, with word: see model_wait_words_set() */
	uint32_t word;
	uint32_t waker_stack;	/* stack index: the waker's user stack when it woke it, 0: not known */
	uint16_t cpu_from, cpu_to; /* number + 1 of the CPU that it left, and of that on which it ran again; 0: unknown */
};

/*
 * What few waits have. Of a futex wait: the lock's owner, 0: unknown; and the value that the call was to find, if it
 * compares. Of a goroutine's: the thread that ran it then, 0: the one that its entry names.
 */
struct model_wait_words {
	uint32_t owner_tid;
	bool has_futex_val;
	uint32_t futex_val;
	uint32_t tid;
};

/* Who woke a thread of the recording without being one: of another process, of the kernel. Numbers 0: not visible to us. */
struct model_waker {
	uint32_t pid, tid;
	uint32_t comm_id; /* string: its name at that time, 0: unknown */
	uint32_t next;	  /* private: the same numbers under another name */
};

struct model_link {
	int64_t start_ns, end_ns;
	uint32_t from;	/* op index */
	uint32_t to;	/* op index, 0: none */
	uint32_t ident_id;
	uint8_t kind;
	uint64_t result;
};

/* A thread, or a goroutine. */
struct model_thread {
	uint64_t goid;	      /* 0: a thread */
	uint64_t parent_goid; /* whose go statement began it, 0: not known */
	uint32_t pid, tid;    /* of a goroutine the thread that ran it last */
	uint32_t process; /* process index */
	uint32_t comm_id; /* latest name; of a goroutine its function's */
	uint32_t op;	  /* its OP_INTERNAL, 0: none */
	int64_t begin_ns, end_ns;
	uint64_t oncpu_ns, runnable_ns, blocked_ns, lost_ns; /* sum = end_ns - begin_ns when has_totals */
	uint64_t left_out_ns; /* of runnable_ns and blocked_ns: in intervals that --only left out, or while recording was off */
	uint32_t interval_n, lost_n, below_min_n, voluntary_n, involuntary_n;
	uint32_t sample_n;
	uint32_t cpu_allowed_n; /* CPUs that it might run on, at its end or the recording's; 0: unknown */
	uint8_t clipped;
	bool has_totals;
	bool flushed;	      /* an entry without a goroutine: the next one's */
};

/*
 * What a thread was seen doing on the CPU, at ticks of a timer that don't
 * depend on it: its on-CPU time belongs to its samples in proportion to their counts.
 */
struct model_sample {
	uint64_t count;
	uint64_t ns;		 /* time on the CPU that was measured between samples, in place of the proportion; 0: count tells */
	uint32_t thread;	 /* thread index */
	uint32_t kstack, ustack; /* stack indexes; kstack 0: it was in user mode */
	uint32_t comm_id;	 /* string: its name then */
	int32_t syscall;	 /* -1: in none */
};

/* The OTel span of the work that an op stands for. */
struct model_span {
	uint32_t op; /* op index */
	uint8_t trace[16], span[8];
};

/* When samples were taken, in time order. */
struct model_sample_time {
	int64_t at_ns;
	uint32_t sample; /* sample index */
};

struct model_process {
	uint32_t pid;
	uint64_t start_time_ns; /* boottime, with pid its identity; 0: unknown */
	uint32_t key_id;  /* string "pid:starttime" */
	uint32_t comm_id;
	uint32_t op;	  /* its OP_EXEC */
	uint32_t phase;	  /* its present OP_EXEC_PHASE */
};

struct model_frame {
	uint64_t address; /* relative to the module, as its ELF file counts (st_value); absolute if module is 0 */
	uint32_t module;  /* module index, 0: unknown */
	uint32_t name_id; /* string: symbol, 0: unknown */
	uint32_t offset;  /* bytes from the symbol's start */
	uint32_t file_id; /* string: source file of the address, 0: unknown */
	uint32_t line : 31; /* in it, 0: unknown */
	uint32_t inlined : 1; /* into the frame that follows, which has the same address */
	uint32_t alias_n; /* other names of the function: aliases, identical code that was folded. 0 also if unknown */
};

enum stack_side { STACK_KERNEL, STACK_USER };
struct model_stack {
	struct model_frame *frames; /* innermost first, owned by the model */
	uint32_t frame_n;
	uint8_t side;
	bool resolved;	   /* false: referred to, but its body never came */
	uint32_t ended_id; /* string: complete, guessed, truncated, fp, or the failure */
};

struct model_module {
	uint32_t path_id;     /* string: as the target saw it, "[kernel]", "[vdso]" */
	uint32_t build_id_id; /* string, hex */
	uint64_t bias;	      /* of one of its mappings: address - bias is file-relative */
};

/* Losses, named as in the summary's capture_integrity object. All zero in a clean run. */
struct model_integrity {
	uint64_t attempted;	   /* intervals measured; = recorded + below_min + out_of_scope + lost_* */
	uint64_t recorded;	   /* intervals that reached the model's totals */
	uint64_t below_min;	   /* shorter than --min, not a loss */
	uint64_t lost_ring_full;
	uint64_t lost_unprocessed; /* reached userspace, could not be used (damaged, no memory) */
	uint64_t lost_clock_back;
	uint64_t lost_stack_bodies; /* intervals whose stack's body was lost */
	uint64_t failed_kernel_stacks, failed_user_stacks; /* intervals without, for which one was due */
	uint64_t mismatched_kernel_stacks; /* recognized, and by comparison others: as many in so many that were compared */
	uint64_t repeated_stack_losses; /* what those three count again: an interval in n of them, n - 1 */
	uint64_t lost_lifecycle, lost_futex_results, lost_resources;
	uint64_t lost_map_full;	   /* threads that could not be followed */
	uint64_t lost_recursion;   /* program runs the kernel skipped */
	uint64_t lost_mappings;	   /* mmap records */
	uint64_t unmatched_wakes;  /* intervals that ended without a seen wake */
	uint64_t inferred_switches; /* switches to a CPU that were not seen; their time is the kernel's account of the thread */
	uint64_t unbalanced;	   /* switches from a CPU that were not seen: an interval each, its time in lost_ns */
	uint64_t dropped_events;   /* dump events over the event cap; totals still count them */
	uint64_t truncated_stacks;
	uint64_t samples;	   /* taken of threads of the recording; = recorded_samples + lost_samples */
	uint64_t recorded_samples;
	uint64_t lost_samples;
	uint64_t failed_sample_stacks; /* recorded ones with a stack that could not be read or never came */
	uint64_t out_of_scope;	   /* intervals left out by --only, or while recording was off; not a loss */
	uint64_t ops;		   /* hits of choke points; = recorded_ops + lost_ops */
	uint64_t recorded_ops;
	uint64_t lost_ops;	   /* nesting is uncertain where they were */
	uint64_t unmatched_exits;  /* exits from functions whose entry was not seen: they were under way, or their entry was lost */
	uint64_t unwound_ops;	   /* closed without an exit */
	uint64_t lost_go_events;   /* births, waits and deaths of goroutines */
	uint64_t lost_goroutines;  /* that could not be followed */
	uint64_t detached_probes;  /* points that cost more than they may: what came after that is not in ops */
	uint64_t lost_waker_stacks; /* waits whose waker's stack was taken, and its body lost */
	uint64_t lost_values; /* of choke points: memory that was not there */
	uint64_t unlisted_goroutines; /* that were parked before the attach, and could not be taken up */
};

struct model {
	struct strtab *strings;
	struct model_op *ops;
	struct model_wait *waits;
	struct model_link *links;
	struct model_row *rows;
	struct model_thread *threads;
	struct model_sample *samples;
	struct model_sample_time *sample_times; /* no blank entry 0; there may be fewer than samples were counted */
	struct model_process *processes;
	struct model_span *spans;
	struct model_waker *wakers;
	struct model_wait_words *asides; /* of waits whose words found no place in them, private */
	struct model_stack *stacks;
	struct model_module *modules;
	/* blank entry 0 included */
	size_t op_n, wait_n, link_n, row_n, thread_n, sample_n, process_n, span_n, waker_n, aside_n, stack_n, module_n;
	size_t sample_time_n;
	int64_t epoch_unix_ns;
	int64_t end_ns; /* relative time of the dump */
	size_t event_cap; /* most places that events take; 0: no cap */
	size_t goroutine_n; /* entries of threads that are goroutines */
	size_t flushed_op_n; /* of ops: those that are no event any more */
	uint32_t sample_hz; /* samples a second on each CPU; 0: none were taken */
	uint32_t cpu_n;	    /* CPUs of the host that were online; 0: unknown */
	struct model_integrity integrity;
	/* capacities and wakers and asides by their numbers, private */
	size_t op_cap, wait_cap, link_cap, row_cap, thread_cap, sample_cap, process_cap, span_cap, waker_cap, aside_cap,
		stack_cap, module_cap;
	size_t sample_time_cap;
	uint32_t free_op, free_thread; /* first of the entries that are free, the next in its parent, in its op; 0: none */
	struct map *waker_ids, *aside_tids;
};

/* Makes an empty model (blank entries only). 0, -ENOMEM. */
int model_new(struct model **ret);
struct model *model_free(struct model *m); /* NULL-safe, gives NULL */
DEFINE_CLEANUP(struct model *, model_free)

/*
 * Append a zeroed entry and give its index. Pointers into a vector are valid
 * until the next append to it. 0, -ENOMEM; for ops, waits, links, spans and
 * goroutines -ENOSPC when event_cap is reached (counted in integrity.dropped_events).
 */
int model_op_add(struct model *m, uint32_t *ret);
int model_wait_add(struct model *m, uint32_t *ret);
int model_link_add(struct model *m, uint32_t *ret);
int model_row_add(struct model *m, uint32_t *ret);
int model_span_add(struct model *m, uint32_t *ret);
int model_thread_add(struct model *m, uint32_t *ret);
/* A thread entry, with its goid set. It takes places too, as many as it costs: programs may have as many as events. */
#define MODEL_GOROUTINE_PLACES 3
int model_goroutine_add(struct model *m, uint64_t goid, uint32_t *ret);
int model_sample_add(struct model *m, uint32_t *ret);
/* One more moment of a sample, which is no event of the cap but has the same limit: -ENOSPC at as many. 0, -ENOMEM. */
int model_sample_time_add(struct model *m, uint32_t sample, int64_t at_ns);
/* Puts them in time order; needed if they were not added in it. */
void model_sample_times_sort(struct model *m);
/* It was flushed and nothing refers to it: the entry is the next op's. */
void model_op_release(struct model *m, uint32_t op);
/* Likewise of a goroutine's. */
void model_goroutine_release(struct model *m, uint32_t thread);
int model_process_add(struct model *m, uint32_t *ret);
int model_stack_add(struct model *m, enum stack_side side, uint32_t *ret);
int model_module_add(struct model *m, uint32_t *ret);

/* The entry of one who is no thread of the recording; each is there once. 0, -ENOMEM. */
int model_waker_intern(struct model *m, uint32_t pid, uint32_t tid, uint32_t comm_id, uint32_t *ret);
/* Who woke it, thread of the recording or not. False, outputs untouched, if unknown; a number or name may still be 0. */
bool model_wait_waker(const struct model *m, const struct model_wait *w, uint32_t *ret_pid, uint32_t *ret_tid,
		      uint32_t *ret_comm_id);

/* The op that its waker was at when it woke it: its own one (OP_INTERNAL) unless set. 0: no thread woke it, or not known. */
uint32_t model_wait_waker_op(const struct model *m, const struct model_wait *w);
/* Of a wait with a waker. op 0: not known. */
void model_wait_waker_op_set(const struct model *m, struct model_wait *w, uint32_t op);

/*
 * The words of a wait, which need not be in the model yet. Replaces what was
 * there. 0, -ENOMEM (wait unchanged; never if there is only one of owner and value, and no tid).
 */
int model_wait_words_set(struct model *m, struct model_wait *w, const struct model_wait_words *words);
struct model_wait_words model_wait_words(const struct model *m, const struct model_wait *w);

/*
 * Waits lie in the order of time and are met in the order of threads or ops: each is a miss of the cache unless it was
 * asked for some time before. waits: indexes, of which the i-th of n is met now. To be inlined before all else: GCC takes
 * a function that does no more than this for one without effect, and leaves its calls out.
 */
static inline __attribute__((always_inline)) void model_wait_prefetch(const struct model *m, const uint32_t *waits, size_t i,
								      size_t n)
{
	const struct model_wait *w = i + 8 < n ? &m->waits[waits[i + 8]] : &m->waits[0];

	__builtin_prefetch(w);
	__builtin_prefetch((const char *)w + sizeof(*w) - 1);
}

/* Gives a stack its frames (copied) and how it ended. 0, -ENOMEM. */
int model_stack_set(struct model *m, uint32_t stack, const char *ended, const struct model_frame *frames, size_t n);

struct text; /* of util/text.h */
/*
 * A stack as its readers see it: its frames innermost first, then, where the
 * root side or all of it is missing, one word of our own in brackets.
 */
enum model_entry_style {
	ENTRY_FOLDED, /* name, escaped */
	ENTRY_MAP,    /* name+offset, escaped */
	ENTRY_EXACT,  /* name as it is, for JSON */
};
/* Entries of a stack, the bracketed word included; 0 for stack 0. */
size_t model_stack_entry_n(const struct model *m, uint32_t stack);
/* Appends entry i, 0 the innermost. */
void model_stack_entry_append(struct text *t, const struct model *m, uint32_t stack, size_t i,
			      enum model_entry_style style);
/* The frame of entry i; NULL: it is a word of our own. */
const struct model_frame *model_stack_entry_frame(const struct model *m, uint32_t stack, size_t i);

/*
 * Is it the op of a process? That is its own client; one that has no name has no op above it either. An execution that an
 * engine hosts has a pid too, the engine's.
 */
bool model_op_is_process(const struct model_op *o);

/*
 * Who had a number when: those of threads, goroutines and processes are used again. One list is of one sort; a thread
 * is asked for by its process and number, a goroutine likewise, a process by its own (and number 0).
 */
struct model_lifetime;
struct model_lifetimes {
	struct model_lifetime *items;
	size_t n;
};
int model_lifetimes_of_threads(const struct model *m, struct model_lifetimes *ret); /* 0, -ENOMEM */
int model_lifetimes_of_goroutines(const struct model *m, struct model_lifetimes *ret);
int model_lifetimes_of_processes(const struct model *m, struct model_lifetimes *ret);
void model_lifetimes_done(struct model_lifetimes *l);
/* Index of the one that lived at ns: the last begun until then; if all began later, the first. 0: none of that number. */
uint32_t model_lifetimes_find(const struct model_lifetimes *l, uint32_t pid, uint64_t number, int64_t ns);

/* Are there n places in the event cap? */
bool model_has_places(const struct model *m, size_t n);
/* Ops, waits, links and spans that the dump will hold. */
size_t model_event_n(const struct model *m);
/*
 * Once all counters are there: intervals that were measured and are in none of them are lost, whatever became of them.
 * So the parts of `attempted` sum to it, and no recording is complete that is not.
 */
void model_integrity_balance(struct model_integrity *i);
/* Intervals whose record or stack was lost: the N of the lane's WARNING line. */
uint64_t model_lost_stack_traces(const struct model *m);
/* True if nothing at all was lost. below_min, truncated stacks and unmatched wakes are no loss. */
bool model_is_complete(const struct model *m);
