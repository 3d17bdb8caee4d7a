import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { silentLog } from '@millrace/shared/base/log';
import type { OnRefusal } from './admissions.ts';
import { OriginUse } from './origin-use.ts';

const A = new URL('https://a.example/x');
const B = new URL('https://b.example/x');
const HOUR = 3_600_000;
let dir = '';

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-'));
});
afterAll(() => rm(dir, { recursive: true }));

const CLIENT = '192.0.2.1';
const use = (share = 1, now = 0) => new OriginUse({ share, wallClock: () => now });
const refused = (code: string, retryAfterMs: number) =>
  expect.objectContaining({ code, retryAfterMs });

describe('use of an origin by all clients', () => {
  test('all transfers of a host share a quota of bytes', () => {
    const quota = { quota: { bytes: 1000, per: HOUR } };
    const all = use();
    all.admit(A, quota, CLIENT, 0).sent(600, 0);
    const last = all.admit(A, quota, CLIENT, 0);
    last.sent(600, 0);
    expect(() => all.admit(A, quota, CLIENT, 0)).toThrow(refused('quota-exhausted', HOUR));
    expect(() => all.admit(B, quota, CLIENT, 0)).not.toThrow();
    // Transfers under way are completed.
    expect(last.waitMs(0)).toBe(0);
  });

  test('transfers at once are counted until they end', () => {
    const rule = { transfers: 2 };
    const all = use();
    const first = all.admit(A, rule, CLIENT, 0);
    all.admit(A, rule, CLIENT, 0);
    expect(() => all.admit(A, rule, CLIENT, 0)).toThrow(refused('origin-busy', 1000));
    expect(() => all.admit(B, rule, CLIENT, 0)).not.toThrow();
    first.release(0);
    first.release(0);
    all.admit(A, rule, CLIENT, 0);
    expect(() => all.admit(A, rule, CLIENT, 0)).toThrow(refused('origin-busy', 1000));
  });

  test('all transfers of a host share a rate, which changes with the rule', () => {
    const all = use();
    const [first, second] = [
      all.admit(A, { rate: 1000 }, CLIENT, 0),
      all.admit(A, { rate: 1000 }, CLIENT, 0),
    ];
    first.sent(3000, 0);
    expect(second.waitMs(0)).toBe(2000);
    expect(all.admit(A, { rate: 4000 }, CLIENT, 0).waitMs(0)).toBe(0);
    expect(all.admit(A, {}, CLIENT, 0).waitMs(0)).toBe(0);
  });

  test('a transfer that the rate delays is reported, once', () => {
    const told: string[] = [];
    const onRefusal: OnRefusal = (...what) => told.push(what.join(' '));
    const all = new OriginUse({ share: 1, wallClock: () => 0, onRefusal });
    const one = all.admit(A, { rate: 1000 }, CLIENT, 0);
    expect(one.waitMs(0)).toBe(0);
    one.sent(3000, 0);
    expect([one.waitMs(0), one.waitMs(1000)]).toEqual([2000, 1000]);
    expect(told).toEqual([`originUse delayed ${CLIENT}`]);
  });

  test('each of several processes has its part', () => {
    const quarter = use(0.25);
    const rule = { transfers: 4, quota: { bytes: 4000, per: HOUR } };
    const one = quarter.admit(A, rule, CLIENT, 0);
    expect(() => quarter.admit(A, rule, CLIENT, 0)).toThrow(refused('origin-busy', 1000));
    one.sent(1000, 0);
    one.release(0);
    expect(() => quarter.admit(A, rule, CLIENT, 0)).toThrow(refused('quota-exhausted', HOUR));
  });
});

describe('quotas that are kept in a folder', () => {
  const rule = { quota: { bytes: 1000, per: HOUR } };
  test('hold after a restart', async () => {
    const before = use();
    const write = before.keepIn(dir, silentLog);
    before.admit(A, rule, CLIENT, 0).sent(1000, 0);
    await write();
    const after = use();
    after.keepIn(dir, silentLog);
    expect(() => after.admit(A, rule, CLIENT, 0)).toThrow(refused('quota-exhausted', HOUR));
  });

  test('start at zero if the file is damaged, which is then replaced', async () => {
    await writeFile(join(dir, 'quotas.json'), '{"broken');
    const anew = use();
    const write = anew.keepIn(dir, silentLog);
    anew.admit(A, rule, CLIENT, 0).sent(5, 0);
    await write();
    expect(JSON.parse(await readFile(join(dir, 'quotas.json'), 'utf8'))).toMatchObject([
      { name: 'a.example', bytes: 5 },
    ]);
  });
});
