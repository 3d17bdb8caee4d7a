/** The dashboard: polls the edge, and shows its figures. */

import { admissionPanel } from './admission.js';
import { followDownloads } from './downloads.js';
import { clientsPanel, errorsPanel, filesPanel, processesPanel, tiles } from './lists.js';
import { bytesPanel, eventsChart, tiersPanel, windowPanel } from './panels.js';
import { peersPanel } from './peers.js';
import { cut, extended, total } from './series.js';

const POLL_MS = 2000;
/** Interval of polling an edge that does not answer. */
const OFFLINE_POLL_MS = 3000;
const TIMEOUT_MS = 10_000;
/** Transfers that the edge has ended. */
const ENDED = [
  { series: 'purged', text: 'Vanished' },
  { series: 'offloaded', text: 'offloaded' },
];

/**
 * Times that can be chosen: the steps to show, the words, and when demand for a file is worth half.
 *
 * @type {Record<string, [number, string, string]>}
 */
const RANGES = {
  minutes: [61, 'last 5 minutes', 'two minutes'],
  usual: [360, 'last 30 minutes', 'ten minutes'],
  day: [288, 'last 24 hours', 'six hours'],
};

/** @type {import('./series.js').Steps | undefined} */
let steps;
/** @type {any} */
let latest;
/** @type {Date | undefined} */
let offlineSince;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
let asking = false;
/** Number of times that were chosen: an answer to a question before the last one is of no use. */
let choices = 0;

/**
 * Returns the width of the first column of a grid, pixels.
 *
 * @param {string} id
 */
function columnOf(id) {
  return Math.floor(Number.parseFloat(getComputedStyle(place(id)).gridTemplateColumns));
}

/** @param {string} id */
function place(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

async function poll() {
  clearTimeout(timer);
  if (asking) return;
  asking = true;
  const asked = choices;
  try {
    const query = new URLSearchParams({ range: chosen() });
    if (steps !== undefined) query.set('since', String(latestStep(steps)));
    const answer = await fetch(`/-/dashboard/data?${query}`, {
      cache: 'no-store',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    // The session is over: the page becomes the log-in.
    if (answer.status === 401) return location.reload();
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const data = await answer.json();
    if (asked === choices) {
      show(data);
      online();
    }
  } catch {
    offline();
  } finally {
    asking = false;
  }
  // A hidden page does not poll; it does at once when it is shown again.
  if (document.hidden) return;
  const pause = offlineSince === undefined ? POLL_MS : OFFLINE_POLL_MS;
  timer = setTimeout(poll, asked === choices ? pause : 0);
}

function chosen() {
  return /** @type {HTMLSelectElement} */ (place('range')).value;
}

/** @param {import('./series.js').Steps} known */
function latestStep(known) {
  return known.first + Math.max(0, (Object.values(known.series)[0]?.length ?? 1) - 1);
}

/** @param {any} data */
function show(data) {
  // An edge that was started again counts from zero.
  const restarted = latest !== undefined && data.status.uptimeSeconds < latest.status.uptimeSeconds;
  steps = restarted ? data.history : extended(steps, data.history);
  latest = data;
  draw();
}

function draw() {
  if (latest === undefined || steps === undefined) return;
  const { status, files, errors, refused } = latest;
  const [most, range, half] = RANGES[chosen()] ?? [360, '', ''];
  const some = cut(steps, most);
  const shown = (/** @type {string} */ id) => ({
    ...{ steps: some, status, range },
    width: place(id).clientWidth,
  });
  fill('tiles', tiles(status, some));
  fill('bytes', bytesPanel(/** @type {any} */ (shown('bytes'))));
  fill('tiers', tiersPanel(/** @type {any} */ (shown('tiers'))));
  fill('window', windowPanel(/** @type {any} */ (shown('window'))));
  // Without other edges, a card beside the window's would be empty.
  for (const id of ['peers', 'window']) {
    place(id)
      .closest('.panel')
      ?.classList.toggle('full', status.peers.length === 0);
  }
  fill('peers', peersPanel(status.peers, some, range));
  fill('files', filesPanel(files, range, half));
  fill('admission', admissionPanel(status.admission, refused));
  fill('errors', [
    eventsChart(/** @type {any} */ ({ ...shown('errors'), width: columnOf('errors') }), [
      { series: 'errors', text: 'Errors' },
    ]),
    ...errorsPanel(errors, total(some, 'requests'), range),
  ]);
  fill('clients', [
    eventsChart(/** @type {any} */ (shown('clients')), ENDED),
    ...clientsPanel(status),
  ]);
  fill('processes', processesPanel(status));
}

/**
 * Replaces the content of a panel, unless some of it is being selected. A list that is scrolled,
 * or was reached with the keyboard, stays where it is.
 *
 * @param {string} id
 * @param {readonly Node[]} content
 */
function fill(id, content) {
  const panel = place(id);
  const selection = getSelection();
  if (selection?.isCollapsed === false && selection.containsNode(panel, true)) return;
  const before = panel.querySelector('.scroll');
  const scrolled = before?.scrollTop ?? 0;
  const hasFocus = before !== null && before === document.activeElement;
  panel.replaceChildren(...content);
  const after = panel.querySelector('.scroll');
  if (scrolled > 0) after?.scrollTo(0, scrolled);
  if (hasFocus && after instanceof HTMLElement) after.focus({ preventScroll: true });
}

function online() {
  offlineSince = undefined;
  place('offline').hidden = true;
  setState(latest.status.draining ? 'Draining' : 'Live', latest.status.draining ? 'warn' : 'live');
}

function offline() {
  if (offlineSince !== undefined) return;
  offlineSince = new Date();
  const time = offlineSince.toLocaleTimeString('en-GB');
  place('offline').textContent =
    `This edge has not answered since ${time}. The figures below are older. The page keeps asking.`;
  place('offline').hidden = false;
  setState('Offline', 'away');
}

/**
 * Shows the state; screen readers are told only when it changes.
 *
 * @param {string} text
 * @param {string} kind
 */
function setState(text, kind) {
  const state = place('state');
  if (state.textContent !== text) state.textContent = text;
  state.dataset.kind = kind;
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden) clearTimeout(timer);
  else void poll();
});
addEventListener('resize', draw);
place('range').addEventListener('change', () => {
  // The steps of a day are others than those of the last half hour.
  steps = undefined;
  choices++;
  void poll();
});
followDownloads();
void poll();
