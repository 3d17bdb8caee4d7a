/**
 * Reads the body of an encrypted file from its places: each block is compared with its digest before
 * it is decrypted, so no place has to be trusted. A place that fails is followed by the next one, and
 * all of them by the edge of the page, which puts the file together from what is left.
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

/**
 * Fetches bytes of a place: all that are asked for. @throws {Failure}
 *
 * @callback FetchRange
 * @param {import('./runs.js').Source} source
 * @param {number} bytes
 * @param {AbortSignal} signal
 * @param {(bytes: number) => void} onBytes
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
  const strikes = new Map();
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
      const reading = provenRun(own, run, strikes).then((bytes) => ({ start: run.start, bytes }));
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
 * Reads a run from the first place that has it right.
 *
 * @param {BodyOptions} options
 * @param {import('./runs.js').Run} run
 * @param {Map<string, number>} strikes wrong answers by the host of a place
 */
async function provenRun(options, run, strikes) {
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
  for (let round = 1; round <= ROUNDS; round++) {
    for (const source of [...inOrder(direct, strikes, now()), ...last]) {
      if (out.has(source)) continue;
      let came = 0;
      try {
        const bytes = await fetchRange(source, run.end - run.start, signal, (more) => {
          came += more;
          onBytes(more);
        });
        if (await isProven(description, run.start, bytes)) return bytes;
        throw new Failure('damaged', new URL(source.url).host);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof Failure)) throw error;
        onBytes(-came);
        if (!error.isPassing) out.add(source);
        if (last.includes(source)) {
          failureOfWhole = error;
          continue;
        }
        failures.push(error);
        if (error.kind === 'damaged') {
          const { host } = new URL(source.url);
          strikes.set(host, (strikes.get(host) ?? 0) + 1);
        }
      }
    }
    if (sources.every((source) => out.has(source)) || round === ROUNDS) break;
    await pause(PAUSE_MS * round, signal);
    failures = failures.filter((failure) => !failure.isPassing);
  }
  throw worstOf(failures, failureOfWhole);
}

/**
 * Sorts places: those that have sent wrong bytes come last, and those before them whose lease is over
 * by the description, which may not know that its owner has extended it.
 *
 * @param {readonly import('./runs.js').Source[]} sources
 * @param {ReadonlyMap<string, number>} strikes
 * @param {number} now Unix milliseconds
 */
function inOrder(sources, strikes, now) {
  const doubt = (/** @type {import('./runs.js').Source} */ { url, expires }) =>
    2 * (strikes.get(new URL(url).host) ?? 0) + Number((expires ?? now + 1) <= now);
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
