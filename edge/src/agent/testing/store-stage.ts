/** Stage of tests of `ChunkStore`: its fetches bring chunks when the test says so. */

import { MillraceError } from '@millrace/shared/base/errors';
import type { DiskCache } from '../../cache/disk-cache.ts';
import { MemoryCache } from '../../cache/memory-cache.ts';
import { ChunkMemory } from '../../files/chunk-memory.ts';
import type { ChunkRequest } from '../../files/chunk-request.ts';
import { ChunkStore, type Found } from '../chunk-store.ts';

export const CHUNK = 64;
export const LATE_MS = 1000;
export const forEver = new AbortController().signal;

/** Returns the request for one chunk of one file. */
export function chunk(index: number, part: Partial<ChunkRequest['version']> = {}): ChunkRequest {
  const version = {
    url: 'https://example.com/f',
    scope: 'public' as const,
    length: 100 * CHUNK,
    validators: { etag: '"a"' },
    tag: 'e.a',
    fields: {},
    ...part,
  };
  return { version, range: { start: index * CHUNK, end: (index + 1) * CHUNK } };
}

/** A fetch that ends when the test says so. */
export interface Fetch {
  readonly request: ChunkRequest;
  readonly attempt: number;
  readonly signal: AbortSignal;
  readonly onBytes: (count: number) => void;
  bring(text: string, bytes?: number): void;
  fail(code: ConstructorParameters<typeof MillraceError>[0]): void;
}

/** Makes a store whose source is the test. */
export function setUp(options: { cacheBytes?: number; disk?: DiskCache } = {}) {
  const memory = new ChunkMemory({ slotBytes: CHUNK, keepBytes: 256 * CHUNK, poison: true });
  const clock = { now: 0 };
  const fetches: Fetch[] = [];
  const reported: unknown[] = [];
  const start: ConstructorParameters<typeof ChunkStore>[0]['source']['fetch'] = (
    request,
    attempt,
    signal,
    observer,
  ) =>
    new Promise((resolve, reject) => {
      observer.onSent();
      fetches.push({
        request,
        attempt,
        signal,
        onBytes: observer.onBytes,
        bring(text, bytes = CHUNK) {
          const buffer = memory.allocate(bytes);
          buffer.data.fill(text);
          resolve(buffer);
        },
        fail: (code) => reject(new MillraceError(code)),
      });
    });
  const store = new ChunkStore({
    cache: new MemoryCache(options.cacheBytes ?? 2 ** 20),
    memory,
    disk: options.disk,
    source: { fetch: start, lateAfterMs: () => LATE_MS },
    network: undefined,
    now: () => clock.now,
    onFetched: (hop, requests) => reported.push([hop, requests]),
  });
  const nth = (n: number) => {
    const found = fetches[n];
    if (found === undefined) throw new Error(`fetch ${n} has not begun`);
    return found;
  };
  const used = () => memory.figures.usedBytes / CHUNK;
  return { store, memory, clock, fetches, nth, used, start, reported };
}

/** Waits for one turn of the event loop. */
export const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
/** Waits two turns: chunks released at the end of the first are gone in the second. */
export async function settle(): Promise<void> {
  await turn();
  await turn();
}

export const textOf = ({ chunk: found }: Found) => found.data.toString();
