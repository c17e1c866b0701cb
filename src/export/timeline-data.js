// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
// Unpacks what timeline-data.c packed, and knows how to sum it up over any stretch of time.
'use strict';

const CATEGORIES = [
	{ name: 'running', color: [0x4c, 0xaf, 0x50] },
	{ name: 'runnable', color: [0xff, 0xb3, 0x00] },
	{ name: 'lock', color: [0xe5, 0x39, 0x35] },
	{ name: 'i/o', color: [0x3f, 0x51, 0xb5] },
	{ name: 'sync', color: [0x8e, 0x24, 0xaa] },
	{ name: 'sleep', color: [0x81, 0xb4, 0xe0] },
	{ name: 'poll', color: [0x26, 0xa6, 0x9a] },
	{ name: 'child process', color: [0xa1, 0x88, 0x7f] },
	{ name: 'page fault', color: [0x5c, 0x6b, 0xc0] },
	{ name: 'stopped', color: [0x60, 0x60, 0x60] },
	{ name: 'other wait', color: [0xb0, 0x8a, 0xc8] },
	{ name: 'idle by design', color: [0xdf, 0xe3, 0xe8] },
];
const RUNNING = 0, RUNNABLE = 1, OTHER = 10, IDLE = 11;
const CATEGORY_OF_REASON = { lock: 2, io: 3, sync: 4, sleep: 5, poll: 6, exec: 7, fault: 8, stopped: 9, cpu: RUNNABLE };

function bytesOfBase64(text) {
	const binary = atob(text);
	const bytes = new Uint8Array(binary.length);

	for (let i = 0; i < binary.length; i++)
		bytes[i] = binary.charCodeAt(i);
	return bytes;
}

