/**
 * Uploads a file to a depot. What the depot has acknowledged is never sent again: after a broken
 * connection, a restart of the depot, or the end of this process, the upload continues there. The
 * digest of the file decides in the end whether the depot has the right bytes.
 */

import { createHash, type Hash } from 'node:crypto';
import { type ByteRange, rangeBytes } from '@millrace/shared/base/byte-range';
import type { Millis } from '@millrace/shared/base/clock';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { GuestSpace as Reserved } from '@millrace/shared/http/urls/guest-link';
import { openSource } from '../archive/open-source.ts';
import type { UploadSource } from '../archive/upload-source.ts';
import type { RateLimit } from '../download/rate-limit.ts';
import type { Content } from '../net/depot-exchange.ts';
import { type Allocated, appendRest, stateOf, type UploadState } from './depot-client.ts';
import type { EncryptedFile } from './encrypted-file.ts';
import { GuestSpace } from './guest-space.ts';
import { KeptSpace } from './kept-space.ts';
import { Retry } from './retry.ts';
import { UploadJournal } from './upload-journal.ts';

/** Bytes that are read and sent at a time. */
const PIECE_BYTES = 256 * 1024;

export interface UploadOptions {
  /** The file, an absolute path; or a folder, which is stored as a tar. */
  readonly path: string;
  /** Reads what is at the path, and is not closed here; undefined: the path is opened. */
  readonly source?: UploadSource | undefined;
  /** Name that the file gets. */
  readonly name: string;
  /** The part of the file that is stored; undefined: all of it. */
  readonly part?: ByteRange | undefined;
  /** The ciphertext, which is stored in place of the file; undefined: the file itself is stored. */
  readonly encrypted?: EncryptedFile | undefined;
  /** Spaces of a link for guests; undefined: the token reserves one. */
  readonly guest?: readonly Reserved[] | undefined;
  /** Base URL of the depot; for guests the first space. */
  readonly edge: string;
  readonly token: string;
  /** Time from now for which the file is stored. */
  readonly forMs: Millis;
  /** Limit of the bytes that are sent. */
  readonly limit?: RateLimit | undefined;
  /** Folder for the state of programs. */
  readonly state: string;
  /** Time without progress after which the upload is given up. */
  readonly retryMs: Millis;
  readonly signal: AbortSignal;
  /** True: the same upload finds the file stored until `forget` of the result is called. */
  readonly keepsRecord?: boolean;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  readonly observe: UploadObserver;
}

export interface UploadObserver {
  /** Called once space is reserved. @param link to read what is stored there, once it is complete */
  reserved?(link: string): void;
  /** Called once it is known how much is stored already. */
  begun(bytes: number, stored: number): void;
  /** Called with the end of the bytes that have been handed to the connection. */
  sent(end: number): void;
  /** Called with the end of the bytes that the depot has acknowledged. */
  acknowledged?(end: number): void;
  /** Called when an attempt has failed, and another one is made after a pause. */
  retried(error: MillraceError, pauseMs: Millis): void;
  /** Called when an earlier upload cannot be continued. */
  anew(): void;
}

export interface Uploaded {
  readonly link: string;
  /** Allows writing, which is over. */
  readonly write: string;
  /** Manages what is stored: extends, removes. */
  readonly manage: string;
  readonly expires: string;
  readonly bytes: number;
  readonly sha256: string;
  /** Forgets where the file is stored. */
  readonly forget: () => Promise<void>;
}

/** State of an upload before its first byte. */
const NOTHING: UploadState = {
  offset: 0,
  complete: false,
  sha256: undefined,
  maxSize: undefined,
};

/**
 * Uploads a file.
 *
 * @throws MillraceError `bad-option` if the file cannot be read, as `openSource`, `upload-running`,
 *   `file-has-changed`, `content-mismatch`; those of the depot and the network
 */
export async function upload(options: UploadOptions): Promise<Uploaded> {
  const { path, edge, state, part, encrypted } = options;
  const journal = new UploadJournal(state, path, edge, part, encrypted?.keyId);
  const source = options.source ?? (await openSource(path, options.signal));
  try {
    const unlock = await journal.lock().catch((error: unknown) => {
      throw isMillraceError(error, 'file-in-use') ? new MillraceError('upload-running') : error;
    });
    try {
      return await new Upload(options, source, journal).run();
    } finally {
      await unlock();
    }
  } finally {
    if (options.source === undefined) await source.close();
  }
}

class Upload {
  readonly #options: UploadOptions;
  readonly #source: UploadSource;
  readonly #journal: UploadJournal;
  readonly #hash: Hash = createHash('sha256');
  /** End of the bytes that are in the digest. */
  #hashedEnd = 0;
  /** The part of the file that is stored. Offsets of the upload count from its start. */
  #part: ByteRange = { start: 0, end: 0 };
  /** Largest offset that the depot has acknowledged. */
  #stored = 0;
  readonly #retry: Retry;
  #hasBegun = false;
  /** Fields of all requests by which a guest shows that the upload is his. */
  #fields: Record<string, string> = {};

