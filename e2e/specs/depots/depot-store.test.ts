/** Files in a depot: stored with curl and with our own command, downloaded with any program. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { H2Client } from '../../fixtures/clients/h2-client.ts';
import { makeCertificate } from '../../fixtures/origins/certificate.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { EdgeProcess, runCli } from '../../fixtures/programs/processes.ts';
import {
  appendTo,
  askDepot,
  DepotStage,
  OWNER_TOKEN,
  owned,
  reserve,
  store,
} from '../../fixtures/stages/depot-stage.ts';
import { becomes } from '../../fixtures/until.ts';

const stage = await DepotStage.set();
const edge = await stage.start();
const BYTES = 3_000_001;
const AUTHORIZATION = `Authorization: Bearer ${OWNER_TOKEN}`;

async function run(command: string, args: readonly string[], cwd: string) {
  const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (data) => {
    stdout += data;
  });
  child.stderr.on('data', (data) => {
    stderr += data;
  });
  const [code] = await once(child, 'close');
  return { code, stdout, stderr };
}

/** Runs `millrace upload`. @returns its result, and the link that it has printed */
async function upload(file: string, ...options: string[]) {
  const { code, stdout, stderr } = await runCli(
    ['upload', file, '--edge', edge.url, '--token-file', stage.tokenFile, ...options],
    { MILLRACE_STATE: join(stage.folder, 'state') },
  );
  return { code, stderr, link: stdout.split('\n')[0] ?? '', stdout };
}

