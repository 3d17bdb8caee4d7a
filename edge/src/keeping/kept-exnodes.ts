/**
 * Copies of exNodes of other depots on this node's disk, a file each in the folder of its own depot:
 *
 *     exnodes/HEX   a line of JSON, and the text of the exNode
 *
 * They have room of their own beside the depot's quota, so that no other depot can fill it.
 */

import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ByteRange } from '@millrace/shared/base/byte-range';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import { ENTRY_BYTES, OBJECT_BYTES } from '@millrace/shared/cdn/admission/memory-weight';
import { depotTagOf } from '@millrace/shared/cdn/depot/depot-file';
import { MAX_KEPT_DEPOTS } from '@millrace/shared/cdn/routing/keepers';
import { LeaseLedger } from '@millrace/shared/cdn/upkeep/lease-ledger';
import { replaceFile } from '@millrace/shared/node/files/replace-file';
import { readOrThrow } from '@millrace/shared/schema/read';
import * as z from 'zod';

/** Part of the depot's quota that copies take besides it, at most, and most copies. */
const QUOTA_SHARE = 1 / 64;
const MAX_COPIES = 50_000;
/** Part of both that copies of one depot take. */
const DEPOT_SHARE = 1 / 4;
/** Longest first line: a name may have a thousand characters, each of them escaped. */
const MAX_LINE_BYTES = 16 * 1024;
/** Memory of what is known of a copy: three texts of a hundred characters, and three entries. */
const COPY_BYTES = 3 * (ENTRY_BYTES + 100) + OBJECT_BYTES;
const NEW = /\.new$/;

const hex64 = z.string().regex(/^[0-9a-f]{64}$/);
const LINE = z.object({
  format: z.literal(1),
  id: z.string().regex(/^[A-Za-z0-9_-]{16}$/),
  /** SHA-256 of the secret of its links. */
  proof: hex64,
  length: z.int().min(0),
  sha256: hex64,
  name: z.string().max(1000).optional(),
  edition: z.int().min(1).optional(),
  /** Unix milliseconds. */
  expiresAt: z.number().min(0).max(1e15),
  /** Purges that had been heard of when the depot was asked, see `Purges.diskMark`. */
  mark: z.tuple([z.string(), z.number()]),
});
/** A copy, without its text. */
export type KeptExnode = z.output<typeof LINE>;

/** Parses the first line of a copy's file. @throws if it is damaged */
export function parseLine(text: string): KeptExnode {
  return readOrThrow(LINE, JSON.parse(text));
}

export interface KeptExnodesOptions {
  /** Folder of the depot. */
  readonly dir: string;
  /** Quota of the depot. */
  readonly quotaBytes: number;
  readonly log: Log;
}

export class KeptExnodes {
  readonly #folder: string;
  readonly #log: Log;
  readonly #ledger: LeaseLedger;
  readonly #all = new Map<string, KeptExnode>();
  /** Names of their depots; undefined: since the last time they have changed. */
  #depots: readonly string[] | undefined;
  /** Last change of each file that is being changed. */
  readonly #changes = new Map<string, Promise<void>>();

