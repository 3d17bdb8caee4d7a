/**
 * Digests of the segments of downloads, for the journal: XXH64. Like the checksums of file systems,
 * it detects bytes damaged by an unfinished write, a failing disk or an editor; two different
 * segments have the same digest by chance once in 2^64. It is no defence against an attacker: one
 * who can write to the partial file can write to the journal. Digests that a publisher states are
 * checked with the stated algorithm.
 *
 * The digest is computed on the thread that received the bytes, which has them in its cache: native
 * code takes a seventh of a millisecond for 1 MiB. Where there is no native code for the system,
 * WebAssembly stands in. It takes nearly twice that time, because the bytes must be copied into its
 * memory.
 */

interface Running {
  update(bytes: Uint8Array): unknown;
  /** Returns the digest of all bytes so far; more may be added afterwards. */
  digest(): bigint;
}

interface Xxh64 {
  /** Returns the digest of bytes. */
  of(bytes: Uint8Array): bigint;
  begin(): Running;
}

/** Bytes to copy into the memory of the WebAssembly module at a time: that memory never shrinks. */
const STEP_BYTES = 1024 * 1024;

const xxh64 = await native().catch(webAssembly);

/** Returns the digest of a segment: 16 hexadecimal digits. */
export function segmentDigest(bytes: Uint8Array): string {
  return digits(xxh64.of(bytes));
}

/** Computes the digest of bytes that arrive one after the other. */
export class RunningDigest {
  readonly #running = xxh64.begin();

  /** Adds bytes. @returns the digest of all bytes so far: 16 hexadecimal digits */
  add(bytes: Uint8Array): string {
    this.#running.update(bytes);
    return digits(this.#running.digest());
  }
}

function digits(digest: bigint): string {
  return digest.toString(16).padStart(16, '0');
}

/** Loads the native implementation. @throws Error if there is none for this system */
export async function native(): Promise<Xxh64> {
  const { xxh64, Xxh64 } = await import('@node-rs/xxhash');
  return { of: (bytes) => xxh64(bytes), begin: () => new Xxh64() };
}

export async function webAssembly(): Promise<Xxh64> {
  const { default: load } = await import('xxhash-wasm');
  const { create64, h64Raw } = await load();
  const begin = (): Running => {
    const hash = create64();
    return {
      update(bytes) {
        for (let at = 0; at < bytes.length; at += STEP_BYTES) {
          hash.update(bytes.subarray(at, at + STEP_BYTES));
        }
      },
      digest: () => hash.digest(),
    };
  };
  const of = (bytes: Uint8Array) => {
    if (bytes.length <= STEP_BYTES) return h64Raw(bytes);
    const running = begin();
    running.update(bytes);
    return running.digest();
  };
  return { of, begin };
}
