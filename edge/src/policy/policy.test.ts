import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { signLink } from '@millrace/shared/node/link-signature';
import type { Scope } from '../files/file-version.ts';
import { AllowList } from './allow-list.ts';
import { OriginPolicy } from './policy.ts';

const check = (entries: string[], url: string, scope: Scope = 'public') =>
  new OriginPolicy(new AllowList(entries)).check(new URL(url), scope);
const SECRET = 'a secret of publishers';
const refused = (code: string) => expect.objectContaining({ code });

describe('OriginPolicy', () => {
  test('an origin that is listed may be fetched from public addresses', () => {
    expect(check(['*.example.com'], 'https://www.example.com/x')).toBe(false);
    expect(check(['*'], 'http://8.8.8.8/x')).toBe(false);
  });

  test('an origin that is not listed may not, and is named', () => {
    expect(() => check(['example.com'], 'https://other.example:8443/x')).toThrow(
      expect.objectContaining({ code: 'origin-not-allowed', detail: 'other.example:8443' }),
    );
    expect(() => check([], 'https://example.com/')).toThrow(refused('origin-not-allowed'));
  });

  test.each(['http://127.0.0.1/', 'http://[::1]/', 'http://169.254.169.254/', 'http://0x7f.1/'])(
    '%s is reached by a literal entry only',
    (url) => {
      expect(() => check(['*'], url)).toThrow(refused('private-address'));
      expect(check(['*', new URL(url).hostname], url)).toBe(true);
    },
  );

  test('a name that is listed literally may be at a private address', () => {
    expect(check(['nas.local'], 'http://nas.local/')).toBe(true);
    expect(check(['*.local'], 'http://nas.local/')).toBe(false);
  });

  test('an error about an origin that is not listed does not tell whether it is private', () => {
    expect(() => check([], 'http://127.0.0.1/')).toThrow(refused('origin-not-allowed'));
  });

  test('the owner of a local edge reaches every public origin, and listed private ones', () => {
    expect(check([], 'https://other.example/', 'private')).toBe(false);
    expect(() => check([], 'http://192.168.0.1/', 'private')).toThrow(refused('private-address'));
    expect(() => check(['*'], 'http://nas.localhost/', 'private')).toThrow(
      refused('private-address'),
    );
    expect(check(['192.168.0.1'], 'http://192.168.0.1/', 'private')).toBe(true);
    expect(check(['nas.example'], 'http://nas.example/', 'private')).toBe(true);
  });

  describe('with rules', () => {
    const origins = [
      { origin: 'served.example' },
      { origin: 'served.example/no', allow: false },
      { origin: '10.0.0.1/signed', allow: 'signed' },
      { origin: 'refused.example', allow: false },
    ];
    let dir = '';
    let policy: OriginPolicy;
    beforeAll(() => {
      dir = mkdtempSync(join(tmpdir(), 'millrace-'));
      const [rulesFile, linkSecretFile] = [join(dir, 'rules'), join(dir, 'secret')];
      writeFileSync(rulesFile, JSON.stringify({ origins }));
      writeFileSync(linkSecretFile, SECRET);
      const listed = new AllowList(['*', '10.0.0.2', '10.0.0.1']);
      policy = new OriginPolicy(listed, { rulesFile, linkSecretFile });
    });
    afterAll(() => rmSync(dir, { recursive: true }));
    const grant = (text: string) => {
      const url = new URL(text);
      return policy.grant(signLink(url, 2_000_000_000, text.endsWith('/'), SECRET), url, 0);
    };
    const ask = (url: string, link?: string) =>
      policy.check(new URL(url), 'public', link === undefined ? undefined : grant(link));
    const notAllowed = refused('origin-not-allowed');

    test('the list and the rules add up, and an origin that a rule refuses stays refused', () => {
      expect(ask('http://served.example/x')).toBe(true);
      expect(ask('http://listed.example/x')).toBe(false);
      expect(() => ask('http://served.example/no/x')).toThrow(notAllowed);
      expect(() => ask('http://refused.example/x')).toThrow(notAllowed);
      expect(() => ask('http://refused.example/x', 'http://refused.example/x')).toThrow(notAllowed);
    });

    test('an origin for signed links only needs one, which may lead to a private address', () => {
      const url = 'http://10.0.0.1/signed/x';
      expect(() => ask(url)).toThrow(notAllowed);
      expect(ask(url, url)).toBe(true);
      expect(ask(url, 'http://10.0.0.1/signed/')).toBe(true);
    });

    test('a redirect of another site does not lead to an origin for signed links only', () => {
      expect(() => ask('http://10.0.0.1/signed/x', 'http://listed.example/x')).toThrow(notAllowed);
      expect(ask('http://10.0.0.1/signed/y', 'http://10.0.0.1/signed/x')).toBe(true);
    });

    test('a signature alone does not lead to private addresses', () => {
      for (const url of ['http://10.0.0.3/x', 'http://[::ffff:10.0.0.3]/x']) {
        expect(() => ask(url, url)).toThrow(refused('private-address'));
      }
    });
  });

  test('a signed link lets through an origin that is not listed, and its redirects', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'millrace-')), 'secret');
    writeFileSync(file, SECRET);
    const files = { rulesFile: undefined, linkSecretFile: file };
    const policy = new OriginPolicy(new AllowList([]), files);
    const url = new URL('https://example.com/pub/x');
    const other = new URL('https://mirror.example/x');
    const one = policy.grant(signLink(url, 2_000_000_000, false, SECRET), url, 0);
    const pub = new URL('https://example.com/pub/');
    const below = policy.grant(signLink(pub, 2_000_000_000, true, SECRET), url, 0);
    expect(policy.check(url, 'public', one)).toBe(false);
    expect(policy.check(other, 'public', one)).toBe(false);
    expect(policy.check(url, 'public', below)).toBe(false);
    for (const asked of [undefined, below]) {
      expect(() => policy.check(other, 'public', asked)).toThrow(refused('origin-not-allowed'));
    }
    rmSync(dirname(file), { recursive: true });
  });

  test('signed links let through no origin that is refused, and no private one not listed', () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-test-'));
    const [linkSecretFile, rulesFile] = [join(folder, 'secrets'), join(folder, 'rules')];
    writeFileSync(linkSecretFile, SECRET);
    const origins = [
      { origin: '10.0.0.5', allow: 'signed' },
      { origin: 'refused.example', allow: false },
    ];
    writeFileSync(rulesFile, JSON.stringify({ origins }));
    const isServed = (files: { linkSecretFile?: string }, url: string) =>
      new OriginPolicy(new AllowList([]), {
        rulesFile,
        linkSecretFile: files.linkSecretFile,
      }).isServedByLink(new URL(url));
    const files = { linkSecretFile };
    expect(isServed(files, 'http://10.0.0.5/x')).toBe(true);
    expect(isServed(files, 'https://any.example/x')).toBe(true);
    expect(isServed(files, 'https://refused.example/x')).toBe(false);
    expect(isServed(files, 'http://10.0.0.6/x')).toBe(false);
    expect(isServed(files, 'http://localhost/x')).toBe(false);
    expect(isServed({}, 'https://any.example/x')).toBe(false);
    rmSync(folder, { recursive: true });
  });

  test('no request reaches the ports of other protocols', () => {
    for (const entries of [['*'], ['localhost'], ['localhost:25'], []]) {
      for (const scope of ['public', 'private'] as const) {
        expect(() => check(entries, 'http://localhost:25/', scope)).toThrow(
          expect.objectContaining({
            code: 'origin-not-allowed',
            detail: 'port 25 is of another protocol',
          }),
        );
      }
    }
  });
});

