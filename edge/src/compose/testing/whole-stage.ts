/** Depots of several nodes, and one node that puts their files together; for tests. */

import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { silentLog } from '@millrace/shared/base/log';
import { depotFileId, depotFileUrl, depotTagOf } from '@millrace/shared/cdn/depot/depot-file';
import type { Owner } from '@millrace/shared/cdn/depot/owners-file';
import { ReedSolomon } from '@millrace/shared/code/reed-solomon';
import { blockInColumn, columnsOf, shardBytes, unitsOf } from '@millrace/shared/exnode/coded';
import {
  blockBytesFor,
  type CodedExtent,
  type Exnode,
  type ExnodeReplica,
  rootOf,
} from '@millrace/shared/exnode/exnode';
import { formatExnode } from '@millrace/shared/exnode/exnode-text';
import { type DepotLink, formatDepotLink } from '@millrace/shared/http/urls/depot-link';
import { fastestKernel } from '@millrace/shared/node/code/gf-kernel';
import { ChunkStore } from '../../agent/chunk-store.ts';
import { DepotFiles } from '../../agent/depot-files.ts';
import { DepotSource } from '../../agent/depot-source.ts';
import { MemoryCache } from '../../cache/memory-cache.ts';
import { newPurge, Purges } from '../../cache/purges.ts';
import { append } from '../../depot/append.ts';
import { Depot } from '../../depot/depot.ts';
import { readVerified } from '../../depot/verified-read.ts';
import { ChunkMemory } from '../../files/chunk-memory.ts';
import type { ChunkRequest, ChunkSource } from '../../files/chunk-request.ts';
import type { DepotPeers } from '../../peers/depot-peers.ts';
import type { Owners } from '../../policy/depot-owners.ts';
import { BlockSource } from '../block-source.ts';
import { StoredRanges, versionOf } from '../stored-ranges.ts';
import { type StoredDocument, type WholeFile, WholeFiles } from '../whole-files.ts';

export const MIB = 1024 * 1024;
const HOUR = 3_600_000;
/** Size of the chunks in which nodes fetch from depots. */
const CHUNK_BYTES = MIB / 2;
const ALICE: Owner = {
  ...{ name: 'alice', proof: '00', bytes: Infinity, each: Infinity },
  ...{ forMs: Infinity, count: Infinity, rate: Infinity },
};
const owners = { named: () => ALICE } as unknown as Owners;

export const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

export class WholeStage {
  now = 1_800_000_000_000;
  /** The first is the node's own; those of other nodes follow. */
  readonly depots: Depot[] = [];
  /** Nodes that do not answer, by the index of their depot. */
  readonly silent = new Set<number>();
  /** Nodes that send zeros. */
  readonly lying = new Set<number>();
  /** Called before another node's depot answers. */
  onAsked: (depot: number) => Promise<void> = async () => {};
  /** Ids of allocations whose bytes were wrong, and the number of blocks solved. */
  readonly wrong: string[] = [];
  solved = 0;
  /** Chunks that other nodes were asked for. */
  fetched = 0;
  readonly memory = new ChunkMemory({ slotBytes: MIB, keepBytes: 64 * MIB, poison: true });
  readonly purges = new Purges();
  blocks!: ChunkStore;
  wholes!: WholeFiles;
  readonly #dirs: string[] = [];

  /** Opens depots. @param cacheBytes memory for chunks and blocks */
  static async open(count: number, cacheBytes = 0): Promise<WholeStage> {
    const stage = new WholeStage();
    for (let i = 0; i < count; i++) {
      const dir = await mkdtemp(join(tmpdir(), 'millrace-whole-'));
      stage.#dirs.push(dir);
      const options = { dir, quotaBytes: 1e9, maxLeaseMs: 24 * HOUR, owners, log: silentLog };
      stage.depots.push(await Depot.open({ ...options, wallClock: () => stage.now }));
    }
    stage.#connect(cacheBytes);
    return stage;
  }

