/** The weights that the account charges, compared with V8's heap. */

import { createHash } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import { MAX_NETWORKS, NetworkRtts } from '@millrace/shared/cdn/near/network-rtts';
import { ClientAddress } from '@millrace/shared/node/clients/client-address';
import { ClientLimits } from '../admission/client-limits.ts';
import { ClientOrigins } from '../admission/client-origins.ts';
import { KeepingLru } from '../cache/keeping-lru.ts';
import { MemoryCache } from '../cache/memory-cache.ts';
import { PointerCache } from '../cache/pointer-cache.ts';
import { INDEX_ENTRY_BYTES } from '../cache/weights.ts';
import { OriginRecords } from '../egress/origin-records.ts';
import { Chunk } from '../files/chunk.ts';
import { ChunkMemory } from '../files/chunk-memory.ts';
import { detached, type FileVersion } from '../files/file-version.ts';
import { CLIENT_BYTES } from './process-weights.ts';

const MiB = 1024 * 1024;
/** Factor by which a weight may be below the truth, other activity on the heap included. */
const TOLERANCE = 1.25;
const NOISE_BYTES = 2 * MiB;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Returns the number of bytes of heap and of array buffers that are in use. */
function used(): number {
  collect();
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Measures the growth of the heap by the things that are made, which are returned as well. */
async function growth<T>(make: () => T | Promise<T>): Promise<{ made: T; bytes: number }> {
  const before = used();
  const made = await make();
  await new Promise((resolve) => setImmediate(resolve));
  return { made, bytes: used() - before };
}

/** A text with its own memory, as parsers make them. */
const text = (value: string) => Buffer.from(value, 'latin1').toString('latin1');
const address = (i: number, chars: number) =>
  new URL(text(`https://example.com/${'x'.repeat(chars)}${i}`)).href;

function version(i: number, chars: number): FileVersion {
  return {
    url: address(i, chars),
    scope: 'public',
    length: 1000,
    validators: { etag: text(`"${i}-0123456789abcdef"`) },
    tag: text(`e.${i}-0123456789abcdef`),
    fields: {
      'content-type': text(`application/octet-stream; v=${i}`),
      etag: text(`"${i}-0123456789abcdef"`),
      'cache-control': text(`max-age=${i}`),
    },
  };
}

function pointer(i: number, chars: number) {
  const freshness = {
    notStorable: undefined,
    initialAgeMs: 0.5,
    arrivedAt: 1.7e12 + i,
    lifetimeMs: 60_000,
    staleIfErrorMs: 0,
  };
  return { version: version(i, chars), freshness, finalUrl: address(i, chars) };
}

function expectCharged(bytes: number, charged: number): void {
  expect(bytes).toBeLessThanOrEqual(TOLERANCE * charged + NOISE_BYTES);
  // Nor may caches be half empty; data that several entries share are charged to each.
  expect(charged).toBeLessThanOrEqual(4 * bytes + NOISE_BYTES);
}

describe.each([
  ['short URLs', 60, 20_000],
  ['URLs of 8 kB', 8000, 2000],
])('with %s', (_name, chars, count) => {
  test('small chunks in memory cost as much as the cache is charged for them', async () => {
    const { made, bytes } = await growth(async () => {
      const memory = new ChunkMemory({ slotBytes: 65_536, keepBytes: 0 });
      const cache = new MemoryCache(1024 * MiB);
      for (let i = 0; i < count; i++) {
        const of = version(i, chars);
        const key = `${of.url},start=0,end=999,v=${of.tag}`;
        const chunk = new Chunk(key, memory.allocate(1000), of);
        await chunk.digest();
        cache.put(chunk);
        chunk.release();
      }
      return cache;
    });
    expect(made.count).toBe(count);
    expectCharged(bytes, made.bytes);
  });

  test('pointers cost as much as they are charged', async () => {
    const { made, bytes } = await growth(() => {
      const pointers = new PointerCache(undefined, undefined, 1024 * MiB);
      for (let i = 0; i < count; i++) {
        const entry = pointer(i, chars);
        pointers.put(entry.version.url, i % 2 === 0 ? 'public' : 'private', entry);
      }
      return pointers;
    });
    expect(made.count).toBe(count);
    expectCharged(bytes, made.bytes);
  });

  test('records of origins cost as much as they are charged, and are bounded', async () => {
    const { made, bytes } = await growth(() => {
      const records = new OriginRecords();
      for (let i = 0; i < count; i++) {
        records.pause(new URL(address(i, chars)));
        records.timer(new URL(`http://host-${i}.example.com/`));
      }
      return records;
    });
    expect(made.bytes).toBeLessThanOrEqual(4 * MiB);
    expectCharged(bytes, made.bytes);
  });
});

test.each([1, 8])(
  'round trips of networks to %i nodes cost as much as they are charged',
  async (nodes) => {
    const { made, bytes } = await growth(() => {
      const rtts = new NetworkRtts('own');
      for (let i = 0; i < MAX_NETWORKS; i++) {
        const network = () => text(`10.${i >> 8}.${i & 255}.0/24`);
        rtts.onMeasured(network(), i / 7, 0);
        for (let node = 1; node < nodes; node++)
          rtts.onTold(text(`node-${node}.example`), [[network(), i / 3]], 0);
      }
      return rtts;
    });
    expect(made.size).toBe(MAX_NETWORKS);
    expectCharged(bytes, made.bytes);
  },
);

test('records on disk cost as much memory as the index is charged for them', async () => {
  const count = 40_000;
  const { made, bytes } = await growth(() => {
    const index = new KeepingLru<number>({
      maxSize: () => Number.MAX_SAFE_INTEGER,
      sizeOf: (size) => size,
      isKept: () => false,
      dispose() {},
    });
    for (let i = 0; i < count; i++) {
      index.set(createHash('sha256').update(String(i)).digest('hex'), 1000 + i);
    }
    return index;
  });
  expect(made.count).toBe(count);
  expectCharged(bytes, count * INDEX_ENTRY_BYTES);
});

test('clients that limits are kept for cost as much as they are charged', async () => {
  const count = 20_000;
  const { made, bytes } = await growth(() => {
    const limits = new ClientLimits({
      transfers: 10,
      requestsPerSecond: 100,
      bytesPerSecond: 1e6,
      amplification: { ratio: 10, allowance: 1e6, regain: 1000 },
    });
    for (let i = 0; i < count; i++) {
      limits.admit(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, i).release(i);
    }
    return limits;
  });
  expect(made.clients).toBe(count);
  expectCharged(bytes, count * CLIENT_BYTES);
});

test.each([
  ['one', 10_000, 1],
  ['many', 1000, 150],
])(
  'origins that clients have asked cost as much as they are charged: %s each',
  async (_what, clients, each) => {
    const { made, bytes } = await growth(() => {
      const origins = new ClientOrigins({
        perMinute: 30,
        clientAddress: new ClientAddress([], 'x-forwarded-for'),
        onRefusal: () => {},
      });
      for (let i = 0; i < clients; i++) {
        const client = `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`;
        for (let j = 0; j < each; j++) origins.admit(client, 'public', `https://${j}.example`, i);
      }
      return origins;
    });
    expectCharged(bytes, made.bytes);
  },
);

test('a cached version does not keep the header that it was cut out of', async () => {
  const count = 1000;
  const { made, bytes } = await growth(() =>
    Array.from({ length: count }, (_, i) => {
      const head = text(`"tag-of-version-${i}" application/octet-stream ${'x'.repeat(60_000)}`);
      const etag = head.slice(0, head.indexOf(' '));
      const type = head.slice(etag.length + 1, etag.length + 25);
      return detached({
        url: 'https://example.com/',
        scope: 'public',
        length: 1,
        validators: { etag },
        tag: `e.${etag.slice(1, -1)}`,
        fields: { etag, 'content-type': type },
      });
    }),
  );
  expect(made[7]?.validators.etag).toBe('"tag-of-version-7"');
  expect(made[7]?.fields['content-type']).toBe('application/octet-stream');
  expect(bytes).toBeLessThan(count * 4000 + NOISE_BYTES);
});
