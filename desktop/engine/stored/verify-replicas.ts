/** Verifies the replicas of an exNode: reads all of them, and compares the digest of each block. */

import { createHash } from 'node:crypto';
import type { ByteRange } from '@millrace/shared/base/byte-range';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Exnode } from '@millrace/shared/exnode/exnode';
import type { Finding, Findings } from '@millrace/shared/exnode/findings';
import { type Listed, replicaBlock, replicaBytes } from '@millrace/shared/exnode/replicas';
import type { DownloadSource } from '../sources/download-source.ts';
import { type AskOptions, askReplicas } from './ask-replicas.ts';
import { checkOne, endOf, lengthOf } from './check-replicas.ts';

export interface VerifyOptions extends AskOptions {
  /** Called with numbers of bytes that have been read. */
  readonly onBytes: (bytes: number) => void;
}

/**
 * Reads all replicas. Memory does not grow with the file: bytes are hashed as they come.
 *
 * @throws MillraceError `interrupted`
 */
export function verifyReplicas(options: VerifyOptions): Promise<Findings> {
  return askReplicas(options, (listed, source) => verifyOne(listed, source, options));
}

async function verifyOne(
  listed: Listed,
  source: DownloadSource,
  options: VerifyOptions,
): Promise<Finding> {
  // A copy of the exNode has no blocks.
  if (listed.extent === undefined) return checkOne(listed, source, options.signal);
  const end = replicaBytes(listed);
  const reading = new ReplicaReading(options.exnode, listed);
  while (reading.at < end) {
    const before = reading.at;
    const asked = { start: before, end };
    const failure = await readOn(reading, asked, listed.replica.at, source, options).then(
      () => new MillraceError('wrong-range', 'it sends less than a block at a time'),
      (error: unknown) => error,
    );
    // A connection that has brought a whole block has been worth its while.
    if (options.signal.aborted || reading.at === before) throw failure;
  }
  return reading.finding();
}

/**
 * Reads as much of a replica as one answer brings.
 *
 * @param ahead position of the replica in what the URL serves
 * @throws MillraceError
 */
async function readOn(
  reading: ReplicaReading,
  { start, end }: ByteRange,
  ahead: number,
  source: DownloadSource,
  { signal, onBytes }: VerifyOptions,
): Promise<void> {
  const range = { start: start + ahead, end: end + ahead };
  const opened = await source.openRange(range, undefined, signal);
  try {
    const length = lengthOf(opened);
    if (length < range.end) {
      throw new MillraceError('wrong-length', `${length} bytes instead of ${range.end}`);
    }
    reading.beginAnswer(endOf(opened));
    await opened.read((at, bytes) => {
      reading.take(at - ahead, bytes);
      onBytes(bytes.length);
      return undefined;
    });
  } catch (error) {
    opened.discard();
    throw error;
  }
}

/** The state of reading one replica. */
class ReplicaReading {
  readonly #exnode: Exnode;
  readonly #listed: Listed;
  /** Position in the replica of the first byte whose block has not been compared. */
  at = 0;
  #block = 0;
  #hash = createHash('sha256');
  #taken = 0;
  #wrong = 0;
  #firstWrong: number | undefined;
  /** End of the lease, as the latest answer told. */
  #expires: Millis | undefined;

  constructor(exnode: Exnode, listed: Listed) {
    this.#exnode = exnode;
    this.#listed = listed;
  }

  /** Forgets the bytes of the block that an earlier answer has not brought to its end. */
  beginAnswer(expires: Millis | undefined): void {
    this.#expires = expires;
    this.#hash = createHash('sha256');
    this.#taken = this.at;
  }

  /** Takes the next bytes. @throws MillraceError `wrong-range` if they are others */
  take(at: number, bytes: Uint8Array): void {
    if (at !== this.#taken) throw new MillraceError('wrong-range', 'bytes come out of order');
    for (let rest = bytes; rest.length > 0; ) {
      const { range } = replicaBlock(this.#exnode, this.#listed, this.#block);
      const own = rest.subarray(0, range.end - this.#taken);
      this.#hash.update(own);
      this.#taken += own.length;
      rest = rest.subarray(own.length);
      if (this.#taken === range.end) this.#compare();
    }
  }

  finding(): Finding {
    const expires = this.#expires;
    if (this.#firstWrong === undefined) return { state: 'there', expires };
    const error = new MillraceError('wrong-digest');
    return {
      state: 'damaged',
      error,
      expires,
      wrong: { blocks: this.#wrong, first: this.#firstWrong },
    };
  }

  #compare(): void {
    const { hex, block } = replicaBlock(this.#exnode, this.#listed, this.#block);
    if (this.#hash.digest('hex') !== hex) {
      this.#wrong++;
      this.#firstWrong ??= block;
    }
    this.#hash = createHash('sha256');
    this.#block++;
    this.at = this.#taken;
  }
}
