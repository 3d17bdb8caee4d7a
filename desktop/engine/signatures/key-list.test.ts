import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { MINISIGN, OPENPGP_KEY, SECOND } from '@millrace/shared/download/signatures/testing/signed';
import { keyFile } from './key-file.ts';
import { addKeys, readKeyList, removeKey } from './key-list.ts';
import { ownKeysIn } from './own-keys.ts';

const FIRST = '3021EA40F072FC59ED3E5452E835480DBB5B46CF';
const MINI = '3C955DA324A94A88';

let state: string;
beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), 'millrace-test-'));
});
afterEach(() => rm(state, { recursive: true }));

const names = async (url: string) => (await ownKeysIn(state)(url)).map(({ name }) => name);

test('keys of the list count for the links that they are for, and for all if they name none', async () => {
  expect(await names('https://a.example/x')).toEqual([]);
  await addKeys(state, { text: OPENPGP_KEY, patterns: ['a.example'] });
  await addKeys(state, { text: MINISIGN.key, patterns: [], name: 'A \u202emill' });
  expect(await names('https://files.a.example/x')).toEqual(['Fixed Publisher', 'A mill']);
  expect(await names('https://nota.example/x')).toEqual(['A mill']);
  await removeKey(state, '3021 EA40 F072 FC59 ED3E  5452 E835 480D BB5B 46CF');
  expect(await names('https://a.example/x')).toEqual(['A mill']);
  await expect(removeKey(state, FIRST)).rejects.toMatchObject({ code: 'bad-option' });
});

test('of a file with several keys only the one with the given fingerprint is taken', async () => {
  const { readKeys, PacketList } = await import('openpgp');
  const both = new PacketList();
  for (const text of [OPENPGP_KEY, SECOND.key]) {
    const [key] = await readKeys({ armoredKeys: text });
    both.push(...(key as NonNullable<typeof key>).toPacketList());
  }
  const text = Buffer.from(both.write() as Uint8Array).toString('base64');
  const asked = { text, patterns: [], fingerprint: `0x${SECOND.fingerprint.toLowerCase()}` };
  expect(await addKeys(state, asked)).toMatchObject([{ name: 'Second Publisher' }]);
  expect(await readKeyList(state)).toHaveLength(1);
  // The same key again replaces it.
  await addKeys(state, { ...asked, name: 'Mine' });
  expect((await readKeyList(state)).map(({ name }) => name)).toEqual(['Mine']);
});

test.each([
  ['another fingerprint', { text: OPENPGP_KEY, fingerprint: SECOND.fingerprint }],
  ['the end of a fingerprint', { text: OPENPGP_KEY, fingerprint: FIRST.slice(-8) }],
  ['the long id of an OpenPGP key', { text: OPENPGP_KEY, fingerprint: FIRST.slice(-16) }],
  ['no key', { text: 'no key' }],
  ['a pattern that cannot be read', { text: MINISIGN.key, fingerprint: MINI, patterns: ['a b'] }],
])('nothing is added with %s', async (_, asked) => {
  await expect(addKeys(state, { patterns: [], ...asked })).rejects.toMatchObject({
    code: 'bad-option',
  });
  expect(await readKeyList(state)).toEqual([]);
});

test('a list that others may write to, or that is damaged, is not used', async () => {
  await addKeys(state, { text: MINISIGN.key, patterns: [] });
  await chmod(keyFile(state), 0o666);
  const unusable = expect.objectContaining({ code: 'state-unusable' });
  await expect(ownKeysIn(state)('https://a.example/')).rejects.toEqual(unusable);
  const text = await readFile(keyFile(state), 'utf8');
  await rm(keyFile(state));
  await writeFile(keyFile(state), text.slice(0, -20), { mode: 0o600 });
  await expect(readKeyList(state)).rejects.toEqual(unusable);
});
