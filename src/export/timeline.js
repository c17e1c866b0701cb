// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
// What the user does with the page: moving, searching, asking what something is.
'use strict';
(function () {
	const $ = (id) => document.getElementById(id);
	const data = unpack(bytesOfBase64($('data').textContent));
	const view = new View(data, $('base'), $('over'), $('ruler'), $('scroll'), $('tall'));

	$('data').remove();

	// ---- details ----

	function element(tag, text, className) {
		const e = document.createElement(tag);

		e.textContent = text === undefined ? '' : text;
		if (className)
			e.className = className;
		return e;
	}

	function table(rows) {
		const t = element('table');

		for (const [name, value] of rows) {
			if (value === '' || value === undefined || value === null)
				continue;
			const tr = element('tr');

			tr.append(element('td', name), element('td', value));
			t.append(tr);
		}
		return t;
	}

	function frames(list, className) {
		const ol = element('ol', '', className);

		for (const name of list)
			ol.append(element('li', name));
		return ol;
	}

	function actorText(actor) {
		return actor.name + ' ' + actor.number +
			(actor.group.name !== actor.name ? ' of ' + actor.group.name : '');
	}

	const clippedTexts = ['', 'began before the recording', 'open at its end', 'longer than the recording'];

	function mannerRows(m) {
		return [['reason', m.reason + (m.idle ? ', idle by design' : '')], ['for', m.resource],
			['for the end of', m.target], ['ended by', m.waker || 'not known'], ['outcome', m.outcome],
			['cut', clippedTexts[m.clipped]]];
	}

	function describe(hit) {
		const when = [['from', timeText(hit.start)], ['to', timeText(hit.end)], ['lasted', timeText(hit.end - hit.start)],
			[hit.actor.kind === 2 ? 'goroutine' : 'thread', actorText(hit.actor)]];

		if (hit.run)
			return { name: 'running', rows: when };
		if (hit.wait !== undefined) {
			const i = hit.wait, a = hit.actor, m = data.manners[a.manner[i]];
			const waker = a.waker[i] ? actorText(data.actors[a.waker[i] - 1]) : '';

			return { name: m.kind, stack: m.stack, rows: when.concat([['blocked', timeText(a.ready[i] - a.start[i])],
				['ready, not running', timeText(a.run[i] - a.ready[i])],
				['ran meanwhile', a.end[i] > a.run[i] ? timeText(a.end[i] - a.run[i]) : '']], mannerRows(m),
				[['woken by', waker]]) };
		}
		if (hit.what % 2) {
			const m = data.manners[hit.what >> 1];

			return { name: m.kind, stack: m.stack, rows: when.concat(mannerRows(m)) };
		}
		const s = data.sayings[hit.what >> 1];

		const end = s.open ? 'not ended when the recording did' : s.unwound ? 'left without an exit' : '';

		return { name: s.name, stack: s.stack, rows: when.concat([['kind', s.kind], ['work', s.work], ['outcome', s.outcome],
			['ident', s.ident], ['client', s.client], ['meta', s.meta], ['end', end]]) };
	}

	function showDetails(hit) {
		const box = $('details');

		box.textContent = '';
		if (!hit)
			return;
		const d = describe(hit);

		box.append(element('p', d.name, 'name'), table(d.rows));
		if (d.stack) {
			if (d.stack.kernel.length)
				box.append(frames(d.stack.kernel, 'kernel'));
			if (d.stack.user.length)
				box.append(frames(d.stack.user));
		}
	}

	function select(hit) {
		view.selected = hit;
		showDetails(hit);
		view.drawOver();
	}

	function showTip(hit, x, y) {
		const tip = $('tip');

		tip.hidden = !hit;
		if (!hit)
			return;
		const d = describe(hit);
		const more = hit.wait !== undefined ? data.manners[hit.actor.manner[hit.wait]].resource : '';

		tip.textContent = d.name + '  ' + timeText(hit.end - hit.start) + (more ? '\n' + more : '');
		tip.style.left = Math.min(x + 14, window.innerWidth - 300) + 'px';
		tip.style.top = y + 16 + 'px';
	}

	// ---- search ----

	let hits = [], at = -1;

	function matcher(words) {
		try {
			const pattern = new RegExp(words, 'i');

			return (s) => pattern.test(s);
		} catch (e) {
			const lower = words.toLowerCase();

			return (s) => s.toLowerCase().includes(lower);
		}
	}

	function search(words) {
		hits = [];
		at = -1;
		view.found = null;
		if (words) {
			const match = matcher(words), stackMatches = new Map();
			const inStack = (stack) => {
				if (!stack)
					return false;
				if (!stackMatches.has(stack))
					stackMatches.set(stack, stack.user.some(match) || stack.kernel.some(match));
				return stackMatches.get(stack);
			};

			view.found = {
				manners: new Set(data.manners.filter((m) => match(m.kind) || match(m.reason) || match(m.resource) ||
					match(m.waker) || inStack(m.stack))),
				sayings: new Set(data.sayings.filter((s) => match(s.name) || match(s.ident) || match(s.client) || match(s.meta))),
				actors: new Set(data.actors.filter((a) => match(a.name) || match(a.number))),
			};
			collect();
		}
		$('matches').textContent = words ? hits.length + (hits.length === 1 ? ' match' : ' matches') : '';
		view.changed();
	}

	function collect() {
		for (const actor of data.actors) {
			for (let i = 0; i < actor.waitN; i++)
				if (view.found.manners.has(data.manners[actor.manner[i]]))
					hits.push({ actor, wait: i, start: actor.start[i], end: actor.end[i] });
			actor.rows.forEach((row, k) => {
				for (let i = 0; i < row.n; i++)
					if (view.itemFound(row.what[i]))
						hits.push({ actor, row: k, item: i, what: row.what[i], start: row.start[i], end: row.end[i] });
			});
			if (view.found.actors.has(actor))
				hits.push({ actor, run: true, start: actor.begin, end: actor.finish });
		}
		hits.sort((a, b) => a.start - b.start || a.end - b.end);
	}

	function goTo(hit) {
		const length = Math.max((hit.end - hit.start) * 4, (view.t1 - view.t0) / 1e3), middle = (hit.start + hit.end) / 2;

		if (hit.actor.group.folded) {
			hit.actor.group.folded = false;
			view.layout();
		}
		if (hit.row >= hit.actor.rowsShown) {
			hit.actor.unfolded = true;
			view.layout();
		}
		if (hit.start < view.t0 || hit.end > view.t1 || view.x(hit.end) - view.x(hit.start) < 4)
			view.setRange(middle - length / 2, middle + length / 2);
		const y = hit.actor.y;

		if (y < view.scroll.scrollTop || y + 40 > view.scroll.scrollTop + view.viewHeight)
			view.scroll.scrollTop = Math.max(0, y - view.viewHeight / 3);
		view.changed();
		select(hit);
	}

	function step(by) {
		if (!hits.length)
			return;
		at = (at + by + hits.length) % hits.length;
		if (at < 0)
			at = 0;
		$('matches').textContent = (at + 1) + ' of ' + hits.length;
		goTo(hits[at]);
	}

	// ---- mouse and keys ----

	let press = null;

	function place(e) {
		const box = $('scroll').getBoundingClientRect();

		return { x: e.clientX - box.left, y: e.clientY - box.top };
	}

	function onMove(e) {
		const p = place(e);

		if (!press) {
			view.hovered = view.hit(p.x, p.y);
			showTip(view.hovered, e.clientX, e.clientY);
			view.drawOver();
			return;
		}
		press.moved = press.moved || Math.abs(p.x - press.x) + Math.abs(p.y - press.y) > 4;
		if (press.shift) {
			view.dragged = { x0: Math.min(press.x, p.x), x1: Math.max(press.x, p.x) };
			view.drawOver();
		} else if (press.moved) {
			const by = (press.x - p.x) / (view.width - LABELS) * (press.t1 - press.t0);

			view.scroll.scrollTop = press.top + press.y - p.y;
			view.setRange(press.t0 + by, press.t1 + by);
		}
	}

	function onUp(e) {
		const was = press, p = place(e);

		press = null;
		if (view.dragged) {
			const { x0, x1 } = view.dragged;

			view.dragged = null;
			if (x1 - x0 > 3)
				view.setRange(view.time(x0), view.time(x1));
			return;
		}
		if (!was || was.moved)
			return;
		const line = view.lineAt(p.y);

		if (line && !line.actor && p.x >= 0) {
			line.group.folded = !line.group.folded;
			view.layout();
			view.changed();
		} else if (line && p.x < LABELS) {
			line.actor.unfolded = !line.actor.unfolded;
			view.layout();
			view.changed();
		} else {
			select(view.hit(p.x, p.y));
		}
	}

	function foldAll() {
		const fold = data.groups.some((g) => !g.folded);

		for (const g of data.groups)
			g.folded = fold;
		$('fold').textContent = fold ? 'unfold' : 'fold';
		view.layout();
		view.changed();
	}

	const middle = () => LABELS + (view.width - LABELS) / 2;
	const shift = (part) => view.setRange(view.t0 + (view.t1 - view.t0) * part, view.t1 + (view.t1 - view.t0) * part);
	const keys = {
		w: () => view.zoom(0.7, middle()), s: () => view.zoom(1 / 0.7, middle()), a: () => shift(-0.15), d: () => shift(0.15),
		ArrowLeft: () => shift(-0.15), ArrowRight: () => shift(0.15),
		'+': () => view.zoom(0.7, middle()), '-': () => view.zoom(1 / 0.7, middle()),
		f: () => view.setRange(0, data.end), n: () => step(1), N: () => step(-1), p: () => $('path').click(),
		'/': () => $('search').focus(), Escape: () => { $('search').value = ''; search(''); select(null); },
	};

	$('scroll').addEventListener('wheel', (e) => {
		if (e.ctrlKey || e.altKey || e.metaKey) {
			e.preventDefault();
			view.zoom(Math.exp(Math.max(-100, Math.min(100, e.deltaY)) * 0.003), Math.max(place(e).x, LABELS));
		} else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
			e.preventDefault();
			shift((e.deltaX || e.deltaY) / 1500);
		}
	}, { passive: false });
	$('ruler').addEventListener('wheel', (e) => {
		e.preventDefault();
		view.zoom(Math.exp(Math.max(-100, Math.min(100, e.deltaY)) * 0.003), Math.max(place(e).x, LABELS));
	}, { passive: false });
	$('ruler').addEventListener('click', (e) => {
		const t = (place(e).x - LABELS) / (view.width - LABELS) * data.end, half = (view.t1 - view.t0) / 2;

		view.setRange(t - half, t + half);
	});
	$('scroll').addEventListener('scroll', () => view.changed());
	$('scroll').addEventListener('mousedown', (e) => {
		const p = place(e);

		if (e.button || p.x > view.width)
			return;
		press = { x: p.x, y: p.y, t0: view.t0, t1: view.t1, top: view.scroll.scrollTop, shift: e.shiftKey, moved: false };
	});
	window.addEventListener('mousemove', onMove);
	window.addEventListener('mouseup', onUp);
	$('scroll').addEventListener('mouseleave', () => {
		view.hovered = null;
		showTip(null);
		view.drawOver();
	});
	$('scroll').addEventListener('dblclick', (e) => {
		const hit = view.hit(place(e).x, place(e).y);

		if (hit)
			view.setRange(hit.start - (hit.end - hit.start) * 0.1, hit.end + (hit.end - hit.start) * 0.1);
	});
	window.addEventListener('keydown', (e) => {
		if (e.target === $('search')) {
			if (e.key === 'Enter')
				step(e.shiftKey ? -1 : 1);
			else if (e.key === 'Escape')
				$('scroll').focus();
			return;
		}
		if (keys[e.key] && !e.ctrlKey && !e.metaKey && !e.altKey) {
			e.preventDefault();
			keys[e.key]();
		}
	});
	$('search').addEventListener('input', () => search($('search').value));
	$('next').addEventListener('click', () => step(1));
	$('previous').addEventListener('click', () => step(-1));
	$('fit').addEventListener('click', keys.f);
	$('in').addEventListener('click', keys.w);
	$('out').addEventListener('click', keys.s);
	$('fold').addEventListener('click', foldAll);
	$('path').addEventListener('change', () => { view.showPath = $('path').checked; view.changed(); });
	$('wakes').addEventListener('change', () => { view.showWakes = $('wakes').checked; view.changed(); });
	window.addEventListener('resize', () => { view.resize(); view.changed(); });

	// ---- begin ----

	if (!data.path.length)
		$('path').parentNode.remove();
	const path = data.path.length ? [{ name: 'critical path', color: [255, 240, 0], edge: true }] : [];

	for (const c of CATEGORIES.concat(path)) {
		const item = element('span', c.name), patch = element('i');

		patch.style.background = 'rgb(' + c.color.join(',') + ')';
		if (c.edge)
			patch.className = 'edge';
		item.prepend(patch);
		$('legend').append(item);
	}
	const count = (n, what) => (n ? n + ' ' + what + ', ' : '');
	const sum = (value) => data.actors.reduce((n, a) => n + value(a), 0);

	$('span').textContent = sum((a) => a.thread) + ' threads, ' + count(sum((a) => a.kind === 2), 'goroutines') +
		sum((a) => a.waitN + a.itemN - a.opN) + ' waits, ' + sum((a) => a.opN) + ' ops, ' + timeText(data.end) + ' from ' +
		new Date(data.epochMs).toISOString();
	view.resize();
	view.draw();
	window.timeline = { data, view, search, step, select, goTo, hits: () => hits };
}());
