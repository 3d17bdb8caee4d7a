import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { silentLog } from '@millrace/shared/base/log';
import { Revocations } from '@millrace/shared/cdn/admission/revocations';
import { EndedSessions } from './ended-sessions.ts';
import { DashboardSessions, LIFETIME_MS } from './sessions.ts';

const TOKEN = Buffer.from('correct-horse-battery');
const NOW: number = 1e12;
const HOUR_MS = 3_600_000;
const cookieOf = (setCookie: string) => setCookie.split(';')[0] as string;

/** One process of an edge, with its knowledge of sessions. */
function sessionsOf({
  token = TOKEN,
  name = 'edge',
  revocations = new Revocations(),
  now = () => NOW,
} = {}) {
  return new DashboardSessions({ token, name, revocations, now });
}

describe('DashboardSessions', () => {
  test('a cookie is valid at any process with the token, until its time is over', () => {
    let at = NOW;
    const now = () => at;
    const cookie = cookieOf(sessionsOf({ now }).begin(3125, false));
    const restarted = sessionsOf({ now });
    expect(restarted.isGood(`other=1; ${cookie}`, 3125)).toBe(true);
    at += 11 * HOUR_MS;
    expect(restarted.isGood(cookie, 3125)).toBe(true);
    at += 2 * HOUR_MS;
    expect(restarted.isGood(cookie, 3125)).toBe(false);
  });

  test('a cookie is void with another token, edge, port or time', () => {
    const sessions = sessionsOf();
    const cookie = cookieOf(sessions.begin(3125, false));
    const other = Buffer.from('another-token-here');
    expect(sessionsOf({ token: other }).isGood(cookie, 3125)).toBe(false);
    expect(sessionsOf({ name: 'other' }).isGood(cookie, 3125)).toBe(false);
    expect(sessions.isGood(cookie, 3126)).toBe(false);
    expect(sessions.isGood(cookie.replace(/=\d/, '=9'), 3125)).toBe(false);
    expect(sessions.isGood(cookie.slice(0, -2), 3125)).toBe(false);
    expect([sessions.isGood(undefined, 3125), sessions.isGood('', 3125)]).toEqual([false, false]);
  });

  test('scripts cannot read the cookie, and other sites cannot send it', () => {
    const sessions = sessionsOf();
    expect(sessions.begin(1, true)).toMatch(/; Path=\/-\/; HttpOnly; SameSite=Strict; Secure$/);
    expect(sessions.end(1)).toMatch(/^millrace-edge-1=; Max-Age=0; /);
  });

  test('only the exact token matches', () => {
    const sessions = sessionsOf();
    expect([
      sessions.matches(`${TOKEN}`),
      sessions.matches(`${TOKEN}x`),
      sessions.matches(''),
    ]).toEqual([true, false, false]);
  });

  test('logging out ends a session for copies of its cookie as well, and no other session', () => {
    const revocations = new Revocations();
    const sessions = sessionsOf({ revocations });
    const [mine, other] = [1, 2].map(() => cookieOf(sessions.begin(3125, false)));
    const ending = sessions.ending(`x=y; ${mine}`, 3125, false);
    revocations.revoke(ending ?? { until: 0, sessions: [] }, NOW);
    expect([sessions.isGood(mine, 3125), sessions.isGood(other, 3125)]).toEqual([false, true]);
    // A session that is over ends no others.
    expect(sessions.ending(mine, 3125, true)).toBeUndefined();
  });

  test('logging out everywhere ends all sessions that have begun, and none that begins later', () => {
    const revocations = new Revocations();
    const sessions = sessionsOf({ revocations });
    const [mine, other] = [1, 2].map(() => cookieOf(sessions.begin(3125, false)));
    const ending = sessions.ending(mine, 3125, true);
    expect(ending).toEqual({ until: NOW + LIFETIME_MS, sessions: [] });
    revocations.revoke(ending ?? { until: 0, sessions: [] }, NOW);
    for (const cookie of [mine, other]) expect(sessions.isGood(cookie, 3125)).toBe(false);
    // In the same millisecond.
    expect(sessions.isGood(cookieOf(sessions.begin(3125, false)), 3125)).toBe(true);
  });

  test('a request without a session of its own ends none', () => {
    const sessions = sessionsOf();
    const forged = `millrace-edge-3125=${NOW + 1}.${'A'.repeat(16)}.${'A'.repeat(43)}`;
    for (const field of [undefined, '', forged]) {
      expect(sessions.ending(field, 3125, true)).toBeUndefined();
    }
  });
});

describe('EndedSessions', () => {
  test('stay ended after a restart, and are forgotten when their time is over', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'millrace-'));
    try {
      let at = NOW;
      const now = () => at;
      const open = () => EndedSessions.open(dir, silentLog, now);
      const id = 'A'.repeat(16);
      const before = await open();
      await before.revoke({ until: 0, sessions: [[id, NOW + 1000]] });
      await before.close();
      const after = await open();
      expect(after.revocations.isRevoked(id, NOW + 1000)).toBe(true);
      at += 1000;
      expect((await open()).revocations.snapshot.sessions).toEqual([]);
      await writeFile(join(dir, 'sessions.json'), '{"until":"x"}');
      expect((await open()).revocations.snapshot).toEqual({ until: 0, sessions: [] });
      expect(await readFile(join(dir, 'sessions.json'), 'utf8')).toContain('x');
    } finally {
      await rm(dir, { recursive: true });
    }
  });
});