test('a signed link may have parameters to ignore, whether it was signed with them or not', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  const [linkSecretFile, rulesFile] = [join(folder, 'secrets'), join(folder, 'rules')];
  writeFileSync(linkSecretFile, SECRET);
  writeFileSync(rulesFile, JSON.stringify({ defaults: { ignoreQuery: ['utm_*'] } }));
  const policy = new OriginPolicy(new AllowList([]), { rulesFile, linkSecretFile });
  rmSync(folder, { recursive: true });
  const [plain, tracked, other] = ['?v=1', '?utm_x=2&v=1', '?utm_x=2&v=2'].map(
    (query) => new URL(`https://a.example/f${query}`),
  ) as [URL, URL, URL];
  expect(policy.named(tracked).href).toBe(plain.href);
  const sign = (url: URL) => signLink(url, 2_000_000_000, false, SECRET);
  for (const [permit, asked] of [
    [sign(plain), tracked],
    [sign(tracked), tracked],
    [sign(plain), plain],
  ] as const) {
    const grant = policy.grantFor(permit, asked, 0);
    expect(policy.check(policy.named(asked), 'public', grant)).toBe(false);
    // Other nodes check the grant for the file's name alone.
    expect(policy.grant(grant.permit, plain).covers(plain)).toBe(true);
  }
  for (const asked of [other, plain]) {
    expect(() => policy.grantFor(sign(tracked), asked, 0)).toThrow(refused('link-invalid'));
  }
  expect(() => policy.grantFor(sign(tracked), tracked, 2e12)).toThrow(refused('link-expired'));
});

describe('the digest of a policy', () => {
  const digest = (entries: string[], files: { rules?: object; secrets?: string } = {}) => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-digest-'));
    try {
      const [rulesFile, linkSecretFile] = [join(folder, 'rules'), join(folder, 'secrets')];
      writeFileSync(rulesFile, JSON.stringify(files.rules ?? {}, null, 2));
      writeFileSync(linkSecretFile, files.secrets ?? '');
      return new OriginPolicy(new AllowList(entries), {
        rulesFile,
        linkSecretFile: files.secrets === undefined ? undefined : linkSecretFile,
      }).digest;
    } finally {
      rmSync(folder, { recursive: true });
    }
  };

  test('is the same for the same policy, however it is written', () => {
    expect(digest(['a.example', 'b.example'])).toBe(digest(['b.example', ' a.example ']));
    const rules = { origins: [{ origin: 'c.example', allow: true, maxFileSize: '1GiB' }] };
    const same = { origins: [{ maxFileSize: '1024MiB', origin: 'c.example' }] };
    expect(digest([], { rules })).toBe(digest([], { rules: same }));
    expect(digest([])).toMatch(/^[0-9a-f]{16}$/);
  });

  test('differs wherever policies may differ about a file', () => {
    const origins = (more: object) => ({ rules: { origins: [{ origin: 'c.example', ...more }] } });
    const policies = [
      digest([]),
      digest(['a.example']),
      digest(['a.example', 'b.example']),
      digest([], origins({})),
      digest([], origins({ allow: false })),
      digest([], origins({ allow: 'signed' })),
      digest([], origins({ maxFileSize: '1GiB' })),
      digest([], { rules: { defaults: { contentTypes: ['video/*'] } } }),
      digest([], origins({ ignoreQuery: 'all' })),
      digest([], origins({ ignoreQuery: ['v'] })),
      digest([], origins({ ignoreQuery: { allBut: ['v'] } })),
      digest([], { secrets: SECRET }),
      digest([], { secrets: `${SECRET}\nanother secret of them` }),
    ];
    expect(new Set(policies).size).toBe(policies.length);
  });
});
