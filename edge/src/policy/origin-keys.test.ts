import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { AllowList } from './allow-list.ts';
import { OriginKeys } from './origin-keys.ts';
import { OriginPolicy } from './policy.ts';

const SECRET = 'do-not-show-this';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-keys-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function file(content: unknown, mode = 0o600): Promise<string> {
  const path = join(folder, `${Math.random()}.json`);
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  await chmod(path, mode);
  return path;
}

const one = (entry: object) => ({ origins: [{ origin: 'https://a.example', ...entry }] });

describe('the file', () => {
  test.each([
    ['that others may read', one({ fields: { 'x-key': SECRET } }), 0o640, 'mode 0600'],
    ['with text that is not JSON', `{"${SECRET}`, 0o600, 'it is not JSON'],
    ['with a word too much', one({ s4: SECRET }), 0o600, 's4'],
    ['with a field of the edge', one({ fields: { range: SECRET } }), 0o600, 'fields.range'],
    [
      'that sends keys without TLS',
      { origins: [{ origin: 'http://a.example', fields: { 'x-key': SECRET } }] },
      0o600,
      'over TLS only',
    ],
    ['with half a pair', one({ tls: { cert: 'a' } }), 0o600, 'go together'],
    ['with a missing certificate', one({ tls: { ca: 'missing.pem' } }), 0o600, 'there is no file'],
    ['without keys', one({ s3: { region: 'r' } }), 0o600, 'environment'],
    ['with a pattern', { origins: [{ origin: '*.example', public: true }] }, 0o600, 'is written'],
  ])('%s is refused, and no secret is shown', async (_, content, mode, words) => {
    const path = await file(content, mode);
    let message = '';
    try {
      OriginKeys.fromFile(path, {});
    } catch (error) {
      message = (error as { detail: string }).detail;
    }
    expect(message).toContain(words);
    expect(message).not.toContain(SECRET);
  });

  test('may leave the keys of S3 to the environment', async () => {
    const path = await file(one({ s3: { region: 'eu-central-1' } }));
    const env = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: SECRET };
    const keys = OriginKeys.fromFile(path, env);
    expect(keys.of(new URL('https://a.example/x'))?.s3).toMatchObject({ secretAccessKey: SECRET });
    expect(keys.text).not.toContain(SECRET);
  });
});

test('files behind a key are for signed links, unless the file says that they are public', async () => {
  const originKeysFile = await file({
    origins: [
      { origin: 'https://a.example/private' },
      { origin: 'https://b.example', public: true },
      { origin: 'https://b.example/inner' },
    ],
  });
  const files = { rulesFile: undefined, linkSecretFile: undefined, originKeysFile };
  const policy = new OriginPolicy(new AllowList(['*']), files);
  const isServed = (url: string, granted = false) => {
    const grant = { permit: '', origin: new URL(url).origin, redirects: false };
    try {
      policy.check(new URL(url), 'public', granted ? { ...grant, covers: () => true } : undefined);
      return true;
    } catch {
      return false;
    }
  };
  expect(isServed('https://a.example/open')).toBe(true);
  expect(isServed('https://b.example/open')).toBe(true);
  for (const url of [
    'https://a.example/private/x',
    'https://a.example/other/..%2fprivate/x',
    'https://a.example/%70rivate/x',
    'https://b.example/inner/x',
  ]) {
    expect([url, isServed(url), isServed(url, true)]).toEqual([url, false, true]);
  }
});