  async close(): Promise<void> {
    for (const depot of this.depots) await depot.close();
    for (const dir of this.#dirs) await rm(dir, { recursive: true, force: true });
  }

  /** Stores bytes. @returns the replica, and the capability to read it */
  async store(at: number, bytes: Uint8Array): Promise<{ replica: ExnodeReplica; link: DepotLink }> {
    const depot = this.depots[at] as Depot;
    const wanted = { bytes: bytes.length, forMs: HOUR, resumable: true };
    const { allocation, secrets } = await depot.allocate(ALICE, wanted);
    const pieces = bytes.length === 0 ? [] : [Buffer.from(bytes)];
    const next = async () => pieces.shift();
    await append(allocation, { next, makeRoom() {}, onAcknowledged() {}, now: () => this.now });
    await depot.contents.complete(allocation, new AbortController().signal);
    const link = { kind: 'read', id: allocation.head.id, secret: secrets.read } as const;
    const read = `http://depot-${at}.example${formatDepotLink(link)}`;
    return { replica: { read, at: 0, expires: allocation.head.expiresAt }, link };
  }

  /** Stores a file as copies. @param at indices of the depots */
  async copies(content: Buffer, at: readonly number[]): Promise<Exnode> {
    const replicas: ExnodeReplica[] = [];
    for (const depot of at) replicas.push((await this.store(depot, content)).replica);
    return exnodeOf(content, { extents: [{ start: 0, end: content.length, replicas }] });
  }

  /** Stores a file in coded shards, one at each depot in order. */
  async striped(content: Buffer, data: number, parity: number, unit = MIB): Promise<Exnode> {
    const layout = { start: 0, end: content.length, data, parity, unit };
    const pieceBytes = blockBytesFor(content.length);
    const columns = columnsOf(layout, pieceBytes);
    const code = new ReedSolomon(data, parity, fastestKernel());
    const ends = Array.from({ length: parity }, () => Buffer.alloc(shardBytes(layout, 0)));
    for (let column = 0; column < columns; column++) {
      const range = [
        column * pieceBytes,
        Math.min(shardBytes(layout, 0), (column + 1) * pieceBytes),
      ];
      const blocks = Array.from({ length: data }, (_, i) => {
        const block = blockInColumn(layout, pieceBytes, i, column);
        return block === undefined ? Buffer.of() : content.subarray(block.start, block.end);
      });
      code.encode(
        blocks,
        ends.map((end) => end.subarray(...range)),
      );
    }
    const shards: ExnodeReplica[][] = [];
    for (let i = 0; i < data + parity; i++) {
      const units = i < data ? unitsOf(layout, i) : [];
      const bytes =
        ends[i - data] ?? Buffer.concat(units.map((one) => content.subarray(one.start, one.end)));
      shards.push(bytes.length === 0 ? [] : [(await this.store(i, bytes)).replica]);
    }
    const parityHexes = ends.map((bytes) => hexesOf(bytes, pieceBytes));
    const coded: CodedExtent = { ...layout, parityHexes, shards };
    return exnodeOf(content, { coded: [coded] });
  }

  /** Stores an exNode. */
  async document(exnode: Exnode | string, at = 0): Promise<StoredDocument> {
    const text = typeof exnode === 'string' ? exnode : formatExnode(exnode, true);
    const bytes = Buffer.from(text);
    const { link } = await this.store(at, bytes);
    const { length } = bytes;
    return { link, length, sha256: sha256Of(bytes), expiresAt: this.now + HOUR };
  }

  async open(document: StoredDocument): Promise<WholeFile> {
    return this.wholes.open(document, new AbortController().signal);
  }

  /** Reads blocks of a file. @returns their bytes, one after the other */
  async read(file: WholeFile, indices?: readonly number[]): Promise<Buffer> {
    const { exnode, url } = file;
    const { pieceBytes, hexes } = exnode.blocks;
    const version = { ...versionOf(file.id, exnode.size), url };
    const ended = this.wholes.use(file);
    try {
      const read: Buffer[] = [];
      for (const index of indices ?? hexes.keys()) {
        const start = index * pieceBytes;
        const range = { start, end: Math.min(exnode.size, start + pieceBytes) };
        const { chunk } = await this.blocks.get({ version, range }, new AbortController().signal);
        read.push(Buffer.from(chunk.data));
        chunk.release();
      }
      return Buffer.concat(read);
    } finally {
      ended();
    }
  }

  /** Deletes an allocation, and tells the node as its network would. */
  async delete(link: Pick<DepotLink, 'id'>): Promise<void> {
    for (const depot of this.depots) {
      const allocation = depot.get(link.id);
      if (allocation !== undefined) await depot.release(allocation);
    }
    await this.purges.purge(newPurge({ kind: 'url', url: depotFileUrl(link.id) }, this.now), true);
  }

  #connect(cacheBytes: number): void {
    const { memory, purges } = this;
    const wallClock = () => this.now;
    const now = wallClock;
    const peers = this.#peers();
    const [depot] = this.depots;
    const cache = new MemoryCache(cacheBytes);
    const origin = {} as ChunkSource;
    const source = new DepotSource({ origin, depot, peers, memory, now });
    const chunks = new ChunkStore({
      ...{ cache, memory, disk: undefined, purges, source, network: undefined, now },
    });
    const files = new DepotFiles({ depots: peers, purges, now, wallClock });
    const ranges = new StoredRanges({ depot, files, chunks, chunkBytes: CHUNK_BYTES, now });
    this.wholes = new WholeFiles({ ranges, wallClock });
    const blockSource = new BlockSource({
      ...{ wholes: this.wholes, ranges, memory, now },
      onWrong: (id) => this.wrong.push(id),
      onSolved: () => {
        this.solved++;
      },
      generation: () => purges.current,
    });
    this.blocks = new ChunkStore({
      ...{ cache, memory, disk: undefined, purges, source: blockSource, network: undefined, now },
    });
    blockSource.keep = (chunk) => this.blocks.store(chunk);
    blockSource.peek = (request) => this.blocks.peek(request);
    purges.onPurge = (target) => {
      files.onPurge(target);
      this.wholes.onPurge(target);
    };
  }

