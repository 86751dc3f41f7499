/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps a page current that commctl serve has made, and offers the runs of its store.  The page is loaded anew, by its address, which
 * holds what is looked at, and never while somebody uses it.
 */
'use strict';
(() => {
const USED_MS = 3000, LOOK_MS = 500, AGAIN_MS = 10000;
const TIMES = [['', 'the whole run'], ['-60s', 'its last minute'], ['-10m', 'its last 10 minutes'], ['-1h', 'its last hour']];
const live = JSON.parse(document.getElementById('live').textContent);
const asked = new URLSearchParams(location.search);
let events = null, waits = false, used = 0, asking = false;

function el(tag, attributes, ...children) {
	const node = Object.assign(document.createElement(tag), attributes);
	node.append(...children);
	return node;
}
/* What is kept for the page that comes after this one, where the browser keeps anything. */
function keep(name, value) {
	try {
		sessionStorage.setItem('commprof-' + name, JSON.stringify(value));
	} catch (error) { /* then it is not kept */ }
}
function kept(name) {
	try {
		return JSON.parse(sessionStorage.getItem('commprof-' + name));
	} catch (error) {
		return null;
	}
}

const runs = el('select', {id: 'live-run'}), from = el('select', {id: 'live-from'});
const follow = el('input', {type: 'checkbox', id: 'live-follow', checked: kept('follow') !== false});
const now = el('button', {type: 'button', id: 'live-now', hidden: true, textContent: 'Show what is new'});
const state = el('span', {id: 'live-state', role: 'status'});
document.querySelector('header').append(el('form', {id: 'live-bar', ariaLabel: 'Runs of the store'},
	el('label', {}, 'Run ', runs), el('label', {}, 'Of it ', from), el('label', {}, follow, ' keep current'), now, state));

function goTo(change) {
	for (const name in change)
		if (change[name])
			asked.set(name, change[name]);
		else
			asked.delete(name);
	location.assign(location.pathname + (asked.toString() ? '?' + asked : '') + location.hash);
}
const timeOf = run => new Date(run.start_unix_ns / 1e6).toLocaleString();
const nameOf = run => run.id + (run.label ? ' (' + run.label + ')' : '') + ', ' + timeOf(run) + ': ' + run.target.slice(0, 60);
async function readRuns() {
	const answer = await fetch('runs.json');
	if (!answer.ok)
		return;
	const list = (await answer.json()).runs.reverse();
	const newest = el('option', {value: '', textContent: 'the latest' + (list.length ? ', ' + nameOf(list[0]) : '')});
	runs.replaceChildren(newest, ...list.map(run => el('option', {value: run.id, textContent: nameOf(run)})));
	runs.value = live.run || '';
	const shown = live.run ? list.find(run => run.id === live.run) : list[0];
	state.textContent = !shown ? '' : shown.state === 'running' ? 'The run goes on.' : 'The run has ended.';
}
const tryRuns = () => readRuns().catch(() => { /* the stream of events says so */ });

/* Whoever reads, marks, types or points at something keeps it. */
const isUsed = () => document.hidden || !getSelection().isCollapsed || performance.now() - used < USED_MS;
async function refresh() {
	asking = true;
	try {
		/* The server makes the page, and has it when it is loaded; a page that says less than this one is not wanted. */
		if ((await fetch(location.href, {method: 'HEAD'})).ok) {
			keep('place', {url: location.href, y: scrollY, focus: document.activeElement.id});
			location.reload();
			return;
		}
		waits = false;
	} catch (error) { /* it is asked for again */ }
	asking = false;
}
function look() {
	now.hidden = !waits || (follow.checked && !isUsed());
	if (waits && follow.checked && !asking && !isUsed())
		refresh();
}

function listen() {
	events = new EventSource('events?' + new URLSearchParams({...(live.run ? {run: live.run} : {}), seen: live.seen}));
	events.addEventListener('slice', event => {
		live.seen = event.lastEventId;
		waits = true;
		look();
	});
	events.addEventListener('runs', event => {
		live.seen = event.lastEventId;
		tryRuns();
	});
	events.onopen = tryRuns;
	events.onerror = () => {
		state.textContent = 'commctl serve does not answer.';
		if (events.readyState === EventSource.CLOSED)
			setTimeout(restart, AGAIN_MS);
	};
}
/* A browser has few connections to a server: those that nobody looks at leave them to others. */
function restart() {
	if (events)
		events.close();
	events = null;
	if (!document.hidden)
		listen();
}

from.append(...TIMES.map(([value, text]) => el('option', {value, textContent: text})));
if (asked.get('from') && !TIMES.some(([value]) => value === asked.get('from')))
	from.append(el('option', {value: asked.get('from'), textContent: 'from ' + asked.get('from')}));
from.value = asked.get('from') || '';
runs.addEventListener('change', () => goTo({run: runs.value}));
from.addEventListener('change', () => goTo({from: from.value}));
follow.addEventListener('change', () => {
	keep('follow', follow.checked);
	used = -USED_MS;
	look();
});
now.addEventListener('click', refresh);
for (const name of ['pointerdown', 'pointermove', 'keydown', 'wheel', 'input'])
	addEventListener(name, () => used = performance.now(), {passive: true, capture: true});
used = -USED_MS;
setInterval(look, LOOK_MS);
document.addEventListener('visibilitychange', restart);
addEventListener('pagehide', () => events && events.close());

/* Where the page before this one was left, once the figures are there. */
const place = kept('place');
keep('place', null);
if (place && place.url === location.href) {
	history.scrollRestoration = 'manual';
	const put = () => {
		if (document.getElementById('main').ariaBusy === 'true')
			return requestAnimationFrame(put);
		scrollTo(0, place.y);
		const focus = place.focus && document.getElementById(place.focus);
		if (focus)
			focus.focus({preventScroll: true});
		history.scrollRestoration = 'auto';
	};
	addEventListener('DOMContentLoaded', () => requestAnimationFrame(put));
}
restart();
})();
