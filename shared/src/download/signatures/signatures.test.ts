import { describe, expect, test } from '@jest/globals';
import { parseMinisignKey, parseMinisignSignature } from './minisign.ts';
import { besideOf, signatureUrls } from './signature-names.ts';
import { signedDigest } from './signed-list.ts';
import { SIGNERS, signerOf } from './signers.ts';
import { judge, type Outcome, shownSigner } from './verdict.ts';

const A = 'a'.repeat(64);
const B = 'b'.repeat(64);

describe('the signer that a URL belongs to', () => {
  test.each([
    ['https://cdimage.debian.org/debian-cd/current/amd64/iso-cd/debian.iso', 'debian'],
    ['http://ftp.mirror.example/debian-cd/13/debian.iso', 'debian'],
    ['https://geo.mirror.pkgbuild.com/iso/latest/arch.iso', 'arch'],
    ['https://releases.ubuntu.com/26.04/ubuntu-26.04-desktop-amd64.iso', 'ubuntu'],
    ['http://ftp.mirror.example/fedora/linux/releases/44/Server/x86_64/iso/a.iso', 'fedora'],
    ['https://notcdimage.debian.org.evil.example/x.iso', undefined],
    ['https://evil-cdimage.debian.org/x.iso', undefined],
    ['https://example.org/x.iso?from=/debian-cd/', undefined],
    ['ftp://cdimage.debian.org/x.iso', undefined],
  ])('of %s is %s', (url, id) => {
    expect(signerOf(url)?.id).toBe(id);
  });

  test('has fingerprints of keys, and says where they are from', () => {
    for (const { fingerprints, source } of SIGNERS) {
      expect(fingerprints.length).toBeGreaterThan(0);
      for (const one of fingerprints) expect(one).toMatch(/^[0-9A-F]{40}$/);
      expect(source).toMatch(/keyring|gpg-keys/);
    }
  });
});

describe('names beside a file', () => {
  const url = 'https://cdimage.debian.org/debian-cd/a.iso';

  test('are the signer’s alone if the user asked for nothing', () => {
    const { lists, suffixes } = besideOf(url, signerOf(url), true);
    expect(lists.map((list) => list.slice(list.lastIndexOf('/')))).toEqual([
      '/SHA512SUMS',
      '/SHA256SUMS',
    ]);
    expect(signatureUrls(lists[0] as string, suffixes)).toEqual([
      'https://cdimage.debian.org/debian-cd/SHA512SUMS.sign',
    ]);
  });

  test('are all usual ones if the user asked, each once', () => {
    const { lists, suffixes } = besideOf(url, signerOf(url), false);
    expect(new Set(lists).size).toBe(lists.length);
    expect(lists.length).toBeLessThanOrEqual(14);
    expect(suffixes).toEqual(['.sign', '.asc', '.gpg', '.sig', '.minisig']);
  });

  test.each([
    ['Server/x86_64/iso/Fedora-Server-dvd-x86_64-41-1.4.iso', 'Fedora-Server-41-1.4-x86_64'],
    ['Kinoite/x86_64/iso/Fedora-Kinoite-ostree-x86_64-44-1.7.iso', 'Fedora-Kinoite-44-1.7-x86_64'],
    [
      'Cloud/aarch64/images/Fedora-Cloud-Base-Generic-44-1.7.aarch64.qcow2',
      'Fedora-Cloud-44-1.7-aarch64',
    ],
  ])('of Fedora follow from the path: %s', (path, list) => {
    const folder = 'https://dl.fedoraproject.org/pub/fedora/linux/releases/44/';
    const { lists } = besideOf(folder + path, signerOf(folder + path), true);
    const own = folder + path.slice(0, path.lastIndexOf('/'));
    expect(lists).toEqual([`${own}/${list}-CHECKSUM`]);
    expect(besideOf(`${folder}COMPOSE_ID`, signerOf(folder), true).lists).toEqual([]);
  });

  test('are none for a URL with a query, which may be signed for one file', () => {
    expect(besideOf('https://a.example/f?x=1', undefined, false)).toEqual({
      lists: [],
      suffixes: [],
    });
  });
});

describe('a signed list', () => {
  test.each([
    ['the file itself', `${A}  a.iso\n`, A],
    ['the file with ./ before it', `${A} *./a.iso\n`, A],
    ['another folder’s file of that name', `${A}  old/a.iso\n`, undefined],
    ['a folder above', `${A}  ../a.iso\n`, undefined],
    ['a name that ends alike', `${A}  xa.iso\n`, undefined],
    ['a name in other letters', `${A}  A.iso\n`, undefined],
    ['no name', `${A}\n`, undefined],
    ['a weak digest alone', `${'c'.repeat(40)}  a.iso\n`, undefined],
    ['both lines, of two files', `${B}  b.iso\n${A}  a.iso\n`, A],
  ])('with %s', (_, text, hex) => {
    expect(signedDigest(text, 'SUMS', 'a.iso')?.hex).toBe(hex);
  });

  test('with two digests of the file is refused', () => {
    expect(() => signedDigest(`${A}  a.iso\n${B}  a.iso\n`, 'SHA256SUMS', 'a.iso')).toThrow(
      /two sha256 digests/,
    );
  });
});

describe('signatures of one text', () => {
  const good: Outcome = { kind: 'good', by: 'Debian', fingerprint: 'F', signedAt: 1 };
  const bad: Outcome = { kind: 'bad', by: 'Debian', fingerprint: 'F' };
  const unknown: Outcome = { kind: 'doubtful', doubt: 'signature-unknown-key' };
  const weak: Outcome = { kind: 'doubtful', doubt: 'signature-weak' };

  test.each<[string, Outcome[], Outcome]>([
    ['a good one counts beside others', [unknown, bad, good], good],
    ['a bad one counts beside doubtful ones', [unknown, bad, weak], bad],
    ['of doubts, the one that tells most is kept', [unknown, weak], weak],
    ['no signature is a doubt', [], { kind: 'doubtful', doubt: 'no-signature' }],
  ])('%s', (_, outcomes, result) => {
    expect(judge(outcomes)).toEqual(result);
  });
});

test('names of keys are shown in one line, without tricks', () => {
  expect(shownSigner('A\u202eB\u0000\n C <mail@example.org>')).toBe('A B C');
  expect([...shownSigner('x'.repeat(500))]).toHaveLength(80);
});

describe('minisign', () => {
  const key = 'RWSISqkko12VPHpxnTFi3KtH5Crh9b8lOxDdmMzoizHyilfjoiL4qaig';

  test('keys are read with and without a comment', () => {
    expect(parseMinisignKey(key)).toMatchObject({ id: '3C955DA324A94A88', comment: '' });
    expect(parseMinisignKey(`untrusted comment: mine\n${key}\n`)?.comment).toBe('mine');
  });

  test.each(['', key.slice(4), `${key}\n${key}`, `RUS${key.slice(3)}`, 'untrusted comment: x'])(
    '%j is no key',
    (text) => {
      expect(parseMinisignKey(text)).toBeUndefined();
    },
  );

  test.each(['', 'untrusted comment: x\nRUSI\ntrusted comment: y\nAAAA\n'])(
    '%j is no signature',
    (text) => {
      expect(parseMinisignSignature(text)).toBeUndefined();
    },
  );
});
