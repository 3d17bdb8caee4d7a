/**
 * Presets: clients of public services, unmodified, get their files through an edge, and get them from its
 * cache while the services are down. Stand-ins answer for the services under their real names.
 */

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { notTested } from '../../fixtures/not-tested.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { temporaryFolder } from '../../fixtures/programs/processes.ts';
import { ARCHIVE, CURL } from '../../fixtures/services/downloads.ts';
import { publishImage } from '../../fixtures/services/images.ts';
import { APT, PIP } from '../../fixtures/services/package-managers.ts';
import { isInstalled } from '../../fixtures/services/service-client.ts';
import { ServiceStage } from '../../fixtures/services/service-stage.ts';

/** The others are tried by `npm run bench -- clients`. */
const CLIENTS = [APT, PIP, CURL, ARCHIVE].filter((client) => {
  const installed = isInstalled(client);
  if (!installed) notTested(`${client.name} is not installed`, 'its preset');
  return installed;
});

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let stage: ServiceStage;

beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder?.remove());

describe('clients', () => {
  const wanted = new Map<string, string>();
  beforeAll(async () => {
    const presets = CLIENTS.map(({ preset }) => preset);
    // The services are asked each time, so that it shows what clients get when nothing answers.
    stage = await ServiceStage.start(folder.path, presets, true);
    for (const client of CLIENTS) {
      wanted.set(client.name, await client.publish(stage.services, folder.path));
    }
  });
  afterAll(() => stage?.stop());

  test.each(CLIENTS)('$name gets its files of $preset', async (client) => {
    expect(await stage.fetch(client)).toBe(wanted.get(client.name));
  });

  test('all of them get the files again while the services are down', async () => {
    const { sentBytes } = stage.services;
    await stage.services.stop();
    const got = await Promise.all(CLIENTS.map((client) => stage.fetch(client)));
    expect(got).toEqual(CLIENTS.map(({ name }) => wanted.get(name)));
    expect(stage.services.sentBytes).toBe(sentBytes);
  });
});

