// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
// Draws rows of threads into a canvas. Rectangles are set in a pixel array of our own, which is many times quicker than
// asking the canvas for each; only text and lines are the canvas's. What is less than a pixel wide is summed up first,
// so a frame costs by the page's size, not by the recording's.
'use strict';

const LABELS = 230, GROUP_HEIGHT = 20, STRIP = 15, ROW = 13, PAD = 4, ROWS_SHOWN = 16;
const PATH = 0xff00f0ff, PATH_EDGE = 0xff000000;

function abgr([r, g, b]) {
	return (0xff000000 | (b << 16) | (g << 8) | r) >>> 0;
}

const COLORS = CATEGORIES.map((c) => abgr(c.color));
const PAPER = 0xffffffff, GRID = 0xfff0f0f0, GROUP_PAPER = 0xffeae4dd, FINE = 0xffb09a8c;
const opColors = new Map();

// The same name has the same colour everywhere, pale enough for black text.
function opColor(name) {
	let color = opColors.get(name);

	if (color === undefined) {
		let hash = 2166136261;

		for (let i = 0; i < name.length; i++)
			hash = Math.imul(hash ^ name.charCodeAt(i), 16777619) >>> 0;
		hash = (hash ^ hash >>> 15) >>> 0;
		const hue = hash % 360, light = 72 + (hash >>> 9) % 10, c = (100 - light) / 100 * 0.75;
		const part = (shift) => {
			const k = (shift + hue / 30) % 12;

			return Math.round(255 * (light / 100 - c * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
		};

		color = abgr([part(0), part(8), part(4)]);
		opColors.set(name, color);
	}
	return color;
}

function timeText(ns) {
	const a = Math.abs(ns);

	if (a >= 1e9)
		return (ns / 1e9).toFixed(a >= 1e11 ? 1 : 3) + ' s';
	if (a >= 1e6)
		return (ns / 1e6).toFixed(3) + ' ms';
	if (a >= 1e3)
		return (ns / 1e3).toFixed(3) + ' \u00b5s';
	return ns.toFixed(0) + ' ns';
}

class Pixels {
	resize(width, height) {
		if (this.width === width && this.height === height)
			return;
		this.width = width;
		this.height = height;
		this.image = new ImageData(Math.max(width, 1), Math.max(height, 1));
		this.words = new Uint32Array(this.image.data.buffer);
	}

	clear(color) {
		this.words.fill(color);
	}

	// Whole pixels; what lies outside is cut off. left: nothing is drawn further left.
	rect(x0, y0, x1, y1, color, left) {
		const a = Math.max(Math.round(x0), left || 0), b = Math.min(Math.round(x1), this.width);
		const top = Math.max(Math.round(y0), 0), bottom = Math.min(Math.round(y1), this.height);

		if (a >= b)
			return;
		const words = this.words, width = this.width;

		// A call for each row costs more than a few pixels do.
		if (b - a < 16) {
			for (let y = top, at = top * width + a; y < bottom; y++, at += width)
				for (let x = 0; x < b - a; x++)
					words[at + x] = color;
			return;
		}
		for (let y = top; y < bottom; y++)
			words.fill(color, y * width + a, y * width + b);
	}

	// One column of pixels, shared out from below in proportion to the values.
	shares(x, y0, y1, values, total, colors) {
		const bottom = Math.round(y1), height = bottom - Math.round(y0), words = this.words, width = this.width;
		let sum = 0, from = 0, at = (bottom - 1) * width + x;

		if (bottom > this.height || bottom - height < 0)
			return this.sharesCut(x, y0, y1, values, total, colors);
		for (let c = 0; c < values.length; c++) {
			if (values[c] === 0)
				continue;
			sum += values[c];
			// Rounded, and no more than there are.
			const to = Math.min(height, (sum / total * height + 0.5) | 0), color = colors[c];

			for (; from < to; from++, at -= width)
				words[at] = color;
		}
		return undefined;
	}

	// The same where the window ends within it.
	sharesCut(x, y0, y1, values, total, colors) {
		const bottom = Math.round(y1), height = bottom - Math.round(y0);
		let sum = 0, from = 0;

		for (let c = 0; c < values.length; c++) {
			sum += values[c];
			for (const to = Math.min(height, Math.round(sum / total * height)); from < to; from++)
				if (bottom - 1 - from >= 0 && bottom - 1 - from < this.height)
					this.words[(bottom - 1 - from) * this.width + x] = colors[c];
		}
	}
}

class View {
	constructor(data, base, over, ruler, scroll, tall) {
		Object.assign(this, { data, base, over, ruler, scroll, tall });
		this.t0 = 0;
		this.t1 = data.end;
		this.pixels = new Pixels();
		this.showPath = true;
		this.showWakes = true;
		this.found = null; // { manners, sayings, actors }: sets of what matches the search
		this.selected = null;
		this.hovered = null;
		this.sums = new Float64Array(CATEGORIES.length);
		this.drawMs = 0;
		this.overview = this.summary(800);
		this.layout();
	}

	// ---- where things are ----

	layout() {
		let y = 0;

		this.lines = [];
		for (const group of this.data.groups) {
			this.lines.push({ y, height: GROUP_HEIGHT, group, actor: null });
			y += GROUP_HEIGHT;
			for (const actor of group.folded ? [] : group.actors) {
				const rows = actor.unfolded ? actor.rows.length : Math.min(actor.rows.length, ROWS_SHOWN);
				const height = (actor.lives ? STRIP : 0) + rows * ROW + PAD;

				actor.y = y;
				actor.rowsShown = rows;
				this.lines.push({ y, height, group, actor });
				y += height;
			}
		}
		this.height = y;
		this.tall.style.height = y + 'px';
	}

	resize() {
		const ratio = window.devicePixelRatio || 1;
		const width = this.scroll.clientWidth, height = this.scroll.clientHeight;

		this.ratio = ratio;
		this.width = width;
		for (const [canvas, h] of [[this.base, height], [this.over, height], [this.ruler, 62]]) {
			canvas.width = Math.max(1, Math.round(width * ratio));
			canvas.height = Math.max(1, Math.round(h * ratio));
			canvas.style.width = width + 'px';
			canvas.style.height = h + 'px';
		}
		// Both canvases stick to the same place, one over the other.
		this.over.style.marginTop = -height + 'px';
		this.viewHeight = height;
	}

	x(time) {
		return LABELS + (time - this.t0) / (this.t1 - this.t0) * (this.width - LABELS);
	}

	time(x) {
		return this.t0 + (x - LABELS) / (this.width - LABELS) * (this.t1 - this.t0);
	}

	setRange(t0, t1) {
		const least = 50, length = Math.min(Math.max(t1 - t0, least), this.data.end);
		const from = Math.max(0, Math.min(t0, this.data.end - length));

		this.t0 = from;
		this.t1 = from + length;
		this.changed();
	}

	zoom(factor, x) {
		const at = this.time(x);

		this.setRange(at - (at - this.t0) * factor, at + (this.t1 - at) * factor);
	}

	// Lines within the window, found by halving: there may be thousands of threads.
	visibleLines() {
		const top = this.scroll.scrollTop, bottom = top + this.viewHeight;
		let low = 0, high = this.lines.length;

		while (low < high) {
			const middle = (low + high) >> 1;

			if (this.lines[middle].y + this.lines[middle].height <= top)
				low = middle + 1;
			else
				high = middle;
		}
		let last = low;

		while (last < this.lines.length && this.lines[last].y < bottom)
			last++;
		return this.lines.slice(low, last);
	}

	// The middle of an actor's strip in the window; its process's line if that is folded.
	actorY(actor) {
		const line = actor.group.folded ? this.lines.find((l) => l.group === actor.group) : null;

		return (line ? line.y + GROUP_HEIGHT / 2 : actor.y + (actor.lives ? STRIP / 2 : ROW / 2)) - this.scroll.scrollTop;
	}

	// ---- drawing ----

	changed() {
		if (!this.pending) {
			this.pending = true;
			requestAnimationFrame(() => {
				this.pending = false;
				this.draw();
			});
		}
	}

	draw() {
		const began = performance.now();
		const context = this.base.getContext('2d');
		const p = this.pixels, r = this.ratio, top = this.scroll.scrollTop;

		this.labels = [];
		this.lines_ = this.visibleLines();
		p.resize(this.base.width, this.base.height);
		p.clear(PAPER);
		this.drawGrid();
		for (const line of this.lines_) {
			if (line.actor)
				this.drawActor(line.actor, line.y - top);
			else
				this.drawGroup(line.group, line.y - top);
		}
		if (this.showPath)
			this.drawPath();
		context.putImageData(p.image, 0, 0);
		context.setTransform(r, 0, 0, r, 0, 0);
		this.drawLabels(context);
		this.drawOver();
		this.drawRuler();
		this.drawMs = performance.now() - began;
	}

	ticks() {
		const length = this.t1 - this.t0, wanted = Math.max(2, Math.floor((this.width - LABELS) / 110));
		let step = Math.pow(10, Math.floor(Math.log10(length / wanted)));

		while (length / step > wanted)
			step *= length / (step * 2) <= wanted ? 2 : length / (step * 5) <= wanted ? 5 : 10;
		const ticks = [];

		for (let t = Math.ceil(this.t0 / step) * step; t <= this.t1; t += step)
			ticks.push(t);
		return { ticks, step };
	}

	drawGrid() {
		for (const t of this.ticks().ticks)
			this.pixels.rect(this.x(t) * this.ratio, 0, this.x(t) * this.ratio + 1, this.pixels.height, GRID,
				LABELS * this.ratio);
	}

	drawGroup(group, y) {
		const r = this.ratio;

		this.pixels.rect(0, y * r, this.pixels.width, (y + GROUP_HEIGHT) * r, GROUP_PAPER);
		this.labels.push({ text: (group.folded ? '\u25b8 ' : '\u25be ') + group.name + (group.pid ? ' ' + group.pid : ''),
			x: 6, y: y + 14, width: group.folded ? LABELS - 12 : this.width - 12, bold: true });
		if (group.folded)
			this.drawColumns(group.actors.filter((a) => a.thread), y + 3, GROUP_HEIGHT - 6);
	}

	drawActor(actor, y) {
		const r = this.ratio, found = this.found && this.found.actors.has(actor);

		if (found)
			this.pixels.rect(0, y * r, LABELS * r, (y + STRIP) * r, 0xff9fe8ff);
		this.labels.push({ text: actor.name + ' ' + actor.number, x: 18, y: y + 12, width: LABELS - 24 });
		if (actor.lives)
			this.drawStrip(actor, y);
		let at = y + (actor.lives ? STRIP : 0);

		for (let i = 0; i < actor.rowsShown; i++, at += ROW)
			this.drawRow(actor.rows[i], at);
		if (actor.rowsShown < actor.rows.length)
			this.labels.push({ text: '+ ' + (actor.rows.length - actor.rowsShown) + ' rows (click)', x: 30, y: at - 2,
				width: LABELS - 36 });
	}

	// Few waits: each as it is. Many: column by column, in proportion.
	drawStrip(actor, y) {
		const { start, ready, run, end, manner, waitN } = actor, r = this.ratio;
		const first = firstAbove(end, this.t0, 0, waitN), last = firstAbove(start, this.t1, first, waitN);
		const left = LABELS * r, y0 = y * r, y1 = (y + STRIP - 2) * r;

		if (last - first > (this.width - LABELS) * r / 3) {
			this.drawColumns([actor], y, STRIP - 2);
			return;
		}
		this.pixels.rect(this.x(actor.begin) * r, y0, Math.max(this.x(actor.finish) * r, this.x(actor.begin) * r + 1), y1,
			COLORS[RUNNING], left);
		for (let i = first; i < last; i++) {
			const m = this.data.manners[manner[i]], a = this.x(start[i]) * r, b = this.x(ready[i]) * r, c = this.x(run[i]) * r;
			const dim = this.found && !this.found.manners.has(m);

			this.pixels.rect(a, y0, Math.max(b, a + (ready[i] > start[i] ? 1 : 0)), y1, COLORS[m.category], left);
			this.pixels.rect(b, y0, Math.max(c, b + (run[i] > ready[i] ? 1 : 0)), y1, COLORS[RUNNABLE], left);
			if (this.found && !dim)
				this.pixels.rect(a, y1 - 3 * r, Math.max(b, a + 1), y1, 0xff000000, left);
			if (c - a > 40 * r && m.category !== RUNNABLE)
				this.labels.push({ text: m.kind + (m.resource ? ' ' + m.resource : ''), x: Math.max(a / r, LABELS) + 3, y: y + 10,
					width: b / r - Math.max(a / r, LABELS) - 4, light: !m.idle && m.category !== 5 && m.category !== OTHER });
		}
	}

	drawColumns(actors, y, height) {
		const r = this.ratio, left = Math.round(LABELS * r), right = this.pixels.width;
		const froms = actors.map((a) => firstAbove(a.end, this.t0, 0, a.waitN));
		const sums = this.sums, length = (this.t1 - this.t0) / (right - left);

		for (let x = left; x < right; x++) {
			const t0 = this.t0 + (x - left) * length, t1 = t0 + length;
			let lived = 0;

			sums.fill(0);
			for (let i = 0; i < actors.length; i++) {
				if (actors[i].finish <= t0 || actors[i].begin >= t1)
					continue;
				froms[i] = addStates(actors[i], this.data.manners, t0, t1, froms[i], sums);
				lived++;
			}
			if (lived)
				this.pixels.shares(x, y * r, (y + height) * r, sums, length * lived, COLORS);
		}
	}

	// Items of a row follow each other, so both their starts and ends ascend.
	drawRow(row, y) {
		const r = this.ratio, left = LABELS * r, y0 = y * r, y1 = (y + ROW - 1) * r;
		const nsPerPixel = (this.t1 - this.t0) / (this.width - LABELS) / r;

		for (let i = firstAbove(row.end, this.t0, 0, row.n); i < row.n && row.start[i] < this.t1;) {
			const a = this.x(row.start[i]) * r, b = this.x(row.end[i]) * r;

			if (b - a < 1) {
				const x = Math.floor(a);

				this.pixels.rect(x, y0, x + 1, y1, this.itemFound(row.what[i]) ? 0xff000000 : FINE, left);
				i = Math.max(i + 1, firstAbove(row.end, row.start[i] + (x + 1 - a) * nsPerPixel, i + 1, row.n));
				continue;
			}
			this.pixels.rect(a, y0, Math.max(b - (b - a > 3 ? 1 : 0), a + 1), y1, this.itemColor(row.what[i]), left);
			if (b - a > 24 * r)
				this.labels.push({ text: this.itemLabel(row.what[i]), x: Math.max(a / r, LABELS) + 3, y: y + 10,
					width: b / r - Math.max(a / r, LABELS) - 5 });
			i++;
		}
	}

	itemName(what) {
		return what % 2 ? this.data.manners[what >> 1].kind : this.data.sayings[what >> 1].name;
	}

	// Of a wait also what for: boxes of ops have room.
	itemLabel(what) {
		const m = what % 2 ? this.data.manners[what >> 1] : null, more = m && (m.target || m.resource);

		return this.itemName(what) + (more ? ' ' + more : '');
	}

	itemFound(what) {
		return this.found && (what % 2 ? this.found.manners.has(this.data.manners[what >> 1]) :
			this.found.sayings.has(this.data.sayings[what >> 1]));
	}

	itemColor(what) {
		if (this.found)
			return this.itemFound(what) ? 0xff3fd1e1 : 0xffe8e8e8;
		return what % 2 ? COLORS[this.data.manners[what >> 1].category] : opColor(this.itemName(what));
	}

	// A yellow line with black edges, which no state has, along the strips that the path goes along and from one to the
	// next.
	drawPath() {
		const path = this.data.path, r = this.ratio, left = LABELS * r;
		const band = (x0, y0, x1, y1) => {
			this.pixels.rect(x0 - 1, y0 - 1, x1 + 1, y1 + 1, PATH_EDGE, left);
			return [x0, y0, x1, y1];
		};
		const cores = [];
		let low = 0, high = path.length, drawn = -1;

		while (low < high) {
			const middle = (low + high) >> 1;

			if (path[middle].end <= this.t0)
				low = middle + 1;
			else
				high = middle;
		}
		for (let i = low; i < path.length && path[i].start < this.t1; i++) {
			const s = path[i], a = this.x(s.start) * r, b = Math.max(this.x(s.end) * r, a + 1);

			// Many to a pixel: one of them stands for all.
			if (s.actor < 0 || Math.floor(b) === drawn)
				continue;
			drawn = b - a <= 1 ? Math.floor(b) : -1;
			const y = (this.actorY(this.data.actors[s.actor]) + STRIP / 2 - 5) * r;

			cores.push(band(a, y, b, y + 3 * r));
			// Between strips only where it stays for a while: else all that is seen would be lines across.
			const before = i ? path[i - 1] : null;

			if (s.jumped && before && before.actor >= 0 && before.actor !== s.actor &&
			    (b - a > 6 * r || this.x(before.end) - this.x(before.start) > 6)) {
				const from = (this.actorY(this.data.actors[before.actor]) + STRIP / 2 - 5) * r;

				cores.push(band(a - 1, Math.min(from, y), a + 1, Math.max(from, y) + 3 * r));
			}
		}
		for (const [x0, y0, x1, y1] of cores)
			this.pixels.rect(x0, y0, x1, y1, PATH, left);
	}

	// As much of a text as fits. Measuring each would cost more than drawing it: letters are measured once.
	fitting(text, width, bold) {
		const room = bold ? width / 1.1 : width, dots = this.letters[0x2e] * 3;
		let used = 0, fits = 0;

		for (let i = 0; i < text.length; i++) {
			used += this.letters[text.charCodeAt(i)] || this.letters[0];
			if (used > room)
				return fits ? text.slice(0, fits) + '\u2026' : '';
			if (used + dots <= room)
				fits = i + 1;
		}
		return text;
	}

	drawLabels(context) {
		const normal = '11px system-ui, sans-serif', bold = 'bold 11px system-ui, sans-serif';

		context.font = normal;
		if (!this.letters) {
			this.letters = Array.from({ length: 127 }, (_, i) => context.measureText(String.fromCharCode(i)).width);
			this.letters[0] = Math.max(context.measureText('\u65e5').width, context.measureText('\ufffd').width);
		}
		for (const label of this.labels) {
			const text = this.fitting(label.text, label.width, label.bold);

			if (!text)
				continue;
			context.font = label.bold ? bold : normal;
			context.fillStyle = label.light ? '#fff' : '#1c1c1c';
			context.fillText(text, label.x, label.y);
		}
		context.font = normal;
	}

	// Shares of all threads' time over the whole recording, for the strip above the ruler.
	summary(columns) {
		const out = [], threads = this.data.actors.filter((a) => a.thread);
		const froms = threads.map(() => 0), length = this.data.end / columns;

		for (let i = 0; i < columns; i++) {
			const sums = new Float64Array(CATEGORIES.length);

			threads.forEach((a, k) => {
				if (a.finish > i * length && a.begin < (i + 1) * length)
					froms[k] = addStates(a, this.data.manners, i * length, (i + 1) * length, froms[k], sums);
			});
			out.push(sums[RUNNING] / length);
		}
		return { columns: out, most: Math.max(1, ...out), known: threads.length > 0 };
	}

	drawRuler() {
		const c = this.ruler.getContext('2d'), { ticks, step } = this.ticks(), plot = this.width - LABELS, o = this.overview;

		c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
		c.clearRect(0, 0, this.width, 62);
		c.font = '11px system-ui, sans-serif';
		c.fillStyle = '#666';
		if (o.known)
			c.fillText('threads running, at most ' + o.most.toFixed(1), 8, 24);
		if (this.showWakes && this.wakesDrawn === false)
			c.fillText('wakes: zoom in to see them', 8, 56);
		c.fillStyle = '#4caf50';
		o.columns.forEach((n, i) => c.fillRect(LABELS + i * plot / o.columns.length, 36 - n / o.most * 32,
			plot / o.columns.length + 0.5, n / o.most * 32));
		c.fillStyle = 'rgba(30, 60, 120, 0.22)';
		const a = LABELS + this.t0 / this.data.end * plot, b = LABELS + this.t1 / this.data.end * plot;

		c.fillRect(LABELS, 2, a - LABELS, 36);
		c.fillRect(b, 2, this.width - b, 36);
		c.fillStyle = '#1c1c1c';
		for (const t of ticks) {
			c.fillRect(this.x(t), 42, 1, 6);
			c.fillText(timeText(step >= 1e9 ? Math.round(t / 1e6) * 1e6 : t), this.x(t) + 3, 56);
		}
	}

	// ---- over it: wakes, what is selected ----

	drawOver() {
		const c = this.over.getContext('2d');

		c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
		c.clearRect(0, 0, this.width, this.viewHeight);
		c.save();
		c.beginPath();
		c.rect(LABELS, 0, this.width - LABELS, this.viewHeight);
		c.clip();
		if (this.showWakes)
			this.drawWakes(c);
		this.mark(c, this.hovered, '#0008', 1);
		this.mark(c, this.selected, '#000', 2);
		if (this.selected && this.selected.wait !== undefined)
			this.drawWakesOf(c, this.selected.actor, this.selected.wait, this.selected.wait + 1, '#000', 1.5);
		if (this.dragged) {
			c.fillStyle = 'rgba(40, 90, 200, 0.2)';
			c.fillRect(this.dragged.x0, 0, this.dragged.x1 - this.dragged.x0, this.viewHeight);
		}
		c.restore();
	}

	// All of them only where they can be told apart.
	drawWakes(c) {
		const ranges = this.lines_.filter((l) => l.actor && l.actor.lives).map(({ actor }) => {
			const first = firstAbove(actor.ready, this.t0, 0, actor.waitN);

			return { actor, first, last: firstAbove(actor.ready, this.t1, first, actor.waitN) };
		});

		this.wakesDrawn = ranges.reduce((n, x) => n + x.last - x.first, 0) <= 1500;
		if (this.wakesDrawn)
			for (const { actor, first, last } of ranges)
				this.drawWakesOf(c, actor, first, last, 'rgba(20, 20, 20, 0.45)', 1);
	}

	drawWakesOf(c, actor, first, last, color, width) {
		const to = this.actorY(actor);

		c.strokeStyle = c.fillStyle = color;
		c.lineWidth = width;
		c.beginPath();
		for (let i = first; i < last; i++) {
			if (!actor.waker[i])
				continue;
			const from = this.actorY(this.data.actors[actor.waker[i] - 1]), x = this.x(actor.wake[i]);
			const down = to > from ? -1 : 1;

			if (from === to)
				continue;
			c.moveTo(x, from);
			c.lineTo(x, to + down * 4);
			c.moveTo(x - 3, to + down * 7);
			c.lineTo(x, to + down * 3);
			c.lineTo(x + 3, to + down * 7);
		}
		c.stroke();
	}

	mark(c, hit, color, width) {
		if (!hit || hit.actor.group.folded)
			return;
		const within = hit.row === undefined ? 0 : (hit.actor.lives ? STRIP : 0) + hit.row * ROW;
		const y = hit.actor.y - this.scroll.scrollTop + within;
		const a = Math.max(this.x(hit.start), LABELS - 5), b = Math.min(this.x(hit.end), this.width + 5);

		c.strokeStyle = color;
		c.lineWidth = width;
		c.strokeRect(a - 0.5, y - 0.5, Math.max(b - a, 2) + 1, (hit.row === undefined ? STRIP - 2 : ROW - 1) + 1);
	}

	// ---- what is where ----

	// The interval of values that lies at a time, or within a few pixels of it.
	nearest(starts, ends, n, time) {
		const slop = (this.t1 - this.t0) / (this.width - LABELS) * 3;
		const i = firstAbove(ends, time - slop, 0, n);
		let best = -1;

		for (let k = i; k < n && k < i + 64 && starts[k] <= time + slop; k++) {
			if (starts[k] <= time && time < ends[k])
				return k;
			if (best < 0)
				best = k;
		}
		return best;
	}

	lineAt(y) {
		const at = y + this.scroll.scrollTop;

		return this.visibleLines().find((l) => l.y <= at && at < l.y + l.height);
	}

	hit(x, y) {
		const line = this.lineAt(y);

		if (!line || !line.actor || x < LABELS)
			return null;
		const actor = line.actor, time = this.time(x), within = y + this.scroll.scrollTop - line.y;
		const row = Math.floor((within - (actor.lives ? STRIP : 0)) / ROW);

		if (actor.lives && within < STRIP)
			return this.hitStrip(actor, time);
		if (row < 0 || row >= actor.rowsShown)
			return null;
		const r = actor.rows[row], i = this.nearest(r.start, r.end, r.n, time);

		return i < 0 ? null : { actor, row, item: i, what: r.what[i], start: r.start[i], end: r.end[i] };
	}

	hitStrip(actor, time) {
		if (time < actor.begin || time > actor.finish)
			return null;
		const i = this.nearest(actor.start, actor.end, actor.waitN, time);

		if (i >= 0 && actor.start[i] <= time && time < actor.end[i])
			return { actor, wait: i, start: actor.start[i], end: actor.end[i] };
		const next = firstAbove(actor.start, time, 0, actor.waitN);
		const start = next ? actor.end[next - 1] : actor.begin, end = next < actor.waitN ? actor.start[next] : actor.finish;
		const length = (this.t1 - this.t0) / (this.width - LABELS);

		// A wait beside it, where the run is too narrow to be meant.
		if (i >= 0 && end - start < 3 * length)
			return { actor, wait: i, start: actor.start[i], end: actor.end[i] };
		return { actor, run: true, start, end };
	}
}