function unpack(bytes) {
	const decoder = new TextDecoder();
	let at = 0;

	// LEB128. Times of months in ns fit the 53 bits that a number holds.
	function number() {
		let value = 0, scale = 1, byte;

		do {
			byte = bytes[at++];
			value += (byte & 127) * scale;
			scale *= 128;
		} while (byte & 128);
		return value;
	}

	function list(read) {
		const n = number(), all = new Array(n);

		for (let i = 0; i < n; i++)
			all[i] = read(i);
		return all;
	}

	// Ends of lines and what turns the direction of the text beside it would reach beyond the name that has it.
	const texts = list(() => {
		const n = number();
		const text = decoder.decode(bytes.subarray(at, at + n)).replace(/[\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, '\ufffd');

		at += n;
		return text;
	});
	const text = () => texts[number()];

	if (number() !== 1)
		throw new Error('this page and its data are of different versions');
	const end = number(), epochMs = number();
	const reasons = list(text);
	const stacks = list(() => ({ kernel: list(text), user: list(text) }));
	const manners = list(() => {
		const reason = reasons[number()], flags = number(), stack = number();
		const m = {
			reason, stack: stack ? stacks[stack - 1] : null, idle: (flags & 1) === 1, clipped: flags >> 1,
			kind: text(), resource: text(), waker: text(), outcome: text(), target: text(),
		};

		m.category = m.idle ? IDLE : CATEGORY_OF_REASON[reason] || OTHER;
		return m;
	});
	const sayings = list(() => {
		const flags = number(), stack = number();

		return {
			stack: stack ? stacks[stack - 1] : null,
			open: (flags & 1) !== 0, clipped: (flags & 2) !== 0, unwound: (flags & 4) !== 0,
			name: text(), kind: text(), work: text(), outcome: text(), ident: text(), client: text(), meta: text(),
		};
	});
	const actors = [];

	function waits(actor) {
		const n = number();
		let time = 0;

		actor.waitN = n;
		actor.start = new Float64Array(n);
		actor.ready = new Float64Array(n);
		actor.run = new Float64Array(n);
		actor.end = new Float64Array(n);
		actor.manner = new Uint32Array(n);
		actor.waker = new Uint32Array(n);
		actor.wake = new Float64Array(n);
		for (let i = 0; i < n; i++) {
			time += number();
			actor.start[i] = time;
			actor.ready[i] = time + number();
			actor.run[i] = actor.ready[i] + number();
			actor.end[i] = actor.run[i] + number();
			actor.manner[i] = number();
			actor.waker[i] = number();
			actor.wake[i] = actor.ready[i];
			if (actor.waker[i]) {
				const late = number();

				actor.wake[i] += late % 2 ? -(late + 1) / 2 : late / 2;
			}
		}
	}

	// Items by the row they are drawn in: rows of one lane below each other, by depth.
	function items(actor, laneN) {
		const n = number();
		const start = new Float64Array(n), end = new Float64Array(n), what = new Uint32Array(n);
		const lane = new Uint32Array(n), depth = new Uint32Array(n);
		const height = new Uint32Array(laneN + 1);
		let time = 0, opN = 0;

		for (let i = 0; i < n; i++) {
			time += number();
			start[i] = time;
			end[i] = time + number();
			lane[i] = number();
			depth[i] = number();
			what[i] = number();
			opN += what[i] % 2 === 0;
			height[lane[i]] = Math.max(height[lane[i]], depth[i] + 1);
		}
		const first = new Uint32Array(laneN + 1);

		for (let i = 0; i < laneN; i++)
			first[i + 1] = first[i] + height[i];
		const counts = new Uint32Array(first[laneN]);

		for (let i = 0; i < n; i++)
			counts[first[lane[i]] + depth[i]]++;
		actor.rows = Array.from(counts, (c) => ({
			n: 0, start: new Float64Array(c), end: new Float64Array(c), what: new Uint32Array(c),
		}));
		for (let i = 0; i < n; i++) {
			const row = actor.rows[first[lane[i]] + depth[i]];

			row.start[row.n] = start[i];
			row.end[row.n] = end[i];
			row.what[row.n++] = what[i];
		}
		actor.itemN = n;
		actor.opN = opN; // the others are waits of ops that have no thread
	}

	const groups = list(() => {
		const group = { name: text(), pid: number(), actors: [], folded: false };
		const n = number();

		for (let i = 0; i < n; i++) {
			const actor = { index: actors.length, group, kind: number(), name: text(), tid: number(), begin: number() };

			// Whose states are known, and of them those whose time is the machine's.
			actor.lives = actor.kind > 0;
			actor.thread = actor.kind === 1;
			actor.number = actor.kind === 2 ? 'g' + actor.tid : actor.tid ? String(actor.tid) : '';
			actor.finish = actor.begin + number();
			const laneN = number();

			actors.push(actor);
			group.actors.push(actor);
			waits(actor);
			items(actor, laneN);
			sumUp(actor, manners);
		}
		return group;
	});
	let time = 0;
	const path = list(() => {
		time += number();
		const x = { start: time, end: time + number(), actor: number() - 1 }, state = number();

		x.state = ['on CPU', 'runnable', 'blocked', 'unknown'][state >> 1];
		x.jumped = (state & 1) === 1;
		x.op = text();
		x.wait = text();
		return x;
	});

	return { end: end || 1, epochMs, stacks, manners, sayings, groups, actors, path };
}

// Sums of each category over blocks of waits, so that a pixel may stand for a million of them.
const BLOCK = 32;

function sumUp(actor, manners) {
	const n = Math.floor(actor.waitN / BLOCK);
	const sums = new Float64Array(n * CATEGORIES.length);

	for (let i = 0; i < n * BLOCK; i++) {
		const at = Math.floor(i / BLOCK) * CATEGORIES.length;

		sums[at + manners[actor.manner[i]].category] += actor.ready[i] - actor.start[i];
		sums[at + RUNNABLE] += actor.run[i] - actor.ready[i];
	}
	actor.sums = sums;
}

// The first index whose value is above the given one; values ascend.
function firstAbove(values, value, from, to) {
	let low = from, high = to;

	while (low < high) {
		const middle = (low + high) >> 1;

		if (values[middle] <= value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

function overlap(a0, a1, b0, b1) {
	return Math.max(0, Math.min(a1, b1) - Math.max(a0, b0));
}

// Adds to sums what an actor did between two moments, by category. from: the first wait that may reach into it; gives
// the first that may reach into what follows. Waits don't overlap, so only the first and the last can be cut.
function addStates(actor, manners, t0, t1, from, sums) {
	const { start, ready, run, end, manner, waitN } = actor;
	let waited = 0, i = from;

	while (i < waitN && end[i] <= t0)
		i++;
	const first = i;

	while (i < waitN && start[i] < t1) {
		if (i % BLOCK === 0 && i + BLOCK <= waitN && start[i] >= t0 && end[i + BLOCK - 1] <= t1) {
			const at = i / BLOCK * CATEGORIES.length;

			for (let c = 0; c < CATEGORIES.length; c++) {
				sums[c] += actor.sums[at + c];
				waited += actor.sums[at + c];
			}
			i += BLOCK;
			continue;
		}
		let blocked = ready[i] - start[i], runnable = run[i] - ready[i];

		if (start[i] < t0 || end[i] > t1) {
			blocked = overlap(start[i], ready[i], t0, t1);
			runnable = overlap(ready[i], run[i], t0, t1);
		}
		sums[manners[manner[i]].category] += blocked;
		sums[RUNNABLE] += runnable;
		waited += blocked + runnable;
		i++;
	}
	sums[RUNNING] += Math.max(0, overlap(actor.begin, actor.finish, t0, t1) - waited);
	// The last one may go on behind t1.
	return i > first && end[i - 1] > t1 ? i - 1 : i;
}
