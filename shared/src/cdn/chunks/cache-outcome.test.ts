import { describe, expect, test } from '@jest/globals';
import type { CacheOutcome } from '../../http/fields/cache-status.ts';
import { bringsFirstChunk, withFirstChunk } from './cache-outcome.ts';

const HIT: CacheOutcome = { hit: true, ttlSeconds: 60 };
const FETCHED: CacheOutcome = { hit: false, fwd: 'uri-miss', fwdStatus: 206, stored: true };

describe('the outcome for the whole response', () => {
  test.each(['memory', 'disk'] as const)('a first chunk in %s changes nothing', (tier) => {
    expect(withFirstChunk(HIT, { tier, joined: false })).toBe(HIT);
    expect(withFirstChunk(FETCHED, { tier, joined: false })).toBe(FETCHED);
  });

  test('a known version is not a hit if its first chunk came from elsewhere', () => {
    const fromPeer = { hit: false, fwd: 'miss', detail: 'peer' };
    expect(withFirstChunk(HIT, { tier: 'peer', joined: false })).toEqual(fromPeer);
    const fetched = { hit: false, fwd: 'miss', stored: true };
    expect(withFirstChunk(HIT, { tier: 'source', joined: false })).toEqual(fetched);
  });

  test('a fetch that another request had begun is collapsed', () => {
    const collapsed = { hit: false, fwd: 'miss', stored: true, collapsed: true };
    expect(withFirstChunk(HIT, { tier: 'source', joined: true })).toEqual(collapsed);
  });

  test('the outcome still tells why the origin was asked for the version', () => {
    const revalidated: CacheOutcome = { hit: false, fwd: 'stale', fwdStatus: 304 };
    const outcome = withFirstChunk(revalidated, { tier: 'source', joined: false });
    expect(outcome).toEqual({ ...revalidated, stored: true });
  });
});

describe('whether the version came with the first chunk', () => {
  test.each<[string, CacheOutcome, boolean]>([
    ['it was known', HIT, false],
    ['the origin sent it', FETCHED, true],
    ['the origin said that nothing has changed', { hit: false, fwd: 'stale' }, false],
    ['it was fetched for another request', { ...FETCHED, collapsed: true }, false],
    ['another node had to find it out', { hit: false, fwd: 'uri-miss', detail: 'peer' }, true],
    ['another node looked again', { hit: false, fwd: 'stale', detail: 'peer' }, false],
  ])('%s', (_why, outcome, brings) => {
    expect(bringsFirstChunk(outcome)).toBe(brings);
  });
});
