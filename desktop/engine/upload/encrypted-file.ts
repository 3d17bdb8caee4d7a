/**
 * The ciphertext of a file that is uploaded, as depots get it. All uploads of the file, to whatever
 * depot, read here: a block is read, encrypted and hashed once as long as the depots are about
 * equally fast. Each block is held to the key's journal before a byte of it is given away.
 */

import { createHash } from 'node:crypto';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { blockBytesFor } from '@millrace/shared/exnode/exnode';
import type { FileState } from '../archive/upload-source.ts';
import { fill, type UploadSource } from '../archive/upload-source.ts';
import { BodyCipher } from '../seal/body-cipher.ts';
import { keysOf } from '../seal/file-keys.ts';
import type { FileDigests } from './block-digests.ts';
import { DIGEST_BYTES, KeyJournal } from './key-journal.ts';

/** Bytes that are read, encrypted and written down at a time, at least one block. */
const GROUP_BYTES = 4 * 1024 * 1024;
/** Groups that are kept for depots that are a little slower. */
const KEPT_GROUPS = 2;
/** Largest block: that of files of 1 TiB. A few of them are in memory at a time. */
const MAX_BLOCK_BYTES = 64 * 1024 * 1024;

/** Reads ciphertext. @returns at least one byte and at most the wanted ones */
export type ReadCiphertext = (position: number, bytes: number) => Promise<Buffer>;

export class EncryptedFile {
  readonly #path: string;
  readonly #source: UploadSource;
  readonly #state: FileState;
  readonly #journal: KeyJournal;
  readonly #blockBytes: number;
  readonly #cipher: BodyCipher;
  readonly #kept = new Map<number, Buffer>();
  /** Digest of the plain file up to `#hashedEnd`. */
  readonly #plain = createHash('sha256');
  #hashedEnd = 0;
  /** Groups are made one after the other: they have one plain buffer, and one order in the journal. */
  #last: Promise<unknown> = Promise.resolve();
  #scratch = Buffer.alloc(0);

  private constructor(path: string, source: UploadSource, journal: KeyJournal) {
    this.#path = path;
    this.#source = source;
    this.#state = source.state;
    this.#journal = journal;
    this.#blockBytes = blockBytesFor(source.state.bytes);
    this.#cipher = new BodyCipher(this.bodyKey);
  }

  /**
   * Encrypts a file with the key of an interrupted upload, or with a new one.
   *
   * @param path of the file, absolute
   * @param source reads it; not closed here
   * @param state folder for the state of programs
   * @throws MillraceError `bad-option` if it is too large, `upload-running`; those of the disk
   */
  static async open(path: string, source: UploadSource, state: string): Promise<EncryptedFile> {
    try {
      const { bytes } = source.state;
      const blockBytes = blockBytesFor(bytes);
      if (blockBytes > MAX_BLOCK_BYTES) {
        throw new MillraceError('bad-option', 'files above 1 TiB cannot be encrypted');
      }
      const blocks = Math.ceil(bytes / blockBytes);
      return new EncryptedFile(
        path,
        source,
        await KeyJournal.open(state, path, source.state, blocks),
      );
    } catch (error) {
      throw isMillraceError(error, 'file-in-use') ? new MillraceError('upload-running') : error;
    }
  }

  /** State of the file, whose bytes are encrypted. */
  get state(): FileState {
    return this.#state;
  }

  /** The key, 32 bytes. */
  get key(): Uint8Array {
    return this.#journal.key;
  }

  /** The key of the ciphertext. */
  get bodyKey(): Uint8Array {
    return keysOf(this.key).body;
  }

  /** Tells keys apart, and tells nothing of them. */
  get keyId(): string {
    return createHash('sha256').update(this.key).digest('hex').slice(0, 32);
  }

  /**
   * Reads ciphertext.
   *
   * @returns at least one byte and at most the wanted ones, which must not be changed
   * @throws MillraceError `file-has-changed` if these bytes, or others near them, are not what was
   *   encrypted before: the key is then forgotten. Those of the disk
   */
  readonly read: ReadCiphertext = async (position, bytes) => {
    const group = Math.floor(position / this.#groupBytes);
    const ciphertext = this.#kept.get(group) ?? (await this.#inTurn(() => this.#make(group)));
    const at = position - group * this.#groupBytes;
    return ciphertext.subarray(at, at + bytes);
  };

  /**
   * Returns the digest of the plain file, and those of the blocks of its ciphertext. Reads what has
   * not been read in order.
   *
   * @throws MillraceError as `read`; the signal's reason
   */
  async digests(signal: AbortSignal): Promise<FileDigests> {
    while (this.#hashedEnd < this.#state.bytes) {
      signal.throwIfAborted();
      await this.#inTurn(() => this.#make(Math.floor(this.#hashedEnd / this.#groupBytes)));
    }
    const { digests } = this.#journal;
    const hexes = Array.from({ length: digests.length / DIGEST_BYTES }, (_, i) =>
      digests.toString('hex', i * DIGEST_BYTES, (i + 1) * DIGEST_BYTES),
    );
    const sha256 = this.#plain.copy().digest('hex');
    const blocks = { algorithm: 'sha256', pieceBytes: this.#blockBytes, hexes } as const;
    return { ...this.#state, sha256, blocks };
  }

  /** Forgets the key: the exNode that has it is written, or it must not be used any more. */
  forget(): Promise<void> {
    return this.#journal.remove();
  }

  async close(): Promise<void> {
    await this.#last.catch(() => {});
    await this.#journal.close();
  }

  get #groupBytes(): number {
    return Math.max(GROUP_BYTES, this.#blockBytes);
  }

  #inTurn<T>(make: () => Promise<T>): Promise<T> {
    const made = this.#last.catch(() => {}).then(make);
    this.#last = made;
    return made;
  }

  /** Reads, encrypts and hashes a group, and writes it down. @returns its ciphertext */
  async #make(group: number): Promise<Buffer> {
    const start = group * this.#groupBytes;
    const kept = this.#kept.get(group);
    if (kept !== undefined && this.#hashedEnd !== start) return kept;
    const bytes = Math.min(this.#groupBytes, this.#state.bytes - start);
    if (this.#scratch.length < bytes) this.#scratch = Buffer.allocUnsafeSlow(bytes);
    const plain = this.#scratch.subarray(0, bytes);
    try {
      await fill(this.#source, plain, start);
    } catch (error) {
      throw isMillraceError(error, 'file-has-changed') ? await this.#changed() : error;
    }
    const ciphertext = this.#cipher.apply(start, plain);
    const digests: Buffer[] = [];
    for (let at = 0; at < bytes; at += this.#blockBytes) {
      const block = ciphertext.subarray(at, at + this.#blockBytes);
      digests.push(createHash('sha256').update(block).digest());
    }
    const first = start / this.#blockBytes;
    if (!(await this.#journal.commit(first, Buffer.concat(digests)))) throw await this.#changed();
    if (this.#hashedEnd === start) {
      this.#plain.update(plain);
      this.#hashedEnd = start + bytes;
    }
    this.#kept.delete(group);
    this.#kept.set(group, ciphertext);
    const [oldest = group] = this.#kept.keys();
    if (this.#kept.size > KEPT_GROUPS) this.#kept.delete(oldest);
    return ciphertext;
  }

  /** The file is another one: what was encrypted of it must stay the only use of the key. */
  async #changed(): Promise<MillraceError> {
    await this.forget();
    const detail = `${this.#path} has changed since its upload began: begin it again`;
    return new MillraceError('file-has-changed', detail);
  }
}
