/** The charts of the dashboard: bytes, tiers, window and retries. */

import { barPath, chartFrame, element, legend, linePath, shape } from './draw.js';
import {
  lengthOf,
  meanWindows,
  over,
  perSecond,
  retriesVerdict,
  roundUp,
  TIERS,
  tierShares,
  total,
} from './series.js';
import { count, counted, longAgo, percent, rate } from './words.js';

/**
 * @typedef {import('./series.js').Steps} Steps
 * @typedef {{ steps: Steps, status: any, width: number, range: string }} Shown
 */

const HEIGHT = 150;
const LOW = 84;
/** Fewest steps that a chart has room for, so that the first ones show; it grows with the data. */
const MIN_SLOTS = 60;
/** The same for steps of minutes: an hour. */
const MIN_LONG_SLOTS = 12;
const TIER_WORDS = { memory: 'Memory', disk: 'Disk', peer: 'Other edges', source: 'Origin' };

/** @param {Steps} steps */
function slotsOf(steps) {
  const least = steps.stepMs < 60_000 ? MIN_SLOTS : MIN_LONG_SLOTS;
  return Math.max(least, lengthOf(steps) - 1);
}

/** @param {import('./series.js').Verdict} verdict */
function verdictLine({ state, text }) {
  return element('p', { class: `verdict ${state}` }, text);
}

/** @param {string} text why there is no chart */
function nothing(text) {
  return element('p', { class: 'quiet' }, text);
}

/** @param {Shown} shown */
export function bytesPanel({ steps, width, range }) {
  if (total(steps, 'toClients', 'fromOrigins') === 0) {
    return [nothing(`No byte was sent or fetched in the ${range}.`)];
  }
  const clients = perSecond(steps, 'toClients');
  const origins = perSecond(steps, 'fromOrigins');
  const slots = slotsOf(steps);
  const top = roundUp(Math.max(0, ...clients, ...origins), 1024);
  const seconds = (slots * steps.stepMs) / 1000;
  const label = `Bytes per second: to clients ${rate(clients.at(-1) ?? 0)}, from origins ${rate(origins.at(-1) ?? 0)}`;
  const { svg, bottom } = chartFrame({ width, height: HEIGHT, label, top: rate(top), seconds });
  const place = { width, bottom, slots };
  const spans = clients.map((value) => /** @type {const} */ ([0, value / top]));
  svg.append(
    shape('path', { class: 'area clients', d: barPath(spans, place) }),
    shape('path', {
      class: 'line origins',
      d: linePath(
        origins.map((value) => value / top),
        place,
      ),
    }),
  );
  return [
    svg,
    legend([
      { name: 'clients', text: 'To clients', value: rate(clients.at(-1) ?? 0) },
      { name: 'origins', text: 'From origins', value: rate(origins.at(-1) ?? 0) },
    ]),
  ];
}

/** @param {Shown} shown */
export function tiersPanel({ steps, width, range }) {
  const shares = tierShares(steps);
  const slots = slotsOf(steps);
  const counts = TIERS.map((tier) => total(steps, tier));
  const all = total(steps, ...TIERS);
  if (all === 0) return [nothing(`No chunk was sent in the ${range}.`)];
  const values = counts.map((value) => percent(value / all));
  const label = `Where chunks came from: ${TIERS.map((tier, i) => `${TIER_WORDS[tier]} ${values[i]}`).join(', ')}`;
  const seconds = (slots * steps.stepMs) / 1000;
  const { svg, bottom } = chartFrame({ width, height: HEIGHT, label, top: '100 %', seconds });
  TIERS.forEach((tier, i) => {
    const spans = shares.map((share) => {
      if (share === undefined) return undefined;
      const from = share.slice(0, i).reduce((sum, value) => sum + value, 0);
      return /** @type {const} */ ([from, from + (share[i] ?? 0)]);
    });
    const d = barPath(spans, { width, bottom, slots });
    svg.append(shape('path', { class: `area ${tier}`, d }));
  });
  const entries = TIERS.map((name, i) => ({
    name,
    text: TIER_WORDS[name],
    value: values[i] ?? '',
  }));
  return [svg, legend(entries)];
}

/**
 * Draws the number of events in each step, as bars on top of each other.
 *
 * @param {Shown} shown
 * @param {readonly { series: string, text: string }[]} kinds
 */
