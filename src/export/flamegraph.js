// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
// Zoom and search in the SVG that flamegraph.c writes. Without it the picture is complete, only still.
'use strict';
(function () {
	const svg = document.documentElement;
	const all = Number(svg.dataset.all);
	const margin = Number(svg.dataset.margin);
	const character = Number(svg.dataset.character);
	const details = document.getElementById('details');
	const found = document.getElementById('found');
	const frames = [];
	let width = svg.viewBox.baseVal.width;
	let zoomed = null;
	let pattern = null;

	for (const g of document.getElementById('frames').children) {
		const title = g.querySelector('title').textContent;

		frames.push({
			g, title,
			name: title.slice(0, title.lastIndexOf(' (')),
			rect: g.querySelector('rect'),
			text: g.querySelector('text'),
			t: Number(g.dataset.t),
			d: Number(g.dataset.d),
			y: Number(g.querySelector('rect').getAttribute('y')),
		});
	}

	function fitted(name, w) {
		const room = Math.floor((w - 6) / character);
		const letters = Array.from(name);

		if (room < 3)
			return '';
		return letters.length <= room ? name : letters.slice(0, room - 2).join('') + '..';
	}

	function place(f, x, w) {
		f.rect.setAttribute('x', x.toFixed(2));
		f.rect.setAttribute('width', w.toFixed(2));
		f.text.setAttribute('x', (x + 3).toFixed(2));
		f.text.textContent = fitted(f.name, w);
	}

	// The root is lowest: what is zoomed into stands on its callers, each as wide as the page.
	function layout() {
		const from = zoomed ? zoomed.t : 0;
		const length = zoomed ? zoomed.d : all;
		const scale = (width - 2 * margin) / length;

		for (const f of frames) {
			const below = zoomed && f.y > zoomed.y && f.t <= from && f.t + f.d >= from + length;
			const inside = f.t >= from && f.t + f.d <= from + length && (!zoomed || f.y <= zoomed.y);

			f.g.classList.toggle('hidden', !below && !inside);
			f.g.classList.toggle('above', Boolean(below));
			if (below)
				place(f, margin, width - 2 * margin);
			else if (inside)
				place(f, margin + (f.t - from) * scale, f.d * scale);
		}
		reset.classList.toggle('hidden', !zoomed);
	}

	function zoom(f) {
		zoomed = f && f.d < all ? f : null;
		layout();
		count();
		if (window.history && history.replaceState) {
			try {
				history.replaceState(null, '', zoomed ? '#' + zoomed.t + ',' + zoomed.d + ',' + zoomed.y : '#');
			} catch (e) {
				// A file may not change its address in some browsers.
			}
		}
	}

	// Time in frames that match, each moment once however many of its frames do.
	function count() {
		let until = -1, sum = 0;

		for (const f of frames)
			f.g.classList.toggle('found', Boolean(pattern) && pattern.test(f.name));
		clear.classList.toggle('hidden', !pattern);
		found.textContent = '';
		if (!pattern)
			return;
		const from = zoomed ? zoomed.t : 0, length = zoomed ? zoomed.d : all;
		const hits = frames.filter((f) => f.g.classList.contains('found') && !f.g.classList.contains('hidden'));

		hits.sort((a, b) => a.t - b.t || b.d - a.d);
		for (const f of hits) {
			const start = Math.max(f.t, until, from), end = Math.min(f.t + f.d, from + length);

			if (end > start) {
				sum += end - start;
				until = end;
			}
		}
		found.textContent = 'matched: ' + (100 * sum / length).toFixed(2) + '%';
	}

	function search(words) {
		if (words === null)
			return;
		try {
			pattern = words ? new RegExp(words) : null;
		} catch (e) {
			// Not a pattern: "operator(" is what somebody looks for, literally.
			pattern = new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
		}
		count();
	}

	function ask() {
		search(window.prompt('Search for (regular expression):', pattern ? pattern.source : ''));
	}

	function button(words, x, act) {
		const b = document.createElementNS('http://www.w3.org/2000/svg', 'text');

		b.setAttribute('class', 'button');
		b.setAttribute('x', x);
		b.setAttribute('y', 22);
		b.textContent = words;
		b.addEventListener('click', act);
		document.getElementById('controls').appendChild(b);
		return b;
	}

	const reset = button('reset zoom', margin, () => zoom(null));
	const clear = button('clear search', width - margin - 170, () => search(''));

	button('search', width - margin - 50, ask);
	for (const f of frames) {
		f.g.addEventListener('click', () => zoom(f));
		f.g.addEventListener('mouseover', () => { details.textContent = f.title; });
		f.g.addEventListener('mouseout', () => { details.textContent = ''; });
	}
	window.addEventListener('keydown', (e) => {
		if ((e.ctrlKey && e.key === 'f') || (e.key === '/' && !e.ctrlKey)) {
			e.preventDefault();
			ask();
		} else if (e.key === 'Escape') {
			if (pattern)
				search('');
			else
				zoom(null);
		}
	});

	const at = /^#(\d+),(\d+),(\d+)$/.exec(location.hash);

	zoom(at ? frames.find((f) => f.t === Number(at[1]) && f.d === Number(at[2]) && f.y === Number(at[3])) : null);
	search('');
	window.flamegraph = { frames, zoom, search, state: () => ({ zoomed, pattern }) };
}());
