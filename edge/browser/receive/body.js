/**
 * Reads the body of an encrypted file from its places: each block is compared with its digest before
 * it is decrypted, so no place has to be trusted. A place that fails is followed by the next one, and
 * all of them by the edge of the page, which puts the file together from what is left. The next one is
 * asked as well while a place is silent, and whichever has the bytes first is enough.
 */

import { Failure, worstOf } from './failure.js';
import { decrypt, sha256Hex } from './head.js';
import { mayAsk, runsOf } from './runs.js';

/** Runs that are fetched at a time, in bytes, and at most. */
const AHEAD_BYTES = 32 * 1024 * 1024;
const MAX_AHEAD = 3;
/** Times that all places are asked for a run, and the pause after the first, which grows. */
const ROUNDS = 3;
const PAUSE_MS = 1500;
/** Most places that are asked for one run at a time. */
const MOST_AT_ONCE = 2;

/**
 * Fetches bytes of a place: all that are asked for. @throws {Failure}
 *
 * @callback FetchRange
 * @param {import('./runs.js').Source} source
 * @param {number} bytes
 * @param {AbortSignal} signal
 * @param {(bytes: number) => void} onBytes
 * @param {() => void} onSilent called while no bytes come for longer than usual
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */

/**
 * @typedef {object} BodyOptions
 * @property {import('./exnode.js').Description} description
 * @property {CryptoKey} key of the body
 * @property {FetchRange} fetchRange
 * @property {string} page URL of the page that asks
 * @property {string | undefined} whole URL of the whole ciphertext, for bytes that no place has
 * @property {(ms: number, signal: AbortSignal) => Promise<void>} pause
 * @property {() => number} now Unix milliseconds
 * @property {(bytes: number) => void} onBytes called with bytes as they come; negative: taken back
 * @property {AbortSignal} signal
 */

/**
 * Yields the plain file in order.
 *
 * @param {BodyOptions} options
 * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
 * @throws {Failure}
 */
export async function* plainPieces(options) {
  const { description, key, signal } = options;
  // The end of the reader ends requests that are on their way.
  const stop = new AbortController();
  const own = { ...options, signal: AbortSignal.any([signal, stop.signal]) };
  /** @type {Doubts} */
  const doubts = { strikes: new Map(), silent: new Set() };
  const runs = runsOf(description);
  /** @type {Promise<{ start: number, bytes: Uint8Array<ArrayBuffer> }>[]} */
  const ahead = [];
  const most = Math.floor(AHEAD_BYTES / description.blockBytes);
  const count = Math.max(1, Math.min(MAX_AHEAD, most));
  const fill = () => {
    while (ahead.length < count) {
      const next = runs.next();
      if (next.done) return;
      const run = next.value;
      const reading = provenRun(own, run, doubts).then((bytes) => ({ start: run.start, bytes }));
      // Its failure is reported when it is this run's turn.
      reading.catch(() => {});
      ahead.push(reading);
    }
  };
  try {
    for (fill(); ahead.length > 0; fill()) {
      const { start, bytes } = await /** @type {(typeof ahead)[number]} */ (ahead.shift());
      yield await decrypt(key, start, bytes);
    }
  } finally {
    stop.abort();
  }
}

/**
 * The doubts about hosts: the number of wrong answers, and which were silent when they were last asked.
 *
 * @typedef {{ strikes: Map<string, number>, silent: Set<string> }} Doubts
 */

/**
 * Reads a run from the first place that has it right.
 *
 * @param {BodyOptions} options
 * @param {import('./runs.js').Run} run
 * @param {Doubts} doubts
 */
