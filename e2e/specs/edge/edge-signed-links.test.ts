/** Links that publishers sign. */

import { execFile } from 'node:child_process';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { signLink } from '@millrace/shared/node/link-signature';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { Cluster, racesOf } from '../../fixtures/programs/cluster.ts';
import { type EdgeProcess, type EdgeStatus, runCli } from '../../fixtures/programs/processes.ts';
import { outcome, RulesStage } from '../../fixtures/stages/rules-stage.ts';
import { until } from '../../fixtures/until.ts';

const SECRET = 'a secret of publishers';
const stage = await RulesStage.set();
const { origin } = stage;
const secretFile = join(stage.folder, 'secrets');

beforeAll(() => writeFile(secretFile, `${SECRET}\n`));

/** Returns a link like that of `millrace edge sign`, without the time that a process takes. */
function sign(edge: EdgeProcess, url: string, { seconds = 3600, secret = SECRET } = {}): string {
  const expires = Math.ceil(Date.now() / 1000) + seconds;
  const permit = signLink(new URL(url), expires, false, secret);
  return `${edge.url}/-/signed/${permit}/${url}`;
}

/** Returns a link that the command line has signed. */
async function signed(edge: EdgeProcess, url: string, ...options: string[]): Promise<string> {
  const at = ['--edge', edge.url, '--secret-file', secretFile];
  const done = await runCli(['edge', 'sign', url, ...at, ...options]);
  expect(done).toMatchObject({ code: 0, stderr: '' });
  return done.stdout.trim();
}