describe('what presets do with answers', () => {
  const PAGE = 'https://pypi.org/simple/wheel/';
  const LINK = 'https://files.pythonhosted.org/packages/a.whl';
  // The second link lies across the border of two chunks.
  const page = (link: string) =>
    `<a href="${link}">${'x'.repeat(65_510)}<a href="${link}">${'é'.repeat(90_000)}`;
  const HUB = 'https://huggingface.co/mill/wheel/resolve/main/a.bin';

  beforeAll(async () => {
    const presets = ['pypi', 'huggingface', 'npm', 'containers'];
    stage = await ServiceStage.start(folder.path, presets, false, '--chunk-size', '64KiB');
    const type = 'text/html; charset=UTF-8';
    const headers = { 'repr-digest': 'sha-256=:AAAA:', 'content-md5': 'AAAA' };
    const sent = { body: page(LINK), type, headers };
    stage.services.add(PAGE, sent);
    const unchanged = { 'cache-control': 'no-transform' };
    stage.services.add(`${PAGE}kept/`, { ...sent, headers: unchanged });
    stage.services.add(`${PAGE}streamed/`, { ...sent, streamed: true });
    const to = 'https://cas-bridge.xethub.hf.co/1';
    const fields = { 'x-repo-commit': 'c1', 'x-linked-size': '5', 'x-other': 'x' };
    stage.services.add(HUB, { to, headers: { ...fields, 'set-cookie': 'visitor=1' } });
    stage.services.add(to, { body: 'hello', headers: { 'x-repo-commit': 'other' } });
    const body = contentOf('cookies', 200_000);
    const cookie = { 'set-cookie': '_cfuvid=1', vary: 'Authorization' };
    stage.services.add('https://registry.npmjs.org/a/-/a.tgz', { body, headers: cookie });
  });
  afterAll(() => stage?.stop());

  test.each(['', 'streamed/'])('links of an index "%s" lead through the edge', async (path) => {
    const { edge } = stage;
    const url = edge.prefixed(`${PAGE}${path}`);
    for (const range of [undefined, 'bytes=0-9']) {
      const got = await fetchAll(url, { headers: range === undefined ? {} : { range } });
      expect([got.status, got.body.toString()]).toEqual([200, page(edge.prefixed(LINK))]);
      expect(got.headers).toMatchObject({ 'accept-ranges': 'none' });
      for (const name of ['content-length', 'repr-digest', 'content-md5', 'content-digest']) {
        expect(got.headers).not.toHaveProperty([name]);
      }
      const { etag = '' } = got.headers;
      expect(etag).toMatch(/^W\//);
      const again = await fetchAll(url, { headers: { 'if-none-match': etag } });
      expect([again.status, again.body.length]).toEqual([304, 0]);
      const head = await fetchAll(url, { method: 'HEAD' });
      expect([head.status, head.headers.etag]).toEqual([200, etag]);
    }
  });

  test('a page that no proxy may change stays as it is, with its length and ranges', async () => {
    const got = await fetchAll(stage.edge.prefixed(`${PAGE}kept/`));
    expect(got.body.toString()).toBe(page(LINK));
    expect(got.headers).toMatchObject({ 'accept-ranges': 'bytes' });
  });

  test('fields that describe a file at its redirect reach clients, with ranges and from the cache', async () => {
    for (const range of ['bytes=0-', 'bytes=1-3', 'bytes=1-3']) {
      const got = await fetchAll(stage.edge.prefixed(HUB), { headers: { range } });
      expect(got.status).toBe(206);
      expect(got.headers).toMatchObject({ 'x-repo-commit': 'c1', 'x-linked-size': '5' });
      expect(got.headers).not.toHaveProperty(['x-other']);
      expect(got.headers).not.toHaveProperty(['set-cookie']);
    }
  });

  test.each([
    ['kept', {}],
    ['passed through', { 'cache-control': 'no-store' }],
  ])('a list that a service sends in pages goes on through the edge: %s', async (name, fields) => {
    const list = `https://huggingface.co/api/${encodeURIComponent(name)}`;
    const [next, last] = [`${list}?cursor=2`, 'https://elsewhere.example/9'];
    const link = `<?cursor=2>; rel="next", <${last}>; rel="last"`;
    stage.services.add(list, {
      body: '[1]',
      type: 'application/json',
      headers: { ...fields, link },
    });
    const { edge } = stage;
    const led = `<${edge.prefixed(next)}>; rel="next", <${last}>; rel="last"`;
    for (const method of ['GET', 'GET', 'HEAD']) {
      expect((await fetchAll(edge.prefixed(list), { method })).headers.link).toBe(led);
    }
  });

  test('a cookie of a service whose files are the same for all keeps no file from being kept', async () => {
    const url = stage.edge.prefixed('https://registry.npmjs.org/a/-/a.tgz');
    const digest = sha256(contentOf('cookies', 200_000));
    const first = await fetchAll(url);
    const again = await fetchAll(url);
    expect([first.digest, again.digest]).toEqual([digest, digest]);
    expect(again.headers['cache-status']).toContain('; hit;');
    expect(first.headers).not.toHaveProperty(['set-cookie']);
  });

  test('images come by the mirror protocol, with tokens that no client has to get', async () => {
    const { layer } = await publishImage(stage.services);
    const { edge, services } = stage;
    expect((await fetchAll(`${edge.url}/v2/`)).status).toBe(200);
    const image = `${edge.url}/v2/docker.io/mill/wheel`;
    // A client's own log-in stays at the edge.
    const headers = { authorization: 'Bearer of-the-client', accept: 'text/html' };
    for (const outcome of [/fwd=uri-miss/, /; hit;/]) {
      const manifest = await fetchAll(`${image}/manifests/v1`, { headers });
      expect(manifest.headers['docker-content-digest']).toBe(`sha256:${manifest.digest}`);
      expect(manifest.headers['cache-status']).toMatch(outcome);
      expect(manifest.body.toString()).toContain(layer);
      const blob = await fetchAll(`${image}/blobs/sha256:${layer}`, { headers });
      expect([blob.status, blob.digest]).toEqual([200, layer]);
    }
    expect(services.asked.filter((url) => url.includes('auth.docker.io'))).toHaveLength(1);
    const token = 'https://auth.docker.io/token?service=registry.docker.io&scope=x';
    expect((await fetchAll(edge.prefixed(token))).status).toBe(403);
  });

  test('the page for publishers names the presets with their hosts', async () => {
    const { body } = await fetchAll(`${stage.edge.url}/`);
    for (const text of ['huggingface', '*.hf.co', 'Python packages of PyPI', 'pypi.org/simple'])
      expect(body.toString()).toContain(text);
  });
});
