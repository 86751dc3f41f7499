/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shows the reports that page.c wrote into this page.  Nothing is estimated here: what is
 * summed or stated, the library summed and states.  Names come from observed programs, so
 * they become text nodes and attributes alone, never markup.
 */
'use strict';
(() => {
const SVG = 'http://www.w3.org/2000/svg';
const KINDS = {
	thread: 't', role: 'g', process: 'p', function: 'f', caller: 'k', line: 'l', region: 'r', outermost: 'r', object: 'o', type: 'y', struct: 'u',
	phase: 'h', time: 's', frames: 'n', frame: 'q',
};
const DATED = ' When it was written follows from how long before the read it was, which is known to a factor of two to four: what may be of several of them is dealt out to them. (when not known) is what nobody can date.';
/*
 * Groups: nodes are what writes and reads, what stands between, or when it was written and read.
 * what: a node in between is chosen, not an edge; order: nodes have one of their own; flat: a matrix tells nothing.
 */
const VIEWS = {
	thread: {title: 'threads'}, role: {title: 'roles'}, process: {title: 'processes'}, function: {title: 'functions', many: true},
	caller: {title: 'callers', many: true, help: 'Functions with the function that called them.'},
	region: {title: 'regions', help: 'The parts of the program that it marked. What is called inside one counts for it; of regions inside each other, the innermost. (no region) is outside of all, (other) where it is not known which.'},
	outermost: {title: 'outermost regions', help: 'The parts of the program that it marked, whole: with all regions that are marked inside them.'},
	object: {title: 'objects', group: 'through', what: true, flat: true},
	type: {title: 'types and fields', group: 'through', what: true, flat: true, help: 'What the reading instruction reads, by its program\u2019s debug information, whoever wrote it. (no type) is what code reads that has none, as memcpy().'},
	struct: {title: 'types', group: 'through', what: true, flat: true, help: 'What the reading instruction reads, by its program\u2019s debug information, whoever wrote it. (no type) is what code reads that has none, as memcpy().'},
	phase: {title: 'phases', group: 'when', order: true, help: 'Written in which phase of the run, and read in which: one ends where it changes who reads how much from whom.' + DATED},
	time: {title: 'pieces of time', group: 'when', order: true, help: 'Written when, and read when: the run in 16 pieces.' + DATED},
	frames: {title: 'frames', group: 'when', order: true, help: 'Written in which of the program\u2019s frames, and read in which: by their number, in at most 16 pieces of equally many.' + DATED},
	frame: {title: 'frames back', group: 'when', order: true, flat: true, help: 'Written in the frame in which it was read, in the one before, or earlier. (frame not known) is what cannot be dated, most of all where frames are short.'},
	line: {title: 'lines'},
};
const SVG_MAX = 64, CANVAS_MAX = 1000, CLUSTER_MAX = 300, GRAPH_MAX = 30, ROWS = 40, STREAMS_MAX = 16, MOST_MAX = 6, DECADES = 4;
const $ = id => document.getElementById(id);

function set(node, attributes) {
	for (const name in attributes) {
		if (name === 'text')
			node.textContent = attributes[name];
		else if (name.startsWith('on'))
			node.addEventListener(name.slice(2), attributes[name]);
		else if (attributes[name] !== null && attributes[name] !== undefined && attributes[name] !== false)
			node.setAttribute(name, attributes[name]);
	}
	return node;
}
function el(tag, attributes, ...children) {
	const node = set(document.createElement(tag), attributes || {});
	node.append(...children.filter(child => child !== null));
	return node;
}
function svg(tag, attributes, ...children) {
	const node = set(document.createElementNS(SVG, tag), attributes || {});
	node.append(...children);
	return node;
}

/* Numbers, as commctl prints them. */
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
const digits = value => value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
function scaled(bytes) {
	let unit = 0;
	while (bytes >= 999.5 && unit + 1 < UNITS.length) {
		bytes /= 1024;
		unit++;
	}
	return [1024 ** unit, UNITS[unit], unit ? digits(bytes) : 0];
}
function bytes(n) {
	const [by, unit, d] = scaled(n);
	return (n / by).toFixed(d) + ' ' + unit;
}
function range(low, high) {
	const [by, unit, d] = scaled(high);
	return (low / by).toFixed(d) + '\u2009\u2013\u2009' + (high / by).toFixed(d) + ' ' + unit;
}
function percent(share) {
	const p = share * 100;
	return p > 0 && p < 0.01 ? '<0.01 %' : p < 100 && p >= 99.95 ? '>99.9 %' : p.toFixed(p < 1 ? 2 : 1) + ' %';
}
function percents(low, high) {
	const d = high < 0.01 ? 2 : high < 0.0995 ? 1 : 0;
	return (low * 100).toFixed(d) + '\u2009\u2013\u2009' + (high * 100).toFixed(d) + ' %';
}
function duration(s) {
	if (!s)
		return '0 s';
	const steps = [[1e-6, 1e-3, 'us'], [1e-3, 1, 'ms'], [1, 120, 's'], [60, 7200, 'min'], [3600, 172800, 'h'], [86400, Infinity, 'd']];
	const [unit, , name] = steps.find(step => s < step[1]);
	const value = s / unit;
	return value.toFixed(Number.isInteger(value) ? 0 : digits(value)) + ' ' + name;
}
const count = n => n.toLocaleString('en-US');

/*
 * The data: five or six elements, decoded in their order, since each view brings the nodes that were
 * not met before.  The first stands before this script, the others behind it.
 */
const tables = {};
for (const kind in KINDS)
	tables[KINDS[kind]] = [];
const loaded = [];
const SOURCES = 4;

function take(view) {
	for (const letter in view.nodes)
		tables[letter].push(...view.nodes[letter]);
	view.nodes = null;
	view.parts = view.by.split(',');
	view.letters = view.parts.map(part => KINDS[part]);
	view.n = view.bytes.length;
	return view;
}
function data(i) {
	for (let k = loaded.length; k <= i; k++) {
		const element = $('data-' + k);
		if (!element || (k && !complete))
			return null;
		const value = JSON.parse(element.textContent);
		element.textContent = '';
		if (k === 0)
			take(value.view);
		else if (k === 3)
			value.forEach(cell => cell.forEach(take));
		else if (k < SOURCES)
			value.forEach(take);
		loaded.push(value);
	}
	return loaded[i];
}
let complete = false;
const main = data(0);
const {run, range: whole} = main;
const exact = whole.exact;
const sources = () => data(SOURCES);
const stepsOf = by => main.by.find(one => one.by === by).steps;

/*
 * What is looked at; all of it stands in the URL's hash.  at: what was chosen in the view, and in
 * each step down from it: both ends of an edge, or what stands between them, by their ids.
 */
const START = {by: 'thread', cell: -1, at: [], unstated: false, query: '', order: 'cluster', sort: null, line: -1, tab: null};
const state = {...START};

/* What stands behind tabs; without a choice it is what was gone into last. */
const TABS = [['deep', 'What it is made of'], ['changes', 'What changed'], ['numbers', 'In numbers'], ['flow', 'Flow'], ['time', 'Time'], ['sharing', 'Cache lines'], ['account', 'Account and losses'], ['reading', 'How to read this']];
const tabOf = () => state.tab || (state.line >= 0 && main.cachelines.length ? 'sharing' : state.at.length ? 'deep' : 'numbers');
function drawTabs() {
	const has = {deep: state.at.length > 0, changes: !!main.changes, sharing: main.cachelines.length > 0};
	for (const [name] of TABS)
		$('panel-' + name).hidden = name !== tabOf();
	$('tabs').replaceChildren(...TABS.filter(([name]) => has[name] !== false || name === tabOf()).map(([name, text]) =>
		el('button', {type: 'button', text, 'aria-current': name === tabOf() ? 'true' : null, onclick: () => {
			go({tab: name});
			/* The button was made anew. */
			$('tabs').querySelector('[aria-current]').focus({preventScroll: true});
		}})));
}
function openTab(name, title) {
	go({tab: name});
	$(title).focus({preventScroll: true});
	$(title).scrollIntoView();
}

function readHash() {
	const hash = new URLSearchParams(location.hash.slice(1));
	state.by = main.by.some(one => one.by === hash.get('by')) ? hash.get('by') : 'thread';
	state.cell = /^\d+$/.test(hash.get('cell')) ? Number(hash.get('cell')) : -1;
	const at = (hash.get('at') || '').split('.').slice(0, stepsOf(state.by).length).map(text => text.split('-'));
	const isChoice = (ends, i) => ends.length === (VIEWS[chosenKind(i)].what ? 1 : 2) && ends.every(id => id[0] === KINDS[chosenKind(i)] && /^.\d+$/.test(id));
	state.at = at.every(isChoice) ? at : [];
	state.unstated = hash.get('unstated') === '1';
	state.query = (hash.get('search') || '').slice(0, 200);
	state.order = ['bytes', 'name'].includes(hash.get('order')) ? hash.get('order') : 'cluster';
	state.sort = /^-?[a-z]+$/.test(hash.get('sort')) ? hash.get('sort') : null;
	state.line = /^\d{1,3}$/.test(hash.get('line')) ? Number(hash.get('line')) : -1;
	state.tab = TABS.some(([name]) => name === hash.get('tab')) ? hash.get('tab') : null;
}
function writeHash() {
	const hash = new URLSearchParams();
	if (state.by !== 'thread')
		hash.set('by', state.by);
	if (state.cell >= 0)
		hash.set('cell', state.cell);
	if (state.at.length)
		hash.set('at', state.at.map(ends => ends.join('-')).join('.'));
	if (state.unstated)
		hash.set('unstated', 1);
	if (state.query)
		hash.set('search', state.query);
	if (state.order !== 'cluster')
		hash.set('order', state.order);
	if (state.sort)
		hash.set('sort', state.sort);
	if (state.line >= 0)
		hash.set('line', state.line);
	if (state.tab)
		hash.set('tab', state.tab);
	const text = hash.toString();
	return text ? '#' + text : '';
}
/* A step of the user's: can be undone by the browser's Back, unless it is a small one. */
function go(change, small) {
	Object.assign(state, change);
	const url = location.pathname + location.search + writeHash();
	try {
		history[small ? 'replaceState' : 'pushState'](null, '', url);
	} catch (error) {
		location.hash = writeHash(); /* some browsers refuse it for file: */
	}
	draw();
}

/* Labels: the shortest text that tells a node from the others, and its whole name. */
const twins = {};
function isTwin(letter, name) {
	const table = tables[letter];
	if (!twins[letter] || twins[letter].n !== table.length) {
		const seen = new Map();
		for (const node of table)
			seen.set(node[1], (seen.get(node[1]) || 0) + 1);
		twins[letter] = {n: table.length, seen};
	}
	return twins[letter].seen.get(name) > 1;
}
function fold(name) {
	if (name.length < 44)
		return name;
	let depth = 0, out = '';
	for (const c of name) {
		if (c === '<' && depth++ === 0)
			out += '<\u2026>';
		if (!depth)
			out += c;
		if (c === '>' && depth)
			depth--;
	}
	if (depth)
		out = name;
	out = out.replace(/\([^()]{5,}\)( const)?$/, '(\u2026)$1');
	return out.length > 80 ? out.slice(0, 50) + '\u2026' + out.slice(-28) : out;
}
const base = path => path.slice(path.lastIndexOf('/') + 1);
/* The module of most functions goes without saying. */
let usual = null;
function isUsual(module) {
	if (!usual || usual.n !== tables.f.length) {
		const seen = new Map();
		for (const node of tables.f)
			seen.set(node[2], (seen.get(node[2]) || 0) + 1);
		usual = {n: tables.f.length, name: [...seen.keys()].filter(name => name && name !== '[kernel]').sort((a, b) => seen.get(b) - seen.get(a))[0]};
	}
	return module === usual.name;
}
const inModule = module => isUsual(module) ? '' : moduleOf(module);
const moduleOf = module => !module ? '' : module.startsWith('[') ? ' ' + module : ' [' + base(module) + ']';
const place = node => base(node[3]) + ':' + node[4];
function label(letter, i, full) {
	const node = tables[letter][i];
	if (!node)
		return '(other)';
	const name = (full ? node[1] : fold(node[1])) || '(unnamed)';
	switch (letter) {
	case 't':
		return name + (node[3] && isTwin('t', node[1]) ? '/' + node[3] + (node[2] === node[3] ? ' main' : '') : '');
	case 'f':
	case 'k':
		return name + (node[1].startsWith(base(node[2]) + '+0x') || node[2] === node[1] ? '' : full ? moduleOf(node[2]) : inModule(node[2]));
	case 'l':
		return (node[3] ? (full ? node[3] + ':' + node[4] : place(node)) + ' ' : '') + (node[5] ? fold(node[5]) + ' in ' : '') + name;
	case 'o':
		return name + (node[5] && isTwin('o', node[1]) ? '/' + node[5] : '') + (full ? moduleOf(node[2]) : inModule(node[2]));
	default:
		return name;
	}
}
/* Nodes of times have them behind their name. */
const timesOf = id => (tables[id[0]][indexOf(id)] || []).slice(2, 4);
const idOf = (letter, i) => tables[letter][i] ? tables[letter][i][0] : letter + '0';
const indexes = {};
function indexOf(id) {
	const letter = id[0], table = tables[letter] || [];
	if (!indexes[letter] || indexes[letter].n !== table.length)
		indexes[letter] = {n: table.length, map: new Map(table.map((node, i) => [node[0], i]))};
	const i = indexes[letter].map.get(id);
	return i === undefined ? -1 : i;
}
const labelOf = (id, full) => label(id[0], indexOf(id), full);

/* An end of an edge: in views of what is between threads a negative number is that. */
function endOf(view, i, isTo, part) {
	const number = view[isTo ? 'to' : 'from'][part || 0][i];
	if (VIEWS[view.by] && VIEWS[view.by].what)
		return number < 0 ? idOf(KINDS[view.by], -1 - number) : idOf('t', number);
	return idOf(view.letters[part || 0], number);
}
function edgeAt(view, i, part) {
	const spread = view.spread[i] || 1, share = view.total > 0 ? view.bytes[i] / view.total : 0;
	return {
		view, i, from: endOf(view, i, 0, part), to: endOf(view, i, 1, part), bytes: view.bytes[i], low: view.low[i], high: view.high[i],
		share, shareLow: share / spread, shareHigh: Math.min(1, share * spread), samples: view.samples[i], slices: view.slices[i],
		stated: !!view.stated[i],
	};
}
function edgesOf(view, part) {
	const edges = [];
	for (let i = 0; i < view.n; i++)
		edges.push(edgeAt(view, i, part));
	return edges;
}
const visible = edge => edge.stated || state.unstated;

function matches(edge) {
	const query = state.query.toLowerCase();
	return !query || [edge.from, edge.to].some(id => labelOf(id, true).toLowerCase().includes(query));
}

function views() {
	return [main.view, ...(data(1) || [])];
}
function wholeView(by) {
	return views().find(view => view.by === by) || null;
}
function currentView() {
	const cells = state.cell >= 0 && data(3);
	const cell = cells && cells[state.cell];
	return cell && cell.find(view => view.by === state.by) || wholeView(state.by);
}
const isCell = view => state.cell >= 0 && view !== wholeView(state.by);
const seconds = view => view.enabled_s;

/* Heat: a logarithmic ramp of viridis (CC0), away from the background. */
const VIRIDIS = [[68, 1, 84], [65, 68, 135], [42, 120, 142], [34, 168, 132], [122, 209, 81], [253, 231, 37]];
const isDark = matchMedia('(prefers-color-scheme: dark)');
function heat(level) {
	const at = Math.max(0, Math.min(1, isDark.matches ? 0.12 + 0.88 * level : 0.94 * (1 - level))) * (VIRIDIS.length - 1);
	const k = Math.min(VIRIDIS.length - 2, Math.floor(at)), f = at - k;
	return 'rgb(' + VIRIDIS[k].map((c, j) => Math.round(c + f * (VIRIDIS[k + 1][j] - c))).join(',') + ')';
}
const levelOf = (n, largest) => n > 0 ? Math.max(0, 1 + Math.log10(n / largest) / DECADES) : 0;

const ruler = el('canvas').getContext('2d');
ruler.font = '12px system-ui, sans-serif';
const widthOf = text => ruler.measureText(text).width;
/* As much of a name as fits, its end included: names often differ there. */
function fitted(name, width) {
	if (widthOf(name) <= width)
		return name;
	for (let keep = name.length - 1; keep > 3; keep--) {
		const cut = name.slice(0, Math.ceil(keep * 0.6)) + '\u2026' + name.slice(name.length - Math.floor(keep * 0.4));
		if (widthOf(cut) <= width)
			return cut;
	}
	return '\u2026';
}

/* Leaves of an average-linkage clustering of who talks to whom, most alike side by side. */
function clustered(ids, edges) {
	const at = new Map(ids.map((id, i) => [id, i])), n = ids.length;
	const rows = ids.map(() => new Float64Array(2 * n));
	for (const edge of edges) {
		const a = at.get(edge.from), b = at.get(edge.to), w = Math.log1p(edge.bytes) * (edge.stated ? 1 : 0.5);
		if (a === undefined || b === undefined)
			continue;
		rows[a][b] += w;
		rows[b][n + a] += w;
		/* Those who talk to each other belong together, too. */
		rows[a][a] += w / 2;
		rows[b][b] += w / 2;
	}
	const norm = rows.map(row => Math.sqrt(row.reduce((sum, x) => sum + x * x, 0)) || 1);
	const alike = rows.map(() => new Float64Array(n));
	for (let i = 0; i < n; i++)
		for (let j = 0; j < i; j++) {
			let dot = 0;
			for (let k = 0; k < 2 * n; k++)
				dot += rows[i][k] * rows[j][k];
			alike[i][j] = alike[j][i] = dot / norm[i] / norm[j];
		}
	const groups = new Map(ids.map((id, i) => [i, [i]])), leaves = alike.map(row => row.slice());
	while (groups.size > 1) {
		let best = -1, a = -1, b = -1;
		for (const i of groups.keys())
			for (const j of groups.keys())
				if (j < i && alike[i][j] > best)
					[best, a, b] = [alike[i][j], i, j];
		const ga = groups.get(a), gb = groups.get(b);
		for (const k of groups.keys())
			if (k !== a && k !== b)
				alike[b][k] = alike[k][b] = (alike[a][k] * ga.length + alike[b][k] * gb.length) / (ga.length + gb.length);
		/* Of the four ways to put two groups side by side, that whose ends are most alike. */
		const ways = [[ga, gb], [ga.slice().reverse(), gb], [ga, gb.slice().reverse()], [gb, ga]];
		const ends = ([one, two]) => leaves[one[one.length - 1]][two[0]];
		groups.set(b, [].concat(...ways.reduce((best, way) => ends(way) > ends(best) ? way : best)));
		groups.delete(a);
	}
	return [...groups.values()][0].map(i => ids[i]);
}

const orders = new Map();
function ordered(view, edges) {
	const key = view.by + state.order;
	const all = edgesOf(wholeView(state.by) || view);
	const sum = new Map(), add = (id, n) => sum.set(id, (sum.get(id) || 0) + n);
	for (const edge of all.concat(view === wholeView(state.by) ? [] : edges)) {
		add(edge.from, edge.bytes);
		add(edge.to, edge.bytes);
	}
	/* What is of no known time comes last. */
	if (VIEWS[view.by].order)
		return [...sum.keys()].sort((a, b) => !timesOf(a).length - !timesOf(b).length || byNumber(a, b));
	let order = orders.get(key);
	if (!order) {
		order = [...sum.keys()].sort((a, b) => sum.get(b) - sum.get(a) || (a < b ? -1 : 1));
		if (state.order === 'name')
			order.sort((a, b) => labelOf(a).localeCompare(labelOf(b), 'en', {numeric: true}));
		else if (state.order === 'cluster' && order.length > 2 && order.length <= CLUSTER_MAX)
			order = clustered(order.sort(byNumber), all);
		orders.set(key, order);
	}
	const rest = [...sum.keys()].filter(id => !order.includes(id));
	/* What was folded comes last. */
	const folded = id => id.slice(1) === '0';
	return order.concat(rest).sort((a, b) => folded(a) - folded(b));
}
const byNumber = (a, b) => a.slice(1) - b.slice(1);

/* The matrix: SVG up to 64 nodes, a canvas beyond; both by the same cells. */
const matrix = {rows: [], columns: [], cells: new Map(), row: 0, column: 0, size: 12, left: 0, top: 0};

function describe(edge, noun) {
	if (!edge)
		return '';
	const text = labelOf(edge.from) + ' \u2192 ' + labelOf(edge.to) + ': ';
	if (exact)
		return text + bytes(edge.bytes) + ', ' + percent(edge.share) + ', counted';
	if (!edge.stated)
		return text + 'not confirmed by this run' + (visible(edge) ? ' (?), ' + range(edge.low, edge.high) : '');
	return text + percent(edge.share) + ' (' + percents(edge.shareLow, edge.shareHigh) + '), ' + bytes(edge.bytes) + ' (' + range(edge.low, edge.high) + '), ' + count(edge.samples) + ' bursts';
}

/* Functions are many and most of them do little: those of stated flows, then by bytes. */
function busiest(ids, edges) {
	const sum = new Map();
	for (const edge of edges)
		for (const id of [edge.from, edge.to])
			sum.set(id, (sum.get(id) || 0) + edge.bytes + (edge.stated ? 1e30 : 0));
	const taken = new Set([...sum.keys()].sort((a, b) => sum.get(b) - sum.get(a)).slice(0, SVG_MAX));
	return ids.length > SVG_MAX ? ids.filter(id => taken.has(id)) : ids;
}
function drawMatrix(view, edges) {
	const every = ordered(view, edges), rows = VIEWS[view.by].many ? busiest(every, edges) : every.slice(0, CANVAS_MAX);
	/* Nothing is read at a time that is not known. */
	const columns = VIEWS[view.by].order ? rows.filter(id => timesOf(id).length) : rows, m = rows.length, n = columns.length, use = m <= SVG_MAX;
	const names = rows.map(id => labelOf(id)), rowOf = new Map(rows.map((id, i) => [id, i])), columnOf = new Map(columns.map((id, i) => [id, i]));
	const left = use ? Math.min(220, names.reduce((max, name) => Math.max(max, widthOf(name)), 20)) + 32 : 4, top = use ? 22 : 4;
	const width = Math.max(280, Math.min(900, $('matrix').parentElement.clientWidth || 600)), tall = Math.max(320, innerHeight - 530);
	const size = Math.max(use ? 5 : 1, Math.min(60, Math.max(24, Math.floor((tall - top) / Math.max(m, 1))), Math.floor((width - left - 4) / Math.max(n, 1))));
	const largest = edges.reduce((max, edge) => edge.stated ? Math.max(max, edge.bytes) : max, 0);

	Object.assign(matrix, {rows, columns, cells: new Map(), size, left, top, m, n});
	for (const edge of edges) {
		const row = rowOf.get(edge.from), column = columnOf.get(edge.to);
		if (row !== undefined && column !== undefined)
			matrix.cells.set(row * n + column, edge);
	}
	if (state.at.length) {
		const row = rowOf.get(state.at[0][0]), column = columnOf.get(state.at[0][1]);
		if (row !== undefined && column !== undefined)
			Object.assign(matrix, {row, column});
	}
	matrix.row = Math.min(matrix.row, Math.max(m - 1, 0));
	matrix.column = Math.min(matrix.column, Math.max(n - 1, 0));
	$('matrix').replaceChildren(...(n ? [use ? svgMatrix(names, largest) : canvasMatrix(largest)] : []));
	$('matrix').setAttribute('aria-label', 'Matrix of ' + m + ' ' + VIEWS[view.by].title + (VIEWS[view.by].order ? ': rows are when it was written, columns when it was read' : ': rows write, columns read'));
	moveCursor(true);
	$('matrix-help').textContent = (VIEWS[view.by].order ? 'Rows are when it was written, columns when it was read.' : 'Rows write, columns read.') + ' A click, or arrow keys and Enter, goes into a cell.';
	$('matrix-cut').textContent = every.length > m ? 'The ' + m + ' busiest of ' + count(every.length) + '. ' : '';
	drawLegend(largest);
}
/* What a period is called in short: "phase 2: 7 to 9 s" is 2, "frames 21 to 25" are 21. */
const firstNumber = name => (name.match(/\d+/) || [''])[0];
function svgMatrix(names, largest) {
	const {rows, columns, m, n, size, left, top} = matrix, w = left + n * size + 2, h = top + m * size + 2, isOrder = VIEWS[state.by].order;
	const step = Math.ceil(13 / size), columnStep = Math.ceil((n > 9 ? 19 : 12) / size), gap = size > 8 ? 1 : 0;
	const box = svg('svg', {viewBox: `0 0 ${w} ${h}`, width: w, height: h, 'aria-hidden': 'true'});
	const paths = new Map(), query = state.query.toLowerCase();
	/* Nothing is read before it is written. */
	rows.forEach((id, i) => {
		const first = isOrder && columns.includes(id) ? columns.indexOf(id) : 0;
		box.append(svg('rect', {class: 'empty', x: left + first * size, y: top + i * size, width: (n - first) * size, height: size}));
	});
	for (const [key, edge] of matrix.cells) {
		const x = left + key % n * size, y = top + Math.floor(key / n) * size;
		const fill = edge.stated ? heat(Math.round(levelOf(edge.bytes, largest) * 24) / 24) : 'url(#hatch)';
		paths.set(fill, (paths.get(fill) || '') + `M${x} ${y}h${size - gap}v${size - gap}h${gap - size}z`);
	}
	for (const [fill, d] of paths)
		box.append(svg('path', {d, fill, 'shape-rendering': 'crispEdges'}));
	names.forEach((name, i) => {
		const found = query && name.toLowerCase().includes(query);
		if (i % step === 0 || found)
			box.append(svg('text', {x: left - 26, y: top + (i + 0.5) * size + 4, 'text-anchor': 'end', class: found ? 'found' : ''}, fitted(name, left - 30)),
				svg('text', {x: left - 4, y: top + (i + 0.5) * size + 4, 'text-anchor': 'end', class: 'dim'}, isOrder ? '' : String(i + 1)));
		if (i < n && i % columnStep === 0)
			box.append(svg('text', {x: left + (i + 0.5) * size, y: top - 6, 'text-anchor': 'middle', class: found ? 'found' : 'dim'}, isOrder ? firstNumber(name) : String(i + 1)));
	});
	if (state.at.length && rows[matrix.row] === state.at[0][0] && columns[matrix.column] === state.at[0][1])
		box.append(svg('rect', {class: 'chosen', x: left + matrix.column * size - 1, y: top + matrix.row * size - 1, width: size + 1, height: size + 1}));
	box.append(svg('rect', {class: 'cursor', id: 'cursor', width: size + 1, height: size + 1, visibility: 'hidden'}));
	return box;
}
function canvasMatrix(largest) {
	const {m, n, size, left, top} = matrix;
	const canvas = el('canvas', {width: left + n * size + 2, height: top + m * size + 2, 'aria-hidden': 'true'});
	const context = canvas.getContext('2d'), styles = getComputedStyle(document.documentElement);
	context.fillStyle = styles.getPropertyValue('--empty');
	context.fillRect(left, top, n * size, m * size);
	for (const [key, edge] of matrix.cells) {
		const x = left + key % n * size, y = top + Math.floor(key / n) * size;
		if (edge.stated) {
			context.fillStyle = heat(levelOf(edge.bytes, largest));
			context.fillRect(x, y, size, size);
		} else if ((key % n + Math.floor(key / n)) % 2 === 0 || size > 3) {
			context.strokeStyle = styles.getPropertyValue('--hatch');
			context.beginPath();
			context.moveTo(x, y + size);
			context.lineTo(x + size, y);
			context.stroke();
		}
	}
	return canvas;
}
function moveCursor(quiet) {
	const {n, size, left, top, row, column} = matrix, cursor = $('cursor');
	if (!n)
		return;
	if (cursor)
		set(cursor, {x: left + column * size - 1, y: top + row * size - 1, visibility: quiet && document.activeElement !== $('matrix') ? 'hidden' : 'visible'});
	if (quiet && document.activeElement !== $('matrix')) {
		$('matrix-at').textContent = '';
		return;
	}
	$('matrix-at').textContent = describe(matrix.cells.get(row * n + column)) || labelOf(matrix.rows[row]) + ' \u2192 ' + labelOf(matrix.columns[column]) +
		(row === column && state.by === 'thread' ? ': a thread\u2019s own data is not shown here' : VIEWS[state.by].order && row > column && row < n ? ': it would be read before it is written' : ': nothing seen');
}
function matrixAt(event) {
	const picture = $('matrix').firstElementChild, box = picture.getBoundingClientRect();
	const scale = (picture.viewBox ? picture.viewBox.baseVal.width : picture.width) / box.width;
	const column = Math.floor(((event.clientX - box.left) * scale - matrix.left) / matrix.size);
	const row = Math.floor(((event.clientY - box.top) * scale - matrix.top) / matrix.size);
	if (row < 0 || column < 0 || row >= matrix.m || column >= matrix.n)
		return false;
	Object.assign(matrix, {row, column});
	return true;
}
function choose(edge) {
	if (!edge)
		return;
	go({tab: null, line: -1, at: [VIEWS[state.by].what ? [edge.from, edge.to].filter(id => id[0] === KINDS[state.by]) : [edge.from, edge.to]]});
	$('deep-title').focus({preventScroll: true});
	$('deep').scrollIntoView({block: 'nearest', behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth'});
}
function swatch(fill) {
	return svg('svg', {width: 16, height: 12, 'aria-hidden': 'true'}, svg('rect', {width: 16, height: 12, fill}));
}
function drawLegend(largest) {
	const items = [];
	if (largest > 0)
		for (let d = 0; d <= DECADES; d += 2)
			items.push(el('span', {}, swatch(heat(1 - d / DECADES)), (d === DECADES ? '\u2264 ' : '') + bytes(largest / 10 ** d)));
	if (!exact)
		items.push(el('span', {}, swatch('url(#hatch)'), 'seen, but not confirmed'));
	items.push(el('span', {}, swatch('var(--empty)'), 'nothing seen'));
	$('legend').replaceChildren(...items);
}

/* The flow: writers left, readers right, what is between them in the middle. */
function drawGraph(view, edges) {
	const shown = edges.filter(visible), list = [];
	const isObject = !!VIEWS[view.by].what, isOrder = VIEWS[view.by].order;
	for (const edge of shown.slice().sort((a, b) => b.stated - a.stated || b.bytes - a.bytes)) {
		if (list.length < GRAPH_MAX)
			list.push(edge);
	}
	const columns = isObject ? [new Map(), new Map(), new Map()] : [new Map(), new Map()];
	const node = (column, id) => {
		if (!columns[column].has(id))
			columns[column].set(id, {id, in: 0, out: 0, y: 0, inAt: 0, outAt: 0});
		return columns[column].get(id);
	};
	for (const edge of list) {
		edge.left = !isObject ? 0 : edge.from[0] === KINDS[view.by] ? 1 : 0;
		edge.a = node(edge.left, edge.from);
		edge.b = node(edge.left + 1, edge.to);
		edge.a.out += edge.stated ? edge.bytes : 0;
		edge.b.in += edge.stated ? edge.bytes : 0;
	}
	const width = Math.max(320, Math.min(isObject ? 1100 : 760, $('graph').parentElement.clientWidth || 600));
	const tallest = Math.max(1, ...columns.map(column => column.size));
	const sum = Math.max(1e-9, ...columns.map(column => [...column.values()].reduce((s, x) => s + Math.max(x.in, x.out), 0)));
	const height = Math.max(120, tallest * 24 + 160), room = height - tallest * 24 - 50;
	const largest = list.reduce((max, edge) => edge.stated ? Math.max(max, edge.bytes) : max, 0);
	const side = isObject ? 0.22 : 0.3;
	const xs = isObject ? [width * side, width / 2 - 4, width * (1 - side)] : [width * side, width * (1 - side)];
	const box = svg('svg', {viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': 'Flow from writers to readers; the table has the same in numbers'});
	columns.forEach(column => {
		let y = isObject ? 34 : 24;
		for (const x of [...column.values()].sort((a, b) => isOrder ? !timesOf(a.id).length - !timesOf(b.id).length || byNumber(a.id, b.id) : Math.max(b.in, b.out) - Math.max(a.in, a.out))) {
			x.h = Math.max(4, Math.max(x.in, x.out) / sum * room);
			x.y = x.inAt = x.outAt = y;
			y += x.h + 20;
		}
	});
	for (const edge of list.sort((a, b) => a.b.y - b.b.y || a.a.y - b.a.y)) {
		const x0 = xs[edge.left] + 8, x1 = xs[edge.left + 1], middle = (x0 + x1) / 2;
		const h = edge.stated ? Math.max(1, edge.bytes / sum * room) : 0;
		const y0 = edge.stated ? edge.a.outAt : edge.a.y + edge.a.h / 2, y1 = edge.stated ? edge.b.inAt : edge.b.y + edge.b.h / 2;
		const curve = `M${x0} ${y0}C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}`;
		const title = () => svg('title', {}, describe(edge));
		if (edge.stated) {
			edge.a.outAt += h;
			edge.b.inAt += h;
			box.append(svg('path', {class: 'flow solid', fill: heat(levelOf(edge.bytes, largest)), d: curve + `v${h}C${middle} ${y1 + h} ${middle} ${y0 + h} ${x0} ${y0 + h}z`, onclick: () => choose(edge)}, title()));
		} else {
			box.append(svg('path', {class: 'flow dashed', d: curve}), svg('path', {class: 'flow wide', d: curve, onclick: () => choose(edge)}, title()));
		}
	}
	const query = state.query.toLowerCase();
	columns.forEach((column, c) => {
		const isLast = c === columns.length - 1, isMiddle = isObject && c === 1;
		box.append(svg('text', {class: 'dim', x: isMiddle ? xs[c] : c ? width : 0, y: 12, 'text-anchor': isMiddle ? 'middle' : c ? 'end' : 'start'}, c === 0 ? (isOrder ? 'written' : 'write') : isLast ? 'read' : 'through'));
		for (const x of column.values()) {
			const name = labelOf(x.id), room = isMiddle ? 220 : width * side - 16;
			const cut = isOrder && widthOf(name) > room ? name.split(':')[0].replace(/^frames? (?=\d)/, '') : fitted(name, room);
			box.append(svg('rect', {class: 'node', x: xs[c], y: x.y, width: 8, height: x.h}));
			box.append(svg('text', {x: isMiddle ? xs[c] + 4 : c ? xs[c] + 13 : xs[c] - 5, y: isMiddle ? x.y - 3 : x.y + Math.min(x.h / 2, 40) + 4,
				'text-anchor': isMiddle ? 'middle' : c ? 'start' : 'end', class: (isMiddle ? 'halo ' : '') + (query && name.toLowerCase().includes(query) ? 'found' : '')}, svg('title', {}, labelOf(x.id, true)), cut));
		}
	});
	$('graph').replaceChildren(...(list.length ? [box] : []));
	$('graph-text').textContent = !list.length ? 'Nothing to draw: nothing here is confirmed.' :
		(shown.length > list.length ? 'The ' + list.length + ' largest of ' + count(shown.length) + ' flows. ' : '') +
		'Width and colour are bytes' + (list.some(edge => !edge.stated) ? '; dashed lines are not confirmed and have no width.' : '.');
}

/* An axis of time in seconds; below it where phases and frames begin, where the page knows of them. */
const AXIS = [['phase', 'phase '], ['frames', 'frame ']], AXIS_ROW = 14;
function periods(by) {
	const known = (data(1) || []).some(view => view.by === by), nodes = known ? tables[KINDS[by]].filter(([, , from, to]) => to > whole.from_s && from < whole.to_s) : [];
	return nodes.sort((a, b) => a[2] - b[2]);
}
const axisHeight = () => 2 + AXIS_ROW * (1 + AXIS.filter(([by]) => periods(by).length).length);
function drawAxis(box, x, top, foot) {
	const {from_s: from, to_s: to} = whole;
	let y = foot + AXIS_ROW;
	for (const part of x(to) - x(from) < 400 ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1])
		box.append(svg('text', {class: 'dim', x: x(from + part * (to - from)), y, 'text-anchor': part === 0 ? 'start' : part === 1 ? 'end' : 'middle'}, duration(from + part * (to - from))));
	for (const [by, word] of AXIS) {
		let free = 0;
		y += periods(by).length ? AXIS_ROW : 0;
		for (const [, name, start] of periods(by)) {
			const at = x(Math.max(start, from)), text = (free ? '' : word) + firstNumber(name), isFree = at >= free && at + widthOf(text) <= x(to);
			if (start > from && (isFree || by === 'phase'))
				box.append(svg('path', {class: 'thin', d: (by === 'phase' ? `M${at} ${top}V${foot}` : '') + `M${at} ${y - AXIS_ROW + 3}V${y}`}));
			if (isFree)
				box.append(svg('text', {class: 'dim', x: at + 3, y}, text));
			free = isFree ? at + widthOf(text) + 10 : free;
		}
	}
}

/* Time: all bytes between threads, the cells, and the course of what is chosen. */
function drawTime() {
	const cells = data(3) || [], course = main.course, width = Math.max(320, $('course').clientWidth || 900), foot = 76, height = foot + axisHeight();
	const from = whole.from_s, to = whole.to_s, x = s => 4 + (s - from) / (to - from) * (width - 8);
	const chosen = courseOf(cells), largest = Math.max(1e-9, ...chosen.map(point => point.edge && point.edge.stated ? point.edge.high / point.length : 0));
	const box = svg('svg', {viewBox: `0 0 ${width} ${height}`, height, role: 'img', 'aria-label': chosen.length ? 'What is chosen, in the course of time' : 'Bytes between threads in the course of time'});
	const rate = course.map(([a, b, n]) => n / Math.max(b - a, 1e-9)), most = Math.max(...rate, 1e-9);
	const y = value => foot - value * (foot - 6);
	/* Either all bytes or what is chosen: the two have scales of their own. */
	if (!chosen.length && (main.view.total_stated || exact || state.unstated)) {
		let d = `M${x(from)} ${foot}`;
		course.forEach(([a, b], i) => {
			d += `L${x(a)} ${y(rate[i] / most)}L${x(b)} ${y(rate[i] / most)}`;
		});
		box.append(svg('path', {class: 'area', d: d + `L${x(to)} ${foot}z`}));
	}
	if (!chosen.length && !main.view.total_stated && !exact)
		box.append(svg('rect', {fill: 'url(#hatch)', x: x(from), y: 6, width: width - 8, height: foot - 6, opacity: 0.5}));
	box.append(svg('path', {class: 'frame', d: `M4 ${foot}H${width - 4}`}));
	drawAxis(box, x, 2, foot);
	if (VIEWS[state.by].order && state.at.length)
		state.at[0].forEach((id, i) => {
			const [start, end] = timesOf(id), isLeft = start < (from + to) / 2;
			if (end)
				box.append(svg('rect', {class: 'now', x: x(start), y: 2, width: Math.max(2, x(end) - x(start)), height: foot - 2}), svg('text', {x: isLeft ? x(start) + 4 : x(end) - 4, y: 14 + 14 * i, 'text-anchor': isLeft ? 'start' : 'end'}, i ? 'read' : 'written'));
		});
	if (state.cell >= 0 && cells[state.cell]) {
		const [view] = cells[state.cell];
		box.append(svg('rect', {class: 'now', x: x(view.from_s), y: 2, width: Math.max(2, x(view.to_s) - x(view.from_s)), height: foot - 2}));
	}
	for (const point of chosen) {
		const at = x((point.from + point.to) / 2);
		if (!point.edge)
			continue;
		if (point.edge.stated)
			box.append(svg('path', {class: 'bar', d: `M${at} ${y(point.edge.low / point.length / largest)}V${y(point.edge.high / point.length / largest)}`}),
				svg('circle', {class: 'point', cx: at, cy: y(point.edge.bytes / point.length / largest), r: 3}));
		else
			box.append(svg('circle', {class: 'open', cx: at, cy: foot - 4, r: 3}));
	}
	$('course').replaceChildren(box);
	const name = !cells.length ? 'The whole run; it is too short to be cut' : state.cell < 0 || !cells[state.cell] ? 'All ' + duration(to - from) :
		duration(cells[state.cell][0].from_s) + ' to ' + duration(cells[state.cell][0].to_s);
	$('cell-name').textContent = name;
	set($('cell'), {max: cells.length, 'aria-valuetext': name}).disabled = !cells.length;
	$('cell').value = state.cell + 1;
	const stated = chosen.filter(point => point.edge && point.edge.stated).length, text = [];
	if (!chosen.length)
		text.push(!(most > 1e-9) ? 'Nothing was seen to go between threads.' : main.view.total_stated || exact ? 'Area: all bytes between threads, peak ' + bytes(most) + '/s.' : 'How much goes between threads in all is not known: this run does not confirm it.');
	if (chosen.length && exact)
		text.push('Points: what is chosen, up to ' + bytes(largest) + '/s.');
	else if (chosen.length)
		text.push(!chosen.some(point => point.edge) ? 'What is chosen is in no part of the run among the largest.' : stated ? 'Points: what is chosen, with its interval, up to ' + bytes(largest) + '/s: confirmed in ' + stated + ' of ' + chosen.length + ' parts of the run; rings: seen, but not confirmed there.' :
			'What is chosen is confirmed in none of ' + chosen.length + ' parts of the run; rings: seen there.');
	else if (state.cell >= 0 && currentView() && !isCell(currentView()))
		text.push('The figures below are of the whole run: this view is not cut in time.');
	$('course-text').textContent = text.join(' ');
}
function courseOf(cells) {
	const ends = state.at[0];
	if (!ends || ends.length < 2)
		return [];
	return cells.map(views => {
		const view = views.find(one => one.by === state.by);
		if (!view)
			return null;
		let edge = null;
		for (let i = 0; i < view.n && !edge; i++)
			if (endOf(view, i, 0) === ends[0] && endOf(view, i, 1) === ends[1])
				edge = edgeAt(view, i);
		return {from: view.from_s, to: view.to_s, length: seconds(view), edge};
	}).filter(point => point);
}

/* Streams: when the largest flows that are searched for were read, a row for each and a column for each part of the run. */
function drawStreams() {
	/* Of two threads that were chosen: in which functions, as far as any are to be shown. */
	const deep = 'thread,function', isCut = (data(3) || []).some(views => views.some(one => one.by === deep));
	const functions = state.by === 'thread' && state.at.length && isCut ? chosenEdges(stepView(deep), 'function').filter(visible) : [], isStep = functions.length > 0;
	const cells = (data(3) || []).map(views => views.find(one => one.by === (isStep ? deep : state.by))).filter(view => view);
	const rows = (isStep ? functions : (wholeView(state.by) ? edgesOf(wholeView(state.by)) : []).filter(visible).filter(matches)).slice(0, STREAMS_MAX);
	const of = view => isStep ? chosenEdges(view, 'function') : edgesOf(view);
	const parts = cells.map(view => new Map(of(view).map(edge => [edge.from + ' ' + edge.to, edge])));
	const rates = rows.map(row => parts.map((part, i) => {
		const edge = part.get(row.from + ' ' + row.to);
		return {edge, rate: edge && edge.stated ? edge.bytes / seconds(cells[i]) : 0};
	}));
	const largest = rates.flat().reduce((max, it) => Math.max(max, it.rate), 0), height = 17;
	const width = Math.max(320, $('course').clientWidth || 900), left = Math.min(320, width / 2), share = 60;
	const x = s => left + (s - whole.from_s) / (whole.to_s - whole.from_s) * (width - left - share);
	const foot = rows.length * height, tall = foot + axisHeight();
	const box = svg('svg', {viewBox: `0 0 ${width} ${tall}`, height: tall, role: 'img', 'aria-label': 'When the ' + rows.length + ' largest flows were read'});

	$('streams').parentElement.hidden = cells.length < 2 || !rows.length;
	if (cells.length < 2 || !rows.length)
		return;
	rows.forEach((row, i) => {
		const line = svg('g', {class: 'flow', onclick: () => isStep ? go({at: [state.at[0], [row.from, row.to]]}) : choose(row)}, svg('title', {}, describe(row)));
		line.append(svg('text', {x: left - 8, y: i * height + 12, 'text-anchor': 'end'}, fitted(labelOf(row.from), left / 2 - 14) + ' \u2192 ' + fitted(labelOf(row.to), left / 2 - 14)),
			svg('text', {x: width - share + 8, y: i * height + 12}, row.stated ? percent(row.share) : '?'));
		rates[i].forEach(({edge, rate}, j) => line.append(svg('rect', {x: x(cells[j].from_s), y: i * height + 1, width: Math.max(0.5, x(cells[j].to_s) - x(cells[j].from_s) - 1), height: height - 3,
			fill: !edge ? 'var(--empty)' : rate ? heat(levelOf(rate, largest)) : 'url(#hatch)'})));
		box.append(line);
	});
	drawAxis(box, x, 0, foot);
	$('streams').replaceChildren(box);
	$('streams-title').textContent = 'Who crosses when' + (isStep ? ': functions of ' + state.at[0].map(id => labelOf(id)).join(' \u2192 ') : '');
	$('streams-text').textContent = (largest ? 'Colour is bytes a second, up to ' + bytes(largest) + '/s; hatched is what that part of the run does not confirm.' : 'Hatched is what was seen: no part of the run confirms any of it, so a colour would say nothing.') + (periods('phase').length ? ' Dotted lines are where a phase begins.' : '') + ' Click a row to see what it is made of.';
	drawMost(cells, rows, rates);
	streamRows = rows.map((row, i) => [row, rates[i].map(({edge}, j) => [cells[j], edge])]);
}
/* In words: which of the rows is the largest, part for part; parts of the same one are one. */
let streamRows = [];
function drawMost(cells, rows, rates) {
	const spans = [];
	cells.forEach((cell, j) => {
		const best = rates.reduce((at, rate, i) => rate[j].rate > (at < 0 ? 0 : rates[at][j].rate) ? i : at, -1), last = spans[spans.length - 1];
		if (last && last.best === best)
			Object.assign(last, {to: cell.to_s, rates: best < 0 ? [] : [...last.rates, rates[best][j].rate]});
		else
			spans.push({best, from: cell.from_s, to: cell.to_s, rates: best < 0 ? [] : [rates[best][j].rate]});
	});
	const phaseOf = span => periods('phase').filter(([, , from, to]) => Math.min(to, span.to) - Math.max(from, span.from) > 0.5 * Math.min(to - from, span.to - span.from)).map(([, name]) => firstNumber(name));
	const words = ({best, from, to, rates: of}) => {
		const phases = phaseOf({from, to}), when = duration(from) + ' to ' + duration(to) + (phases.length ? ' (phase ' + phases[0] + (phases.length > 1 ? ' to ' + phases[phases.length - 1] : '') + ')' : '');
		return when + ': ' + (best < 0 ? 'nothing is confirmed' : 'the largest is ' + labelOf(rows[best].from) + ' \u2192 ' + labelOf(rows[best].to) + ', ' +
			(Math.max(...of) < 1.05 * Math.min(...of) ? bytes(Math.max(...of)) : bytes(Math.min(...of)) + ' to ' + bytes(Math.max(...of))) + '/s');
	};
	$('streams-most').replaceChildren(...(spans.some(span => span.best >= 0) ? spans.slice(0, MOST_MAX) : []).map(span => el('li', {text: words(span)})),
		...(spans.length > MOST_MAX && spans.some(span => span.best >= 0) ? [el('li', {class: 'dim', text: 'and ' + (spans.length - MOST_MAX) + ' changes more: see below'})] : []));
}

/* Tables: one for all kinds of edges; nothing in a row that is not stated looks stated. */
const ALL_COLUMNS = [
	['share', 'share', edge => percent(edge.share), edge => edge.share],
	['shareof', 'interval', edge => percents(edge.shareLow, edge.shareHigh), null, 'range'],
	['bytes', 'bytes', edge => bytes(edge.bytes), edge => edge.bytes],
	['bytesof', 'interval', edge => range(edge.low, edge.high), null, 'range'],
	['rate', 'rate', edge => bytes(edge.bytes / seconds(edge.view)) + '/s', edge => edge.bytes],
	['bursts', 'bursts', edge => count(edge.samples), edge => edge.samples],
	['slices', 'slices', edge => count(edge.slices), edge => edge.slices],
];
/* What was counted has neither intervals nor bursts. */
const COLUMNS = ALL_COLUMNS.filter(([id]) => !exact || ['share', 'bytes', 'rate'].includes(id));
/* Where a PMU told it: where loads like the reader's found their data. */
const hasOrigins = !!main.view.hitm_low;
const originOf = name => edge => {
	const low = edge.view[name + '_low'];
	return low && low[edge.i] >= 0 ? percents(low[edge.i], edge.view[name + '_high'][edge.i]) : '-';
};
if (hasOrigins)
	for (const [name, title] of [['hitm', 'HITM'], ['remote', 'remote'], ['local', 'local']])
		COLUMNS.push([name, title, originOf(name), null, 'range']);
function button(text, title, onclick) {
	return el('button', {type: 'button', class: 'link', title, text, onclick});
}
function edgeTable(edges, ends, options) {
	const names = ends.map(([title, key]) => [key, title]);
	const key = options.sortable && state.sort ? state.sort.replace('-', '') : null, up = options.sortable && state.sort && state.sort.startsWith('-');
	const column = COLUMNS.find(c => c[0] === key), rows = edges.slice();
	if (column && column[3])
		rows.sort((a, b) => (b.stated - a.stated) || (up ? 1 : -1) * (column[3](a) - column[3](b)));
	const head = (id, title, cls) => {
		const cell = el('th', {scope: 'col', class: cls});
		if (options.sortable && COLUMNS.some(c => c[0] === id && c[3])) {
			cell.append(el('button', {type: 'button', text: title + (key === id ? (up ? ' \u25b4' : ' \u25be') : ''), onclick: () => go({sort: key === id && !up ? '-' + id : id}, true)}));
			set(cell, {'aria-sort': key === id ? (up ? 'ascending' : 'descending') : 'none'});
		} else {
			cell.textContent = title;
		}
		return cell;
	};
	const body = el('tbody');
	let shown = 0;
	const more = el('button', {type: 'button', onclick: () => add()});
	const add = () => {
		for (const edge of rows.slice(shown, shown + ROWS)) {
			const row = el('tr', {class: (edge.stated ? '' : 'open') + (options.chosen && options.chosen(edge) ? ' chosen' : '')});
			ends.forEach(([, name], i) => {
				const id = edge[name], text = (i === 0 && !edge.stated ? '? ' : '') + labelOf(id);
				row.append(el('td', {class: 'name'}, i === 0 && options.onpick ? button(text, labelOf(id, true), () => options.onpick(edge)) : el('span', {title: labelOf(id, true), text})));
			});
			for (const [, , text, , cls] of COLUMNS)
				row.append(el('td', {class: cls || 'num', text: text(edge)}));
			body.append(row);
		}
		shown = Math.min(rows.length, shown + ROWS);
		more.textContent = 'Show more: ' + count(rows.length - shown) + ' are left';
		more.hidden = shown >= rows.length;
	};
	add();
	const table = el('table', {}, el('thead', {}, el('tr', {}, ...names.map(([id, title]) => head(id, title, 'name')),
		...COLUMNS.map(c => head(c[0], c[1])))), body);
	return rows.length ? [table, more] : [];
}
function notStated(view, edges, all) {
	if (exact)
		return '';
	const hidden = all.filter(edge => !edge.stated).length, out = [];
	const one = view.edges_not_stated === 1;
	if (view.edges_not_stated)
		out.push(count(view.edges_not_stated) + (one ? ' flow, ' : ' flows, together ') + (view.total > 0 ? percent(view.bytes_not_stated / view.total) : '') + (one ? ', is' : ', are') + ' not confirmed' + (hidden && !state.unstated ? ' and not listed' : ' and marked ?') + '.');
	if (view.edges_left_out)
		out.push('The ' + count(view.edges_left_out) + ' smallest, together ' + bytes(view.bytes_left_out) + ', are not in this file.');
	return out.join(' ');
}
function ahead(view) {
	if (exact || !view.edges_not_stated)
		return '';
	if (!whole.fresh && view.blocks < 4)
		return 'It takes 4 slices of time to check a run against itself, here are ' + view.blocks + ': run longer, or with a shorter --slice.';
	return 'A longer run or a higher --overhead may tell more.';
}
function drawTable(view, edges) {
	const query = state.query, listed = listedEdges = edges.filter(visible).filter(matches);
	const stated = edges.filter(edge => edge.stated).length;
	const what = VIEWS[state.by].what, ends = state.at[0] || [], chosen = edge => what ? [edge.from, edge.to].includes(ends[0]) : String([edge.from, edge.to]) === String(ends);
	$('table').replaceChildren(...edgeTable(listed, what ? [['from', 'from'], ['to', 'to']] : VIEWS[state.by].order ? [['written', 'from'], ['read', 'to']] : [['writer', 'from'], ['reader', 'to']], {sortable: true, onpick: choose, chosen}));
	$('stated').textContent = exact ? count(view.edges) + ' flows, all of them counted.' :
		stated ? count(stated) + (stated === 1 ? ' flow is' : ' flows are') + ' confirmed.' : whole.fresh ? 'Nothing is confirmed: of no flow 10 windows say that it is surely 2 % or more.' : 'Nothing is confirmed: no flow is in both halves of what was sampled.';
	$('table-text').textContent = [query ? count(listed.length) + ' match the search.' : '', notStated(view, listed, edges), ahead(view),
		what ? 'Bytes go into ' + (state.by === 'object' ? 'an object' : 'what is of a type') + ' from its writers and out of it to its readers.' : '', isCell(view) ? 'Of ' + duration(view.from_s) + ' to ' + duration(view.to_s) + ' only.' : ''].filter(text => text).join(' ');
}

/* The way down: each step is a report by one grouping more, for the whole run. */
const partsOf = (by, step) => step < 0 ? [by] : stepsOf(by)[step].split(',');
/* What is chosen first in the view, then in each of the steps: what that one tells apart more than the one before. */
function chosenKind(i) {
	const before = i > 0 ? partsOf(state.by, i - 2) : [];
	return partsOf(state.by, i - 1).find(part => !before.includes(part));
}
/* Which edges of a step are of what was chosen; and these, by the part of their ends that is asked for. */
function chosenAt(view) {
	const found = [], wanted = state.at.map((ends, i) => [ends, view.parts.indexOf(chosenKind(i))]).filter(([, part]) => part >= 0);
	for (let i = 0; i < view.n; i++)
		if (wanted.every(([ends, part]) => endOf(view, i, 1, part) === ends[ends.length - 1] && (ends.length < 2 || endOf(view, i, 0, part) === ends[0])))
			found.push(i);
	return found;
}
const chosenEdges = (view, kind) => chosenAt(view).map(i => edgeAt(view, i, view.parts.indexOf(kind)));
const ENDS = {function: ['writing function', 'reading function'], line: ['writing line', 'reading line'], thread: ['writer', 'reader']};
const endsOf = kind => VIEWS[kind].what ? [[kind, 'from']] : ENDS[kind].map((title, i) => [title, i ? 'to' : 'from']);
/*
 * Icicle: from who writes down to who reads, by what is between: each row splits the one above it.  Widths
 * are bytes of the flows in this file, of which nothing more is said than that; hatched is what the run
 * does not confirm.  zoom: the ids on the way to the bar that has the whole width.
 */
const icicle = {zoom: [], of: '', bars: [], at: '', found: -1}, ICICLE_ROW = 23;
const barName = path => path.join('|');
/* One bar is reached by Tab, the others from it by arrows. */
function focusBar(bar) {
	if (!bar)
		return;
	icicle.at = barName(bar.path);
	for (const {element} of icicle.bars)
		element.setAttribute('tabindex', element === bar.element ? 0 : -1);
	bar.element.focus();
}
function zoomTo(path, focus) {
	icicle.zoom = path;
	drawIcicle();
	if (focus)
		focusBar(icicle.bars.find(bar => barName(bar.path) === barName(focus)) || icicle.bars[0]);
}
function icicleKey(event, bar) {
	const {bars} = icicle, row = bars.filter(one => one.row === bar.row).sort((a, b) => a.x - b.x), i = row.indexOf(bar);
	const to = {ArrowRight: () => row[i + 1], ArrowLeft: () => row[i - 1], Home: () => bars[0], ArrowDown: () => bars.filter(one => one.row === bar.row + 1 && one.x >= bar.x - 0.1 && one.x < bar.x + bar.w).sort((a, b) => a.x - b.x)[0],
		ArrowUp: () => bars.find(one => one.row === bar.row - 1 && one.x <= bar.x + 0.1 && one.x + one.w > bar.x)}[event.key];
	if (event.key === 'Enter' || event.key === ' ')
		zoomTo(bar.path, bar.path);
	else if (event.key === 'Escape')
		zoomTo(icicle.zoom.slice(0, -1), bar.path);
	else if (to)
		focusBar(to());
	else
		return;
	event.preventDefault();
}
/* The next bar whose name has what is searched for. */
function nextFound() {
	const found = icicle.bars.filter(bar => bar.isFound);
	icicle.found = found.length ? (icicle.found + 1) % found.length : -1;
	focusBar(found[icicle.found]);
}
const icicleStep = () => stepsOf(state.by).find(by => by.split(',').some(part => VIEWS[part].what) && !by.includes('line') && by.split(',').length > 1);
function icicleTree(view) {
	const what = view.parts.findIndex(part => VIEWS[part].what), ends = view.parts.map((part, i) => i).filter(i => i !== what && !VIEWS[view.parts[i]].order);
	const levels = [...ends.map(part => [0, part, 'writes']), [1, what, 'through'], ...ends.slice().reverse().map(part => [1, part, 'reads'])];
	const root = {id: null, bytes: 0, stated: 0, children: new Map()};
	for (const i of chosenAt(view)) {
		let at = root;
		at.bytes += view.bytes[i];
		at.stated += view.stated[i] ? view.bytes[i] : 0;
		for (const [end, part] of levels) {
			const id = endOf(view, i, end, part);
			if (!at.children.has(id))
				at.children.set(id, {id, bytes: 0, stated: 0, children: new Map()});
			at = at.children.get(id);
			at.bytes += view.bytes[i];
			at.stated += view.stated[i] ? view.bytes[i] : 0;
		}
	}
	return [root, levels];
}
function drawIcicle() {
	const step = icicleStep(), view = step && stepView(step), section = $('icicle').parentElement, query = state.query.toLowerCase();
	section.hidden = !view || !view.n;
	if (section.hidden)
		return;
	const [root, levels] = icicleTree(view), width = Math.max(300, section.clientWidth || 900), key = state.by + state.at.join();
	if (icicle.of !== key)
		Object.assign(icicle, {of: key, zoom: []});
	let top = root, depth = 0;
	for (const id of icicle.zoom) {
		if (!top.children.has(id))
			break;
		top = top.children.get(id);
		depth++;
	}
	icicle.zoom.length = depth;
	const rows = levels.length + 1, box = svg('svg', {viewBox: `0 0 ${width} ${rows * ICICLE_ROW}`, width, height: rows * ICICLE_ROW, role: 'group', 'aria-label': 'Icicle from writers to readers'});
	const draw = (node, x, w, row, path) => {
		const kind = row ? levels[row - 1][2] : 'through', text = node.id ? labelOf(node.id) : 'all that is chosen: ' + bytes(root.bytes), y = row * ICICLE_ROW;
		const says = (node.id ? labelOf(node.id, true) : text) + ' ' + (row ? {writes: 'writes', through: 'is gone through', reads: 'reads'}[kind] : '') + ': ' + bytes(node.bytes) + ', ' + percent(node.bytes / root.bytes) +
			(exact || node.stated >= node.bytes ? '' : ', of it ' + percent(node.stated / node.bytes) + ' confirmed');
		const isFound = query && node.id && text.toLowerCase().includes(query), one = {row, x, w, path, isFound};
		one.element = svg('rect', {class: 'bar-of ' + kind, x, y, width: w, height: ICICLE_ROW - 1, role: 'button', tabindex: -1, 'aria-label': says, onclick: () => zoomTo(path),
			onkeydown: event => icicleKey(event, one)}, svg('title', {}, says));
		icicle.bars.push(one);
		box.append(one.element);
		if (!exact && node.stated < node.bytes)
			box.append(svg('rect', {class: 'bar-open', x: x + w * node.stated / node.bytes, y, width: w * (1 - node.stated / node.bytes), height: ICICLE_ROW - 1}));
		if (isFound)
			box.append(svg('rect', {class: 'bar-found', x: x + 1, y: y + 1, width: Math.max(1, w - 2), height: ICICLE_ROW - 3}));
		if (w > 26)
			box.append(svg('text', {class: 'bar-name halo', x: x + 4, y: y + 15}, fitted(text, w - 8)));
		let at = x;
		for (const child of [...node.children.values()].sort((a, b) => b.bytes - a.bytes)) {
			const part = w * child.bytes / node.bytes;
			if (part >= 0.5)
				draw(child, at, part, row + 1, [...path, child.id]);
			at += part;
		}
	};
	icicle.bars = [];
	/* What was zoomed past stands above, whole. */
	let above = root;
	for (let i = 0; i < depth; i++) {
		const path = icicle.zoom.slice(0, i), one = {...above, children: new Map()};
		draw(one, 0, width, i, path);
		above = above.children.get(icicle.zoom[i]);
	}
	if (root.bytes > 0)
		draw(top, 0, width, depth, icicle.zoom.slice());
	$('icicle').replaceChildren(box);
	if (icicle.bars.length)
		(icicle.bars.find(bar => barName(bar.path) === icicle.at) || icicle.bars[0]).element.setAttribute('tabindex', 0);
	$('icicle-title').textContent = 'Writer to reader' + (state.at.length ? ': ' + state.at[state.at.length - 1].map(id => labelOf(id)).join(' \u2192 ') : '');
	$('icicle-text').textContent = 'Rows: ' + levels.map(([, part, kind], i) => (i && levels[i - 1][2] === kind ? '' : {writes: 'writing ', through: 'through ', reads: 'reading '}[kind]) + view.parts[part]).join(', ') +
		'. Widths are bytes' + (exact ? '' : '; hatched is not confirmed') + '. A click or Enter zooms in, on a bar above or Escape out; arrows go from bar to bar, / searches.' + (view.edges_left_out ? ' The smallest flows are not in this file.' : '');
}

/* CSV of the rows that are shown; no field is a formula to a spreadsheet. */
let listedEdges = [], listedDeep = [];
function csvText() {
	const field = value => {
		const text = /^[=+@-]/.test(String(value)) && typeof value !== 'number' ? '\'' + value : String(value);
		return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
	};
	const tab = tabOf(), rows = tab === 'deep' ? listedDeep : listedEdges;
	const lines = tab === 'changes' && main.changes ? changesRows() : tab === 'time' && streamRows.length ? timeRows() : tab === 'sharing' && main.cachelines.length ? sharingRows() : [['from', 'to', 'share', 'share_low', 'share_high', 'bytes', 'low', 'high', 'bursts', 'slices', 'confirmed'],
		...rows.map(edge => [labelOf(edge.from, true), labelOf(edge.to, true), edge.share, edge.shareLow, edge.shareHigh, edge.bytes, edge.low, edge.high, edge.samples, edge.slices, Number(edge.stated)])];
	return lines.map(row => row.map(field).join(',') + '\r\n').join('');
}
const number = value => value === null || value === undefined ? '' : value;
function changesRows() {
	const {shares, flows, of_share: ofShare} = main.changes;
	return [['part', 'verdict', 'a', 'b', 'times', 'times_low', 'times_high', 'what'],
		...shares.map(row => [row.part, row.verdict, row.a, row.b, '', '', '', row.of]),
		...flows.map(row => [ofShare ? 'share' : 'bytes a second', row.verdict, row.a, row.b, number(row.times), row.low, number(row.high), row.from + ' > ' + row.to])];
}
function timeRows() {
	return [['from', 'to', 'from_s', 'to_s', 'bytes', 'low', 'high', 'confirmed'],
		...streamRows.flatMap(([row, parts]) => parts.filter(([, edge]) => edge).map(([cell, edge]) =>
			[labelOf(row.from, true), labelOf(row.to, true), cell.from_s, cell.to_s, edge.bytes, edge.low, edge.high, Number(edge.stated)]))];
}
function sharingRows() {
	return [['line', 'verdict', 'confirmed', 'contended_a_second', 'low', 'high', 'bytes', 'thread', 'place', 'reads', 'writes'],
		...main.cachelines.flatMap(line => line.words.map(([byte, size, thread, at, reads, writes]) =>
			[lineName(line), line.verdict, Number(line.stated), line.contended, line.low, line.high, byte + '..' + (byte + size - 1), label('t', thread, true), label('l', at, true), reads, writes]))];
}
function saveCsv() {
	const url = URL.createObjectURL(new Blob([csvText()], {type: 'text/csv'}));
	el('a', {href: url, download: 'commprof-' + run.id + '-' + (['changes', 'time', 'sharing'].includes(tabOf()) ? tabOf() : state.by) + '.csv'}).click();
	setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/* The sentences of commctl report. */
function drawScreen() {
	const list = el('dl');
	for (const [title, share, text] of main.screen) {
		list.append(el('dt', {text: title}));
		if (share)
			list.append(el('dd', {class: 'share', text: share}), el('dd', {class: 'what', text}));
		else
			list.append(el('dd', {class: 'sentence', text}));
	}
	$('screen').replaceChildren(list);
	$('screen').hidden = !main.screen.length;
}

/* What commctl diff says of the run that this one is compared with. */
function drawChanges() {
	const changes = main.changes;
	if (!changes)
		return;
	const all = [...changes.shares, ...changes.flows], n = verdict => all.filter(row => row.verdict === verdict).length;
	const rate = value => !value ? '-' : changes.of_share ? percent(value) : bytes(value) + '/s', times = value => value === null ? 'any' : value < 0.0095 ? '<0.01' : value < 99.5 ? Number(value.toPrecision(2)).toString() : value.toFixed(0);
	const row = (verdict, part, a, b, ratio, of, what) => el('tr', {class: verdict === 'more' || verdict === 'less' ? 'changed' : 'open'},
		el('td', {class: 'name', text: part}), el('td', {class: 'name', text: verdict}), ...[a, b, ratio, of].map(text => el('td', {class: 'num', text})), el('td', {class: 'name', text: what}));
	const table = el('table', {}, el('thead', {}, el('tr', {}, ...['', 'from A to B', 'A', 'B', 'times', 'interval', 'what'].map((text, i) =>
		el('th', {scope: 'col', class: [0, 1, 6].includes(i) ? 'name' : null, text: text || 'part'})))));
	table.append(el('tbody', {}, ...changes.shares.map(one => row(one.verdict, one.part, one.a, one.b, '', '', one.of)),
		...changes.flows.slice(0, 10 * ROWS).map(one => row(one.verdict, changes.shares.length ? 'OLDER' : 'FEEDS', rate(one.a), rate(one.b), one.times === null ? 'new' : one.times ? times(one.times) : 'gone', times(one.low) + '\u2009\u2013\u2009' + times(one.high), one.from + ' \u2192 ' + one.to))));
	$('changes-title').textContent = 'What changed from ' + changes.other + ' (A) to this run (B)';
	$('changes-text').textContent = n('more') + ' more, ' + n('less') + ' less, ' + n('same') + ' the same, ' + n('cannot tell') + ' that cannot be told. ' + changes.unlike;
	$('changes-table').replaceChildren(all.length ? table : '');
	$('changes-foot').textContent = changes.compared && !changes.same_run ? 'The same is what changed by less than a factor of ' + changes.margin + (changes.shares.length ? ', of a survey\u2019s shares by less than 5 of 100' : '') +
		'. Were nothing changed, the chance of any more or less among these ' + changes.compared + ' would be ' + (changes.alarm * 100) + ' %.' : '';
}

const stepView = by => (data(2) || []).find(one => one.by === by);
/* Types beside objects. */
function typesTable(by) {
	const view = chosenKind(state.at.length) === 'object' && stepView(by.replace('object', 'type'));
	const listed = view ? chosenEdges(view, 'type').filter(visible) : [];
	return listed.length ? [el('h3', {text: 'The same by the type of what is read'}), el('div', {class: 'scroll'}, ...edgeTable(listed, endsOf('type'), {}))] : [];
}
function drawDeep() {
	const depth = state.at.length;
	$('deep').hidden = !depth;
	if (!depth)
		return;
	const by = stepsOf(state.by)[depth - 1], kind = chosenKind(depth), what = VIEWS[kind].title, view = stepView(by);
	const chosen = state.at.map(ends => ends.map(id => labelOf(id)).join(' \u2192 '));
	$('path').replaceChildren(...chosen.map((text, i) => el('li', {}, i === depth - 1 ? el('span', {text, 'aria-current': 'step'}) : button(text, null, () => go({at: state.at.slice(0, i + 1)})))));
	$('deep-title').textContent = 'What it is made of: ' + what;
	if (!view) {
		$('deep-text').textContent = complete ? 'This step is not in this file: the run has too many such flows to tell them apart in time.' : 'Loading.';
		$('deep-table').replaceChildren();
		$('deep-types').replaceChildren();
		return;
	}
	const all = chosenEdges(view, kind), listed = listedDeep = all.filter(visible), hidden = all.length - listed.length, isLast = depth === stepsOf(state.by).length;
	const pick = edge => go({at: [...state.at, VIEWS[kind].what ? [edge.from] : [edge.from, edge.to]]});
	$('deep-table').replaceChildren(...edgeTable(listed, endsOf(kind), {onpick: isLast ? null : pick}));
	$('deep-types').replaceChildren(...typesTable(by));
	if (kind === 'line')
		$('deep-table').append(...excerpts(listed));
	$('deep-text').textContent = [
		'Of the whole run; shares are of all that is seen between threads.',
		!all.length ? 'Nothing was seen here that is large enough to be in this file.' : listed.length ? '' : all.length === 1 ? 'The one flow that was seen here is not confirmed by the run.' : 'None of the ' + count(all.length) + ' flows that were seen here is confirmed by the run.',
		hidden && listed.length ? count(hidden) + ' more are not confirmed.' : '',
		hidden ? 'Tick \u201calso what is not confirmed\u201d to list them.' : '',
		view.edges_left_out ? 'Of all such flows the ' + count(view.edges_left_out) + ' smallest, together ' + bytes(view.bytes_left_out) + ', are not in this file.' : '',
	].filter(text => text).join(' ');
}
function excerpts(edges) {
	const files = sources(), out = [], seen = new Set();
	if (!files)
		return [];
	if (!files.asked)
		return [el('p', {class: 'dim', text: 'Source is shown where commctl html --source-dir DIR finds it.'})];
	for (const edge of edges.slice(0, 20))
		for (const id of [edge.from, edge.to]) {
			const excerpt = Object.hasOwn(files.lines, id) ? files.lines[id] : null, node = tables.l[indexOf(id)];
			if (seen.has(id) || !node)
				continue;
			seen.add(id);
			out.push(el('h3', {class: 'mono', text: labelOf(id, true)}));
			if (!excerpt) {
				out.push(el('p', {class: 'dim', text: node[3] ? 'The source was not found.' : 'Its line is not known: the program has no debug information for it.'}));
				continue;
			}
			if (excerpt.newer)
				out.push(el('p', {class: 'warn', text: 'This file was changed after the run began: it may not be what ran.'}));
			out.push(el('pre', {tabindex: 0, 'aria-label': 'Source of ' + labelOf(id)}, ...excerpt.text.map((text, i) =>
				el('span', {class: excerpt.first + i === node[4] ? 'hit' : ''}, String(excerpt.first + i).padStart(6) + '  ' + text))));
		}
	return out;
}

/* Cache lines: the worst first, one of them opened to who uses which of its bytes. */
const VERDICTS = {false: 'false', true: 'true', both: 'both', unclear: 'cannot tell'};
/* Two digits: samples know no more of it. */
const perSecond = n => n >= 1 ? count(+n.toPrecision(2)) : n > 0 ? '<1' : '-';
const ofLine = share => share >= 0.01 ? Math.round(100 * share) + ' %' : share > 0 ? '<1 %' : '-';
function lineName(line) {
	const offset = line.offset === undefined ? '' : (line.offset < 0 ? '\u2212' : '+') + '0x' + Math.abs(line.offset).toString(16);
	return label('o', line.object) + offset;
}
function openLine(i) {
	go({line: state.line === i ? -1 : i});
	const title = $('sharing-line-title');
	if (!title)
		return;
	title.focus({preventScroll: true});
	title.scrollIntoView({block: 'start', behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth'});
}
/* A row for each thread, 64 columns for the bytes: filled where it writes, framed where it reads. */
function lineMap(line) {
	const threads = [...new Set(line.words.map(word => word[2]))].slice(0, 16), left = 150, cell = 9, row = 18, width = left + 64 * cell + 2;
	const map = svg('svg', {role: 'img', viewBox: '0 0 ' + width + ' ' + (row * threads.length + 18), width, height: row * threads.length + 18,
		'aria-label': 'The 64 bytes of the line, with a row for each thread: filled what it writes, framed what it reads'});
	threads.forEach((thread, y) => {
		map.append(svg('text', {x: left - 8, y: y * row + 14, 'text-anchor': 'end', text: fitted(label('t', thread), left - 10)}));
		map.append(svg('rect', {class: 'empty', x: left, y: y * row + 2, width: 64 * cell, height: row - 4}));
		for (const [byte, size, , , reads, writes] of line.words.filter(word => word[2] === thread)) {
			const at = {x: left + byte * cell + 1, y: y * row + 3, width: size * cell - 2, height: row - 6};
			if (writes > 0)
				map.append(svg('rect', {class: 'writes', ...at}));
			if (reads > 0)
				map.append(svg('rect', {class: 'reads', ...at}));
		}
	});
	for (let byte = 0; byte < 64; byte += 8)
		map.append(svg('text', {class: 'dim', x: left + byte * cell, y: row * threads.length + 14, text: byte}));
	return map;
}
function drawLine(line) {
	const head = el('thead', {}, el('tr', {}, ...['bytes', 'thread', 'reads', 'writes', 'mostly at'].map((text, i) => el('th', {scope: 'col', class: i === 1 || i === 4 ? 'name' : null, text}))));
	const rows = line.words.map(([byte, size, thread, place, reads, writes]) => el('tr', {},
		el('td', {class: 'num', text: byte + '\u2009\u2013\u2009' + (byte + size - 1)}), el('td', {class: 'name', text: label('t', thread)}),
		el('td', {class: 'num', text: ofLine(reads)}), el('td', {class: 'num', text: ofLine(writes)}), el('td', {class: 'name mono', text: label('l', place)})));
	const advice = line.verdict === 'false' ? 'None of these threads needs what the others write here. Begin what belongs to one thread on a line of its own' + (/\.(c|h|cc|hh|cpp|hpp|cxx):/.test(line.words.map(word => label('l', word[3])).join(' ')) ? ', alignas(64),' : '') + ' or keep it in the thread\u2019s own memory and sum it up when it is read.' :
		line.verdict === 'true' ? 'They use the same bytes: another layout does not help, fewer or batched accesses do.' :
		line.verdict === 'both' ? 'Some come for the same bytes, some for others alone: what is apart can be moved to a line of its own.' : 'The run does not tell how it is shared: too few bursts met it, the halves of the run differ, or the same bytes of a heap may have been given to one thread after the other.';
	const places = [...new Set(line.words.map(word => idOf('l', word[3])))].map(id => ({from: id, to: id}));
	$('sharing-line').replaceChildren(el('h3', {id: 'sharing-line-title', tabindex: -1, text: lineName(line) + ': ' + VERDICTS[line.verdict] + (line.stated ? ' sharing' : '')}),
		el('p', {text: advice}), el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Bytes of the line'}, lineMap(line)),
		el('div', {class: 'scroll'}, el('table', {}, head, el('tbody', {}, ...rows))),
		line.left ? el('p', {class: 'dim', text: count(line.left) + ' more of smaller ones.'}) : '', ...(complete ? excerpts(places) : []));
}
function drawSharing() {
	const all = main.cachelines, listed = all.map((line, i) => [line, i]).filter(([line]) => line.stated || state.unstated);
	const stated = all.filter(line => line.stated).length, open = all[state.line];
	$('sharing').hidden = !all.length;
	if (!all.length)
		return;
	$('sharing-text').textContent = [stated ? '' : 'None is confirmed.', all.length > stated && !state.unstated ? count(all.length - stated) + ' more are not confirmed: tick \u201calso what is not confirmed\u201d to list them.' : '',
		main.cachelines_left_out ? count(main.cachelines_left_out) + ' more are not in this file.' : '',
		'An access may be contended when another thread writes in the same 64 bytes, or when it writes and another uses them. It is true sharing as far as the others use the same bytes, else false sharing. How many waited for it samples do not tell: one that waits looks like many that do not.'].filter(text => text).join(' ');
	const head = el('thead', {}, el('tr', {}, ...['sharing', 'line', 'contended/s, at most', 'true', 'bursts', 'turns seen'].map((text, i) => el('th', {scope: 'col', class: i < 2 ? 'name' : null, text}))));
	const rows = listed.map(([line, i]) => el('tr', {class: i === state.line ? 'chosen' : line.stated ? '' : 'open'},
		el('td', {class: 'name', text: (line.stated ? '' : '? ') + VERDICTS[line.verdict]}),
		el('td', {class: 'name'}, set(button(lineName(line), 'Who uses which of its bytes', () => openLine(i)), {'aria-expanded': String(i === state.line)})),
		el('td', {class: 'num', text: perSecond(line.high)}), el('td', {class: 'range', text: percents(line.true_low, line.true_high)}),
		el('td', {class: 'num', text: count(line.bursts)}), el('td', {class: 'num', text: count(line.turns)})));
	$('sharing-table').replaceChildren(listed.length ? el('table', {}, head, el('tbody', {}, ...rows)) : '');
	if (open && (open.stated || state.unstated))
		drawLine(open);
	else
		$('sharing-line').replaceChildren();
}

/* Always there: cost, losses, how much is seen. */
function drawStatus() {
	const item = (title, ...text) => el('span', {}, el('b', {text: title + ' '}), ...text);
	const items = [], lost = main.loss.reduce((sum, loss) => sum + loss.n, 0);
	const settled = run.settled < 0 ? '' : (run.settled > run.allowed ? '' : ' as it set up') + ', ' + percent(run.settled) + ' after the first ' + duration(run.settling_s);
	const limit = run.limit > 0 ? ', limit ' + (run.least > 0 ? percent(run.least) + ' to ' : '') + percent(run.limit) + (whole.cost > run.allowed ? ': over the limit' + settled : '') : '';
	items.push(item('Cost', exact ? 'not limited: the program ran slower to be counted' : whole.cost < 0 ? 'unknown' + limit : percent(whole.cost) + ' of the target\u2019s CPU time' + limit));
	items.push(item('Lost', el('a', {href: '#account-title', onclick: event => { event.preventDefault(); openTab('account', 'account-title'); },
		text: !main.loss.length ? 'nothing that was counted' : count(lost) + ' in ' + main.loss.length + (main.loss.length === 1 ? ' way' : ' ways')})));
	const falsely = main.cachelines.filter(line => line.stated && line.verdict === 'false').length;
	if (falsely)
		items.push(item('False sharing', el('a', {href: '#sharing-title', onclick: event => { event.preventDefault(); openTab('sharing', 'sharing-title'); },
			text: falsely === 1 ? 'of one cache line' : 'of ' + count(falsely) + ' cache lines'})));
	if (run.deleted_s)
		items.push(item('Deleted', duration(run.deleted_s) + ' of its oldest time'));
	if (!exact && whole.read > whole.polled)
		items.push(item('Writer seen', 'for ' + percent(whole.seen / (whole.read - whole.polled)) + ' of the ' + bytes(whole.read - whole.polled) + ' read' +
			(whole.polled > 0.01 * whole.read ? ', besides ' + bytes(whole.polled) + ' in loops that wait' : '') + '; shares are of what is seen'));
	items.push(item('Figures', exact ? 'counted' : 'estimates, intervals of ' + (whole.confidence * 100).toFixed(0) + ' %'));
	$('status').replaceChildren(...items);
}
const PARTS = {
	others: first => 'written by another ' + main.view.noun,
	self: () => 'written by the same thread',
	within: () => 'written by the same thread',
	unasked: () => 'without the thread asked for',
	polled: () => 'read over and over in loops that write nothing, as threads do that wait for another\u2019s write',
	unseen: () => exact ? 'never written by the program: constants, files' : whole.fresh ? 'not written during its window, or it is not known by whom' : 'writer not seen: constants, files, data older than the run, the kernel, other processes, and what is written too rarely for a sample to meet it',
	folded: () => 'folded into (other): too many small edges',
};
function drawAccount() {
	const rows = main.account.filter(part => part.bytes > 0 && PARTS[part.part]).map(part => el('tr', {},
		el('td', {class: 'num', text: part.stated ? percent(part.share) : 'not known'}),
		el('td', {class: 'range', text: exact || (!part.stated && (part.object || main.view.blocks < 4)) ? '' : percents(part.low, part.high)}),
		el('td', {class: 'name', text: PARTS[part.part]() + (!part.stated && part.object ? ': most of it is in one object, ' + part.object : '')})));
	$('account-table').replaceChildren(el('table', {}, el('caption', {class: 'dim', text: 'Of ' + bytes(whole.read) + (whole.first_read ? ' read for the first time since written' : whole.fresh ? ' read of data that changes within 1 s' : ' read in all; every read counts, a repeated one too')}),
		el('thead', {}, el('tr', {}, el('th', {scope: 'col', text: 'share'}), el('th', {scope: 'col', text: 'interval'}), el('th', {scope: 'col', class: 'name', text: 'what'}))), el('tbody', {}, ...rows)));
	$('losses').replaceChildren(main.loss.length || run.deleted_s ? el('table', {}, el('thead', {}, el('tr', {}, el('th', {scope: 'col', text: 'how many'}), el('th', {scope: 'col', class: 'name', text: 'what'}))),
		el('tbody', {}, ...main.loss.map(loss => el('tr', {}, el('td', {text: count(loss.n)}), el('td', {text: loss.help || loss.cause}))),
			...(run.deleted_s ? [el('tr', {}, el('td', {text: duration(run.deleted_s)}), el('td', {text: 'of the run\u2019s oldest time, deleted to stay within the quota or the disk'}))] : []))) :
		el('p', {text: 'Nothing that was counted.'}));
	$('reading').textContent = exact ? 'Counted, not estimated. Times and rates are those of the slowed program, and so is the order in which threads took turns.' :
		(whole.fresh ? 'Seen in windows on words that change soon, drawn at random: who writes them last before they are read. ' : 'Estimates from samples. ') +
		(whole.fresh ? 'Confirmed is what 10 windows saw and is surely 2 % or more, or what both halves of the run agree on, known to 3 to 1. ' : 'Confirmed is what both halves of the run agree on, and whose share or bytes are known to 3 to 1. ') +
		'Intervals of ' + (whole.confidence * 100).toFixed(0) + ' % hold sampling noise, what the run\u2019s own parts differ by, and ' + (whole.fresh ? 'how long code takes for what it reads. ' : 'doubts about who wrote what was read. ') +
		'All rates may be wrong by one and the same factor, ' + whole.factor.toFixed(2) + ', which shares do not have; small or rare flows may be missing altogether. A ? marks what is not confirmed: ' +
		(whole.fresh ? 'fewer than 10 windows saw it, or it may be under 2 %.' : 'fewer than 5 bursts in 4 slices behind it, halves of the run that differ, or neither its share nor its bytes known to 3 to 1.') +
		(hasOrigins ? ' HITM, remote, local: where loads like the reader\u2019s, at the same place and object, found their line: in another core, which had written it; else in another socket; else in this one. Intervals of sampled loads; - where it is not known.' : '');
}
function drawHead() {
	const called = run.label ? ' (' + run.label + ')' : '';
	$('title').textContent = 'Run ' + run.id + called + ': ' + run.target;
	document.title = 'commprof: ' + run.target + called;
	$('about').textContent = [run.start + ', ' + duration(run.length_s) + ' on ' + run.host + (run.state === 'finished' ? ', ended: ' : ', ') + run.how,
		'source ' + run.source + ' (' + run.event + '), estimator ' + run.estimator + ', ' + run.granularity + '-byte granularity',
		exact ? count(whole.accesses) + ' accesses, all of them counted' : count(whole.samples) + ' samples, ' + count(whole.bursts) + ' bursts, ' + count(whole.accesses) + ' accesses',
		run.setup_s ? duration(run.setup_s) + ' of CPU once, to set up' : '', whole.first_read ? 'first reads only' : whole.fresh ? 'fresh data alone, by ' + count(whole.windows) + ' windows' : '',
		whole.to_s - whole.from_s < run.length_s * 0.999 ? 'only ' + duration(whole.from_s) + ' to ' + duration(whole.to_s) + ' of it' : '', 'commprof ' + main.version].filter(text => text).join('; ');
	$('notes').textContent = 'Note: ' + run.notes;
	$('notes').hidden = !run.notes;
}
function drawControls() {
	$('unstated').checked = state.unstated;
	$('unstated').parentElement.hidden = exact;
	if ($('search').value !== state.query)
		$('search').value = state.query;
	$('order').value = state.order;
	$('order').parentElement.hidden = VIEWS[state.by].order || VIEWS[state.by].flat;
	$('by').value = state.by;
	$('view-help').textContent = VIEWS[state.by].help || '';
}
function draw() {
	const view = currentView();
	drawTabs();
	drawControls();
	drawStatus();
	drawTime();
	drawSharing();
	if (!view) {
		$('stated').textContent = complete ? 'This run has no such figures.' : 'Loading.';
		return;
	}
	const edges = edgesOf(view), isFlat = VIEWS[state.by].flat;
	$('matrix').parentElement.hidden = isFlat;
	if (!isFlat)
		drawMatrix(view, edges);
	drawIcicle();
	drawGraph(view, edges);
	drawStreams();
	drawTable(view, edges);
	drawDeep();
}

for (const {by} of main.by) {
	const group = VIEWS[by].group || 'between';
	if (!$(group))
		$('by').append(el('optgroup', {id: group, label: {through: 'Through', when: 'Written and read when'}[group]}));
	$(group).append(el('option', {value: by, text: VIEWS[by].title}));
}
$('by').addEventListener('change', event => go({by: event.target.value, at: [], sort: null}));
$('csv').addEventListener('click', saveCsv);
$('controls').addEventListener('submit', event => event.preventDefault());
$('unstated').addEventListener('change', event => go({unstated: event.target.checked}));
$('search').addEventListener('input', event => {
	icicle.found = -1;
	go({query: event.target.value}, true);
});
$('search').addEventListener('keydown', event => event.key === 'Enter' && nextFound());
addEventListener('keydown', event => {
	if (event.key !== '/' || event.ctrlKey || event.altKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName))
		return;
	event.preventDefault();
	$('search').focus();
});
$('order').addEventListener('change', event => go({order: event.target.value}, true));
$('reset').addEventListener('click', () => go(START));
$('cell').addEventListener('input', event => go({cell: Number(event.target.value) - 1}, true));
$('matrix').addEventListener('mousemove', event => matrixAt(event) && moveCursor());
$('matrix').addEventListener('mouseleave', () => moveCursor(true));
$('matrix').addEventListener('focus', () => moveCursor());
$('matrix').addEventListener('blur', () => moveCursor(true));
$('matrix').addEventListener('click', event => matrixAt(event) && choose(matrix.cells.get(matrix.row * matrix.n + matrix.column)));
$('matrix').addEventListener('keydown', event => {
	const step = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
	if (event.key === 'Enter' || event.key === ' ')
		choose(matrix.cells.get(matrix.row * matrix.n + matrix.column));
	else if (event.key === 'Home')
		matrix.column = 0;
	else if (event.key === 'End')
		matrix.column = matrix.n - 1;
	else if (step) {
		matrix.row = Math.max(0, Math.min(matrix.m - 1, matrix.row + step[0]));
		matrix.column = Math.max(0, Math.min(matrix.n - 1, matrix.column + step[1]));
	} else
		return;
	event.preventDefault();
	moveCursor();
});
for (const name of ['popstate', 'hashchange'])
	addEventListener(name, () => {
		readHash();
		draw();
	});
isDark.addEventListener('change', draw);
/* Who waits for a picture, as readers of screens do, sees that it is whole when nothing is busy. */
function finish(drawing) {
	drawing();
	$('main').ariaBusy = 'false';
}
let resized = 0;
addEventListener('resize', () => {
	clearTimeout(resized);
	$('main').ariaBusy = 'true';
	resized = setTimeout(() => finish(draw), 100);
});
addEventListener('DOMContentLoaded', () => {
	const all = state.by === 'thread' && state.cell < 0 && !state.at.length;
	complete = true;
	/* After the first picture, which lacks what the data behind the script has. */
	const drawParts = () => {
		drawTime();
		drawSharing();
		drawIcicle();
		drawStreams();
	};
	requestAnimationFrame(() => setTimeout(() => finish(all ? drawParts : draw)));
});

$('main').ariaBusy = 'true';
readHash();
drawHead();
drawScreen();
drawAccount();
drawChanges();
draw();
})();