export function eventsChart({ steps, width, range }, kinds) {
  const names = kinds.map(({ text }) => text).join(', ');
  if (total(steps, ...kinds.map(({ series }) => series)) === 0) {
    return nothing(`${names}: none in the ${range}.`);
  }
  const slots = slotsOf(steps);
  const each = kinds.map(({ series }) => over(steps, series));
  const sums = (each[0] ?? []).map((_, i) => each.reduce((sum, one) => sum + (one[i] ?? 0), 0));
  const all = sums.reduce((sum, value) => sum + value, 0);
  const most = roundUp(Math.max(1, ...sums), 10);
  const time = longAgo((slots * steps.stepMs) / 1000);
  const label = `${names}: ${count(all)} in the last ${time}`;
  const { svg, bottom } = chartFrame({
    width,
    height: LOW,
    label,
    top: count(most),
    seconds: (slots * steps.stepMs) / 1000,
  });
  kinds.forEach(({ series }, k) => {
    const spans = sums.map((_, i) => {
      const from = each.slice(0, k).reduce((sum, one) => sum + (one[i] ?? 0), 0);
      return /** @type {const} */ ([from / most, (from + (each[k]?.[i] ?? 0)) / most]);
    });
    const d = barPath(spans, { width, bottom, slots });
    svg.append(shape('path', { class: `area ${series}`, d }));
  });
  return svg;
}

/** @param {Shown} shown */
export function windowPanel({ steps, status, width, range }) {
  if (total(steps, 'windowCount') === 0) {
    return [nothing(`No chunk was sent in the ${range}.`)];
  }
  const windows = meanWindows(steps);
  const retried = over(steps, 'retried');
  const slots = slotsOf(steps);
  const top = roundUp(Math.max(1, ...windows.map((value) => value ?? 0)), 10);
  const mostRetried = Math.max(1, ...retried);
  const seconds = (slots * steps.stepMs) / 1000;
  const mean = (total(steps, 'windowSum') / total(steps, 'windowCount')).toFixed(1);
  const again = total(steps, 'retried');
  const label = `Congestion window in chunks, mean ${mean}; ${counted(again, 'chunk')} requested again`;
  const { svg, bottom } = chartFrame({
    width,
    height: HEIGHT,
    label,
    top: `${top} chunks`,
    seconds,
  });
  const place = { width, bottom, slots };
  const bars = retried.map((value) => /** @type {const} */ ([0, (value / mostRetried) * 0.4]));
  const line = windows.map((value) => (value === undefined ? undefined : value / top));
  svg.append(
    shape('path', { class: 'area retries', d: barPath(bars, place) }),
    shape('path', { class: 'line windows', d: linePath(line, place) }),
  );
  const { first, retry } = status.races;
  return [
    svg,
    legend([
      { name: 'windows', text: 'Mean window', value: `${mean} chunks` },
      {
        name: 'retries',
        text: 'Chunks requested again',
        value: again === 0 ? 'none' : count(again),
      },
    ]),
    verdictLine(retriesVerdict(again, total(steps, 'windowCount'))),
    windowSizes(status.window.sizes ?? {}),
    element(
      'p',
      { class: 'quiet' },
      first + retry === 0
        ? 'Since the start, no two requests have competed for a chunk.'
        : `Since the start, of ${counted(first + retry, 'chunk')} that several requests competed for, a retry brought ${count(retry)}.`,
    ),
  ];
}

/**
 * Draws how often the window had each size: one cell per power of two.
 *
 * @param {Record<string, number>} sizes
 */
function windowSizes(sizes) {
  const entries = Object.entries(sizes).filter(([bound]) => bound !== '+Inf');
  const seen = entries.reduce((sum, [, value]) => sum + value, 0);
  if (seen === 0) return element('p', { class: 'quiet' }, 'No chunk has come in yet.');
  const most = Math.max(...entries.map(([, value]) => value));
  const cells = entries
    .toSorted(([a], [b]) => Number(a) - Number(b))
    .map(([bound, value]) => {
      const height = Math.max(value > 0 ? 2 : 0, Math.round((value / most) * 26));
      const bar = shape('svg', { width: '100%', height: 28, 'aria-hidden': 'true' });
      bar.append(shape('rect', { class: 'size', width: '100%', y: 28 - height, height }));
      const said = `Window up to ${bound}: ${percent(value / seen)}`;
      return element('li', { title: said }, bar, element('span', { class: 'figures' }, bound));
    });
  return element(
    'ul',
    { class: 'sizes', 'aria-label': 'How often the window had each size, since the start' },
    [...cells],
  );
}
