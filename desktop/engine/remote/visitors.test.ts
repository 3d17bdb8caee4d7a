import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openDatabase } from '../store/database.ts';
import { SettingStore } from '../store/small-stores.ts';
import { type Account, keyOf, LiveAccounts, removeAccount, setAccount } from './accounts.ts';
import { type Newcomer, Visitors } from './visitors.ts';

const DAY = 24 * 3600_000;
let state: string;
let db: DatabaseSync;
let store: SettingStore;
let now = 0;
let account: string;
beforeEach(async () => {
  state = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  db = openDatabase(join(state, 'downloads.db'), 0).db;
  store = new SettingStore(db);
  now = 1_000_000;
  await setAccount(state, 'ann', 'correct horse');
  account = keyOf(new LiveAccounts(state).find('ann') as Account);
});
afterEach(() => {
  db.close();
  rmSync(state, { recursive: true });
});

const open = () => new Visitors(store, new LiveAccounts(state), () => now);
const browser = (): Newcomer => ({ kind: 'browser', name: 'Firefox', account, address: '::1' });
const device = (name = 'phone'): Newcomer => ({ ...browser(), kind: 'device', name });

test('whoever was let in is recognised, after a restart too, and by no other secret', () => {
  const { secret, visitor } = open().admit(browser());
  const visitors = open();
  expect(visitors.find('browser', secret, '::1')?.id).toBe(visitor.id);
  expect(visitors.find('device', secret, '::1')).toBeUndefined();
  expect(visitors.find('browser', `${secret}x`, '::1')).toBeUndefined();
  expect(JSON.stringify(store.get('visitors'))).not.toContain(secret);
});

test('whoever is revoked comes no more, and the others do', () => {
  const visitors = open();
  const gone: string[] = [];
  visitors.onGone((id) => gone.push(id));
  const [one, other] = [visitors.admit(device()), visitors.admit(browser())];
  expect(visitors.revoke(one.visitor.id)).toBe(true);
  expect(visitors.revoke(one.visitor.id)).toBe(false);
  expect(gone).toEqual([one.visitor.id]);
  expect(open().find('device', one.secret, '')).toBeUndefined();
  expect(open().find('browser', other.secret, '')).toBeDefined();
});

test.each([
  ['is removed', () => removeAccount(state, 'ann')],
  ['gets another password', () => setAccount(state, 'ann', 'correct horse 2')],
])('when an account %s, its browsers and devices come no more', async (_, change) => {
  const visitors = open();
  const gone: string[] = [];
  visitors.onGone((id) => gone.push(id));
  const admitted = [visitors.admit(browser()), visitors.admit(device())];
  const local = visitors.admit({ ...device(), account: undefined });
  await change();
  visitors.sweep();
  expect(gone).toEqual(admitted.map(({ visitor }) => visitor.id));
  expect(visitors.all().map(({ id }) => id)).toEqual([local.visitor.id]);
});

test('a browser that is not used for a month is logged out, and a device is not', () => {
  const visitors = open();
  const [one, other] = [visitors.admit(browser()), visitors.admit(device())];
  now += 20 * DAY;
  expect(visitors.find('browser', one.secret, '')).toBeDefined();
  now += 29 * DAY;
  expect(visitors.find('browser', one.secret, '')).toBeDefined();
  now += 31 * DAY;
  expect(visitors.find('browser', one.secret, '')).toBeUndefined();
  expect(visitors.find('device', other.secret, '')).toBeDefined();
});

test('there are at most 64 browsers, of which the longest unused goes, and 64 devices', () => {
  const visitors = open();
  const first = visitors.admit(browser());
  const rest = Array.from({ length: 63 }, () => visitors.admit(browser()));
  now += DAY;
  visitors.find('browser', first.secret, '');
  visitors.admit(browser());
  expect(visitors.find('browser', first.secret, '')).toBeDefined();
  expect(visitors.find('browser', rest[0]?.secret ?? '', '')).toBeUndefined();
  for (let i = 0; i < 64; i++) visitors.admit(device());
  expect(() => visitors.admit(device())).toThrow('64 devices are paired');
});

test('a name is shown as one short line', () => {
  const { visitor } = open().admit(device(`a\n\u202e${'b'.repeat(200)}`));
  expect(visitor.name).toBe(`a ${'b'.repeat(62)}`);
});