  private constructor({ dir, quotaBytes, log }: KeptExnodesOptions) {
    this.#folder = join(dir, 'exnodes');
    this.#log = log;
    this.#ledger = new LeaseLedger({
      quotaBytes: roomFor(quotaBytes),
      maxLeases: MAX_COPIES,
    });
  }

  /** Opens the copies of former runs. Damaged ones are deleted. @throws Error if the folder cannot be used */
  static async open(options: KeptExnodesOptions): Promise<KeptExnodes> {
    const kept = new KeptExnodes(options);
    await mkdir(kept.#folder, { recursive: true, mode: 0o700 });
    await kept.#recover();
    return kept;
  }

  get count(): number {
    return this.#all.size;
  }

  /** Memory that they take, bytes. */
  get bytes(): number {
    return this.#all.size * COPY_BYTES;
  }

  /** Names of the depots of which there are copies, as many as are told others. */
  get depots(): readonly string[] {
    this.#depots ??= [...new Set([...this.#all.keys()].map(depotTagOf))].slice(0, MAX_KEPT_DEPOTS);
    return this.#depots;
  }

  get(id: string): KeptExnode | undefined {
    return this.#all.get(id);
  }

  values(): Iterable<KeptExnode> {
    return this.#all.values();
  }

  /**
   * Stores a copy in the place of an earlier one; it is durable when this resolves.
   *
   * @param text of `kept.length` bytes and of the digest; undefined: that of the earlier one
   * @throws MillraceError `allocation-refused` if there is no room; errors of the disk
   */
  async put(kept: KeptExnode, text: Buffer | undefined): Promise<void> {
    await this.#change(kept.id, async () => {
      const before = this.#all.get(kept.id);
      const bytes = text ?? (before && (await this.#textOf(before)));
      if (bytes === undefined) throw new MillraceError('no-such-allocation');
      this.#reserve(kept, before);
      try {
        await replaceFile(this.#pathOf(kept.id), `${JSON.stringify(kept)}\n${bytes.toString()}`);
        this.#all.set(kept.id, kept);
        if (before === undefined) this.#depots = undefined;
      } catch (error) {
        this.#ledger.release(kept.id);
        if (before !== undefined) this.#ledger.restore(leaseOf(before));
        throw error;
      }
    });
  }

  /** Notes what else is known of a copy, in memory only. */
  note(kept: KeptExnode): void {
    if (!this.#all.has(kept.id)) return;
    this.#all.set(kept.id, kept);
    this.#ledger.extend(kept.id, kept.expiresAt);
  }

  /** Deletes a copy, if there is one. Nobody finds it from now on. */
  async drop(id: string): Promise<void> {
    this.#forget(id);
    await this.#change(id, () => rm(this.#pathOf(id), { force: true }));
  }

  /** Deletes the copies whose lease is over. @param now Unix milliseconds */
  expire(now: Millis): void {
    for (const id of this.#ledger.expire(now)) {
      this.drop(id).catch((error: unknown) => {
        this.#log.error({ err: error, id }, 'the copy of an exNode cannot be deleted');
      });
    }
  }

  /**
   * Reads a range of a copy. All of it is compared with its digest before.
   *
   * @throws MillraceError `no-such-allocation` if the disk has damaged it: then it is deleted
   */
  async read(kept: KeptExnode, { start, end }: ByteRange): Promise<Buffer> {
    return (await this.#textOf(kept)).subarray(start, end);
  }

  /** Resolves when no file is being changed. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#changes.values());
  }

  async #textOf(kept: KeptExnode): Promise<Buffer> {
    const bytes = await readFile(this.#pathOf(kept.id)).catch(() => Buffer.alloc(0));
    const text = bytes.subarray(bytes.indexOf('\n') + 1);
    if (createHash('sha256').update(text).digest('hex') === kept.sha256) return text;
    // Unless another edition has come meanwhile.
    if (this.#all.get(kept.id) === kept) {
      this.#log.error({ id: kept.id }, 'the copy of an exNode is damaged and is not used');
      this.#forget(kept.id);
    }
    throw new MillraceError('no-such-allocation', 'its copy is damaged');
  }

  #forget(id: string): void {
    this.#ledger.release(id);
    if (this.#all.delete(id)) this.#depots = undefined;
  }

  /** @throws MillraceError `allocation-refused` */
  #reserve(kept: KeptExnode, before: KeptExnode | undefined): void {
    this.#ledger.release(kept.id);
    const { quotaBytes } = this.#ledger;
    const refusal = this.#ledger.reserve(leaseOf(kept), {
      bytes: quotaBytes * DEPOT_SHARE,
      leases: MAX_COPIES * DEPOT_SHARE,
    });
    if (refusal === undefined) return;
    if (before !== undefined) this.#ledger.restore(leaseOf(before));
    throw new MillraceError('allocation-refused', 'no room for exNodes of other depots');
  }

  /** Lets a change of a file begin when the one before has ended. */
  #change(id: string, change: () => Promise<void>): Promise<void> {
    const done = (this.#changes.get(id) ?? Promise.resolve()).then(change);
    const settled = done
      .catch(() => {})
      .finally(() => {
        if (this.#changes.get(id) === settled) this.#changes.delete(id);
      });
    this.#changes.set(id, settled);
    return done;
  }

  async #recover(): Promise<void> {
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name);
      try {
        if (NEW.test(name)) throw new Error('it was not stored completely');
        const kept = parseLine(firstLineOf(path));
        if (this.#pathOf(kept.id) !== path) throw new Error('the name is not that of its id');
        this.#ledger.restore(leaseOf(kept));
        // Without a disk tier generations begin anew, and all purges that are learned are newer.
        const isOfRun = kept.mark[0] === '';
        this.#all.set(kept.id, isOfRun ? { ...kept, mark: ['', 0] } : kept);
      } catch (error) {
        this.#log.warn({ err: error, path }, 'the copy of an exNode is damaged and is deleted');
        await rm(path, { recursive: true, force: true });
      }
    }
  }

  #pathOf(id: string): string {
    return join(this.#folder, Buffer.from(id, 'base64url').toString('hex'));
  }
}

/** Returns the room for copies beside a depot of a quota, bytes. */
export function roomFor(quotaBytes: number): number {
  return Math.floor(quotaBytes * QUOTA_SHARE);
}

function leaseOf({ id, length, expiresAt }: KeptExnode) {
  return { id, owner: depotTagOf(id), bytes: length, expiresAt };
}

/** Reads the first line of a file: waiting for each of many thousands would take longer. */
function firstLineOf(path: string): string {
  const bytes = Buffer.alloc(MAX_LINE_BYTES);
  const file = openSync(path, 'r');
  try {
    const text = bytes.subarray(0, readSync(file, bytes, 0, bytes.length, 0));
    return text.subarray(0, text.indexOf('\n')).toString();
  } finally {
    closeSync(file);
  }
}
