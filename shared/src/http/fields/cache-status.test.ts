import { describe, expect, test } from '@jest/globals';
import { type CacheOutcome, formatCacheStatus } from './cache-status.ts';

describe('Cache-Status', () => {
  test.each<[string, CacheOutcome, string]>([
    ['edge', { hit: true, ttlSeconds: 60 }, 'edge; hit; ttl=60'],
    ['edge', { hit: true, ttlSeconds: -5 }, 'edge; hit; ttl=-5'],
    [
      'edge',
      { hit: true, ttlSeconds: -5, detail: 'stale-origin-down' },
      'edge; hit; ttl=-5; detail=stale-origin-down',
    ],
    ['edge', { hit: false, fwd: 'uri-miss' }, 'edge; fwd=uri-miss'],
    [
      'edge',
      { hit: false, fwd: 'stale', fwdStatus: 304, stored: true, collapsed: true },
      'edge; fwd=stale; fwd-status=304; stored; collapsed',
    ],
    ['edge', { hit: false, fwd: 'miss', stored: false, collapsed: false }, 'edge; fwd=miss'],
    [
      'edge',
      { hit: false, fwd: 'bypass', detail: 'no ranges' },
      'edge; fwd=bypass; detail="no ranges"',
    ],
  ])('of %s, %j is written as %s', (name, outcome, value) => {
    expect(formatCacheStatus(name, outcome)).toBe(value);
  });

  test.each([
    ['host.example:3125', 'host.example:3125'],
    ['*', '*'],
    ['3edges', '"3edges"'],
    ['', '""'],
    ['my edge', '"my edge"'],
    ['a"b\\c', '"a\\"b\\\\c"'],
    ['a\r\nset-cookie: x', '"a??set-cookie: x"'],
    ['kühl', '"k?hl"'],
  ])('the name %j is written as %s', (name, written) => {
    expect(formatCacheStatus(name, { hit: true, ttlSeconds: 1 })).toBe(`${written}; hit; ttl=1`);
  });
});