async function provenRun(options, run, doubts) {
  const { description, fetchRange, page, whole, pause, now, onBytes, signal } = options;
  const direct = run.sources.filter(({ url }) => mayAsk(url, page));
  /** @type {import('./runs.js').Source[]} */
  const last = whole === undefined ? [] : [{ url: whole, at: run.start, expires: undefined }];
  const sources = [...direct, ...last];
  if (sources.length === 0) throw new Failure('nowhere');
  /** @type {Failure[]} */
  let failures = [];
  /** @type {Failure | undefined} */
  let failureOfWhole;
  const out = new Set();
  /** @type {Ask} */
  const ask = async (source, until, onSilent) => {
    const { host } = new URL(source.url);
    let came = 0;
    try {
      const read = AbortSignal.any([signal, until]);
      const bytes = await fetchRange(
        source,
        run.end - run.start,
        read,
        (more) => {
          came += more;
          doubts.silent.delete(host);
          onBytes(more);
        },
        () => {
          doubts.silent.add(host);
          onSilent();
        },
      );
      if (await isProven(description, run.start, bytes)) return bytes;
      throw new Failure('damaged', host);
    } catch (error) {
      signal.throwIfAborted();
      onBytes(-came);
      // Another place has been quicker.
      if (until.aborted) return undefined;
      if (!(error instanceof Failure)) throw error;
      if (!error.isPassing) out.add(source);
      if (last.includes(source)) failureOfWhole = error;
      else {
        failures.push(error);
        if (error.kind === 'damaged') {
          doubts.strikes.set(host, (doubts.strikes.get(host) ?? 0) + 1);
        }
      }
      return undefined;
    }
  };
  for (let round = 1; round <= ROUNDS; round++) {
    const order = [...inOrder(direct, doubts, now()), ...last].filter((one) => !out.has(one));
    const bytes = await firstOf(order, ask);
    if (bytes !== undefined) return bytes;
    if (sources.every((source) => out.has(source)) || round === ROUNDS) break;
    await pause(PAUSE_MS * round, signal);
    failures = failures.filter((failure) => !failure.isPassing);
  }
  throw worstOf(failures, failureOfWhole);
}

/**
 * Asks a place for a run. The result is undefined if the place does not have it.
 *
 * @callback Ask
 * @param {import('./runs.js').Source} source
 * @param {AbortSignal} until aborts when another place has been quicker
 * @param {() => void} onSilent
 * @returns {Promise<Uint8Array<ArrayBuffer> | undefined>}
 */

/**
 * Asks places in their order until one has the run: the next one when one fails, and beside one that is
 * silent.
 *
 * @param {readonly import('./runs.js').Source[]} sources
 * @param {Ask} ask
 * @returns {Promise<Uint8Array<ArrayBuffer> | undefined>} undefined: none has it
 */
function firstOf(sources, ask) {
  const won = new AbortController();
  const left = sources.values();
  let running = 0;
  return new Promise((resolve, reject) => {
    const next = () => {
      const { value: source } = left.next();
      if (source === undefined) {
        if (running === 0) resolve(undefined);
        return;
      }
      running++;
      let isFollowed = false;
      const onSilent = () => {
        if (isFollowed || running >= MOST_AT_ONCE) return;
        isFollowed = true;
        next();
      };
      ask(source, won.signal, onSilent).then((bytes) => {
        running--;
        if (bytes !== undefined) {
          resolve(bytes);
          won.abort();
        } else if (!isFollowed || running === 0) next();
      }, reject);
    };
    next();
  });
}

/**
 * Sorts places: those that have sent wrong bytes come last, before them those that were silent, and
 * before these those whose lease is over by the description, which may not know that its owner has
 * extended it.
 *
 * @param {readonly import('./runs.js').Source[]} sources
 * @param {Doubts} doubts
 * @param {number} now Unix milliseconds
 */
function inOrder(sources, { strikes, silent }, now) {
  const doubt = (/** @type {import('./runs.js').Source} */ { url, expires }) => {
    const { host } = new URL(url);
    const isOver = Number((expires ?? now + 1) <= now);
    return 4 * (strikes.get(host) ?? 0) + 2 * Number(silent.has(host)) + isOver;
  };
  return [...sources].sort((a, b) => doubt(a) - doubt(b));
}

/**
 * Returns true if all blocks of a run have their digests.
 *
 * @param {Pick<import('./exnode.js').Description, 'blockBytes' | 'digests'>} description
 * @param {number} start
 * @param {Uint8Array<ArrayBuffer>} bytes
 */
export async function isProven({ blockBytes, digests }, start, bytes) {
  for (let at = 0; at < bytes.length; at += blockBytes) {
    const block = (start + at) / blockBytes;
    const digest = digests.subarray(32 * block, 32 * block + 32);
    const hex = Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
    if ((await sha256Hex(bytes.subarray(at, at + blockBytes))) !== hex) return false;
  }
  return true;
}
