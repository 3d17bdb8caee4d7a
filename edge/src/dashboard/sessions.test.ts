import { describe, expect, test } from '@jest/globals';
import { DashboardSessions } from './sessions.ts';

const TOKEN = Buffer.from('correct-horse-battery');
const HOUR_MS = 3_600_000;
const cookieOf = (setCookie: string) => setCookie.split(';')[0] as string;

describe('DashboardSessions', () => {
  test('a cookie is good at any process with the token, until its time is over', () => {
    let now = 1e12;
    const cookie = cookieOf(new DashboardSessions(TOKEN, () => now).begin(3125, false));
    const restarted = new DashboardSessions(TOKEN, () => now);
    expect(restarted.isGood(`other=1; ${cookie}`, 3125)).toBe(true);
    now += 11 * HOUR_MS;
    expect(restarted.isGood(cookie, 3125)).toBe(true);
    now += 2 * HOUR_MS;
    expect(restarted.isGood(cookie, 3125)).toBe(false);
  });

  test('a cookie is good for nothing else: another token, another port, another time', () => {
    const now = () => 1e12;
    const sessions = new DashboardSessions(TOKEN, now);
    const cookie = cookieOf(sessions.begin(3125, false));
    expect(new DashboardSessions(Buffer.from('another-token-here'), now).isGood(cookie, 3125)).toBe(
      false,
    );
    expect(sessions.isGood(cookie, 3126)).toBe(false);
    expect(sessions.isGood(cookie.replace(/=\d/, '=9'), 3125)).toBe(false);
    expect(sessions.isGood(cookie.slice(0, -2), 3125)).toBe(false);
    expect([sessions.isGood(undefined, 3125), sessions.isGood('', 3125)]).toEqual([false, false]);
  });

  test('scripts and other sites do not get at it', () => {
    const sessions = new DashboardSessions(TOKEN, () => 1e12);
    expect(sessions.begin(1, true)).toMatch(/; Path=\/-\/; HttpOnly; SameSite=Strict; Secure$/);
    expect(sessions.end(1)).toMatch(/^millrace-edge-1=; Max-Age=0; /);
  });

  test('the token is the token', () => {
    const sessions = new DashboardSessions(TOKEN, () => 0);
    expect([
      sessions.matches(`${TOKEN}`),
      sessions.matches(`${TOKEN}x`),
      sessions.matches(''),
    ]).toEqual([true, false, false]);
  });
});
