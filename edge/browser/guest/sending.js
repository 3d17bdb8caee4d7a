/** Sends a guest's file, piece by piece: each counts as a whole or not at all. */

/** Bytes of one request. */
export const PIECE_BYTES = 4 * 1024 * 1024;
/** Pauses after failures: the first, which each further one doubles, and the longest. */
const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 15_000;
/** Failures one after the other after which the upload is given up: about two minutes of them. */
const MOST_FAILURES = 11;

/**
 * State of a space, as the depot tells it.
 *
 * @typedef {{ kind: 'there', offset: number, complete: boolean, most: number, seconds: number }
 *   | { kind: 'taken' | 'over' | 'away' }} SpaceState
 */

/** A failure that no further try helps, by its name in the page. */
export class Refusal extends Error {
  /** @param {'taken' | 'over' | 'too-large' | 'no-room' | 'changed' | 'away'} kind */
  constructor(kind) {
    super(kind);
    this.kind = kind;
  }
}

/**
 * Asks for the state of a space.
 *
 * @param {import('./spaces.js').Space} space
 * @param {string | undefined} claim undefined: nobody's yet
 * @returns {Promise<SpaceState>}
 */
export async function stateOf({ write }, claim) {
  /** @type {Record<string, string>} */
  const headers = claim === undefined ? {} : { 'upload-claim': claim };
  try {
    const response = await ask(write, { method: 'HEAD', headers });
    if (response.status === 409) return { kind: 'taken' };
    if (response.status === 404 || response.status === 410) return { kind: 'over' };
    const fields = response.headers;
    const offset = Number(fields.get('upload-offset') ?? Number.NaN);
    if (!response.ok || Number.isNaN(offset)) return { kind: 'away' };
    const limit = fields.get('upload-limit') ?? '';
    const number = (/** @type {RegExp} */ of) => Number(of.exec(limit)?.[1] ?? Number.NaN);
    return {
      ...{ kind: 'there', offset, complete: fields.get('upload-complete') === '?1' },
      ...{ most: number(/max-size=(\d+)/), seconds: number(/max-age=(\d+)/) },
    };
  } catch {
    return { kind: 'away' };
  }
}

/**
 * @typedef {object} SendOptions
 * @property {File} file
 * @property {import('./spaces.js').Space} space
 * @property {string} claim
 * @property {(stored: number) => void} onStored
 * @property {(ms: number) => Promise<void>} pause rejects when the page gives up
 * @property {AbortSignal} signal
 */

/**
 * Sends what the depot does not have yet.
 *
 * @param {SendOptions} options
 * @returns {Promise<void>} resolves when the file is complete there
 * @throws {Refusal}
 */
export async function sendFile({ file, space, claim, onStored, pause, signal }) {
  for (let failures = 0; failures < MOST_FAILURES; failures++) {
    signal.throwIfAborted();
    const state = await stateOf(space, claim);
    if (state.kind === 'taken' || state.kind === 'over') throw new Refusal(state.kind);
    if (state.kind === 'there') {
      let at = state.offset;
      onStored(at);
      if (state.complete) return;
      if (at > file.size) throw new Refusal('changed');
      for (;;) {
        const isEnd = at + PIECE_BYTES >= file.size;
        const sent = await sendPiece({ file, space, claim, signal }, at, isEnd);
        if (sent === undefined) break;
        failures = 0;
        at += sent;
        onStored(at);
        if (isEnd) return;
      }
    }
    await pause(Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures));
  }
  throw new Refusal('away');
}

/**
 * Sends a piece. @returns its length; undefined if it may help to try again
 *
 * @param {Pick<SendOptions, 'file' | 'space' | 'claim' | 'signal'>} options
 * @param {number} at
 * @param {boolean} isEnd
 * @throws {Refusal}
 */
async function sendPiece({ file, space, claim, signal }, at, isEnd) {
  /** @type {ArrayBuffer} */
  let bytes;
  try {
    bytes = await file.slice(at, at + PIECE_BYTES).arrayBuffer();
  } catch {
    // Browsers refuse to read a file that has changed since it was chosen.
    throw new Refusal('changed');
  }
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  const headers = {
    'content-type': 'application/partial-upload',
    'upload-offset': String(at),
    'upload-complete': isEnd ? '?1' : '?0',
    'upload-claim': claim,
    'content-digest': `sha-256=:${btoa(String.fromCharCode(...digest))}:`,
    'content-disposition': `attachment; filename*=UTF-8''${encodedName(file.name)}`,
  };
  let status = 0;
  try {
    ({ status } = await ask(space.write, { method: 'PATCH', headers, body: bytes, signal }));
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
  if (status === 200 || status === 204) return bytes.byteLength;
  if (status === 413) throw new Refusal('too-large');
  if (status === 507) throw new Refusal('no-room');
  if (status === 404 || status === 410) throw new Refusal('over');
  return undefined;
}

/**
 * Writes a name as RFC 8187 does.
 *
 * @param {string} name
 */
function encodedName(name) {
  const rest = /['()*]/g;
  return encodeURIComponent(name.replace(/\p{Cs}/gu, '')).replace(
    rest,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/**
 * @param {string} url
 * @param {RequestInit} init
 */
function ask(url, init) {
  return fetch(url, {
    ...{ credentials: 'omit', referrerPolicy: 'no-referrer', cache: 'no-store' },
    ...init,
  });
}
