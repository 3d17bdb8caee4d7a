/**
 * Reads bencoding, the format of torrents (BEP 3). A reader of our own is needed for the infohash: it
 * is the digest of the very bytes of one entry, and a dictionary in which two entries have the same
 * key would be read in two ways.
 */

import { MillraceError } from '../../base/errors.ts';

/** A whole number, a string of bytes, a list or a dictionary. */
export type Bencoded = number | Uint8Array | readonly Bencoded[] | Dictionary;

export interface Dictionary {
  /** Values by their keys, one character for each byte of a key. */
  readonly entries: ReadonlyMap<string, Bencoded>;
  /** The dictionary as it was written. */
  readonly bytes: Uint8Array;
}

/** Largest document, bytes. */
const MAX_TORRENT_BYTES = 16 * 1024 * 1024;
/** Most dictionaries and lists inside of each other. */
const MAX_DEPTH = 64;
/** Most values in a document: a file of a torrent has about ten. */
const MAX_VALUES = 500_000;
const MAX_KEY_BYTES = 1024;
/** Most digits of a number: all whole numbers that JavaScript has exactly have fewer. */
const MAX_DIGITS = 16;

const [ZERO, NINE, MINUS, COLON] = [0x30, 0x39, 0x2d, 0x3a];
const [DICTIONARY, INTEGER, LIST, END] = [0x64, 0x69, 0x6c, 0x65];

/**
 * Reads a document. Strings are parts of it, not copies.
 *
 * @throws MillraceError `bad-metalink`, naming the position in bytes
 */
export function parseBencode(document: Uint8Array): Bencoded {
  if (document.length > MAX_TORRENT_BYTES) fail(`it has more than ${MAX_TORRENT_BYTES} bytes`);
  const reader = new Reader(document);
  const value = reader.value(0);
  if (reader.at < document.length) fail(`something follows its end, at byte ${reader.at}`);
  return value;
}

/** Returns true for a document that begins like a torrent: no XML does. */
export function looksBencoded(document: Uint8Array): boolean {
  const [first = 0, second = 0] = document;
  return first === DICTIONARY && second >= ZERO && second <= NINE;
}

/** Returns true for a dictionary. */
export function isDictionary(value: Bencoded | undefined): value is Dictionary {
  return typeof value === 'object' && 'entries' in value && value.entries instanceof Map;
}

class Reader {
  at = 0;
  readonly #bytes: Uint8Array;
  #values = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  value(depth: number): Bencoded {
    if (++this.#values > MAX_VALUES) fail(`it has more than ${MAX_VALUES} values`);
    if (depth > MAX_DEPTH) fail(`more than ${MAX_DEPTH} lists are inside of each other`);
    const start = this.at;
    switch (this.#bytes[start]) {
      case INTEGER:
        this.at++;
        return this.#number(END);
      case LIST:
        this.at++;
        return this.#list(depth);
      case DICTIONARY:
        this.at++;
        return { entries: this.#entries(depth), bytes: this.#bytes.subarray(start, this.at) };
      default:
        return this.#string();
    }
  }

  #list(depth: number): Bencoded[] {
    const list: Bencoded[] = [];
    while (!this.#ends()) list.push(this.value(depth + 1));
    return list;
  }

  #entries(depth: number): Map<string, Bencoded> {
    const entries = new Map<string, Bencoded>();
    while (!this.#ends()) {
      const start = this.at;
      const key = this.#string();
      if (key.length > MAX_KEY_BYTES) fail(`a key is too long, at byte ${start}`);
      const name = String.fromCharCode(...key);
      // Programs differ in which of the two they take.
      if (entries.has(name)) fail(`a key is there twice, at byte ${start}`);
      entries.set(name, this.value(depth + 1));
    }
    return entries;
  }

  /** Passes over the end of a list or dictionary, if it is there. */
  #ends(): boolean {
    if (this.#bytes[this.at] !== END) return false;
    this.at++;
    return true;
  }

  #string(): Uint8Array {
    const start = this.at;
    const length = this.#number(COLON);
    const end = this.at + length;
    if (length < 0 || end > this.#bytes.length) fail(`a string goes too far, at byte ${start}`);
    const string = this.#bytes.subarray(this.at, end);
    this.at = end;
    return string;
  }

  /** Reads a number, up to the byte that ends it. There is one way to write each (BEP 3). */
  #number(end: number): number {
    const start = this.at;
    let digits = '';
    for (;;) {
      const byte = this.#bytes[this.at++];
      if (byte === end) break;
      const isDigit = byte !== undefined && byte >= ZERO && byte <= NINE;
      if ((!isDigit && !(byte === MINUS && digits === '')) || digits.length > MAX_DIGITS) {
        fail(`this is not bencoding, at byte ${start}`);
      }
      digits += String.fromCharCode(byte as number);
    }
    const number = Number(digits);
    if (!/^(?:0|-?[1-9]\d*)$/.test(digits) || !Number.isSafeInteger(number)) {
      fail(`a number is wrong, at byte ${start}`);
    }
    return number;
  }
}

function fail(why: string): never {
  throw new MillraceError('bad-metalink', `the torrent cannot be read: ${why}`);
}
