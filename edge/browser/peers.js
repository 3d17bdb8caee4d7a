/** Other edges on a map: the further out, the longer the round trip. */

import { element, shape } from './draw.js';
import { inOrder, placeOn, rings, total } from './series.js';
import { count, counted, milliseconds, size } from './words.js';

/**
 * @typedef {{ name: string, rttMs: number, usable: boolean, alive: boolean, isolated: boolean,
 *   member: boolean, load: number }} Peer
 */

const SIZE = 300;
const MIDDLE = SIZE / 2;
const [INNER, OUTER] = [48, MIDDLE - 12];
/** Most edges on the map: more would hide each other, and the list has all. */
const MAX_ON_MAP = 60;
/** Most edges on a map that has room for their names. */
const MAX_NAMED = 16;

/**
 * @param {readonly Peer[]} peers
 * @param {import('./series.js').Steps} steps of the chosen time
 * @param {string} range its words
 */
export function peersPanel(peers, steps, range) {
  if (peers.length === 0) {
    return [
      element(
        'p',
        { class: 'quiet' },
        'This edge knows no other edges, so it fetches all by itself. Edges that know each other (--peers) ask an origin once for all of them.',
      ),
    ];
  }
  const sorted = inOrder(peers);
  const content = [
    element('p', { class: 'quiet figures', id: 'peers-use' }, broughtBy(steps, range)),
    element('div', { class: 'peers' }, map(sorted), list(sorted)),
  ];
  if (peers.length <= MAX_ON_MAP) return content;
  const which = 'those that cannot be used, then the nearest.';
  return [
    ...content,
    element(
      'p',
      { class: 'quiet' },
      `Of ${count(peers.length)} edges the map shows ${MAX_ON_MAP}: ${which}`,
    ),
  ];
}

/**
 * Tells how much the others have brought in the chosen time; times, load and state are those of now.
 *
 * @param {import('./series.js').Steps} steps
 * @param {string} range
 */
function broughtBy(steps, range) {
  const [asked, failed] = [total(steps, 'forwards'), total(steps, 'peerFailures')];
  if (asked + failed === 0) return `No other edge was asked for a chunk in the ${range}.`;
  const brought = size(total(steps, 'fromPeers'));
  return `In the ${range}: ${brought} from other edges, ${counted(asked, 'chunk')} asked for, ${counted(failed, 'request')} failed.`;
}

/** @param {readonly Peer[]} sorted */
function map(sorted) {
  const shown = sorted.slice(0, MAX_ON_MAP);
  const all = rings(shown.map(({ rttMs }) => rttMs).filter(Number.isFinite));
  const usable = sorted.filter((peer) => peer.usable).length;
  const svg = shape('svg', { viewBox: `0 0 ${SIZE} ${SIZE}`, class: 'map', role: 'img' });
  svg.setAttribute(
    'aria-label',
    `${usable} of ${counted(sorted.length, 'edge')} usable, by round-trip time`,
  );
  for (const ring of all) {
    const r = radius(ring, all);
    svg.append(
      shape('circle', { class: 'ring', cx: MIDDLE, cy: MIDDLE, r }),
      shape(
        'text',
        { class: 'axis', x: MIDDLE, y: MIDDLE + r - 4, 'text-anchor': 'middle' },
        `${ring} ms`,
      ),
    );
  }
  // By name around the circle, so that no edge jumps when times change.
  const around = shown.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  for (const [i, peer] of around.entries()) {
    svg.append(...mark(peer, i / around.length, all, around.length));
  }
  svg.append(shape('circle', { class: 'self', cx: MIDDLE, cy: MIDDLE, r: 6 }));
  return svg;
}

/**
 * @param {Peer} peer
 * @param {number} turn 0 to 1 around the circle
 * @param {readonly number[]} all rings
 * @param {number} peers on the map
 */
function mark(peer, turn, all, peers) {
  const angle = (turn - 0.2) * 2 * Math.PI;
  const known = Number.isFinite(peer.rttMs) && peer.rttMs > 0;
  const r = known ? radius(peer.rttMs, all) : OUTER;
  const [x, y] = [MIDDLE + r * Math.cos(angle), MIDDLE + r * Math.sin(angle)];
  const state = peer.usable ? 'usable' : 'unusable';
  const dot = shape('circle', { class: `peer-dot ${state}`, cx: fixed(x), cy: fixed(y), r: 5 });
  dot.append(shape('title', {}, `${peer.name}: ${stateOf(peer)}, ${rttOf(peer)}`));
  const from = `M${MIDDLE} ${MIDDLE}L${fixed(x)} ${fixed(y)}`;
  const parts = [shape('path', { class: `spoke ${state}`, d: from }), dot];
  if (peers > MAX_NAMED) return parts;
  const left = x < MIDDLE;
  const name = peer.name.length > 14 ? `${peer.name.slice(0, 13)}…` : peer.name;
  // Names point towards the middle near the border of the map.
  const inwards = x > SIZE - 70 || x < 70;
  const anchor = left === inwards ? 'start' : 'end';
  const dx = anchor === 'start' ? 9 : -9;
  parts.push(
    shape(
      'text',
      { class: 'peer-name', x: fixed(x + dx), y: fixed(y + 4), 'text-anchor': anchor },
      name,
    ),
  );
  return parts;
}

/** @param {readonly Peer[]} sorted */
function list(sorted) {
  const head = ['Edge', 'Round trip', 'Load', 'State'].map((text) =>
    element('th', { scope: 'col' }, text),
  );
  const rows = sorted.map((peer) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row', class: 'cut' }, peer.name),
      element('td', { class: 'figures' }, rttOf(peer)),
      element('td', { class: 'figures' }, count(peer.load)),
      element('td', { class: peer.usable ? 'quiet' : 'bad' }, stateOf(peer)),
    ),
  );
  const table = element('table', {}, element('thead', {}, element('tr', {}, head)), [
    element('tbody', {}, rows),
  ]);
  return element(
    'div',
    { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Edges' },
    table,
  );
}

/** @param {Peer} peer */
function rttOf({ rttMs }) {
  return Number.isFinite(rttMs) && rttMs !== null ? milliseconds(rttMs) : '–';
}

/** @param {Peer} peer */
function stateOf({ usable, alive, isolated, member }) {
  if (isolated) return 'gets no requests: sent damaged bytes';
  if (!alive) return 'does not answer';
  if (!member) return 'not in use';
  return usable ? 'usable' : 'not usable';
}

/**
 * @param {number} time milliseconds
 * @param {readonly number[]} all rings
 */
function radius(time, all) {
  return Number((INNER + placeOn(time, all) * (OUTER - INNER)).toFixed(1));
}

/** @param {number} value */
const fixed = (value) => value.toFixed(1);
