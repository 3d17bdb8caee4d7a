/** One allocation: its head, how much of it is on the disk, and the requests that use it. */

import { createHash, type Hash } from 'node:crypto';
import { join } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Head } from './allocation-disk.ts';

/** A request's turn at the upload; one at a time has it. */
export interface Turn {
  /** Aborts when another request wants the turn, or the allocation ends. */
  readonly signal: AbortSignal;
  /** Gives the turn back. */
  end(): void;
}

/** Users of the upload: requests of clients, and pulls, which go on without one. */
export type TurnKind = 'request' | 'pull';

interface HeldTurn {
  readonly kind: TurnKind;
  readonly controller: AbortController;
  readonly done: Promise<void>;
}

/** SHA-256 of the first bytes. */
interface RunningHash {
  readonly hash: Hash;
  end: number;
}

export class Allocation {
  readonly folder: string;
  head: Head;
  /** Bytes that are on the disk for certain: all that is ever acknowledged. */
  offset: number;
  /** Records of sums that are on the disk. */
  sums: number;
  /** SHA-256 of the claim of the guest who uses it: known at once, and on the disk a little later. */
  claim: string | undefined;
  /** True if other nodes may have been told of the file, as it is now. */
  told = false;
  /** Undefined until bytes are added: most allocations are complete, and need none. */
  #hash: RunningHash | undefined;
  #turn: HeldTurn | undefined;
  #readers: Set<AbortController> | undefined;
  #ended: MillraceError | undefined;
  /** Last change of the head, or of the folder. */
  #changes: Promise<unknown> | undefined;

  constructor(folder: string, head: Head, offset: number, sums: number) {
    this.folder = folder;
    this.head = head;
    this.claim = head.claim;
    this.offset = offset;
    this.sums = sums;
  }

  /** Folder of its bytes. */
  get bytesFolder(): string {
    return editionFolder(this.folder, this.head.edition);
  }

  get isComplete(): boolean {
    return this.head.final !== undefined;
  }

  /** True while a pull has the turn. */
  get isPulling(): boolean {
    return this.#turn?.kind === 'pull';
  }

  /**
   * Waits for the turn at the upload. A request that has it is terminated: its client has given it
   * up, or it would not have sent another one (draft-ietf-httpbis-resumable-upload-15, concurrency).
   *
   * @throws MillraceError if the allocation has ended
   */
  async takeTurn(kind: TurnKind = 'request'): Promise<Turn> {
    const controller = new AbortController();
    let resolveDone = () => {};
    const done = new Promise<void>((resolve) => {
      resolveDone = resolve;
    });
    const before = this.#turn;
    const own: HeldTurn = { kind, controller, done };
    this.#turn = own;
    const end = () => {
      if (this.#turn === own) this.#turn = undefined;
      resolveDone();
    };
    before?.controller.abort(
      new MillraceError('interrupted', 'another request continues the upload'),
    );
    await before?.done;
    if (this.#ended !== undefined) controller.abort(this.#ended);
    if (controller.signal.aborted) {
      end();
      throw controller.signal.reason;
    }
    return { signal: controller.signal, end };
  }

  /** Lets a change of the head or the folder begin when all earlier ones have ended. */
  changeHead(change: () => Promise<void>): Promise<void> {
    const done = (this.#changes ?? Promise.resolve()).then(change);
    this.#changes = done.catch(() => {});
    return done;
  }

  /**
   * Registers a request that reads.
   *
   * @param controller aborted when the allocation ends
   * @returns removes it again
   */
  addReader(controller: AbortController): () => void {
    this.#readers ??= new Set();
    this.#readers.add(controller);
    return () => void this.#readers?.delete(controller);
  }

  /** Ends all requests that read it; others may begin. */
  endReaders(error: MillraceError): void {
    for (const reader of this.#readers ?? []) reader.abort(error);
  }

  /** Ends all requests that use it, and lets no others begin. Resolves when none writes. */
  async end(error: MillraceError): Promise<void> {
    this.#ended ??= error;
    this.endReaders(error);
    this.#turn?.controller.abort(error);
    // A request may take the turn over from the one that is being ended.
    for (let turn = this.#turn; turn !== undefined; turn = this.#turn) {
      await turn.done;
      if (this.#turn === turn) this.#turn = undefined;
    }
  }

  /** Offset of the first byte that is not in the digest yet. */
  get hashedEnd(): number {
    return this.#hash?.end ?? 0;
  }

  /** Adds bytes to the digest if they are the next ones. */
  addToHash(bytes: Uint8Array, start: number): void {
    if (start !== this.hashedEnd) return;
    this.#hash ??= { hash: createHash('sha256'), end: 0 };
    this.#hash.hash.update(bytes);
    this.#hash.end += bytes.length;
  }

  /** Forgets the digest if it covers bytes that are not on the disk. */
  mendHash(): void {
    if (this.hashedEnd > this.offset) this.#hash = undefined;
  }

  /** SHA-256 of all bytes that were added, hexadecimal. */
  get sha256(): string {
    const hash = this.#hash?.hash.copy() ?? createHash('sha256');
    return hash.digest('hex');
  }
}

/** Returns the folder with the bytes of an edition. */
export function editionFolder(folder: string, edition: number | undefined): string {
  return edition === undefined ? folder : join(folder, `e${edition}`);
}
