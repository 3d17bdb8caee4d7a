/**
 * Downloads a file whose ranges can be told apart from those of other versions: finds and admits
 * sources, and fetches bytes from all of them and checks them, until all stored bytes are right.
 */

import { basename } from 'node:path';
import type { ByteRange } from '@millrace/shared/base/byte-range';
import { fitsLength } from '@millrace/shared/base/digest';
import {
  asMillraceError,
  endsDownload,
  isMillraceError,
  isOfSource,
  MillraceError,
} from '@millrace/shared/base/errors';
import { noteOf, noteOfError } from '@millrace/shared/base/notes';
import { formatBytes } from '@millrace/shared/base/units';
import { looksSigned } from '@millrace/shared/download/request/signed-url';
import type { SourceVersion } from '@millrace/shared/download/transfer/same-file';
import type { OpenAnswer } from '@millrace/shared/download/transfer/transfer-ports';
import type { PinnedVersion } from '@millrace/shared/http/answers/range-contract';
import { RttMemory } from '../edges/rtt-memory.ts';
import { FileCheck } from '../hash/file-check.ts';
import type { TakenBytes } from '../reuse/older-file.ts';
import type { Vouching } from '../signatures/vouching.ts';
import type { Connections } from '../sources/connections.ts';
import { Discovery } from '../sources/discovery.ts';
import type { DownloadSource } from '../sources/download-source.ts';
import { readFirstBody, readOn } from '../sources/first-body.ts';
import { Gatekeeper } from '../sources/gatekeeper.ts';
import type { HeldAnswer } from '../sources/held-answer.ts';
import { HousePart } from '../sources/house-sources.ts';
import { vouchingFor } from '../sources/sidecars.ts';
import { whileDiskIsFull } from './disk-full.ts';
import { type DownloadWay, type SaidDigest, unprovable } from './download-way.ts';
import { FetchPasses } from './fetch-passes.ts';
import { PieceCheck } from './piece-check.ts';
import { type Checked, isWrongFile } from './target-file.ts';

/**
 * Number of failed requests, while none succeeds, after which the first answer is read to its end.
 */
const MOST_REFUSED = 4;
/**
 * Number of other requests that a source serves before its first answer is given up: some links
 * work a few times only, and the first answer is all that is left then.
 */
const ENOUGH_SERVED = 4;

export interface BlockDownloadOptions extends DownloadWay {
  readonly connections: Connections;
  /** Version of the file according to the first answer. */
  readonly version: SourceVersion;
  /** Position from which bytes are wanted first; undefined: the order does not matter. */
  readonly preferred: number | undefined;
  /** Called with discovered sources; the caller passes wanted ones to `letIn`. */
  readonly onSource: (source: DownloadSource) => void;
  /** Called with the expected digests of the whole file, before it is checked. */
  readonly onSaid: (said: readonly SaidDigest[]) => void;
}

export class BlockDownload {
  readonly #options: BlockDownloadOptions;
  readonly #ended = new AbortController();
  /** Signal for the work beside the transfer. */
  readonly #signal: AbortSignal;
  readonly #gatekeeper: Gatekeeper;
  /** True once the gatekeeper has begun; sources that come earlier wait until then. */
  #isOpen = false;
  #discovery: Discovery | undefined;
  readonly #house: HousePart;
  #taken: TakenBytes | undefined;
  readonly #passes: FetchPasses;
  readonly #pieces: PieceCheck;
  /** The first answer, while it has more bytes. */
  #held: HeldAnswer | undefined;
  /** Other requests that failed in a row while the first answer was kept. */
  #refused = 0;
  /** Other requests that the source of the first answer has served. */
  #served = 0;
  /** The failure that ended the transfer for the first answer's sake; undefined: none did. */
  #giveUp: MillraceError | undefined;
  #orphaned: MillraceError | undefined;