describe('a file in a depot', () => {
  test('is stored by curl -T, and downloaded by curl -OL and by millrace get', async () => {
    const folder = join(stage.folder, 'curl');
    await mkdir(folder);
    const content = contentOf('with curl', BYTES);
    await writeFile(join(folder, 'a b.bin'), content);
    const put = `${edge.url}/-/depot/a%20b.bin?for=1d`;
    const stored = await run('curl', ['-sS', '-T', 'a b.bin', '-H', AUTHORIZATION, put], folder);
    expect(stored).toMatchObject({ code: 0, stderr: '' });
    const link = stored.stdout.trim();
    expect(link).toMatch(/\/-\/d\/[\w-]{16}\/[\w-]{32}\/a%20b\.bin$/);
    for (const [i, args] of [['-sSOL'], ['-sSOLJ']].entries()) {
      const to = join(folder, `to-${i}`);
      await mkdir(to);
      expect(await run('curl', [...args, link], to)).toMatchObject({ code: 0, stderr: '' });
      const name = i === 0 ? 'a%20b.bin' : 'a b.bin';
      expect(sha256(await readFile(join(to, name)))).toBe(sha256(content));
    }
    await mkdir(join(folder, 'get'));
    const got = await runCli(['get', link, '-d', join(folder, 'get'), '--connections', '4']);
    expect(got.code).toBe(0);
    expect(sha256(await readFile(join(folder, 'get', 'a b.bin')))).toBe(sha256(content));
  });

  test('is stored by millrace upload under its name or another, empty ones too', async () => {
    for (const [name, bytes] of Object.entries({ 'ä 1.bin': BYTES, 'none.bin': 0 })) {
      const path = join(stage.folder, name);
      const content = contentOf(name, bytes);
      await writeFile(path, content);
      const { code, link } = await upload(path, '--quiet', '--for', '2h');
      expect(code).toBe(0);
      const answer = await fetch(link);
      expect(sha256(Buffer.from(await answer.arrayBuffer()))).toBe(sha256(content));
      const disposition = answer.headers.get('content-disposition') ?? '';
      expect(decodeURIComponent(disposition)).toContain(name);
      const seconds = (Date.parse(answer.headers.get('sunset') ?? '') - Date.now()) / 1000;
      expect(Math.abs(seconds - 7200)).toBeLessThan(600);
    }
    const json = await upload(join(stage.folder, 'none.bin'), '--json', '--name', '../x.html');
    const done = JSON.parse(json.stdout.trim().split('\n').at(-1) ?? '');
    expect(done).toMatchObject({ event: 'done', bytes: 0, sha256: sha256(Buffer.alloc(0)) });
    expect(done.link).toMatch(/\/x\.html$/);
    expect((await askDepot('DELETE', done.manage)).status).toBe(204);
    expect((await askDepot('GET', done.link)).status).toBe(404);
  });

  test('may be the tar of a folder, which curl, tar and millrace get --unpack take', async () => {
    const folder = join(stage.folder, 'set');
    await mkdir(join(folder, 'inner', 'empty'), { recursive: true });
    const content = contentOf('in a folder', BYTES);
    await writeFile(join(folder, 'inner', 'a.bin'), content);
    await writeFile(join(folder, 'ä.txt'), 'text');
    const { code, link } = await upload(folder, '--quiet');
    expect([code, link]).toEqual([0, expect.stringMatching(/\/set\.tar$/)]);
    const to = join(stage.folder, 'unpacked');
    await mkdir(to);
    expect(await run('curl', ['-sSOL', link], to)).toMatchObject({ code: 0, stderr: '' });
    expect(await run('tar', ['-xf', 'set.tar'], to)).toMatchObject({ code: 0, stderr: '' });
    expect(sha256(await readFile(join(to, 'set', 'inner', 'a.bin')))).toBe(sha256(content));

    const got = join(stage.folder, 'got-folder');
    await mkdir(got);
    const unpacked = await runCli(['get', link, '-d', got, '--unpack']);
    expect([unpacked.code, unpacked.stderr]).toEqual([0, '']);
    expect(unpacked.stdout).toContain(`Unpacked ${join(got, 'set')} (2 files, 3 folders)`);
    expect(sha256(await readFile(join(got, 'set', 'inner', 'a.bin')))).toBe(sha256(content));
    expect(await readFile(join(got, 'set', 'ä.txt'), 'utf8')).toBe('text');
    expect(await readdir(got)).toEqual(['set', 'set.tar']);

    // The next upload would send the exNode, which gives all rights, with the folder.
    const inside = await upload(folder, '-o', join(folder, 'set.exnode'));
    expect([inside.code, inside.stderr]).toEqual([2, expect.stringContaining('in the folder')]);
    // So does a guest not send the state folder to a stranger.
    const guest = `${edge.url}/-/depot/guest#g.${'i'.repeat(16)}.${'w'.repeat(32)}.${'r'.repeat(32)}`;
    const state = { MILLRACE_STATE: join(folder, 'state') };
    const sent = await runCli(['upload', folder, '--guest', guest], state);
    expect([sent.code, sent.stderr]).toEqual([2, expect.stringContaining('in the folder')]);
  });

  test('is answered in ranges and under conditions, as a download that no browser runs', async () => {
    const content = contentOf('ranges', 500_000);
    const { read } = await store(edge, content, { name: 'page.html', type: 'text/html' });
    const whole = await askDepot('HEAD', read);
    expect(Object.fromEntries(whole.headers)).toMatchObject({
      'accept-ranges': 'bytes',
      'content-length': '500000',
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment; filename=page.html',
      'content-security-policy': 'sandbox',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'repr-digest': `sha-256=:${Buffer.from(sha256(content), 'hex').toString('base64')}:`,
      'cache-control': expect.stringMatching(/^max-age=60, stale-if-error=3\d\d\d$/),
    });
    const etag = whole.headers.get('etag') ?? '';
    const partOf = async (range: string, more: Record<string, string> = {}) => {
      const response = await fetch(read, { headers: { range, ...more } });
      return { status: response.status, body: Buffer.from(await response.arrayBuffer()) };
    };
    for (const [range, start, end] of [
      ['bytes=0-0', 0, 1],
      ['bytes=65535-65536', 65_535, 65_537],
      ['bytes=100000-400000', 100_000, 400_001],
      ['bytes=-7', 499_993, 500_000],
    ] as const) {
      const { status, body } = await partOf(range, { 'if-range': etag });
      expect([status, sha256(body)]).toEqual([206, sha256(content.subarray(start, end))]);
    }
    expect((await partOf('bytes=0-1', { 'if-range': '"other"' })).body.length).toBe(500_000);
    expect((await partOf('bytes=500000-')).status).toBe(416);
    const several = await partOf('bytes=0-9,100000-100009');
    expect(several.status).toBe(206);
    for (const start of [0, 100_000]) {
      expect(several.body.includes(content.subarray(start, start + 10))).toBe(true);
    }
    expect((await askDepot('GET', read, { 'if-none-match': etag })).status).toBe(304);
    expect((await askDepot('GET', read, { 'if-match': '"other"' })).status).toBe(412);
  });

  test('is stored and downloaded over HTTP/2, and a stream that is reset completes nothing', async () => {
    const pair = makeCertificate(stage.folder, 'depot');
    const dir = join(stage.folder, 'h2');
    const secure = await stage.start(
      ...['--tls-cert', pair.cert, '--tls-key', pair.key, '--depot-dir', dir],
    );
    const client = await H2Client.connect(secure.secureUrl, pair.cert);
    const content = contentOf('h2', BYTES);
    const send = (path: string, headers: Record<string, string>) =>
      client.session.request({ ':method': 'POST', ':path': path, ...headers, ...owned() });
    const stream = send('/-/depot', { 'upload-complete': '?1' });
    const interims: Record<string, unknown>[] = [];
    stream.on('headers', (headers) => interims.push(headers));
    const text: Buffer[] = [];
    stream.on('data', (piece: Buffer) => text.push(piece));
    stream.end(content);
    await once(stream, 'close');
    const { read, write, sha256: digest } = JSON.parse(Buffer.concat(text).toString());
    expect(digest).toBe(sha256(content));
    expect(interims[0]).toMatchObject({ ':status': 104, location: write });
    const got = await client.fetch(new URL(read).pathname);
    expect(got).toMatchObject({ status: 200, digest: sha256(content) });

    const broken = send('/-/depot', { 'upload-complete': '?1' });
    const [headers] = await once(broken, 'headers');
    broken.write(content.subarray(0, 100_000));
    broken.on('error', () => {});
    broken.close(8);
    const path = new URL(headers.location).pathname;
    const state = async () => {
      const answer = await client.open(path, { ':method': 'HEAD' });
      return [answer.headers['upload-complete'], answer.status];
    };
    await becomes(state, ['?0', 204]);
    await client.close();
  });
});

