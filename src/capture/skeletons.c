// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
/*
 * A skeleton is right if it has every word on which the walk depends: then equal
 * words mean, frame by frame, equal frames. Which these are is not known, but
 * they are among all words of the stack that are addresses of the kernel's code
 * or point into the stack itself (a saved frame pointer, where the kernel or
 * one function of it uses those). So a skeleton begins as all of these, and
 * loses what isn't there in another stack of the same layout: what must be
 * there stays, for it is in all of them.
 *
 * Same layout: the same frames, and the same words of scheduler code below them
 * (a walk leaves those functions out). Everything else is another variant.
 */
#include "capture/skeletons.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "capture/slots.h"
#include "util/cleanup.h"
#include "util/map.h"
#include "util/vec.h"

#define SPECIMENS_MIN 3 /* before a skeleton is used: what remains by then is there nearly always */
#define FAMILIES_MAX WCBPF_SKELETONS_MAX
#define FRAMES_KEPT_MAX 16384
#define REST_NS 1000000000ull
#define CANDIDATES_MAX (WCBPF_FROZEN_MAX / 8)
#define NONE SIZE_MAX

/* Words of a stack that may be those on which a walk depends. */
struct layout {
	uint64_t stack_id;
	bool at_top;
	size_t n;
	uint16_t at[CANDIDATES_MAX]; /* as in struct wcbpf_skeleton */
	uint64_t word[CANDIDATES_MAX];
};

struct variant {
	struct layout layout;
	uint32_t specimen_n;
	uint32_t index; /* of its skeleton, 0: none yet */
	bool wrong;	/* a walk has found it to be another stack */
};

struct family {
	struct wcbpf_skeleton_key key;
	struct variant *variants[WCBPF_VARIANTS_MAX];
	size_t variant_n;
};

struct frames {
	size_t n;
	__u64 at[];
};

struct skeletons {
	struct skeletons_kernel kernel;
	struct skeletons_place place;
	uint32_t key_at[2];
	struct family *families;
	size_t family_n, family_cap;
	struct map *by_key; /* hash of a key -> index of family */
	struct map *frames; /* id of a stack -> struct frames */
	struct slots *free;
	size_t n;
};

static bool is_in(uint64_t address, const uint64_t range[2])
{
	return address >= range[0] && address < range[1];
}

static bool is_named(const struct skeletons_kernel *k, uint64_t address, const char *name)
{
	const char *found = is_in(address, k->text) ? k->name(k->arg, address) : NULL;

	return found && !strcmp(found, name);
}

/* ---- the key's places ---- */

/* The first word from `from` on that is an address in that function. */
static size_t word_find(const struct skeletons_kernel *k, const uint64_t *words, size_t n, size_t from,
			const char *name)
{
	for (size_t i = from; i < n; i++)
		if (is_named(k, words[i], name))
			return i;
	return NONE;
}

int skeletons_key_places(const struct skeletons_kernel *k, const uint64_t (*stacks)[WCBPF_CALIBRATION_WORDS], size_t n,
			 uint32_t ret[2])
{
	size_t inner[WCBPF_CALIBRATION_FROZEN_MAX], outer[WCBPF_CALIBRATION_FROZEN_MAX], same;

	if (n > WCBPF_CALIBRATION_FROZEN_MAX)
		n = WCBPF_CALIBRATION_FROZEN_MAX;
	for (size_t i = 0; i < n; i++) {
		inner[i] = word_find(k, stacks[i], WCBPF_CALIBRATION_WORDS, 0, "schedule");
		outer[i] = inner[i] == NONE ? NONE :
					      word_find(k, stacks[i], WCBPF_CALIBRATION_WORDS, inner[i] + 1, "schedule_timeout");
	}
	/* more than half of them agree: some switches may have been others (preemption) */
	for (size_t i = 0; i < n; i++) {
		same = 0;
		for (size_t j = 0; j < n; j++)
			same += inner[i] == inner[j] && outer[i] == outer[j];
		if (outer[i] == NONE || same * 2 <= n)
			continue;
		ret[0] = inner[i] * 8;
		ret[1] = outer[i] * 8;
		return 0;
	}
	return -ENOENT;
}