  /** Depots of other nodes, as far as this node asks them. */
  #peers(): DepotPeers {
    const others = (id: string) => {
      const index = this.#depotOf(id);
      return index > 0 ? index : undefined;
    };
    const asked = async (id: string): Promise<Depot> => {
      const index = others(id);
      if (index === undefined) throw new MillraceError('no-such-allocation');
      await this.onAsked(index);
      if (this.silent.has(index)) throw new MillraceError('depot-unreachable');
      return this.depots[index] as Depot;
    };
    const peers: Partial<DepotPeers> = {
      knows: (id) => others(id) !== undefined,
      mayFind: (id) => others(id) !== undefined,
      answers: (id) => others(id) !== undefined,
      unknown: () => new MillraceError('no-such-allocation'),
      ask: async (id, proof) => {
        const { head } = (await asked(id)).findFor(id, proof);
        const { length = 0, sha256 = '' } = head.final ?? {};
        return { length, sha256, leftMs: head.expiresAt - this.now };
      },
      fetch: async ({ version, range }: ChunkRequest) => {
        const id = depotFileId(version.url) ?? '';
        const allocation = (await asked(id)).get(id);
        if (allocation === undefined) throw new MillraceError('no-such-allocation');
        this.fetched++;
        const buffer = this.memory.allocate(range.end - range.start);
        let filled = 0;
        for await (const piece of readVerified(allocation.folder, range)) {
          filled += piece.copy(buffer.data, filled);
        }
        if (this.lying.has(others(id) ?? 0)) buffer.data.fill(0);
        return buffer;
      },
    };
    return peers as DepotPeers;
  }

  #depotOf(id: string): number {
    return this.depots.findIndex(({ tag }) => tag === depotTagOf(id));
  }
}

/** Makes the exNode of a file. */
function exnodeOf(content: Buffer, more: Partial<Exnode>): Exnode {
  const { length: size } = content;
  const pieceBytes = blockBytesFor(size);
  const hexes = hexesOf(content, pieceBytes);
  const blocks = { algorithm: 'sha256', pieceBytes, hexes } as const;
  const root = rootOf(size, blocks, sha256Of);
  return { name: 'a.bin', size, sha256: sha256Of(content), blocks, root, extents: [], ...more };
}

function hexesOf(bytes: Buffer, pieceBytes: number): string[] {
  return Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, i) =>
    sha256Of(bytes.subarray(i * pieceBytes, (i + 1) * pieceBytes)),
  );
}
