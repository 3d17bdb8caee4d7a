/**
 * Keeps copies of exNodes of other depots, so that links to files on several depots lead somewhere
 * while the depot of the link is lost. A depot asks for that; the exNode comes from the depot alone.
 *
 * A copy may be used until the depot tells by a purge that its exNode has changed or ended. From then on
 * it may not, until the depot has said what is right.
 */

import { createHash } from 'node:crypto';
import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import { SingleFlight } from '@millrace/shared/base/single-flight';
import { FairTurns } from '@millrace/shared/cdn/admission/fair-turns';
import { chunkRange } from '@millrace/shared/cdn/chunks/chunk-plan';
import { depotFileId, depotFileUrl } from '@millrace/shared/cdn/depot/depot-file';
import type { PurgeTarget } from '@millrace/shared/cdn/upkeep/purge-target';
import { EXNODE_TYPE } from '@millrace/shared/exnode/exnode';
import type { Copies } from '../agent/depot-source.ts';
import type { Purges } from '../cache/purges.ts';
import { versionOf } from '../compose/stored-ranges.ts';
import { MAX_DOCUMENT_BYTES } from '../compose/whole-files.ts';
import type { ChunkBuffer } from '../files/chunk-memory.ts';
import type { ChunkRequest } from '../files/chunk-request.ts';
import type { StoredFile } from '../peers/depot-message.ts';
import type { DepotPeers, OwnCopies } from '../peers/depot-peers.ts';
import { isProved } from '../policy/proofs.ts';
import type { KeptExnode, KeptExnodes } from './kept-exnodes.ts';

export interface ExnodeKeeperOptions {
  readonly kept: KeptExnodes;
  readonly depots: Pick<DepotPeers, 'ask' | 'fetch' | 'knows' | 'answers'>;
  readonly purges: Purges;
  /** Resolves once the purges that this node has missed are known. */
  readonly settled: Promise<void>;
  /** Returns true for content that the operator of this node has blocked, by its SHA-256. */
  readonly isBlocked: (sha256: string) => boolean;
  readonly chunkBytes: number;
  readonly log: Log;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
}

/** Answers of a depot that end a copy. */
const GONE = ['no-such-allocation', 'allocation-expired', 'content-blocked'] as const;
/** Questions about one exNode whose answers a purge may cross. */
const MAX_CROSSED = 5;
/** ExNodes that are fetched at a time. */
const AT_ONCE = 4;
/** Least change of the end of a lease that is written to the disk: answers take some time. */
const LEAST_CHANGE_MS: Millis = 1000;
/** Interval at which copies are looked for whose depot has to be asked again, and how many at a time. */
const CHECK_EVERY_MS: Millis = 30_000;
const CHECKED_AT_ONCE = 100;
/** Age of the depot's last word from which it is asked again: it may have lost the exNode. */
const OLD_MS: Millis = 12 * 3_600_000;
const FOR_EVER = new AbortController().signal;

export class ExnodeKeeper implements OwnCopies, Copies {
  readonly #options: ExnodeKeeperOptions;
  readonly #flights = new SingleFlight<string, StoredFile>();
  readonly #turns = new FairTurns(AT_ONCE);
  /** When the depot of a copy was asked, Unix milliseconds. */
  readonly #askedAt = new Map<string, Millis>();
  #checkedAt: Millis = 0;

  constructor(options: ExnodeKeeperOptions) {
    this.#options = options;
  }

  get depots(): readonly string[] {
    return this.#options.kept.depots;
  }

  /** Memory of what is known of the copies, bytes. */
  get bytes(): number {
    return this.#options.kept.bytes;
  }