describe('signed links', () => {
  const signedOnly = { origins: [{ origin: '127.0.0.1', allow: 'signed' }] };
  const startSigned = () => stage.start(signedOnly, '--link-secret-file', secretFile);

  test('bring the file to ordinary clients, and to nobody without a link', async () => {
    const e = await startSigned();
    const url = origin.url('one-hour', {
      seed: 'signed',
      name: 'some file.iso'.replace(' ', '%20'),
    });
    expect(await outcome(e.prefixed(url))).toBe('origin-not-allowed');
    const link = await signed(e, url);
    const got = await fetchAll(link, { headers: { range: 'bytes=0-' } });
    expect([got.status, got.digest]).toEqual([206, origin.digest(url)]);
    // A file that a signed link has brought into the cache still needs a link.
    expect(await outcome(e.prefixed(url))).toBe('origin-not-allowed');
    // Programs save the file under its own name.
    expect(decodeURIComponent(new URL(link).pathname.split('/').at(-1) ?? '')).toBe(
      'some file.iso',
    );
    await runCli(['get', link, '-d', stage.folder, '--quiet']);
    expect((await fetchAll(link)).headers['cache-status']).toMatch(/hit/);
    expect(await readdir(stage.folder)).toContain('some file.iso');
  });

  test('cover the query, expire, and cannot be changed', async () => {
    const e = await startSigned();
    const url = origin.url('none', { size: 1000, seed: 'cover' });
    const link = sign(e, url);
    expect(await outcome(link)).toBe('ok');
    expect(await outcome(`${link}&x=1`)).toBe('link-invalid');
    expect(await outcome(link.replace('cover', 'other'))).toBe('link-invalid');
    expect(await outcome(link.replace('/-/signed/', '/-/signed/1'))).toBe('link-invalid');
    expect(await outcome(link.replace('file.bin', 'x/../file.bin'))).toBe('ok');
    expect(await outcome(sign(e, url, { seconds: -1 }))).toBe('link-expired');
    const soon = sign(e, url, { seconds: 1 });
    await until(async () => (await outcome(soon)) === 'link-expired');
    expect(await outcome(`${e.url}/-/signed/x/${url}`)).toBe('link-invalid');
    expect(await outcome(`${e.url}/-/signed/`)).toBe('link-invalid');
  });

  test('can cover everything below a URL', async () => {
    const e = await startSigned();
    const { host } = origin;
    const link = await signed(e, `http://${host}/none/`, '--below');
    expect(await outcome(`${link}a.bin?size=1000&seed=a`)).toBe('ok');
    expect(await outcome(`${link}deep/b.bin?size=1000&seed=b`)).toBe('ok');
    for (const path of [
      '../one-hour/x',
      '..%2fone-hour/x',
      '%2e%2e/one-hour/x',
      '..;/one-hour/x',
    ]) {
      expect([path, await outcome(`${link}${path}?size=1000&seed=x`)]).toEqual([
        path,
        'link-invalid',
      ]);
    }
    const permit = /\/-\/signed\/[^/]+/.exec(link)?.[0];
    expect(await outcome(`${e.url}${permit}/http://${host}/one-hour/x?size=9&seed=x`)).toBe(
      'link-invalid',
    );
  });

  test('do not lead into the operator’s network', async () => {
    const e = await stage.startEdge('--link-secret-file', secretFile);
    origin.reset();
    const link = sign(e, origin.url('none'));
    expect(await outcome(link)).toBe('private-address');
    // The advice opens the server to holders of links, and only then to everybody.
    expect((await (await fetch(link)).json()).detail).toMatch(
      /"allow": "signed" for holders of a signed link only.*--allow-origin for everybody/,
    );
    expect(
      await outcome(sign(e, `http://2130706433:${new URL(origin.url('none')).port}/none/x`)),
    ).toBe('private-address');
    expect(await outcome(sign(e, 'http://8.8.8.8:25/x'))).toBe('origin-not-allowed');
    expect(origin.requests).toHaveLength(0);
    expect(e.log.join()).not.toMatch(/will serve nothing/);
  });

  test('do not follow a redirect to a private address', async () => {
    const { port } = new URL(origin.url('none'));
    const rules = { origins: [{ origin: `127.0.0.1:${port}/redirect-to-name`, allow: 'signed' }] };
    const e = await stage.start(rules, '--link-secret-file', secretFile);
    const link = sign(e, origin.url('redirect-to-name'));
    expect(await outcome(link)).toBe('private-address');
  });

  test('survive a change of secrets while the edge knows both', async () => {
    const e = await startSigned();
    const url = origin.url('none', { size: 1000, seed: 'rotation' });
    const old = sign(e, url);
    const reload = async (text: string) => {
      e.log.length = 0;
      await writeFile(secretFile, text);
      e.child.kill('SIGHUP');
      await until(() => e.log.some((line) => line.includes('--link-secret-file')));
    };
    const secret = 'another secret of them';
    await reload(`${secret}\n${SECRET}\n`);
    const fresh = sign(e, url, { secret });
    expect([await outcome(old), await outcome(fresh)]).toEqual(['ok', 'ok']);
    await reload(`${secret}\n`);
    expect([await outcome(old), await outcome(fresh)]).toEqual(['link-invalid', 'ok']);
    await reload('short\n');
    await e.logged(/the old one still holds/);
    await reload(`${SECRET}\n`);
    expect(await outcome(old)).toBe('ok');
  });

  test('work at all nodes of a network, wherever the chunks are', async () => {
    await stage.write(signedOnly);
    const policy = ['--rules-file', stage.rulesFile, '--link-secret-file', secretFile];
    const options = [...policy, '--chunk-size', '64KiB'];
    const cluster = await Cluster.start({ nodes: 3, options });
    try {
      const e = cluster.node(0).edge;
      const url = origin.url('redirect', { seed: 'network' });
      const path = sign(e, url).slice(e.url.length);
      origin.reset();
      for (const { edge } of cluster.nodes) {
        expect((await fetchAll(`${edge.url}${path}`)).digest).toBe(origin.digest(url));
        expect(await outcome(edge.prefixed(url))).toBe('origin-not-allowed');
      }
      // A node that refused the link would fail all of its forwards; a late one fails some.
      const served = ({ forwards }: EdgeStatus) => forwards.all - forwards.failed;
      expect(await cluster.sum(served)).toBeGreaterThan(0);
      const races = await racesOf(cluster.nodes.map(({ edge }) => edge));
      const { length } = origin.content(url);
      expect(origin.sentBytes).toBeGreaterThanOrEqual(length);
      expect(origin.sentBytes).toBeLessThanOrEqual(length + races * 65_536);
    } finally {
      await cluster.stop();
    }
  });

  test('are refused as such by an edge without secrets, which says what to do', async () => {
    const e = await stage.start(signedOnly);
    const link = `${e.url}/-/signed/1.x/${origin.url('none')}`;
    expect(await outcome(link)).toBe('no-signed-links');
    const { title, detail } = await (await fetch(link)).json();
    expect(`${title}. ${detail}`).toMatch(/takes no signed links.*--link-secret-file/);
  });

  test('can be made by the openssl recipe', async () => {
    const e = await startSigned();
    const url = origin.url('none', { size: 1000, seed: 'openssl' });
    const recipe = String.raw`
expires=$(( $(date +%s) + 604800 ))
signature=$(printf 'millrace-link-1 url\n%s\n%s' "$expires" "$url" |
  openssl dgst -sha256 -hmac "$(head -n 1 "$secret_file")" -binary | openssl base64 -A | tr '+/' '-_' | tr -d =)
echo "/-/signed/$expires.$signature/$url"`;
    const env = { ...process.env, url, secret_file: secretFile };
    const { stdout } = await promisify(execFile)('sh', ['-c', recipe], { env });
    expect(await outcome(e.url + stdout.trim())).toBe('ok');
  });
});