/* ---- from a specimen to a layout ---- */

static const uint64_t *specimen_words(const struct wcbpf_stack *s)
{
	return (const uint64_t *)(const void *)s->copy;
}

/* A return address that a tracer has put in place of the true one, which the walk gives. */
static bool is_trampoline(const char *name)
{
	static const char *const names[] = { "return_to_handler", "arch_rethook_trampoline", "__kretprobe_trampoline",
					     "kretprobe_trampoline" };

	for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/*
 * Fills in all candidates of the words below depth. False: there is one that
 * spoils the whole. Modules and BPF programs are not taken for the kernel's code:
 * tomorrow another may be there. So no stack with such a frame has a skeleton.
 */
static bool candidates_fill(const struct skeletons_kernel *k, const struct wcbpf_stack *s, size_t depth,
			    struct layout *ret)
{
	const uint64_t *words = specimen_words(s);
	uint64_t sp = s->regs[7];

	ret->n = 0;
	for (size_t i = 0; i < depth / 8; i++) {
		if (is_in(words[i], k->text)) {
			if (is_trampoline(k->name(k->arg, words[i])))
				return false;
			ret->at[ret->n] = i * 8;
			ret->word[ret->n++] = words[i];
		} else if (words[i] - sp < depth) {
			ret->at[ret->n] = i * 8 | WCBPF_SLOT_RELATIVE;
			ret->word[ret->n++] = words[i] - sp;
		}
	}
	return true;
}

/*
 * How far a skeleton of this stack goes, bytes; 0: none can be made.
 *
 * A system call: up to the return into do_syscall_64, which only
 * entry_SYSCALL_64 calls. Of several words with that address the last: what lies
 * below the true one is compared as well then. An exception or interrupt from
 * user mode: up to the user's registers, below which the call left its return
 * address.
 */
static size_t depth_find(const struct skeletons_kernel *k, const struct wcbpf_stack *s, bool *ret_at_top)
{
	const uint64_t *words = specimen_words(s);
	size_t n = s->copy_len / 8;

	if (s->frame_n < 2 || words[n - 1] != s->frames[s->frame_n - 1])
		return 0;
	if (!is_named(k, s->frames[s->frame_n - 1], "entry_SYSCALL_64_after_hwframe") &&
	    !is_named(k, s->frames[s->frame_n - 1], "entry_SYSCALL_64")) {
		*ret_at_top = true;
		return n * 8;
	}
	if (!is_named(k, s->frames[s->frame_n - 2], "do_syscall_64"))
		return 0;
	for (size_t i = n - 1; i > 0; i--)
		if (words[i - 1] == s->frames[s->frame_n - 2]) {
			*ret_at_top = false;
			return i * 8;
		}
	return 0;
}

/* Where the layout has its innermost frame at the highest; NONE: it has not all frames, each above the one before. */
static size_t frames_place(const struct layout *l, const __u64 *frames, size_t frame_n)
{
	size_t at = l->n;

	for (size_t i = frame_n; i > 0; i--) {
		while (at > 0 && (l->at[at - 1] & WCBPF_SLOT_RELATIVE || l->word[at - 1] != frames[i - 1]))
			at--;
		if (!at)
			return NONE;
		at--;
	}
	return at;
}

/* The frames that a skeleton must have: those above a system call's depth are implied. */
static size_t frames_needed(const struct wcbpf_stack *s, bool at_top)
{
	return at_top ? s->frame_n : s->frame_n - 1u;
}

static int layout_new(const struct skeletons_kernel *k, const struct wcbpf_stack *s, struct layout **ret)
{
	_cleanup_(freep) struct layout *l = malloc(sizeof(*l));
	size_t depth;

	if (!l)
		return -ENOMEM;
	l->stack_id = s->id;
	depth = depth_find(k, s, &l->at_top);
	if (!depth || !candidates_fill(k, s, depth, l) ||
	    frames_place(l, s->frames, frames_needed(s, l->at_top)) == NONE)
		return -ENOENT;
	*ret = TAKE_PTR(l);
	return 0;
}

/* ---- layouts of the same stack ---- */

static void layouts_intersect(const struct layout *a, const struct layout *b, struct layout *ret)
{
	size_t i = 0, j = 0;

	ret->stack_id = a->stack_id;
	ret->at_top = a->at_top;
	ret->n = 0;
	while (i < a->n && j < b->n) {
		if ((a->at[i] | 1) < (b->at[j] | 1)) {
			i++;
		} else if ((a->at[i] | 1) > (b->at[j] | 1)) {
			j++;
		} else {
			if (a->at[i] == b->at[j] && a->word[i] == b->word[j]) {
				ret->at[ret->n] = a->at[i];
				ret->word[ret->n++] = a->word[i];
			}
			i++;
			j++;
		}
	}
}

/* How many words of scheduler code it has below `end`. */
static size_t scheduler_n(const struct skeletons_kernel *k, const struct layout *l, uint16_t end)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n && l->at[i] < end; i++)
		n += !(l->at[i] & WCBPF_SLOT_RELATIVE) && (is_in(l->word[i], k->sched) || is_in(l->word[i], k->lock));
	return n;
}

