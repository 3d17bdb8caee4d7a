/** One allocation: its head, how much of it is on the disk, and the requests that use it. */

import { createHash, type Hash } from 'node:crypto';
import { join } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Head } from './heads/head.ts';
import {
  idOf,
  lengthOf,
  mayHaveType,
  type PackedHead,
  packHead,
  unpackHead,
} from './heads/packed-head.ts';

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

/** State of an allocation in use: most of a depot lie still, and have none. */
interface Use {
  offset: number;
  sums: number;
  /** Undefined: the one of the head. */
  claim: { readonly proof: string | undefined } | undefined;
  hash: RunningHash | undefined;
  turn: HeldTurn | undefined;
  readers: Set<AbortController> | undefined;
  ended: MillraceError | undefined;
  /** Last change of the head, or of the folder. */
  changes: Promise<unknown> | undefined;
}

/** Returns the folder of an id. */
export type FolderOf = (id: string) => string;

export class Allocation {
  readonly #folder: string | FolderOf;
  #head: Head | PackedHead;
  /** True if other nodes may have been told of the file, as it is now. */
  told = false;
  #use: Use | undefined;

  /**
   * @param folder or how it follows from the id, which takes less memory
   * @param offset bytes that are on the disk, in `sums` records; those of complete uploads need not be
   *   known
   */
  constructor(folder: string | FolderOf, head: Head, offset: number, sums: number) {
    this.#folder = folder;
    this.#head = packed(head);
    if (head.final?.length === offset && sums === 0) return;
    this.#use = newUse(offset, sums);
  }

  get folder(): string {
    if (typeof this.#folder === 'string') return this.#folder;
    return this.#folder(typeof this.#head === 'string' ? idOf(this.#head) : this.#head.id);
  }

  /** Everything about it but its bytes. A change replaces the head as a whole. */
  get head(): Head {
    return typeof this.#head === 'string' ? unpackHead(this.#head) : this.#head;
  }

  set head(head: Head) {
    this.#head = packed(head);
  }

  /** Returns true for a file of a type. Takes little time for complete uploads of other types. */
  hasType(type: string): boolean {
    if (typeof this.#head === 'string' && !mayHaveType(this.#head, type)) return false;
    return this.head.type === type;
  }

  /** Bytes that are on the disk for certain: all that is ever acknowledged. */
  get offset(): number {
    if (this.#use !== undefined) return this.#use.offset;
    return typeof this.#head === 'string' ? lengthOf(this.#head) : (this.#head.final?.length ?? 0);
  }

  set offset(offset: number) {
    this.#used.offset = offset;
  }

  /** Records of sums that are on the disk. */
  get sums(): number {
    return this.#use?.sums ?? 0;
  }

  set sums(sums: number) {
    this.#used.sums = sums;
  }

  /** SHA-256 of the claim of the guest who uses it: known at once, and on the disk a little later. */
  get claim(): string | undefined {
    return (this.#use?.claim ?? { proof: this.head.claim }).proof;
  }

  set claim(claim: string | undefined) {
    this.#used.claim = { proof: claim };
  }

  get #used(): Use {
    this.#use ??= newUse(this.offset, 0);
    return this.#use;
  }

  /** Folder of its bytes. */
  get bytesFolder(): string {
    return editionFolder(this.folder, this.head.edition);
  }

  get isComplete(): boolean {
    return typeof this.#head === 'string' || this.#head.final !== undefined;
  }

  /** True while a pull has the turn. */
  get isPulling(): boolean {
    return this.#use?.turn?.kind === 'pull';
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
    const before = this.#use?.turn;
    const own: HeldTurn = { kind, controller, done };
    this.#used.turn = own;
    const end = () => {
      if (this.#use?.turn === own) this.#used.turn = undefined;
      resolveDone();
    };
    before?.controller.abort(
      new MillraceError('interrupted', 'another request continues the upload'),
    );
    await before?.done;
    if (this.#use?.ended !== undefined) controller.abort(this.#use?.ended);
    if (controller.signal.aborted) {
      end();
      throw controller.signal.reason;
    }
    return { signal: controller.signal, end };
  }

  /** Lets a change of the head or the folder begin when all earlier ones have ended. */
  changeHead(change: () => Promise<void>): Promise<void> {
    const done = (this.#use?.changes ?? Promise.resolve()).then(change);
    this.#used.changes = done.catch(() => {});
    return done;
  }

  /**
   * Registers a request that reads.
   *
   * @param controller aborted when the allocation ends
   * @returns removes it again
   */
  addReader(controller: AbortController): () => void {
    const used = this.#used;
    used.readers ??= new Set();
    used.readers.add(controller);
    return () => void used.readers?.delete(controller);
  }

  /** Ends all requests that read it; others may begin. */
  endReaders(error: MillraceError): void {
    for (const reader of this.#use?.readers ?? []) reader.abort(error);
  }

  /** Ends all requests that use it, and lets no others begin. Resolves when none writes. */
  async end(error: MillraceError): Promise<void> {
    this.#used.ended ??= error;
    this.endReaders(error);
    this.#use?.turn?.controller.abort(error);
    // A request may take the turn over from the one that is being ended.
    for (let turn = this.#use?.turn; turn !== undefined; turn = this.#use?.turn) {
      await turn.done;
      if (this.#use?.turn === turn) this.#used.turn = undefined;
    }
  }

  /** Offset of the first byte that is not in the digest yet. */
  get hashedEnd(): number {
    return this.#use?.hash?.end ?? 0;
  }

  /** Adds bytes to the digest if they are the next ones. */
  addToHash(bytes: Uint8Array, start: number): void {
    if (start !== this.hashedEnd) return;
    const used = this.#used;
    used.hash ??= { hash: createHash('sha256'), end: 0 };
    used.hash.hash.update(bytes);
    used.hash.end += bytes.length;
  }

  /** Forgets the digest if it covers bytes that are not on the disk. */
  mendHash(): void {
    if (this.hashedEnd > this.offset) this.#used.hash = undefined;
  }

  /** SHA-256 of all bytes that were added, hexadecimal. */
  get sha256(): string {
    const hash = this.#use?.hash?.hash.copy() ?? createHash('sha256');
    return hash.digest('hex');
  }
}

function newUse(offset: number, sums: number): Use {
  return {
    ...{ offset, sums, claim: undefined, hash: undefined, turn: undefined },
    ...{ readers: undefined, ended: undefined, changes: undefined },
  };
}

/** Packs the head of an upload that is complete, and so changes seldom. */
function packed(head: Head): Head | PackedHead {
  const { final, pull } = head;
  return final === undefined || pull !== undefined ? head : packHead({ ...head, final });
}

/** Returns the folder with the bytes of an edition. */
export function editionFolder(folder: string, edition: number | undefined): string {
  return edition === undefined ? folder : join(folder, `e${edition}`);
}
