import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Allocation } from '../allocation.ts';
import { CONTENT, halves, PullStage, SHA256, whole } from './testing/pull-stage.ts';

const WRONG = Buffer.alloc(CONTENT.length, 'other bytes ');

let stage: PullStage;

beforeEach(async () => {
  stage = await PullStage.set();
});

afterEach(() => stage.close());

/** Serves a file that is overwritten in place while its first answer is sent. */
function serveOverwritten(path: string): string {
  let version = '"1"';
  return stage.serve(path, (answer) => {
    answer.headers.etag = version;
    const end = version === '"1"' ? 50_000 : 0;
    const wrong = WRONG.subarray(end, answer.body.length);
    answer.body = Buffer.concat([answer.body.subarray(0, end), wrong]);
    version = '"2"';
  });
}

describe('a pull', () => {
  test('keeps no byte that a file overwritten in place gave under its old header', async () => {
    const a = serveOverwritten('/a');
    const allocation = await stage.reserve();
    const from = [a, stage.serve('/b')];
    await stage.pull(allocation, halves(from, from));
    expect(allocation.head.final?.sha256).toBe(SHA256);
    expect(stage.asked).toEqual([
      ...['/a bytes=0-99999', '/a bytes=100000-299999 "1"'],
      ...['/b bytes=0-99999', '/b bytes=100000-299999 "1"'],
    ]);
  });

  test('stores no byte of another version in the middle, and says so', async () => {
    const a = serveOverwritten('/a');
    const allocation = await stage.reserve();
    await stage.pull(allocation, halves([a], [a]));
    expect([allocation.offset, allocation.isComplete]).toEqual([0, false]);
    expect(allocation.head.pull?.failure).toMatchObject({
      code: 'version-changed',
      message: expect.stringMatching(/another ETag or date \(part 2 of 2, last from 127\.0\.0\.1/),
    });
    // Nothing of the old version is left: the new one may be taken whole.
    stage.serve('/a', ({ headers }) => {
      headers.etag = '"2"';
    });
    await stage.pull(allocation, halves([a], [a]));
    expect(allocation.head.final?.sha256).toBe(SHA256);
    expect(allocation.head.pull).toBeUndefined();
  });

  test('that goes on after a restart knows of which version the stored bytes are', async () => {
    let version = '"1"';
    const a = stage.serve('/a', (answer) => {
      answer.headers.etag = version;
      if (stage.asked.length < 2) return;
      answer.body = answer.body.subarray(0, 70_000);
      answer.hangs = true;
    });
    const allocation = await stage.reserve();
    let came = 0;
    const second = new Promise<void>((resolve) => {
      stage.onBytes = (bytes) => {
        came += bytes;
        if (came > 100_000) resolve();
      };
    });
    await stage.begin(allocation, halves([a], [a]));
    await second;
    await stage.depot.close();
    await stage.open();
    const again = stage.depot.get(allocation.head.id) as Allocation;
    const stored = again.offset;
    version = '"2"';
    await stage.pull(again, halves([a], [a]));
    // Its second header has vouched for the first part.
    expect([again.offset, again.isComplete]).toEqual([100_000, false]);
    expect(again.head.pull?.failure?.code).toBe('version-changed');
    expect(stage.asked[2]).toBe(`/a bytes=${stored}-299999 "1"`);
    expect(JSON.stringify(again.head)).not.toContain('/a');
    await stage.depot.close();
    await stage.open();
    const kept = stage.depot.get(allocation.head.id) as Allocation;
    const parts = halves([a], [stage.serve('/b')]);
    await stage.pull(kept, parts, SHA256);
    expect(kept.head.final?.sha256).toBe(SHA256);
  });

  test('puts no two answers together that only a weak tag names, unless a digest tells in the end', async () => {
    const a = stage.serve('/a', ({ headers }) => {
      headers.etag = 'W/"1"';
    });
    const allocation = await stage.reserve();
    await stage.pull(allocation, halves([a], [a]));
    expect(allocation.offset).toBe(100_000);
    expect(allocation.head.pull?.failure?.code).toBe('version-unproven');
    await stage.pull(allocation, halves([a], [a]), SHA256);
    expect(allocation.head.final?.sha256).toBe(SHA256);
  });

  test('keeps no byte of an answer that has more of them than it said', async () => {
    const a = stage.serve('/a', (answer) => {
      delete answer.headers['content-length'];
      answer.body = Buffer.concat([WRONG, WRONG]);
    });
    const allocation = await stage.reserve();
    await stage.pull(allocation, whole(a, stage.serve('/b')));
    expect(allocation.head.final?.sha256).toBe(SHA256);
    expect(stage.asked.slice(1)).toEqual(['/b bytes=0-299999']);
  });

  test('of bytes that its file never had keeps those that it has', async () => {
    const a = stage.serve('/a', ({ range, headers, res }) => {
      if (range.start < 100_000) return;
      headers['content-range'] = 'bytes */300000';
      res.writeHead(416, { ...headers, 'content-length': '0' }).end();
    });
    const allocation = await stage.reserve();
    await stage.pull(allocation, halves([a], [a]));
    expect(allocation.offset).toBe(100_000);
    expect(allocation.head.pull?.failure?.code).toBe('range-not-satisfiable');
  });

  test('that fills the disk ends with the error of a full disk', async () => {
    stage.onBytes = () => {
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    };
    const allocation = await stage.reserve();
    await stage.pull(allocation, whole(stage.serve('/a')));
    expect(allocation.head.pull?.failure).toMatchObject({
      code: 'allocation-refused',
      message: expect.stringContaining('the disk of the depot is full'),
    });
  });

  test('writes no capability into the log', async () => {
    const secret = 'b'.repeat(32);
    const location = `https://[/-/d/${'A'.repeat(16)}/${secret}/plan.pdf`;
    const a = stage.serve('/a', ({ res }) => res.writeHead(302, { location }).end());
    const allocation = await stage.reserve();
    await stage.pull(allocation, whole(a));
    expect(stage.warnings).toEqual([expect.objectContaining({ code: 'bad-redirect' })]);
    expect(JSON.stringify(stage.warnings)).not.toContain(secret);
  });
});