/* What both have, if they are of one layout. */
static bool layouts_merge(const struct skeletons_kernel *k, const struct layout *a, const struct layout *b,
			  const struct wcbpf_stack *s, struct layout *ret)
{
	size_t place, n;
	uint16_t end;

	if (a->stack_id != b->stack_id || a->at_top != b->at_top)
		return false;
	layouts_intersect(a, b, ret);
	place = frames_place(ret, s->frames, frames_needed(s, a->at_top));
	if (place == NONE)
		return false;
	/* words above the last that is needed are chance */
	while (ret->n && (ret->at[ret->n - 1] & WCBPF_SLOT_RELATIVE ||
			  ret->word[ret->n - 1] != s->frames[frames_needed(s, a->at_top) - 1]))
		ret->n--;
	end = ret->at[place];
	n = scheduler_n(k, ret, end);
	return n == scheduler_n(k, a, end) && n == scheduler_n(k, b, end);
}

/* ---- skeletons ---- */

int skeletons_new(const struct skeletons_kernel *k, const struct skeletons_place *place, const uint32_t key_at[2],
		  struct skeletons **ret)
{
	struct skeletons *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->kernel = *k;
	s->place = *place;
	memcpy(s->key_at, key_at, sizeof(s->key_at));
	err = map_new(&s->by_key);
	if (!err)
		err = map_new(&s->frames);
	if (!err)
		err = slots_new(WCBPF_SKELETONS_MAX - 1, REST_NS, &s->free);
	if (err) {
		skeletons_free(s);
		return err;
	}
	*ret = s;
	return 0;
}

struct skeletons *skeletons_free(struct skeletons *s)
{
	uint64_t id, frames;

	if (!s)
		return NULL;
	for (size_t at = 0; s->frames && map_next(s->frames, &at, &id, &frames);)
		free((void *)(uintptr_t)frames);
	map_free(s->frames);
	for (size_t i = 0; i < s->family_n; i++)
		for (size_t j = 0; j < s->families[i].variant_n; j++)
			free(s->families[i].variants[j]);
	free(s->families);
	slots_free(s->free);
	map_free(s->by_key);
	free(s);
	return NULL;
}

size_t skeletons_n(const struct skeletons *s)
{
	return s->n;
}

static uint64_t key_hash(const struct wcbpf_skeleton_key *key)
{
	uint64_t h = (uint32_t)key->syscall;

	for (int i = 0; i < 2; i++) {
		h = (h ^ key->word[i]) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
	}
	return h;
}

