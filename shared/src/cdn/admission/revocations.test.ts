import { describe, expect, test } from '@jest/globals';
import { MAX_REVOKED, Revocations } from './revocations.ts';

const one = (id: string, ends: number) => ({ until: 0, sessions: [[id, ends]] as const });

describe('Revocations', () => {
  test('end one session and no other, until it would have expired', () => {
    const revocations = new Revocations();
    revocations.revoke(one('a', 1000), 0);
    expect([revocations.isRevoked('a', 1000), revocations.isRevoked('b', 1000)]).toEqual([
      true,
      false,
    ]);
    revocations.revoke(one('b', 2000), 1000);
    expect(revocations.snapshot).toEqual({ until: 0, sessions: [['b', 2000]] });
  });

  test('end all sessions that expire by a given time', () => {
    const revocations = new Revocations();
    revocations.revoke(one('a', 500), 0);
    revocations.revoke({ until: 1000, sessions: [] }, 0);
    expect(revocations.isRevoked('x', 1000)).toBe(true);
    expect(revocations.isRevoked('x', 1001)).toBe(false);
    expect(revocations.snapshot).toEqual({ until: 1000, sessions: [] });
    // Repeated, and out of order.
    revocations.revoke({ until: 10, sessions: [] }, 0);
    expect(revocations.until).toBe(1000);
  });

  test('one process takes over the revocations of another', () => {
    const [a, b] = [new Revocations(), new Revocations()];
    a.revoke(one('a', 3000), 0);
    b.revoke(one('b', 2000), 0);
    b.revoke(a.snapshot, 0);
    expect([b.isRevoked('a', 3000), b.isRevoked('b', 2000)]).toEqual([true, true]);
  });

  test('are bounded, and even too many of them never make a revoked session valid again', () => {
    const revocations = new Revocations();
    const ids = Array.from({ length: MAX_REVOKED + 50 }, (_, i) => [`s${i}`, 1000 + i] as const);
    for (const [id, ends] of ids) revocations.revoke(one(id, ends), 0);
    expect(revocations.snapshot.sessions).toHaveLength(MAX_REVOKED);
    for (const [id, ends] of ids) expect(revocations.isRevoked(id, ends)).toBe(true);
    expect(revocations.isRevoked('other', 1000 + MAX_REVOKED + 50)).toBe(false);
  });
});
