/** Files with their heat, and the figures that are lists. */

import { element, shape } from './draw.js';
import { errorsVerdict, hitsVerdict, offload, offloadVerdict, total } from './series.js';
import { count, counted, percent, size, span, words } from './words.js';

/**
 * @typedef {{ url: string, length: number, count: number, error: number, bytes: number,
 *   cells: number[] }} File
 */

/** Shades of heat. */
const SHADES = 6;

/**
 * @param {readonly File[]} files
 * @param {string} range words of the chosen time
 * @param {string} half time after which a count is worth half
 */
export function filesPanel(files, range, half) {
  const wanted = files.filter(({ count: all, error }) => all - error >= 0.5);
  if (wanted.length === 0) {
    return [element('p', { class: 'quiet' }, `No file was in demand in the ${range}.`)];
  }
  return [
    element('ol', { class: 'files' }, wanted.map(fileRow)),
    element('p', { class: 'quiet heat-note' }, 'From the beginning of each file to its end; ', [
      'the stronger the colour, the more often its chunks went out. ',
      `For the ${range}, a count is worth half after ${half}.`,
    ]),
  ];
}

/** @param {File} file */
function fileRow({ url, length, count: all, error, bytes, cells }) {
  // The part of a count that may be other files' is left out.
  const delivered = all - error;
  const most = Math.max(...cells, 0);
  const touched = cells.filter((value) => value >= 0.5).length;
  const label = `Chunks in demand: ${percent(touched / cells.length)} of the file; hottest at ${percent(cells.indexOf(most) / cells.length)}`;
  const heat = shape('svg', {
    class: 'heat',
    role: 'img',
    viewBox: `0 0 ${cells.length} 10`,
    preserveAspectRatio: 'none',
    'aria-label': label,
  });
  cells.forEach((value, i) => {
    const shade = most === 0 ? 0 : Math.ceil((value / most) * SHADES);
    if (shade > 0)
      heat.append(shape('rect', { class: `h${shade}`, x: i, width: 1.02, height: 10 }));
  });
  return element(
    'li',
    {},
    element('div', { class: 'file-head' }, element('span', { class: 'mono long' }, url), [
      element(
        'span',
        { class: 'figures quiet' },
        `${counted(delivered, 'chunk')} · ${size(bytes)} sent · ${size(length)} long`,
      ),
    ]),
    heat,
  );
}

/**
 * @param {any} status
 * @param {import('./series.js').Steps} steps
 */
export function tiles(status, steps) {
  const { transfers, cache, process } = status;
  const [served, fetched] = [total(steps, 'toClients'), total(steps, 'fromOrigins')];
  const fromPeers = total(steps, 'fromPeers');
  const hits = total(steps, 'memory', 'disk');
  const delivered = hits + total(steps, 'peer', 'source');
  const [errors, requests] = [total(steps, 'errors'), total(steps, 'requests')];
  return [
    tile(
      'offload',
      'Origin offload',
      offload(served, fetched),
      [
        'Bytes served for each byte fetched from origins: ',
        `${size(served)} served, ${size(fetched)} fetched`,
        fromPeers > 0 ? `; ${size(fromPeers)} came from other edges` : '',
      ],
      offloadVerdict(served, fetched),
    ),
    tile(
      'hits',
      'Chunks at hand',
      delivered === 0 ? '–' : percent(hits / delivered),
      [`of ${count(delivered)} delivered`],
      hitsVerdict(hits, delivered, total(steps, 'peer')),
    ),
    tile(
      'errors',
      'Requests that failed',
      requests === 0 ? '–' : percent(errors / requests),
      [`${count(errors)} of ${count(requests)}`],
      errorsVerdict(errors, requests),
    ),
    tile('transfers', 'Transfers now', count(transfers.active), [
      `${counted(transfers.requests, 'request')} since the start`,
    ]),
    tile('memory', 'Cache in memory, now', size(cache.memory.bytes), [
      `of ${size(cache.memory.maxBytes)}, which fills up with use; the process has ${size(process.residentBytes)}`,
    ]),
    tile('uptime', 'Up for', span(status.uptimeSeconds), [
      status.draining ? 'draining: takes no clients' : `${counted(cache.files, 'file')} known`,
    ]),
  ];
}

/**
 * @param {string} id
 * @param {string} label
 * @param {string} value
 * @param {readonly string[]} more
 * @param {import('./series.js').Verdict} [verdict]
 */