  constructor(options: UploadOptions, source: UploadSource, journal: UploadJournal) {
    this.#options = options;
    this.#source = source;
    this.#journal = journal;
    const { retryMs, signal, now, observe } = options;
    const onRetry = observe.retried.bind(observe);
    this.#retry = new Retry({ retryMs, signal, now, onRetry });
  }

  async run(): Promise<Uploaded> {
    const { observe, part, keepsRecord = false } = this.#options;
    const { state: fileState } = this.#source;
    this.#part = part ?? { start: 0, end: fileState.bytes };
    const bytes = rangeBytes(this.#part);
    if (this.#part.end > fileState.bytes) throw new MillraceError('file-has-changed');
    const [journal, retry] = [this.#journal, this.#retry];
    const { edge, token, name, forMs, signal, guest } = this.#options;
    const space =
      guest === undefined
        ? new KeptSpace({ journal, fileState, forMs, retry, signal })
        : new GuestSpace({ journal, fileState, spaces: guest, name, retry, signal });
    const allocated = await space.take({ edge, token, bytes, name }, () => observe.anew());
    observe.reserved?.(allocated.read);
    if (space instanceof GuestSpace) this.#fields = space.fields;
    const { sha256: theirs } = await this.#send(allocated, space);
    await this.#hashTo(bytes);
    const sha256 = this.#hash.digest('hex');
    if (theirs !== sha256) {
      await space.giveUp(allocated);
      throw new MillraceError('content-mismatch', `its SHA-256 is ${theirs}, not ${sha256}`);
    }
    const forget = () => this.#journal.remove();
    if (!keepsRecord) await forget();
    const { read: link, write, manage, expires } = allocated;
    return { link, write, manage, expires, bytes, sha256, forget };
  }

  /** Sends what the depot does not have yet. @returns the state of the complete upload */
  #send(allocated: Allocated, space: KeptSpace | GuestSpace): Promise<UploadState> {
    const { observe, signal } = this.#options;
    const { write } = allocated;
    const bytes = rangeBytes(this.#part);
    // Of space that has just been reserved, nothing need be asked.
    let known = space instanceof KeptSpace && space.isNew ? NOTHING : undefined;
    return this.#retry.run(async () => {
      const state = known ?? (await stateOf(write, signal, this.#fields));
      known = undefined;
      this.#onStored(state.offset);
      if (!this.#hasBegun) observe.begun(bytes, state.offset);
      this.#hasBegun = true;
      if (state.complete) return state;
      if (state.offset > bytes) {
        await space.giveUp(allocated);
        throw new MillraceError('file-has-changed');
      }
      await this.#hashTo(state.offset);
      const content = { bytes: bytes - state.offset, pieces: this.#pieces(state.offset) };
      try {
        return await this.#append(write, state.offset, content);
      } catch (error) {
        if (isMillraceError(error, 'file-has-changed')) {
          await space.giveUp(allocated);
        }
        throw error;
      }
    });
  }

  #append(write: string, offset: number, content: Content): Promise<UploadState> {
    const onStored = (stored: number) => this.#onStored(stored);
    return appendRest(write, offset, content, onStored, this.#options.signal, this.#fields);
  }

  /** Reads the part from an offset to its end. @throws MillraceError `file-has-changed` */
  async *#pieces(start: number): AsyncGenerator<Buffer, void, undefined> {
    const bytes = rangeBytes(this.#part);
    for (let at = start; at < bytes; ) {
      const piece = await this.#read(at, Math.min(PIECE_BYTES, bytes - at));
      this.#addToHash(piece, at);
      at += piece.length;
      // The last byte goes out only if the file is still the same: it completes the upload.
      if (at === bytes) await this.#source.check();
      await this.#options.limit?.take(piece.length, this.#options.signal);
      yield piece;
      this.#options.observe.sent(at);
    }
  }

  async #hashTo(end: number): Promise<void> {
    while (this.#hashedEnd < end) {
      const at = this.#hashedEnd;
      this.#addToHash(await this.#read(at, Math.min(PIECE_BYTES, end - at)), at);
    }
  }

  /** Adds the bytes that are not in the digest yet. */
  #addToHash(bytes: Buffer, start: number): void {
    const end = start + bytes.length;
    if (end <= this.#hashedEnd) return;
    this.#hash.update(bytes.subarray(Math.max(0, this.#hashedEnd - start)));
    this.#hashedEnd = end;
  }

  async #read(at: number, bytes: number): Promise<Buffer> {
    this.#options.signal.throwIfAborted();
    const position = this.#part.start + at;
    const { encrypted } = this.#options;
    if (encrypted !== undefined) return encrypted.read(position, bytes);
    const into = Buffer.allocUnsafe(bytes);
    return into.subarray(0, await this.#source.read(into, position));
  }

  #onStored(offset: number): void {
    if (offset <= this.#stored) return;
    this.#stored = offset;
    this.#retry.onProgress();
    this.#options.observe.acknowledged?.(offset);
  }
}