  /**
   * Keeps a copy of an exNode as its depot has it now; it is durable when this resolves.
   *
   * @param proof SHA-256 of the secret of its links, hexadecimal
   * @throws MillraceError those of the depot; `allocation-refused` if there is no room, or the file is no exNode
   */
  keep(id: string, proof: string, signal: AbortSignal): Promise<StoredFile> {
    const { purges } = this.#options;
    const question = `${id} ${proof}${purges.era(depotFileUrl(id), undefined)}`;
    return this.#flights.run(question, signal, async (all) => {
      const end = await this.#turns.take('', '', all);
      try {
        return await this.#keep(id, proof, all);
      } finally {
        end();
      }
    }).result;
  }

  /** @throws MillraceError `no-such-allocation` also for copies that may not be used */
  async findFor(id: string, proof: string): Promise<StoredFile> {
    const { kept, wallClock, settled, isBlocked } = this.#options;
    await settled;
    const copy = kept.get(id);
    if (!isProved(proof, copy?.proof) || copy === undefined || this.#isVoid(copy)) {
      throw new MillraceError('no-such-allocation');
    }
    const leftMs = copy.expiresAt - wallClock();
    if (leftMs <= 0) throw new MillraceError('allocation-expired');
    if (isBlocked(copy.sha256)) throw new MillraceError('content-blocked');
    return { ...messageOf(copy), leftMs };
  }

  /** Returns true for chunks of copies that may be used. */
  has({ version }: Pick<ChunkRequest, 'version'>): boolean {
    const copy = this.#options.kept.get(depotFileId(version.url) ?? '');
    if (copy === undefined || this.#isVoid(copy)) return false;
    return versionOf(copy.id, copy.length, copy.edition).tag === version.tag;
  }

  /** Reads a chunk of a copy. @throws MillraceError `no-such-allocation` */
  async read(request: ChunkRequest): Promise<Buffer> {
    const { kept } = this.#options;
    const copy = kept.get(depotFileId(request.version.url) ?? '');
    if (copy === undefined || !this.has(request)) throw new MillraceError('no-such-allocation');
    return kept.read(copy, request.range);
  }

  /** Asks the depot of an exNode again that a purge concerns. */
  onPurge(target: PurgeTarget): void {
    if (target.kind !== 'url' && target.kind !== 'version') return;
    const copy = this.#options.kept.get(depotFileId(target.url) ?? '');
    if (copy !== undefined) this.#askAgain(copy);
  }

  /** Ends the copies whose lease is over, and asks depots again whose last word does not count any more. */
  collect(): void {
    const { kept, wallClock, depots } = this.#options;
    const now = wallClock();
    kept.expire(now);
    if (Math.abs(now - this.#checkedAt) < CHECK_EVERY_MS) return;
    this.#checkedAt = now;
    let left = CHECKED_AT_ONCE;
    for (const copy of kept.values()) {
      const isOld = Math.abs(now - (this.#askedAt.get(copy.id) ?? 0)) > OLD_MS;
      if (!(isOld || this.#isVoid(copy)) || !depots.answers(copy.id)) continue;
      this.#askAgain(copy);
      if (--left === 0) break;
    }
    for (const id of this.#askedAt.keys()) if (kept.get(id) === undefined) this.#askedAt.delete(id);
  }

  /** Waits for the disk. */
  close(): Promise<void> {
    return this.#options.kept.close();
  }

  #askAgain({ id, proof }: KeptExnode): void {
    this.keep(id, proof, FOR_EVER).catch((error: unknown) => {
      const { code, detail } = asMillraceError(error);
      this.#options.log.debug({ id, code, detail }, 'the copy of an exNode stays as it is');
    });
  }

  async #keep(id: string, proof: string, signal: AbortSignal): Promise<StoredFile> {
    const { depots, purges, wallClock } = this.#options;
    for (let crossed = 0; crossed < MAX_CROSSED; crossed++) {
      // That nobody is known who has the depot says nothing of the exNode.
      if (!depots.knows(id)) throw new MillraceError('depot-unreachable', 'it is not known');
      const mark = purges.diskMark(purges.current);
      // From before the question: the lease must not end later here than it does there.
      const askedAt = wallClock();
      let stored: StoredFile;
      try {
        stored = await depots.ask(id, proof, signal, 'depot');
      } catch (error) {
        if (GONE.some((code) => isMillraceError(error, code))) await this.#drop(id, proof);
        throw error;
      }
      checkIsExnode(stored);
      const { length, sha256, name, edition } = stored;
      const expiresAt = askedAt + stored.leftMs;
      const about = { length, sha256, name, edition, expiresAt };
      const copy: KeptExnode = { format: 1, id, proof, ...about, mark: [...mark] };
      await this.#store(copy, signal);
      this.#askedAt.set(id, askedAt);
      if (!this.#isVoid(copy)) return stored;
    }
    throw new MillraceError('depot-unreachable', 'the exNode changes all the time');
  }

  async #store(copy: KeptExnode, signal: AbortSignal): Promise<void> {
    const { kept } = this.#options;
    const before = kept.get(copy.id);
    const isSame =
      before?.sha256 === copy.sha256 &&
      before.edition === copy.edition &&
      before.proof === copy.proof;
    if (!isSame) return kept.put(copy, await this.#fetch(copy, signal));
    const isWritten =
      Math.abs(before.expiresAt - copy.expiresAt) < LEAST_CHANGE_MS && !this.#isVoid(before);
    if (isWritten) kept.note(copy);
    else await kept.put(copy, undefined);
  }

  /** Fetches the text of an exNode from its depot. @throws MillraceError `wrong-digest` */
  async #fetch({ id, length, edition, sha256 }: KeptExnode, signal: AbortSignal): Promise<Buffer> {
    const { depots, chunkBytes } = this.#options;
    const version = versionOf(id, length, edition);
    const text = Buffer.alloc(length);
    const observer = { onSent() {}, onBytes() {} };
    for (let index = 0; index * chunkBytes < length; index++) {
      const range = chunkRange(index, chunkBytes, length);
      const chunk: ChunkBuffer = await depots.fetch({ version, range }, signal, observer, 'depot');
      text.set(chunk.data.subarray(0, range.end - range.start), range.start);
      chunk.release();
    }
    if (createHash('sha256').update(text).digest('hex') === sha256) return text;
    throw new MillraceError('wrong-digest', 'of an exNode');
  }

  /** Ends a copy; a wrong proof ends none. */
  async #drop(id: string, proof: string): Promise<void> {
    const { kept } = this.#options;
    if (kept.get(id)?.proof === proof) await kept.drop(id);
  }

  #isVoid({ id, mark }: KeptExnode): boolean {
    const { purges } = this.#options;
    const generation = purges.readMark({ mark });
    return generation < 0 || purges.isVoid(depotFileUrl(id), undefined, generation);
  }
}

/** @throws MillraceError `allocation-refused` */
function checkIsExnode({ type, length }: StoredFile): void {
  if (type === EXNODE_TYPE && length <= MAX_DOCUMENT_BYTES) return;
  throw new MillraceError('allocation-refused', 'it is no exNode that an edge reads');
}

function messageOf({ length, sha256, name, edition }: KeptExnode) {
  return { length, sha256, name, type: EXNODE_TYPE, edition };
}
