/** Plans which bytes are asked for together, and at which places. */

/** Bytes of one request, unless a block alone is larger. */
export const RUN_BYTES = 8 * 1024 * 1024;
/** Most places that are kept for the same bytes. */
const MAX_SOURCES = 64;

/**
 * Consecutive blocks that are asked for together, and the places that have all of them. `at` is the
 * position of the run's first byte in what the place serves.
 *
 * @typedef {{ url: string, at: number, expires: number | undefined }} Source
 * @typedef {{ start: number, end: number, sources: Source[] }} Run
 */

/**
 * Lists the runs of a file in order. Runs are made of whole blocks, and no place has only a part of
 * one. Bytes that nobody has are a run without places.
 *
 * @param {Pick<import('./exnode.js').Description, 'size' | 'blockBytes' | 'parts'>} description
 * @returns {Generator<Run>}
 */
export function* runsOf({ size, blockBytes, parts }) {
  const opening = [...parts].sort((a, b) => a.start - b.start);
  const edges = [...new Set([0, size, ...parts.flatMap(({ start, end }) => [start, end])])];
  edges.sort((a, b) => a - b);
  /** @type {Set<import('./exnode.js').Part>} */
  const open = new Set();
  const step = Math.max(blockBytes, RUN_BYTES);
  let next = 0;
  for (const [i, from] of edges.entries()) {
    const until = edges[i + 1];
    if (until === undefined) return;
    for (const part of open) if (part.end <= from) open.delete(part);
    for (let part = opening[next]; part?.start === from; part = opening[++next]) open.add(part);
    const held = first(open, MAX_SOURCES);
    for (let start = from; start < until; start += step) {
      const sources = held.map(({ url, at, expires, start: own }) => ({
        ...{ url, expires },
        at: at + start - own,
      }));
      yield { start, end: Math.min(until, start + step), sources };
    }
  }
}

/**
 * Returns the time until which all bytes are somewhere, by what the description says.
 *
 * @param {Pick<import('./exnode.js').Description, 'size' | 'blockBytes' | 'parts'>} description
 * @returns {number} Unix milliseconds; Infinity: none is said; -Infinity: some bytes are nowhere
 */
export function availableUntil(description) {
  let until = Number.POSITIVE_INFINITY;
  for (const { sources } of runsOf(description)) {
    const ends = sources.map(({ expires = Number.POSITIVE_INFINITY }) => expires);
    until = Math.min(until, Math.max(Number.NEGATIVE_INFINITY, ...ends));
  }
  return until;
}

/**
 * Returns true if a page may ask a place. A description from the internet must not lead the browser
 * into its user's own network.
 *
 * @param {string} place URL
 * @param {string} page URL
 */
export function mayAsk(place, page) {
  const [asked, own] = [new URL(place), new URL(page)];
  if (asked.host === own.host || !isPublicName(own.hostname)) return true;
  return asked.protocol === 'https:' && isPublicName(asked.hostname);
}

const LOCAL_NAME =
  /(?:^|\.)(?:localhost|local|localdomain|internal|intranet|lan|home|corp|private|home\.arpa)$/;

/**
 * Returns true for names of the public internet. Addresses in digits are none: no page with https is
 * at one.
 *
 * @param {string} hostname
 */
function isPublicName(hostname) {
  const name = hostname.replace(/\.+$/, '');
  if (name.startsWith('[') || /^[\d.]+$/.test(name)) return false;
  return name.includes('.') && !LOCAL_NAME.test(name);
}

/**
 * @template T
 * @param {Set<T>} set
 * @param {number} most
 */
function first(set, most) {
  const found = [];
  for (const one of set) {
    if (found.length === most) break;
    found.push(one);
  }
  return found;
}