describe('whoever may not store files', () => {
  test('cannot: without a token, with a wrong one, and where there is no file of owners', async () => {
    const nobody = await EdgeProcess.start(['--depot-dir', join(stage.folder, 'nobody')]);
    const none = await EdgeProcess.start([]);
    try {
      const wanted = { bytes: 1, seconds: 60 };
      for (const [url, headers, status, code] of [
        [edge.url, {}, 401, 'owner-token-required'],
        [edge.url, owned('wrong'), 401, 'owner-token-required'],
        [nobody.url, owned(), 401, 'owner-token-required'],
        [none.url, owned(), 404, 'no-such-page'],
      ] as const) {
        const answer = await askDepot('POST', `${url}/-/depot`, headers, wanted);
        expect([answer.status, answer.body.code]).toEqual([status, code]);
      }
      const file = join(stage.folder, 'big.bin');
      await writeFile(file, contentOf('big', 30_000_000));
      // The client waits for "100 Continue", and sends nothing in vain.
      const put = await run(
        'curl',
        ['-sS', '-w', '%{http_code} %{size_upload}', '-T', file, `${nobody.url}/-/depot/x`],
        stage.folder,
      );
      expect(put.stdout).toContain('owner-token-required');
      expect(put.stdout).toMatch(/401 0$/);
    } finally {
      await nobody.stop('SIGKILL');
      await none.stop('SIGKILL');
    }
  });

  test('owners are read again on SIGHUP: one who is struck off keeps what is stored', async () => {
    const own = await stage.start('--depot-dir', join(stage.folder, 'reread'));
    const content = contentOf('stays', 1000);
    const { read } = await store(own, content);
    await stage.setOwners('bob', 'each=10KiB');
    try {
      const another = await stage.start('--depot-dir', join(stage.folder, 'struck'));
      const tooLarge = await askDepot('POST', `${another.url}/-/depot`, owned(), {
        ...{ bytes: 10_241, seconds: 60 },
      });
      expect([tooLarge.status, tooLarge.body.reason]).toEqual([
        507,
        'size: one allocation may have 10 KiB',
      ]);
      own.child.kill('SIGHUP');
      const limited = async () =>
        (await askDepot('POST', `${own.url}/-/depot`, owned(), { bytes: 10_241, seconds: 60 }))
          .status;
      await becomes(limited, 507);
      expect(sha256(Buffer.from(await (await fetch(read)).arrayBuffer()))).toBe(sha256(content));
    } finally {
      await stage.setOwners('alice');
    }
  });
});

describe('options that do not go together', () => {
  test.each([
    ['no public address', ['--host', '0.0.0.0'], /needs --public-url/],
    ['links in the clear', ['--public-url', 'http://a.example'], /with https/],
    ['more than the disk has', ['--depot-quota', '1000TB'], /--depot-quota needs .* the disk has/],
  ])('%s', async (_, options, message) => {
    const start = stage.start('--depot-dir', join(stage.folder, 'impossible'), ...options);
    await expect(start).rejects.toThrow(message);
  });

  test('several processes, and a folder with too long a path for their socket', async () => {
    const dir = join(stage.folder, 'd'.repeat(100));
    const start = stage.start('--workers', '2', '--depot-dir', dir);
    await expect(start).rejects.toThrow(/choose a shorter path/);
  });
});

test('the space of an upload is given back, and what is not used of it', async () => {
  const own = await stage.start('--depot-dir', join(stage.folder, 'space'));
  const used = async () => (await own.status()).admission.depotBytes?.use;
  const links = await reserve(own, 1_000_000);
  expect(await used()).toBe(1_000_000);
  expect((await appendTo(links.write, 0, contentOf('short', 1000), true)).status).toBe(200);
  expect(await used()).toBe(1000);
  expect((await askDepot('DELETE', links.manage)).status).toBe(204);
  expect(await used()).toBe(0);
});
