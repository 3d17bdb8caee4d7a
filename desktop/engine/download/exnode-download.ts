/**
 * Downloads the file that an exNode describes, from all places that it names. There is no first
 * answer to rely on: the exNode says what the file is, and its digests say whose bytes are right.
 */

import { type ByteRange, shownRanges } from '@millrace/shared/base/byte-range';
import type { Digest } from '@millrace/shared/base/digest';
import { MillraceError } from '@millrace/shared/base/errors';
import { type Note, noteOf } from '@millrace/shared/base/notes';
import { SourceHealth } from '@millrace/shared/download/transfer/source-health';
import type { ReadableExnode } from '@millrace/shared/exnode/exnode';
import { coverage } from '@millrace/shared/exnode/layout';
import { type Place, placesOf, unheld, usedReplicas } from '@millrace/shared/exnode/places';
import { FileCheck } from '../hash/file-check.ts';
import type { PartialFile } from '../partial/partial-file.ts';
import type { Connections } from '../sources/connections.ts';
import { type PartSource, PlaceSource } from '../sources/exnode/place-source.ts';
import { BlockProof } from './block-proof.ts';
import { whileDiskIsFull } from './disk-full.ts';
import type { Described } from './download-types.ts';
import type { DownloadWay } from './download-way.ts';
import { FetchPasses } from './fetch-passes.ts';
import { Parity } from './parity.ts';

export interface ExnodeDownloadOptions extends Omit<DownloadWay, 'first' | 'file' | 'said'> {
  readonly exnode: ReadableExnode;
  readonly connections: Connections;
  /** Position from which bytes are wanted first; undefined: the order does not matter. */
  readonly preferred: number | undefined;
  /** Called once the partial file is open. */
  readonly onOpened: (file: PartialFile, described: Described) => void;
}

export class ExnodeDownload {
  readonly #options: ExnodeDownloadOptions;
  readonly #places: readonly Place[];
  #sources: readonly PartSource[] = [];
  readonly #parity: Parity | undefined;
  #proof: BlockProof | undefined;
  readonly #passes: FetchPasses;

  constructor(options: ExnodeDownloadOptions) {
    this.#options = options;
    this.#passes = new FetchPasses(options.preferred);
    this.#places = placesOf(options.exnode, Date.now());
    if (options.exnode.coded !== undefined) this.#parity = new Parity(options);
  }

  /**
   * Runs until all bytes are stored and right.
   *
   * @returns also the address of a place, which the file is said to come from
   * @throws MillraceError, `rest-missing` if no place has some of the bytes, `file-lost` if too few
   *   shards are left to solve them; the signal's reason
   */
  async run() {
    try {
      return await this.#run();
    } finally {
      this.#parity?.end();
    }
  }

