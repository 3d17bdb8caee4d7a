/** Clients of resumable uploads that others have written. */

import { expect, test } from '@jest/globals';
import { Upload, type UploadOptions } from 'tus-js-client';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { askDepot, DepotStage, owned } from '../../fixtures/stages/depot-stage.ts';

const stage = await DepotStage.set();
const edge = await stage.start();
const BYTES = 1_000_003;

/** Options by which tus-js-client speaks the fifth version of the draft. Its types lack one of them. */
const DRAFT = {
  protocol: 'ietf-draft-05',
  endpoint: `${edge.url}/-/depot`,
  headers: owned(),
  retryDelays: null,
} as const;

/** Uploads with tus-js-client. @returns the upload's URL */
function upload(content: Buffer, more: Partial<UploadOptions> = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const client = new Upload(content, {
      ...DRAFT,
      ...more,
      onError: reject,
      onSuccess: () => resolve(client.url ?? ''),
    });
    client.start();
  });
}

/** Digest that the depot tells of an upload. */
async function digestOf(write: string): Promise<string> {
  const { headers } = await askDepot('HEAD', write);
  expect([headers.get('upload-complete'), headers.get('upload-offset')]).toEqual([
    ...['?1', String(BYTES)],
  ]);
  const [, base64 = ''] = /^sha-256=:(.*):$/.exec(headers.get('repr-digest') ?? '') ?? [];
  return Buffer.from(base64, 'base64').toString('hex');
}

test.each<[string, Partial<UploadOptions>]>([
  ['in one request', { uploadDataDuringCreation: true }],
  ['after the creation', {}],
  ['in several requests', { chunkSize: 300_000 }],
])('tus-js-client uploads a file %s', async (name, options) => {
  const content = contentOf(name, BYTES);
  expect(await digestOf(await upload(content, options))).toBe(sha256(content));
});

test('tus-js-client continues an upload that it has given up', async () => {
  const content = contentOf('continues', BYTES);
  const url = await new Promise<string>((resolve, reject) => {
    const client = new Upload(content, {
      ...DRAFT,
      chunkSize: 400_000,
      onError: reject,
      onChunkComplete: () => {
        void client.abort().then(() => resolve(client.url ?? ''));
      },
    });
    client.start();
  });
  const offset = Number((await askDepot('HEAD', url)).headers.get('upload-offset'));
  expect(offset).toBe(400_000);
  expect(await upload(content, { uploadUrl: url })).toBe(url);
  expect(await digestOf(url)).toBe(sha256(content));
});