static int family_get(struct skeletons *s, const struct wcbpf_skeleton_key *key, struct family **ret)
{
	uint64_t index;
	int err;

	if (map_get(s->by_key, key_hash(key), &index)) {
		*ret = &s->families[index];
		return memcmp(&(*ret)->key, key, sizeof(*key)) ? -ENOENT : 0;
	}
	if (s->family_n == FAMILIES_MAX)
		return -ENOENT;
	if (VEC_RESERVE(s->families, s->family_cap, s->family_n + 1) < 0)
		return -ENOMEM;
	err = map_put(s->by_key, key_hash(key), s->family_n);
	if (err)
		return err;
	*ret = &s->families[s->family_n++];
	**ret = (struct family){ .key = *key };
	return 0;
}

/* Puts the layout where the programs can see it, at a place where none is looking. */
static int skeleton_make(struct skeletons *s, const struct layout *l, uint64_t now_ns, uint32_t *ret)
{
	struct wcbpf_skeleton *k;
	uint32_t place;
	int err = slots_take(s->free, 1, now_ns, &place);

	if (err)
		return err;
	k = &s->place.all[place + 1];
	*k = (struct wcbpf_skeleton){ .stack_id = l->stack_id, .slot_n = l->n, .at_top = l->at_top,
				      .depth = (l->at[l->n - 1] & ~WCBPF_SLOT_RELATIVE) + 8 };
	memcpy(k->at, l->at, l->n * sizeof(l->at[0]));
	memcpy(k->word, l->word, l->n * sizeof(l->word[0]));
	*ret = place + 1;
	return 0;
}

static int family_publish(struct skeletons *s, const struct family *f)
{
	struct wcbpf_variants variants = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < f->variant_n; i++)
		if (f->variants[i]->index && !f->variants[i]->wrong)
			variants.index[n++] = f->variants[i]->index;
	return s->place.publish(s->place.arg, &f->key, &variants);
}

/* Lets the programs find what the variant is now, in place of what it was. No room is no error. */
static int variant_install(struct skeletons *s, struct family *f, struct variant *v, uint64_t now_ns)
{
	uint32_t old = v->index, new = 0;
	int err;

	if (v->specimen_n < SPECIMENS_MIN || v->layout.n > WCBPF_SKELETON_SLOTS_MAX ||
	    skeleton_make(s, &v->layout, now_ns, &new))
		return 0;
	v->index = new;
	err = family_publish(s, f);
	if (err)
		return err;
	s->n += !old;
	return old ? slots_give(s->free, old - 1, 1, now_ns) : 0;
}

/* What a walk has found to be wrong is not used again, and nothing else is made of its specimens. */
static int wrong_drop(struct skeletons *s, struct family *f)
{
	bool any = false;

	for (size_t i = 0; i < f->variant_n; i++) {
		struct variant *v = f->variants[i];

		if (v->wrong || !v->index || !s->place.all[v->index].dead)
			continue;
		v->wrong = any = true;
		s->n--;
	}
	return any ? family_publish(s, f) : 0;
}

/* A place for a variant that is new: behind the others, or that of one which is not in use. NULL: all are. */
static struct variant **variant_place(struct family *f)
{
	struct variant **least = NULL;

	if (f->variant_n < WCBPF_VARIANTS_MAX)
		return &f->variants[f->variant_n++];
	for (size_t i = 0; i < f->variant_n; i++)
		if (!f->variants[i]->index && (!least || f->variants[i]->specimen_n < (*least)->specimen_n))
			least = &f->variants[i];
	if (least)
		free(*least);
	return least;
}

static int variant_add(struct family *f, const struct layout *l)
{
	_cleanup_(freep) struct variant *v = calloc(1, sizeof(*v));
	struct variant **place;

	if (!v)
		return -ENOMEM;
	v->layout = *l;
	v->specimen_n = 1;
	place = variant_place(f);
	if (place)
		*place = TAKE_PTR(v);
	return 0;
}

