import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Note } from '@millrace/shared/base/notes';
import { SIGNERS } from '@millrace/shared/download/signatures/signers';
import { MINISIGN, OPENPGP_KEY } from '@millrace/shared/download/signatures/testing/signed';
import {
  createCleartextMessage,
  createMessage,
  enums,
  generateKey,
  type PrivateKey,
  readSignature,
  reformatKey,
  revokeKey,
  sign,
} from 'openpgp';
import { fingerprintOf, readOpenpgpKeys } from './openpgp-check.ts';
import { Vouching, type VouchingOptions } from './vouching.ts';

const never = new AbortController().signal;
const DAY = 24 * 3600 * 1000;
const NOW = Date.UTC(2026, 5, 1);
const BODY = Buffer.from('the bytes of the file');
const HEX = createHash('sha256').update(BODY).digest('hex');
const LIST = `${HEX}  a.iso\n`;
const URL = 'http://mirror.example/pub/a.iso';

// Made by GnuPG 2.2: the library does not sign with SHA-1.
const SHA1_SIGNATURE = `-----BEGIN PGP SIGNATURE-----

iHUEABYCAB0WIQQwIepA8HL8We0+VFLoNUgNu1tGzwUCaVW5AAAKCRDoNUgNu1tG
z7fLAQCa4iZpoD4zCEFhfW3um1vBKoBr+057/pKHtn55M13hlgEAl2M0YS9QY6h/
Fa9Vnp8wsEt9jKdptX06TZtXv2AhiAg=
=y7jL
-----END PGP SIGNATURE-----
`;

async function keyOf(name: string, days = 0): Promise<PrivateKey> {
  const { privateKey } = await generateKey({
    userIDs: [{ name, email: 'x@example.org' }],
    keyExpirationTime: (days * DAY) / 1000,
    date: new Date(NOW - 100 * DAY),
    format: 'object',
  });
  return privateKey;
}

async function detached(
  content: string | Buffer,
  key: PrivateKey,
  { at = NOW - DAY } = {},
): Promise<string> {
  return sign({
    message: await createMessage({ binary: new Uint8Array(Buffer.from(content)) }),
    signingKeys: key,
    detached: true,
    date: new Date(at),
  });
}

let mine: PrivateKey;
let other: PrivateKey;

beforeAll(async () => {
  [mine, other] = await Promise.all([keyOf('Mine'), keyOf('Other')]);
});

type Site = Readonly<Record<string, string | Buffer>>;

/** Lets a download of `BODY` find out who vouches for it. */
async function vouch(
  site: Site,
  {
    url = URL,
    keys = [mine.toPublic().armor()] as readonly string[],
    signatures = [] as readonly string[],
    sidecars = false,
    body = BODY,
  } = {},
) {
  const notes: Note[] = [];
  const asked: string[] = [];
  const read: VouchingOptions['read'] = async (small) => {
    const name = small.slice(small.lastIndexOf('/') + 1);
    asked.push(name);
    const found = site[name];
    if (found === undefined) throw new MillraceError('origin-not-found');
    return Buffer.from(found);
  };
  const vouching = new Vouching({
    request: { sidecars, keys, signatures },
    url,
    name: 'a.iso',
    read,
    now: () => NOW,
    onNote: (note) => notes.push(note),
  });
  const statements = await vouching.look();
  const file = {
    read: async (into: Buffer, at: number) => body.copy(into, 0, at, at + into.length),
  };
  const by = await vouching.vouch(file, body.length, never);
  return {
    by,
    digest: vouching.digest,
    statements,
    asked,
    doubt: notes.map(({ note }) => note).find((note) => /signature/.test(note)),
  };
}