  constructor(options: BlockDownloadOptions) {
    this.#options = options;
    this.#passes = new FetchPasses(options.preferred);
    const { context, session, sources, file, version, first } = options;
    this.#signal = AbortSignal.any([this.#ended.signal, context.signal]);
    this.#house = new HousePart({
      sources,
      forget: (range) => file.forget(range),
      isRead: options.preferred !== undefined,
      onNote: (note) => options.report.note(note),
    });
    this.#pieces = new PieceCheck({
      ...{ ...options, length: version.length },
      transfer: () => this.#passes.transfer,
      onWrong: () => this.#setOwners(),
    });
    this.#gatekeeper = new Gatekeeper({
      sources,
      file,
      reference: version,
      first: first.source,
      random: context.random,
      session,
      signal: this.#signal,
      onOrphaned: () => {
        this.#orphaned = new MillraceError('origin-unreachable', { code: 'nothing-from-first' });
        this.#passes.transfer?.stop(this.#orphaned);
      },
      onAdmitted: (source) => {
        this.#schedule(source);
        this.#passes.transfer?.kick();
      },
    });
  }

  /**
   * Runs until all bytes are stored and right.
   *
   * @returns what the file was checked against
   * @throws MillraceError; the signal's reason
   */
  async run(): Promise<Checked> {
    const { request, context, connections, report, sources, first, file, version } = this.#options;
    try {
      first.source.version = { length: version.length, validators: version.validators };
      const { pieces } = request;
      if (pieces !== undefined && fitsLength(pieces, version.length)) this.#pieces.begin(pieces);
      this.#held = await readFirstBody(first, this.#options);
      this.#isOpen = true;
      if (version.digests.length > 0) connections.trustDigest();
      this.#gatekeeper.start();
      const { random, ownKeys } = context;
      const name = basename(file.path);
      const vouching = await vouchingFor({
        request,
        connections,
        source: first.source,
        name,
        random,
        ownKeys,
        signal: this.#signal,
        onNote: report.noteOnce,
      });
      this.#discovery = new Discovery({
        request,
        connections,
        first,
        // It knows other edges of its network.
        edge: sources.firstEdge(request.edges),
        length: version.length,
        name,
        random,
        vouching,
        house: context.house,
        edgeMemory: context.edges ?? new RttMemory(Date.now),
        signal: this.#signal,
        onSource: this.#options.onSource,
        onOwners: () => this.#setOwners(),
        onNote: report.noteOnce,
      });
      return await this.#transferAndCheck(this.#discovery, vouching);
    } finally {
      this.#ended.abort(new MillraceError('interrupted'));
      this.#isOpen = false;
      this.#discovery = undefined;
      this.#held?.discard();
      await this.#gatekeeper.ended();
    }
  }

  /** Admits a source, which is used once it has shown that it holds the file. */
  letIn(source: DownloadSource): void {
    if (this.#house.admits(source) && this.#isOpen) this.#gatekeeper.letIn(source);
  }

  /** Sets the position from which bytes are wanted first; undefined: the order does not matter. */
  prefer(position: number | undefined): void {
    if (position !== undefined) {
      this.#house.onRead().catch((error) => this.#passes.transfer?.stop(asMillraceError(error)));
    }
    this.#passes.prefer(position);
  }

  /** Notes that bytes are no longer stored: they are fetched again. */
  discard(range: ByteRange): void {
    this.#passes.discard(range);
    this.#pieces.onLost(range);
    this.#taken?.onLost(range);
  }

  /** Notes that more bytes are stored. */
  onStored(): void {
    this.#pieces.onStored();
  }

  /** Fetches and checks until all stored bytes are right. */
  async #transferAndCheck(discovery: Discovery, vouching: Vouching | undefined): Promise<Checked> {
    const { report, first, target, file, version } = this.#options;
    const taken = await this.#takeFromOlder(discovery, vouching);
    this.#taken = taken;
    void this.#pieces.beginWith(discovery.statements());
    for (;;) {
      await this.#fetchAll();
      const own = { by: first.source.label, digests: version.digests };
      const said = [...(await discovery.statements()), own];
      const signed = vouching?.digest;
      const check = taken?.check(said, signed) ?? new FileCheck(said, signed);
      const all = [...said, ...(taken?.statements ?? [])];
      this.#options.onSaid(
        all.flatMap(({ by, digests }) => (digests ?? []).map((digest) => ({ by, digest }))),
      );
      if (check.needed) report.checking();
      if (!(await this.#pieces.finish(check.piecesOf(version.length)))) continue;
      const bytes = check.unproven(version.length);
      if (bytes > 0) report.note(noteOf('not-all-checked', { bytes: formatBytes(bytes) }));
      const keeps = this.#house.brought || taken?.canDoubt(check) === true;
      try {
        return await target.check(check, version.length, vouching, keeps);
      } catch (error) {
        if (!keeps || !isWrongFile(error)) throw error;
        if (await this.#house.onWrong(asMillraceError(error))) continue;
        if (await taken?.doubt(file, check)) continue;
        throw error;
      }
    }
  }

  /** Takes what an older file has of this one. @returns undefined if the user has named none */
  async #takeFromOlder(
    discovery: Discovery,
    vouching: Vouching | undefined,
  ): Promise<TakenBytes | undefined> {
    const { request, connections, context, report, first, file, version } = this.#options;
    const { older } = request;
    if (older === undefined) return undefined;
    const said = await discovery.statements();
    // Imported here: few downloads have an older file.
    const { takeFromOlder } = await import('../reuse/older-file.ts');
    const taken = await takeFromOlder({
      older,
      file,
      length: version.length,
      url: first.source.url,
      pieces: said.flatMap(({ pieces }) => pieces ?? []),
      connections,
      random: context.random,
      signal: this.#signal,
      onNote: (note) => report.note(note),
    });
    const own = { by: first.source.label, digests: version.digests };
    const check = taken.check([...said, own], vouching?.digest);
    if (older.repairs && !check.needed) throw unprovable();
    return taken;
  }

  /** Transfers until every byte is stored, and waits while the disk is full. */
  async #fetchAll(): Promise<void> {
    await whileDiskIsFull(this.#options, async () => {
      try {
        await this.#fetchOnce();
      } catch (error) {
        throw this.#pieces.failureOf(error);
      } finally {
        this.#passes.end();
      }
    });
  }

  async #fetchOnce(): Promise<void> {
    const { request, report, version, context } = this.#options;
    const host = this.#soleHost;
    const { transfer } = this.#passes.begin(this.#options, {
      length: version.length,
      once: request.urls.some(looksSigned),
      // The first answer goes on, unless bytes further on are wanted sooner.
      isOpenEnded: this.#held?.isOpen === true && this.#passes.preferred === undefined,
      open: (source, range, signal) => this.#ask(source, range, signal),
      known: host === undefined ? undefined : context.hostLimits?.needed?.(host),
    });
    this.#setOwners();
    report.setState('running');
    if (this.#orphaned !== undefined) throw this.#orphaned;
    try {
      await transfer.run();
      const { needed } = transfer;
      const host = this.#soleHost;
      if (host !== undefined && needed !== undefined) context.hostLimits?.onNeeded?.(host, needed);
    } catch (error) {
      const isGivenUp = this.#giveUp === error;
      if (await this.#readOn(error)) return;
      // The first answer broke off, too: the source is asked for the rest again.
      if (!isGivenUp) throw error;
      await this.#fetchOnce();
    }
  }

  /** Host of the first source, if no other one is used. */
  get #soleHost(): string | undefined {
    const { sources, first } = this.#options;
    return sources.inUse === 1 ? first.source.host : undefined;
  }

  /** Asks for a range, or continues the first answer if it waits at that position. */
  async #ask(source: DownloadSource, range: ByteRange, signal: AbortSignal): Promise<OpenAnswer> {
    const held = source === this.#held?.source && this.#held.isOpen ? this.#held : undefined;
    const { stored } = this.#options.file;
    const waiting = held?.answerTo(source, range, signal, (bytes) => stored.covers(bytes));
    if (waiting !== undefined) return waiting;
    try {
      const opened = await source.openRange(range, source.version as PinnedVersion, signal);
      this.#refused = 0;
      if (held !== undefined && ++this.#served === ENOUGH_SERVED) held.release();
      return opened;
    } catch (error) {
      if (held?.isNeeded === true && !signal.aborted && ++this.#refused === MOST_REFUSED) {
        this.#giveUp = asMillraceError(error);
        this.#passes.transfer?.stop(this.#giveUp);
      }
      throw error;
    }
  }

  /**
   * Reads the first answer to its end if its source serves no other request any more.
   *
   * @param error the failure of the other requests
   * @returns true if the file is complete
   */
  async #readOn(error: unknown): Promise<boolean> {
    const { context, report, file, version } = this.#options;
    const held = this.#held;
    this.#giveUp = undefined;
    const isForSource = isMillraceError(error) && isOfSource(error.row);
    // The rest of wrong bytes is not worth reading.
    if (held?.source.health.quarantine?.code === 'wrong-digest') return false;
    if (held?.isOpen !== true || context.signal.aborted || !isForSource) return false;
    // A file that was overwritten in place: the rest of the answer may be of either version.
    const isOther = this.#served > 0 || held.source.namesOther;
    if (isOther && isMillraceError(error, 'version-changed')) return false;
    report.note(noteOfError('first-answer', error, { source: held.source.label }));
    try {
      await readOn(held, this.#options);
    } catch (thrown) {
      context.signal.throwIfAborted();
      if (endsDownload(asMillraceError(thrown).row)) throw thrown;
    }
    held.discard();
    return file.stored.covers({ start: 0, end: version.length });
  }

  /** Tells the scheduler about all admitted sources, and which chunks they own by now. */
  #setOwners(): void {
    for (const source of this.#options.sources.sources) {
      if (source.version !== undefined) this.#schedule(source);
    }
  }

  #schedule(source: DownloadSource): void {
    this.#pieces.restrict(source);
    const { id, holds, kind } = source;
    const ownership = this.#discovery?.ownership(source);
    this.#passes.scheduler?.addSource(id, { ...ownership, holds, hasPeers: kind === 'edge' });
  }
}
