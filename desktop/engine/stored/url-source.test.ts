import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { serveHttp } from '@millrace/shared/node/testing/http-server';
import { lookAtUrl } from './url-source.ts';

/** Fields of the next answers, and the length of the file. */
let fields: Record<string, string> = {};
let bytes = 1000;
const server = serveHttp((_req, res) => {
  if (bytes === 0) {
    res.writeHead(416, { 'content-range': 'bytes */0' }).end();
    return;
  }
  res.writeHead(206, { ...fields, 'content-range': `bytes 0-0/${bytes}`, 'content-length': '1' });
  res.end('x');
});

const look = () => {
  const url = `${server.url}/a%20b.iso?x=1`;
  return lookAtUrl(url, new AbortController().signal);
};

test('a file at a URL is known by its length, its strong entity tag and its digest', async () => {
  const digest = createHash('sha256').update('file').digest();
  fields = { etag: '"one"', 'repr-digest': `sha-256=:${digest.toString('base64')}:` };
  expect(await look()).toMatchObject({
    ...{ name: 'a b.iso', bytes: 1000, etag: '"one"', sha256: digest.toString('hex') },
  });
});

test('a version has one name, and another version another one', async () => {
  const id = async (more: Record<string, string>, length = 1000) => {
    [fields, bytes] = [more, length];
    return (await look()).versionId;
  };
  const date = { 'last-modified': 'Fri, 27 Nov 2020 10:00:00 GMT' };
  const names = [
    ...[await id({ etag: '"one"' }), await id({ etag: '"two"' }), await id({ etag: 'W/"one"' })],
    ...[await id(date), await id({ etag: '"one"' }, 1001)],
    // Nobody can say whether these two are one version.
    ...[await id({}), await id({})],
  ];
  expect(new Set(names).size).toBe(names.length);
  expect(await id({ etag: '"one"' })).toBe(names[0]);
  expect(await id(date)).toBe(names[3]);
  expect((await look()).etag).toBeUndefined();
});

test('an empty file is refused with a reason', async () => {
  bytes = 0;
  await expect(look()).rejects.toMatchObject({
    code: 'bad-option',
    detail: expect.stringMatching(/the file is empty/),
  });
});
