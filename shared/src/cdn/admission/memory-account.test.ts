import { describe, expect, test } from '@jest/globals';
import { MemoryAccount } from './memory-account.ts';

const MiB = 1024 * 1024;
const LIMIT = 1024 * MiB;
/** An eighth below the limit. */
const STOP = 896 * MiB;
const QUIET = { residentBytes: 0, heapBytes: 0, heapLimitBytes: 4096 * MiB };

function accountOf(bytes: Record<string, number>) {
  const account = new MemoryAccount(LIMIT);
  for (const name of Object.keys(bytes)) account.share(name, () => bytes[name] as number);
  return { account, bytes };
}

describe('MemoryAccount', () => {
  test('adds up its shares and reports the weight of each', () => {
    const { account } = accountOf({ cache: 5 * MiB, transfers: 7 * MiB });
    account.observe({ ...QUIET, residentBytes: 9 * MiB });
    expect(account.report()).toEqual({
      limitBytes: LIMIT,
      stopBytes: STOP,
      chargedBytes: 12 * MiB,
      residentBytes: 9 * MiB,
      above: 0,
      shares: { cache: 5 * MiB, transfers: 7 * MiB },
    });
  });

  test.each([
    [160, 112],
    [1024, 896],
    [16_384, 16_128],
  ])('a limit of %d MiB has its stop at %d MiB', (limit, stop) => {
    expect(new MemoryAccount(limit * MiB).stopBytes).toBe(stop * MiB);
  });

  test('below the stop no client is refused, above it every client that has a transfer', () => {
    const { account, bytes } = accountOf({ transfers: STOP });
    expect([account.refuses(1000, 5), account.excess]).toEqual([false, 0]);
    bytes.transfers = STOP + 1;
    expect([account.refuses(1000, 5), account.excess]).toEqual([true, 1]);
    expect(account.refuses(2, 1)).toBe(true);
  });

  test('the first transfer of a client is admitted up to half way to the limit', () => {
    const { account, bytes } = accountOf({ transfers: STOP + 64 * MiB });
    expect(account.refuses(1000, 0)).toBe(false);
    bytes.transfers = STOP + 64 * MiB + 1;
    expect(account.refuses(1000, 0)).toBe(true);
  });

  test('idle memory refuses no transfer, but counts against the limit', () => {
    const { account } = accountOf({ transfers: STOP - 300 * MiB });
    account.idleShare('idle', () => 400 * MiB);
    account.observe({ ...QUIET, residentBytes: STOP + 100 * MiB });
    expect([account.refuses(1000, 5), account.excess]).toEqual([false, -300 * MiB]);
    expect([account.chargedBytes, account.isFilling]).toEqual([STOP + 100 * MiB, true]);
    expect([account.mayLend(28 * MiB), account.mayLend(29 * MiB)]).toEqual([true, false]);
  });

  test('memory outside the shares refuses new transfers as well', () => {
    const { account } = accountOf({ transfers: MiB });
    account.observe({ ...QUIET, residentBytes: STOP + MiB });
    expect([account.refuses(1000, 1), account.excess, account.report().above]).toEqual([
      true,
      MiB,
      1,
    ]);
    account.observe({ ...QUIET, heapBytes: 4000 * MiB });
    expect([account.refuses(1000, 0), account.refuses(1000, 1)]).toEqual([true, true]);
    account.observe(QUIET);
    expect(account.refuses(1000, 1)).toBe(false);
  });

  test('memory outside the shares never keeps out the first few transfers', () => {
    const { account } = accountOf({ transfers: MiB });
    account.observe({ ...QUIET, residentBytes: 2 * LIMIT });
    expect([account.refuses(7, 3), account.refuses(8, 3)]).toEqual([false, true]);
  });

  test('lends up to the limit', () => {
    const { account, bytes } = accountOf({ chunks: LIMIT - MiB });
    expect([account.mayLend(MiB), account.mayLend(MiB + 1)]).toEqual([true, false]);
    bytes.chunks = 0;
    expect(account.mayLend(MiB + 1)).toBe(true);
    // Memory outside the shares counts until the next observation.
    account.observe({ ...QUIET, residentBytes: LIMIT - MiB });
    expect([account.mayLend(MiB), account.mayLend(MiB + 1)]).toEqual([true, false]);
  });

  test('is filling from half of the stop on', () => {
    const { account, bytes } = accountOf({ transfers: STOP / 2 });
    expect(account.isFilling).toBe(false);
    bytes.transfers = STOP / 2 + 1;
    expect(account.isFilling).toBe(true);
  });
});
