import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { keyOf, LiveAccounts, readAccounts, removeAccount, setAccount } from './accounts.ts';
import { keptPassword, PasswordCheck } from './password.ts';

let state: string;
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'millrace-test-'));
});
afterEach(() => rmSync(state, { recursive: true }));

const PASSWORD = 'correct horse';

test('an account is in a file for its user only, without its password', async () => {
  expect(await setAccount(state, 'Ann', PASSWORD)).toBe(true);
  const path = join(state, 'accounts.json');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readFileSync(path, 'utf8')).not.toContain(PASSWORD);
  const [account] = await readAccounts(state);
  const check = new PasswordCheck();
  expect(await check.matches(PASSWORD, account?.password)).toBe(true);
  expect(await check.matches(`${PASSWORD}x`, account?.password)).toBe(false);
  expect(await check.matches(PASSWORD, undefined)).toBe(false);
});

test('a running daemon notices new accounts, changed passwords and removed accounts', async () => {
  const live = new LiveAccounts(state);
  expect(live.all).toEqual([]);
  await setAccount(state, 'Ann', PASSWORD);
  const ann = live.find('ANN') as NonNullable<ReturnType<typeof live.find>>;
  expect(live.byKey(keyOf(ann))).toEqual(ann);
  expect(await setAccount(state, 'ann', `${PASSWORD} new`)).toBe(false);
  expect(live.byKey(keyOf(ann))).toBeUndefined();
  expect(live.all).toHaveLength(1);
  await removeAccount(state, 'Ann');
  expect(live.all).toEqual([]);
});

test('a damaged file lets nobody in, and is not written over', async () => {
  await setAccount(state, 'Ann', PASSWORD);
  const live = new LiveAccounts(state);
  expect(live.all).toHaveLength(1);
  writeFileSync(join(state, 'accounts.json'), '[{"name":"Ann","password":""}]');
  expect(live.all).toEqual([]);
  await expect(setAccount(state, 'Bob', PASSWORD)).rejects.toMatchObject({
    code: 'state-unusable',
  });
});

test.each([
  ['', PASSWORD],
  ['../x', PASSWORD],
  ['a\nb', PASSWORD],
  ['Ann', 'short'],
  ['Ann', 'x'.repeat(300)],
])('the name %j with such a password is refused', async (name, password) => {
  await expect(setAccount(state, name, password)).rejects.toMatchObject({ code: 'bad-option' });
});

test('removing an account that is not there is a mistake', async () => {
  await expect(removeAccount(state, 'Ann')).rejects.toMatchObject({ code: 'bad-option' });
});

test('a password is the same in whatever way a keyboard composes its letters', async () => {
  const check = new PasswordCheck();
  expect(await check.matches('cafe\u0301 au lait', await keptPassword('caf\u00e9 au lait'))).toBe(
    true,
  );
});

test('a flood of passwords waits for a bounded time, and the rest is refused at once', async () => {
  // The least cost that there is.
  const cheap = `scrypt$2$1$1$${'A'.repeat(22)}$${'A'.repeat(43)}`;
  const check = new PasswordCheck();
  const all = Array.from({ length: 40 }, () => check.matches(PASSWORD, cheap));
  const outcomes = await Promise.all(all);
  expect(outcomes.filter((outcome) => outcome === undefined)).toHaveLength(6);
  expect(outcomes.filter((outcome) => outcome === false)).toHaveLength(34);
});