describe('a list of digests', () => {
  test.each(['.sign', '.asc', '.gpg', '.sig'])('is vouched for by its %s', async (suffix) => {
    const signature = await detached(LIST, mine);
    const { by, digest, statements } = await vouch({
      SHA256SUMS: LIST,
      [`SHA256SUMS${suffix}`]: signature,
    });
    expect(by).toEqual({
      by: 'Mine',
      fingerprint: fingerprintOf(mine),
      url: `http://mirror.example/pub/SHA256SUMS${suffix}`,
      byList: true,
      signedAt: NOW - DAY,
    });
    expect(digest).toEqual({ algorithm: 'sha256', hex: HEX });
    expect(statements).toHaveLength(1);
  });

  test('is vouched for by the signature around it, and only what is inside counts', async () => {
    const message = await createCleartextMessage({ text: LIST });
    const signed = await sign({ message, signingKeys: mine, date: new Date(NOW - DAY) });
    const { by } = await vouch({ CHECKSUMS: signed });
    expect(by).toMatchObject({ by: 'Mine', byList: true });
    const inside = await createCleartextMessage({ text: `${HEX}  b.iso\n` });
    const around = await sign({ message: inside, signingKeys: mine, date: new Date(NOW - DAY) });
    expect((await vouch({ CHECKSUMS: `${LIST}${around}` })).by).toBeUndefined();
  });

  test('that was swapped under its signature fails the download', async () => {
    const signature = await detached(LIST, mine);
    const swapped = `${'0'.repeat(64)}  a.iso\n`;
    const run = vouch({ SHA256SUMS: swapped, 'SHA256SUMS.sign': signature });
    await expect(run).rejects.toMatchObject({
      code: 'bad-signature',
      detail: expect.stringContaining(`SHA256SUMS is not what Mine signed`),
    });
  });

  test('is only a hint if an unknown key has signed it', async () => {
    const signature = await detached(LIST, other);
    const result = await vouch({ SHA256SUMS: LIST, 'SHA256SUMS.sign': signature });
    expect(result).toMatchObject({ by: undefined, digest: undefined });
    expect(result.doubt).toBe('signature-unknown-key');
    expect(result.statements).toHaveLength(1);
  });

  test('that is signed and names the file in another folder only does not vouch', async () => {
    const list = `${HEX}  old/a.iso\n`;
    const signature = await detached(list, mine);
    const result = await vouch({ SHA256SUMS: list, 'SHA256SUMS.sign': signature });
    expect(result).toMatchObject({ by: undefined, doubt: 'signature-unlisted' });
  });

  test('outranks an unsigned list with another digest', async () => {
    const signature = await detached(LIST, mine);
    const { by, statements } = await vouch({
      'a.iso.sha256': `${'0'.repeat(64)}  a.iso\n`,
      SHA256SUMS: LIST,
      'SHA256SUMS.sign': signature,
    });
    expect(by).toMatchObject({ by: 'Mine' });
    expect(statements).toMatchObject([{ digests: [{ hex: HEX }] }]);
  });

  test.each<[string, () => Promise<[PrivateKey, string]>, string]>([
    [
      'a key that had expired',
      async () => {
        const key = await keyOf('Old', 10);
        const fresh = await reformatKey({
          privateKey: key,
          userIDs: [{ name: 'Old' }],
          date: new Date(NOW - 100 * DAY),
          format: 'object',
        });
        return [key, await detached(LIST, fresh.privateKey)];
      },
      'signature-key-not-valid',
    ],
    [
      'a key that is revoked',
      async () => {
        const key = await keyOf('Gone');
        const signature = await detached(LIST, key);
        const { privateKey } = await revokeKey({
          key,
          reasonForRevocation: { flag: enums.reasonForRevocation.keyCompromised },
          date: new Date(NOW - 50 * DAY),
          format: 'object',
        });
        return [privateKey as PrivateKey, signature];
      },
      'signature-key-not-valid',
    ],
    [
      'a date in the future',
      async () => [mine, await detached(LIST, mine, { at: NOW + 10 * DAY })],
      'signature-key-not-valid',
    ],
    ['noise', async () => [mine, '-----BEGIN PGP SIGNATURE-----\n\nAAAA'], 'signature-unreadable'],
  ])('is not vouched for by a signature with %s', async (_, make, doubt) => {
    const [key, signature] = await make();
    const result = await vouch(
      { SHA256SUMS: LIST, 'SHA256SUMS.sign': signature },
      { keys: [key.toPublic().armor()] },
    );
    expect(result).toMatchObject({ by: undefined, doubt });
  });
});

test('a list is not vouched for by a signature with SHA-1', async () => {
  const site = { SHA256SUMS: LIST, 'SHA256SUMS.sign': SHA1_SIGNATURE };
  const result = await vouch(site, { keys: [OPENPGP_KEY] });
  expect(result).toMatchObject({ by: undefined, doubt: 'signature-weak' });
});

