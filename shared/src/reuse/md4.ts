/**
 * MD4 (RFC 1320), which lists of blocks in zsync's format use. Node's own crypto lacks it where OpenSSL
 * leaves its legacy algorithms out. It is broken: it finds blocks, and proves nothing.
 */

/** Bytes that the function takes at a time. */
const CHUNK_BYTES = 64;
/** Bytes of the length at the end. */
const LENGTH_BYTES = 8;
const TO_UINT32 = 2 ** 32;

/** The order in which a round takes the 16 words of a chunk, and its rotations. */
interface Round {
  readonly order: readonly number[];
  readonly rotations: readonly number[];
  readonly constant: number;
}

const ROUNDS: readonly [Round, Round, Round] = [
  {
    order: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    rotations: [3, 7, 11, 19],
    constant: 0,
  },
  {
    order: [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15],
    rotations: [3, 5, 9, 13],
    constant: 0x5a827999,
  },
  {
    order: [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15],
    rotations: [3, 9, 11, 15],
    constant: 0x6ed9eba1,
  },
];

const [FIRST, SECOND, THIRD] = ROUNDS;

/** Computes MD4 of many short messages without new memory for each. */
export class Md4 {
  readonly #state = new Int32Array(4);
  readonly #words = new Int32Array(16);
  readonly #tail = new Uint8Array(2 * CHUNK_BYTES);
  readonly #digest = new Uint8Array(16);

  /**
   * Returns the digest of some bytes.
   *
   * @param start first byte
   * @param end after the last byte
   * @returns 16 bytes, valid until the next call
   */
  digest(bytes: Uint8Array, start = 0, end = bytes.length): Uint8Array {
    const state = this.#state;
    state[0] = 0x67452301;
    state[1] = 0xefcdab89 | 0;
    state[2] = 0x98badcfe | 0;
    state[3] = 0x10325476;
    let at = start;
    for (; at + CHUNK_BYTES <= end; at += CHUNK_BYTES) this.#add(bytes, at);
    const tail = this.#tail.fill(0);
    tail.set(bytes.subarray(at, end));
    const left = end - at;
    tail[left] = 0x80;
    const tailBytes = left + 1 + LENGTH_BYTES > CHUNK_BYTES ? 2 * CHUNK_BYTES : CHUNK_BYTES;
    const bits = (end - start) * 8;
    writeWord(tail, tailBytes - LENGTH_BYTES, bits % TO_UINT32);
    writeWord(tail, tailBytes - LENGTH_BYTES / 2, Math.floor(bits / TO_UINT32));
    for (let i = 0; i < tailBytes; i += CHUNK_BYTES) this.#add(tail, i);
    for (let i = 0; i < 4; i++) writeWord(this.#digest, 4 * i, state[i] as number);
    return this.#digest;
  }

  #add(bytes: Uint8Array, from: number): void {
    const words = this.#words;
    for (let i = 0, at = from; i < 16; i++, at += 4) {
      words[i] =
        (bytes[at] as number) |
        ((bytes[at + 1] as number) << 8) |
        ((bytes[at + 2] as number) << 16) |
        ((bytes[at + 3] as number) << 24);
    }
    const state = this.#state;
    let a = state[0] as number;
    let b = state[1] as number;
    let c = state[2] as number;
    let d = state[3] as number;
    for (let i = 0; i < 16; i++) {
      const mixed = ((b & c) | (~b & d)) + (words[i] as number) + a;
      a = d;
      d = c;
      c = b;
      b = rotated(mixed, FIRST.rotations[i & 3] as number);
    }
    for (let i = 0; i < 16; i++) {
      const word = words[SECOND.order[i] as number] as number;
      const mixed = ((b & c) | (b & d) | (c & d)) + word + SECOND.constant + a;
      a = d;
      d = c;
      c = b;
      b = rotated(mixed, SECOND.rotations[i & 3] as number);
    }
    for (let i = 0; i < 16; i++) {
      const word = words[THIRD.order[i] as number] as number;
      const mixed = (b ^ c ^ d) + word + THIRD.constant + a;
      a = d;
      d = c;
      c = b;
      b = rotated(mixed, THIRD.rotations[i & 3] as number);
    }
    state[0] = ((state[0] as number) + a) | 0;
    state[1] = ((state[1] as number) + b) | 0;
    state[2] = ((state[2] as number) + c) | 0;
    state[3] = ((state[3] as number) + d) | 0;
  }
}

function rotated(sum: number, bits: number): number {
  const word = sum | 0;
  return (word << bits) | (word >>> (32 - bits));
}

/** Writes a word, its lowest byte first. */
function writeWord(into: Uint8Array, at: number, word: number): void {
  for (let i = 0; i < 4; i++) into[at + i] = word >>> (8 * i);
}