function tile(id, label, value, more, verdict) {
  return element(
    'div',
    { class: 'tile', 'data-tile': id },
    element('dt', {}, label),
    element('dd', { class: 'value figures' }, value),
    element('dd', { class: 'quiet figures' }, more),
    verdict && element('dd', { class: `verdict ${verdict.state}` }, verdict.text),
  );
}

/** Says that the figures below do not depend on the chosen time. */
const sinceStart = () => element('p', { class: 'quiet' }, 'Since the start:');

/**
 * @param {Record<string, number>} errors by code, in the chosen time
 * @param {number} requests in that time
 * @param {string} range its words
 */
export function errorsPanel(errors, requests, range) {
  const entries = Object.entries(errors).toSorted(([, a], [, b]) => b - a);
  if (entries.length === 0) return [];
  return [
    element('div', {}, [
      element('p', { class: 'quiet' }, `In the ${range}, of ${counted(requests, 'request')}:`),
      facts(entries.map(([code, value]) => [words(code), countOf(value, requests), code])),
    ]),
  ];
}

/** @param {any} status */
export function clientsPanel({ clients, cache, forwards, inside, chunks, peers }) {
  const disk =
    cache.disk === null ? 'none' : `${size(cache.disk.bytes)} of ${size(cache.disk.maxBytes)}`;
  const network = [
    ['Chunks requested from other edges', count(forwards.all), 'forwards'],
    ['Of these failed', count(forwards.failed), 'failed'],
    ['Requests of other edges', count(inside.requests), 'inside'],
  ];
  return [
    sinceStart(),
    facts([
      ['Vanished clients reset', count(clients.purged), 'purged', 'purged'],
      ['Transfers offloaded', count(clients.offloaded), 'offloaded', 'offloaded'],
      ['Fetches shared', count(chunks.joined), 'joined'],
      // Without other edges these say nothing.
      ...(peers.length === 0 ? [] : network),
      ['Cache on disk', disk, 'disk'],
    ]),
  ];
}

/** @type {Record<string, string>} */
const COUNTED = {
  purges: 'Purges since the start',
  prefetches: 'Prefetches now',
  pins: 'Files pinned',
};

/**
 * Draws the work of administration, as far as this edge reports it, and the edge's processes.
 *
 * @param {any} status
 */
export function processesPanel({ administration, workers, process, chunkBytes, uptimeSeconds }) {
  const { pinnedBytes, pinQuotaBytes, ...figures } = administration ?? {};
  const pinned =
    pinQuotaBytes === undefined
      ? []
      : [['Pinned', `${size(pinnedBytes)} of ${size(pinQuotaBytes)}`, 'pinnedBytes']];
  const done = Object.entries(figures).flatMap(([name, value]) =>
    typeof value === 'number'
      ? [fact(COUNTED[name] ?? words(name), value, name)]
      : Object.entries(value ?? {}).flatMap(([part, number]) =>
          typeof number === 'number' ? [fact(`${words(name)}: ${part}`, number)] : [],
        ),
  );
  const share = percent(process.cpuSeconds / Math.max(1, uptimeSeconds));
  const each = (workers ?? []).map((/** @type {any} */ worker) => [
    worker.name,
    `${counted(worker.transfers.active, 'transfer')} · ${size(worker.bytes.toClients)} sent`,
    worker.name,
  ]);
  const own = [
    ['Processor time', `${span(process.cpuSeconds)}, ${share} of one processor`, 'cpu'],
    ['Memory', size(process.residentBytes), 'resident'],
    ['Size of a chunk', size(chunkBytes), 'chunk'],
  ];
  return [facts([...done, ...pinned, ...each, ...own])];
}

/**
 * @param {string} label
 * @param {number} value
 * @param {string} [name] stable name; default: the label
 */
const fact = (label, value, name = label) => [label, count(value), name];

/**
 * Writes a count with its share of a whole: `18, 4.2 %`.
 *
 * @param {number} value
 * @param {number} whole
 */
function countOf(value, whole) {
  return value > whole ? count(value) : `${count(value)}, ${percent(value / Math.max(1, whole))}`;
}

/** @param {readonly (readonly string[])[]} rows name, value, stable name, its colour in a chart */
function facts(rows) {
  return element(
    'dl',
    { class: 'facts' },
    rows.map(([name, value, id, key]) =>
      element('div', { 'data-fact': id }, element('dt', {}, ...keyOf(key), name), [
        element('dd', { class: 'figures' }, value),
      ]),
    ),
  );
}

/** @param {string | undefined} key */
function keyOf(key) {
  return key === undefined ? [] : [element('span', { class: `key ${key}` }), ' '];
}