static int family_learn(struct skeletons *s, struct family *f, const struct layout *l,
			const struct wcbpf_stack *specimen, uint64_t now_ns)
{
	_cleanup_(freep) struct layout *both = malloc(sizeof(*both));
	int err = wrong_drop(s, f);

	if (!both || err)
		return both ? err : -ENOMEM;
	for (size_t i = 0; i < f->variant_n; i++) {
		struct variant *v = f->variants[i];
		bool smaller;

		if (!layouts_merge(&s->kernel, &v->layout, l, specimen, both))
			continue;
		if (v->wrong)
			return 0;
		smaller = both->n < v->layout.n;
		v->layout = *both;
		v->specimen_n++;
		return smaller || !v->index ? variant_install(s, f, v, now_ns) : 0;
	}
	return variant_add(f, l);
}

/* Keeps the frames of a body, for a specimen that comes without. */
static int frames_keep(struct skeletons *s, const struct wcbpf_stack *body)
{
	_cleanup_(freep) struct frames *f = NULL;
	int err;

	if (map_get(s->frames, body->id, NULL) || map_n(s->frames) == FRAMES_KEPT_MAX)
		return 0;
	f = malloc(sizeof(*f) + body->frame_n * sizeof(f->at[0]));
	if (!f)
		return -ENOMEM;
	f->n = body->frame_n;
	memcpy(f->at, body->frames, body->frame_n * sizeof(f->at[0]));
	err = map_put(s->frames, body->id, (uintptr_t)f);
	if (!err)
		TAKE_PTR(f);
	return err;
}

/* A copy of the specimen, with frames. -ENOENT: they never came. */
static int specimen_new(const struct skeletons *s, const struct wcbpf_stack *from, struct wcbpf_stack **ret)
{
	struct wcbpf_stack *copy;
	const struct frames *f;
	uint64_t kept;

	if (!map_get(s->frames, from->id, &kept))
		return -ENOENT;
	copy = malloc(sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	memcpy(copy, from, offsetof(struct wcbpf_stack, copy) + from->copy_len);
	f = (const struct frames *)(uintptr_t)kept;
	copy->frame_n = f->n;
	memcpy(copy->frames, f->at, f->n * sizeof(f->at[0]));
	*ret = copy;
	return 0;
}

static int specimen_learn(struct skeletons *s, const struct wcbpf_stack *specimen, uint64_t now_ns)
{
	struct wcbpf_skeleton_key key = { .syscall = (int32_t)specimen->regs[0] };
	_cleanup_(freep) struct layout *l = NULL;
	struct family *f;
	uint64_t word;
	int err;

	for (int i = 0; i < 2; i++) {
		if (s->key_at[i] + 8 > specimen->copy_len)
			return 0;
		word = specimen_words(specimen)[s->key_at[i] / 8];
		key.word[i] = is_in(word, s->kernel.text) ? word : 0;
	}
	err = layout_new(&s->kernel, specimen, &l);
	if (!err)
		err = family_get(s, &key, &f);
	if (!err)
		err = family_learn(s, f, l, specimen, now_ns);
	return err;
}

int skeletons_learn(struct skeletons *s, const struct wcbpf_stack *body, uint64_t now_ns)
{
	_cleanup_(freep) struct wcbpf_stack *whole = NULL;
	size_t fixed = offsetof(struct wcbpf_stack, copy);
	int err = 0;

	if (body->head.size < fixed || body->copy_len > body->head.size - fixed || body->copy_len % 8 ||
	    body->copy_len > WCBPF_FROZEN_MAX || body->frame_n > WCBPF_STACK_DEPTH_MAX)
		return 0;
	if (body->frame_n)
		err = frames_keep(s, body);
	if (err || !body->copy_len)
		return err;
	if (!body->frame_n)
		err = specimen_new(s, body, &whole);
	if (!err)
		err = specimen_learn(s, whole ? whole : body, now_ns);
	return err == -ENOENT ? 0 : err;
}