  async #run() {
    const { exnode, request, context, connections, sources, target, report } = this.#options;
    const { size, sha256, sealed, bodyKey } = exnode;
    if (sealed !== undefined && bodyKey === undefined) throw new MillraceError('wrong-key');
    const digests: Digest[] = sha256 === undefined ? [] : [{ algorithm: 'sha256', hex: sha256 }];
    const check = new FileCheck([
      { by: 'the user', digests: request.digests },
      { by: 'the exNode', digests },
    ]);
    // Every byte is checked, so it may come by any way.
    connections.trustDigest();
    const { random } = context;
    const open = (url: string) => connections.source('depot', url, random);
    const places = this.#places.map(
      (place, index) => new PlaceSource({ place, index, health: new SourceHealth(random), open }),
    );
    const file = await target.openDescribed(exnode);
    const parity = this.#parity?.begin(file, places, () => this.#passes.scheduler);
    this.#sources = parity === undefined ? places : [...places, parity];
    for (const source of this.#sources) sources.add(source);
    const resumedBytes = file.stored.bytes;
    const { path } = file;
    this.#options.onOpened(file, { path, length: size, contentType: exnode.type });
    const via = this.#sources.map(({ label }) => label).join(', ');
    context.onEvent({ kind: 'start', path, length: size, resumedBytes, via });
    const proof = new BlockProof({
      ...{ size, blocks: exnode.blocks, bodyKey, file, hasher: target.hasher },
      sources: () => this.#sources,
      now: this.#options.session.now,
      isAsked: (source) => sources.active(source) > 0,
      onLeft: (source, error) => {
        report.sourceFailed(source, error);
        this.#passes.transfer?.giveBack(source.host, Infinity);
      },
      onRight: () => {
        // More may be solved now. Connections that pause would look for it only after a while.
        if (this.#parity?.canSolve === true) this.#passes.transfer?.kick();
      },
      onWrong: () => this.#passes.transfer?.kick(),
      onFailed: (error) => this.#passes.transfer?.stop(error),
    });
    this.#proof = proof;
    for (const source of this.#sources) proof.restrict(source);
    this.#parity?.setProof(proof);
    await this.#takeFromOlder(file, proof);
    // Blocks of an earlier run are proven first: nobody can be blamed for wrong ones.
    while (!(await proof.finish())) {
      const before = proof.wrongBlocks;
      this.#checkHeld(file);
      await whileDiskIsFull({ ...this.#options, file }, () => this.#fetch(file));
      const n = proof.wrongBlocks - before;
      if (n > 0) report.note(noteOf('pieces-again', { n }));
    }
    const url = this.#places[0]?.origin ?? '';
    return { url, length: size, ...(await target.check(check, size)), resumedBytes };
  }

  /** Takes the blocks that an older file has, if the user has named one. */
  async #takeFromOlder(file: PartialFile, proof: BlockProof): Promise<void> {
    const { exnode, request, context, report } = this.#options;
    const { older } = request;
    if (older === undefined) return;
    // Imported here: few downloads have an older file.
    const { takeBlocks, takenNote } = await import('../reuse/older-file.ts');
    const { signal } = context;
    const onNote = (note: Note) => report.note(note);
    const taken = await takeBlocks({ older, file, exnode, signal, onNote });
    if (taken.bytes === 0) return;
    await proof.finish();
    const right = taken.ranges.reduce((sum, range) => sum + file.stored.bytesWithin(range), 0);
    report.note(takenNote(older, right, exnode.name));
  }

  /** Proves blocks that have become complete. */
  onStored(): void {
    this.#proof?.advance();
  }

  /** Sets the position from which bytes are wanted first; undefined: the order does not matter. */
  prefer(position: number | undefined): void {
    this.#passes.prefer(position);
  }

  /** Notes that bytes are no longer stored: they are fetched again. */
  discard(range: ByteRange): void {
    this.#passes.discard(range);
    this.#proof?.onLost(range);
  }

  /** @throws MillraceError `rest-missing` or `file-lost` that names what no place has */
  #checkHeld(file: PartialFile): void {
    const { exnode } = this.#options;
    const solved = coverage({ ...exnode, extents: [] }, usedReplicas(exnode, Date.now()));
    const gaps = unheld(exnode.size, this.#places).flatMap((gap) => solved.missing(gap));
    const missing = gaps.flatMap((gap) => file.stored.missing(gap));
    if (missing.length === 0) return;
    const isCoded = missing.some((gap) =>
      exnode.coded?.some(({ start, end }) => start < gap.end && gap.start < end),
    );
    const code = isCoded ? 'file-lost' : 'rest-missing';
    throw new MillraceError(code, `nobody has ${shownRanges(missing)} any more`);
  }

  /** Transfers until every byte is stored. */
  async #fetch(file: PartialFile): Promise<void> {
    const { exnode, report } = this.#options;
    const session = this.#parity?.session ?? this.#options.session;
    const { scheduler, transfer } = this.#passes.begin(
      { ...this.#options, file, session },
      {
        length: exnode.size,
        bodyKey: exnode.bodyKey,
        open: (source, range, signal) => source.openRange(range, undefined, signal),
      },
    );
    for (const { id, holds } of this.#sources) scheduler.addSource(id, { holds });
    report.setState('running');
    try {
      await transfer.run();
    } catch (error) {
      throw this.#parity?.failureOf(error) ?? error;
    } finally {
      this.#passes.end();
    }
  }
}
