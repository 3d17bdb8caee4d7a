/** Many clients at once: the origin sends a file once, and memory stays within its bound. */

import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { afterEach, expect } from '@jest/globals';
import { crowd } from '../../fixtures/clients/crowd.ts';
import { openResponse } from '../../fixtures/clients/http-client.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import { nginxOrComplain } from '../../fixtures/origins/nginx.ts';
import { NginxFiles } from '../../fixtures/origins/nginx-files.ts';
import { racesOf } from '../../fixtures/programs/cluster.ts';
import { EdgeProcess } from '../../fixtures/programs/processes.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';

const MiB = 1024 * 1024;
const CHUNK = 128 * 1024;
const SLOW_BYTES_PER_SECOND = 50_000;
/**
 * Size in MiB of the file that all clients fetch. The cache holds the whole file, as it would a
 * larger one.
 */
const CROWD_MIB = Number(process.env.MILLRACE_CROWD_MIB ?? 64);
/** Size in MiB of a file that the second edge cannot keep: more than all memory that it may use. */
const LONG_MIB = 256;

const { afterAll, beforeAll, describe, test } = testsWhere(nginxOrComplain('crowds of clients'));
let files: NginxFiles;

beforeAll(async () => {
  files = await NginxFiles.start();
});

afterEach(() => SlowClient.leaveAll());

afterAll(async () => {
  await files?.stop();
});

/** A client that reads slowly, and keeps a running digest of the bytes that it has read. */
class SlowClient {
  static readonly #all = new Set<SlowClient>();
  readonly #hash = createHash('sha256');
  readonly #response: IncomingMessage;
  readonly #timer: NodeJS.Timeout;
  bytes = 0;

  private constructor(response: IncomingMessage) {
    this.#response = response;
    SlowClient.#all.add(this);
    response.pause();
    this.#timer = setInterval(() => {
      const piece = response.read(SLOW_BYTES_PER_SECOND / 10) as Buffer | null;
      if (piece === null) return;
      this.bytes += piece.length;
      this.#hash.update(piece);
    }, 100);
  }

  static async start(url: string): Promise<SlowClient> {
    return new SlowClient(await openResponse(url));
  }

  /** Leaves. @returns the digest of the bytes that came */
  stop(): string {
    this.#leave();
    return this.#hash.digest('hex');
  }

  static leaveAll(): void {
    for (const client of SlowClient.#all) client.#leave();
  }

  #leave(): void {
    clearInterval(this.#timer);
    this.#response.destroy();
    SlowClient.#all.delete(this);
  }
}

describe(`100 clients and a slow one, all at once, for one cold file of ${CROWD_MIB} MiB`, () => {
  test('the origin sends its bytes 1.00 times, and every client gets the right ones', async () => {
    const { url, content, digest } = await files.make(CROWD_MIB * MiB);
    const edge = await EdgeProcess.start([
      '--allow-origin',
      '127.0.0.1',
      '--cache-memory',
      `${CROWD_MIB + 64}MiB`,
      // The 512 chunks of a file of 256 MiB, for a quarter of the bytes.
      '--chunk-size',
      String(CHUNK),
      '--log-level',
      'warn',
    ]);
    try {
      const slow = await SlowClient.start(edge.prefixed(url));
      const { outcomes } = await crowd([edge.prefixed(url)], 100);
      expect(outcomes).toEqual({ [`200 ${digest}`]: 100 });
      const copies = (await files.sent()) / content.length;
      console.info(`crowd: the origin sent ${copies.toFixed(4)} times the file's bytes`);
      const races = await racesOf([edge]);
      expect(copies).toBeGreaterThanOrEqual(1);
      expect(copies).toBeLessThanOrEqual(1 + (races * CHUNK) / content.length);
      const slowDigest = slow.stop();
      expect(slow.bytes).toBeGreaterThan(0);
      expect(slowDigest).toBe(sha256(content.subarray(0, slow.bytes)));
      expect(await edge.peakBytes()).toBeLessThan((CROWD_MIB + 64 + 16 * 101) * MiB + 150e6);
    } finally {
      await edge.stop();
    }
  });
});

describe('memory', () => {
  test('stays within cache, 16 MiB per client and 150 MB with slow clients among fast ones', async () => {
    const { url, content, digest } = await files.make(LONG_MIB * MiB);
    const edge = await EdgeProcess.start([
      '--allow-origin',
      '127.0.0.1',
      '--cache-memory',
      '16MiB',
      '--log-level',
      'warn',
    ]);
    try {
      const slow = await Promise.all([1, 2].map(() => SlowClient.start(edge.prefixed(url))));
      for (let i = 0; i < 2; i++) {
        const { outcomes } = await crowd([edge.prefixed(url)], 2);
        expect(outcomes).toEqual({ [`200 ${digest}`]: 2 });
      }
      for (const client of slow) {
        expect(client.stop()).toBe(sha256(content.subarray(0, client.bytes)));
      }
      expect(await edge.peakBytes()).toBeLessThan((16 + 16 * 4) * MiB + 150e6);
    } finally {
      await edge.stop();
    }
  });
});
