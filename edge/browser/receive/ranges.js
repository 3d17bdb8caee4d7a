/** Fetches ranges over HTTP, for the page: without cookies, without a referrer, within bounds. */

import { Failure } from './failure.js';

/** Silence of a server after which another is asked as well, and after which it is given up. */
const SILENT_MS = 2000;
const SILENCE_MS = 20_000;
/** Longest time for a document. */
const DOCUMENT_MS = 60_000;
/** Longest problem document that is read (RFC 9457), in bytes. */
const MAX_PROBLEM = 16 * 1024;

/**
 * Fetches bytes of a place.
 *
 * @type {import('./body.js').FetchRange}
 */
export async function fetchRange({ url, at }, bytes, signal, onBytes, onSilent) {
  const silence = new AbortController();
  const both = AbortSignal.any([signal, silence.signal]);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      onSilent();
      timer = setTimeout(() => silence.abort(), SILENCE_MS - SILENT_MS);
    }, SILENT_MS);
  };
  alive();
  try {
    const response = await request(url, both, {
      accept: 'application/octet-stream, */*;q=0.5',
      range: `bytes=${at}-${at + bytes - 1}`,
    });
    // A server without ranges sends all: its beginning may be what is asked for.
    if (response.status !== 206 && (response.status !== 200 || at > 0)) {
      const kind = (await saysDamaged(response)) ? 'damaged' : kindOf(response.status);
      throw new Failure(kind, `${new URL(url).host}: ${response.status}`);
    }
    return await readExactly(response, bytes, (more) => {
      alive();
      onBytes(more);
    });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Failure) throw error;
    throw new Failure('unreachable', new URL(url).host);
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}

/**
 * Fetches a document of bounded length.
 *
 * @param {string} url
 * @param {number} most bytes
 * @param {AbortSignal} signal
 * @returns {Promise<string>}
 * @throws {Failure}
 */
export async function fetchText(url, most, signal) {
  const type = 'application/vnd.millrace.exnode+json';
  try {
    const both = AbortSignal.any([signal, AbortSignal.timeout(DOCUMENT_MS)]);
    const response = await request(url, both, { accept: type });
    if (response.status !== 200) throw new Failure(kindOf(response.status));
    return new TextDecoder().decode(await readAtMost(response, most));
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Failure) throw error;
    throw new Failure('unreachable');
  }
}

/**
 * @param {string} url
 * @param {AbortSignal} signal
 * @param {Record<string, string>} headers
 */
function request(url, signal, headers) {
  return fetch(url, {
    ...{ headers, signal, credentials: 'omit', referrerPolicy: 'no-referrer' },
    // Nothing of the answers is kept: neither ciphertext nor description is of use to anybody later.
    cache: 'no-store',
  });
}

/**
 * Returns what a status means for the file.
 *
 * @param {number} status
 */
export function kindOf(status) {
  if (status === 404) return 'revoked';
  if (status === 410) return 'expired';
  if (status === 451) return 'blocked';
  if (status === 429 || status === 503) return 'busy';
  return 'unreachable';
}

/**
 * Returns true if a depot has found that its disk has changed the file.
 *
 * @param {Response} response
 */
async function saysDamaged(response) {
  if (response.headers.get('content-type') !== 'application/problem+json') {
    await response.body?.cancel();
    return false;
  }
  const text = new TextDecoder().decode(await readAtMost(response, MAX_PROBLEM));
  return /"code": ?"allocation-damaged"/.test(text);
}

/**
 * Reads a body of which so many bytes are needed; what follows is not read.
 *
 * @param {Response} response
 * @param {number} bytes
 * @param {(bytes: number) => void} onBytes
 */
async function readExactly(response, bytes, onBytes) {
  const whole = new Uint8Array(bytes);
  let at = 0;
  const reader = response.body?.getReader();
  while (reader !== undefined && at < bytes) {
    const { done, value } = await reader.read();
    if (done) break;
    const piece = value.subarray(0, bytes - at);
    whole.set(piece, at);
    at += piece.length;
    onBytes(piece.length);
  }
  void reader?.cancel().catch(() => {});
  if (at < bytes) throw new Failure('unreachable', 'the answer is too short');
  return whole;
}

/**
 * @param {Response} response
 * @param {number} most bytes
 */
async function readAtMost(response, most) {
  const pieces = [];
  let bytes = 0;
  const reader = response.body?.getReader();
  while (reader !== undefined) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes += value.length;
    if (bytes > most) {
      void reader.cancel().catch(() => {});
      throw new Failure('bad-exnode', 'it is too long');
    }
    pieces.push(value);
  }
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
