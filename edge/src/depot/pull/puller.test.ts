import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { OWNER_PULLS } from '../../admission/resources.ts';
import type { Allocation } from '../allocation.ts';
import { CONTENT, halves, PullStage, SHA256, whole } from './testing/pull-stage.ts';

const failing = (code: string) => expect.objectContaining({ code });

let stage: PullStage;

beforeEach(async () => {
  stage = await PullStage.set();
});

afterEach(() => stage.close());

describe('a pull', () => {
  test('stores the parts in order and completes the upload', async () => {
    const [a, b] = [stage.serve('/a'), stage.serve('/b')];
    const allocation = await stage.reserve();
    const { ended } = await stage.begin(allocation, halves([a], [b]), SHA256);
    expect([allocation.isPulling, stage.puller.running]).toEqual([true, 1]);
    await ended;
    expect([allocation.isPulling, stage.puller.running]).toEqual([false, 0]);
    expect(allocation.head).toMatchObject({ final: { length: CONTENT.length, sha256: SHA256 } });
    expect(allocation.head.pull).toBeUndefined();
    expect(stage.asked).toEqual(['/a bytes=0-99999', '/b bytes=100000-299999']);
  });

  test('takes the next URL for the rest when one sends less than it said', async () => {
    const a = stage.serve('/a', ({ headers, res, body }) => {
      res.writeHead(206, headers).write(body.subarray(0, 150_000), () => res.destroy());
    });
    const b = stage.serve('/b', (answer) => {
      delete answer.headers['content-length'];
      answer.body = answer.body.subarray(0, 50_000);
    });
    const c = stage.serve('/c');
    const allocation = await stage.reserve();
    await stage.pull(allocation, whole(a, b, c), SHA256);
    expect(allocation.head.final?.sha256).toBe(SHA256);
    const starts = stage.asked.map((line) => Number(/bytes=(\d+)/.exec(line)?.[1]));
    // The system may have lost bytes of the connection that broke.
    expect(starts).toEqual([0, starts[1], (starts[1] ?? 0) + 50_000]);
  });

  test('takes the next URL when one is silent', async () => {
    const a = stage.serve('/a', (answer) => {
      answer.body = answer.body.subarray(0, 10_000);
      answer.hangs = true;
    });
    await stage.depot.close();
    await stage.open(1000);
    const allocation = await stage.reserve();
    await stage.pull(allocation, whole(a, stage.serve('/b')));
    expect(allocation.head.final?.sha256).toBe(SHA256);
    // On a machine that stands still for a second, the other one may seem silent too.
    expect(stage.asked[0]).toBe('/a bytes=0-299999');
    expect(stage.asked.at(-1)).toMatch(/^\/b bytes=\d+-299999$/);
  });

  test('goes nowhere that the policy refuses, by redirects neither, but to the network’s depots', async () => {
    const target = stage.serve('/a');
    const other = target.replace('127.0.0.1', 'localhost');
    stage.refusedHosts.add(new URL(other).host);
    const redirect = stage.serve('/r', ({ res }) => res.writeHead(302, { location: other }).end());
    const allocation = await stage.reserve();
    await stage.pull(allocation, whole(other, redirect));
    expect(allocation.head.pull?.failure?.code).toBe('private-address');
    expect([allocation.offset, stage.asked]).toEqual([0, ['/r bytes=0-299999']]);
    stage.inNetwork.add('/a');
    stage.refusedHosts.add(new URL(target).host);
    await stage.pull(allocation, whole(target));
    expect(allocation.head.final?.sha256).toBe(SHA256);
  });

  test('can be asked for before its file is complete, and stores nothing by that', async () => {
    const conflict = stage.serve('/a', ({ res }) => res.writeHead(409).end());
    const missing = stage.serve('/m', ({ res }) => res.writeHead(404).end());
    const ask = (url: string) => {
      const source = { url: new URL(url), owner: 'alice', client: '192.0.2.1' };
      return stage.puller.prospect(source, new AbortController().signal);
    };
    expect(await ask(conflict)).toEqual({ state: 'open' });
    expect(await ask(missing)).toMatchObject({ state: 'refused', code: 'origin-not-found' });
    const other = conflict.replace('127.0.0.1', 'localhost');
    stage.refusedHosts.add(new URL(other).host);
    expect(await ask(other)).toMatchObject({ state: 'refused', code: 'private-address' });
    // Nobody listens at the port of discarded bytes.
    expect(await ask('http://127.0.0.1:9/')).toMatchObject({ state: 'unreachable' });
    expect([stage.asked, stage.puller.running]).toEqual([['/a undefined', '/m undefined'], 0]);
  });

  test('with other bytes than those of its digest is not completed', async () => {
    const allocation = await stage.reserve();
    const a = stage.serve('/a');
    await stage.pull(allocation, whole(a), '0'.repeat(64));
    expect([allocation.offset, allocation.isComplete]).toEqual([CONTENT.length, false]);
    expect(allocation.head.pull?.failure?.code).toBe('content-mismatch');
    expect(stage.depot.get(allocation.head.id)).toBe(allocation);
    await stage.pull(allocation, whole(a), SHA256);
    expect([allocation.isComplete, stage.asked.length]).toEqual([true, 1]);
  });

  test('ends with its allocation, and leaves the source', async () => {
    let left: Promise<unknown> | undefined;
    const a = stage.serve('/a', (answer) => {
      answer.body = answer.body.subarray(0, 1000);
      answer.hangs = true;
      left = once(answer.res, 'close');
    });
    const allocation = await stage.reserve();
    const { ended } = await stage.begin(allocation, whole(a));
    await stage.askedTimes(1);
    await stage.depot.release(allocation);
    await left;
    await ended;
    expect([stage.depot.count, stage.depot.usedBytes]).toEqual([0, 0]);
  });

  test('is interrupted by a restart of the edge, and goes on where it stood when it is posted again', async () => {
    const a = stage.serve('/a', (answer) => {
      answer.body = answer.body.subarray(0, 100_000);
      answer.hangs = true;
    });
    const allocation = await stage.reserve();
    const { id } = allocation.head;
    const parts = halves([a], [a]);
    await stage.begin(allocation, parts, SHA256);
    await stage.askedTimes(2);
    await stage.depot.close();
    await stage.open();
    const again = stage.depot.get(id) as Allocation;
    expect(again.head.pull?.failure).toMatchObject({
      code: 'interrupted',
      message: expect.stringContaining('restarted'),
    });
    const stored = again.offset;
    expect(stored).toBeGreaterThanOrEqual(100_000);
    stage.serve('/a');
    await stage.pull(again, parts, SHA256);
    expect(again.head.final?.sha256).toBe(SHA256);
    expect(stage.asked.slice(2)).toEqual([`/a bytes=${stored}-299999 "1"`]);
  });

  test('gives way to a request that appends, which forgets it', async () => {
    const a = stage.serve('/a', (answer) => {
      answer.body = answer.body.subarray(0, 1000);
      answer.hangs = true;
    });
    const allocation = await stage.reserve();
    await stage.begin(allocation, whole(a));
    await stage.askedTimes(1);
    const turn = await allocation.takeTurn();
    expect(allocation.head.pull?.failure?.code).toBe('interrupted');
    await stage.depot.contents.notePull(allocation, undefined);
    expect(allocation.head.pull).toBeUndefined();
    turn.end();
  });

  test('is refused beyond the places of its owner, and where the upload has no room for it', async () => {
    const a = stage.serve('/a', (answer) => {
      answer.body = Buffer.alloc(0);
      answer.hangs = true;
    });
    const allocation = await stage.reserve();
    const long = [{ from: [a], start: 0, bytes: CONTENT.length + 1 }];
    await expect(stage.begin(allocation, long)).rejects.toEqual(failing('upload-too-long'));
    const pulls: Promise<void>[] = [];
    for (let i = 0; i < OWNER_PULLS; i++) {
      pulls.push((await stage.begin(await stage.reserve(), whole(a))).ended);
    }
    await expect(stage.begin(allocation, whole(a))).rejects.toEqual(failing('too-many-transfers'));
    expect([stage.refusals, allocation.isPulling]).toEqual([['pulls refused 192.0.2.1'], false]);
    for (const running of stage.depot.allocations) await stage.depot.release(running);
    await Promise.all(pulls);
    const complete = await stage.reserve();
    await stage.pull(complete, whole(stage.serve('/b')));
    await expect(stage.begin(complete, whole(a))).rejects.toEqual(failing('upload-complete'));
    expect(stage.puller.running).toBe(0);
  });
});