describe('the file itself', () => {
  test('is vouched for by the signature beside it, and by one that was given', async () => {
    const signature = await detached(BODY, mine);
    const beside = await vouch({ 'a.iso.sig': signature });
    expect(beside.by).toMatchObject({ by: 'Mine', byList: false, url: `${URL}.sig` });
    expect((await vouch({}, { signatures: [signature] })).by).toMatchObject({ by: 'Mine' });
  });

  test('with other bytes than those signed fails the download', async () => {
    const signature = await detached(BODY, mine);
    const run = vouch({ 'a.iso.asc': signature }, { body: Buffer.from('another') });
    await expect(run).rejects.toMatchObject({ code: 'bad-signature' });
  });

  const { key, signature: minisig } = MINISIGN;
  const signed = Buffer.from(MINISIGN.file);

  test('is vouched for by minisign', async () => {
    const result = await vouch({ 'a.iso.minisig': minisig }, { keys: [key], body: signed });
    expect(result.by).toMatchObject({ by: 'A publisher', fingerprint: '3C955DA324A94A88' });
  });

  test.each([
    ['another byte', minisig, Buffer.from('the signed File\n')],
    ['another trusted comment', minisig.replace('file:f', 'file:g'), signed],
  ])('fails for minisign with %s', async (_, signature, body) => {
    const run = vouch({ 'a.iso.minisig': signature }, { keys: [key], body });
    await expect(run).rejects.toMatchObject({ code: 'bad-signature' });
  });
});

test('a signature with any byte changed vouches for no other file, and breaks nothing', async () => {
  const armored = await detached(BODY, mine);
  const { packets } = await readSignature({ armoredSignature: armored });
  const whole = Buffer.from(packets.write());
  for (let at = 0; at < whole.length; at++) {
    const changed = Buffer.from(whole);
    changed[at] = (changed[at] as number) ^ 0x41;
    const signatures = [changed.toString('base64')];
    const run = vouch({}, { signatures, body: Buffer.from('another file') });
    const by = await run.then(
      (result) => result.by,
      (error) => error.code,
    );
    expect([undefined, 'bad-signature']).toContain(by);
  }
});

describe('keys', () => {
  test('that come with Millrace are those that are pinned, and good today', async () => {
    const text = readFileSync(new globalThis.URL('shipped-keys.json', import.meta.url), 'utf8');
    const shipped = JSON.parse(text) as Record<string, string>;
    expect(Object.keys(shipped).toSorted()).toEqual(SIGNERS.map(({ id }) => id).toSorted());
    for (const { id, name, fingerprints } of SIGNERS) {
      const keys = await readOpenpgpKeys(Buffer.from(shipped[id] as string, 'base64'), name);
      expect(keys.map((one) => fingerprintOf(one.key)).toSorted()).toEqual(
        [...fingerprints].toSorted(),
      );
      for (const one of keys) await one.key.verifyPrimaryKey(new Date(NOW));
    }
  });

  test('of others do not vouch for a known signer’s file', async () => {
    const url = 'https://cdimage.debian.org/debian-cd/a.iso';
    const signature = await detached(LIST, other);
    const result = await vouch(
      { SHA256SUMS: LIST, 'SHA256SUMS.sign': signature },
      { url, keys: [] },
    );
    expect(result).toMatchObject({ by: undefined, doubt: 'signature-unknown-key' });
    // Nobody asked: only names of the signer are looked for.
    expect(result.asked).toEqual(['SHA512SUMS', 'SHA256SUMS', 'SHA256SUMS.sign', 'a.iso.sign']);
  });

  test('that cannot be read are refused', async () => {
    const run = vouch({ 'a.iso.sig': await detached(BODY, mine) }, { keys: ['not a key'] });
    await expect(run).rejects.toMatchObject({ code: 'bad-option' });
  });
});

test('pages in place of files that are not there are no signatures', async () => {
  const page = '<!doctype html><title>Welcome</title>';
  const result = await vouch({ 'a.iso.sign': page, 'a.iso.asc': page });
  expect(result).toMatchObject({ by: undefined, doubt: 'no-signature' });
});
