/**
 * The packaged app works without the project around it: the daemon in plain JavaScript, and its
 * page.
 */

import { execFile } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { FileServer } from '../../fixtures/origins/file-server.ts';
import { DaemonProcess } from '../../fixtures/programs/daemon.ts';
import { DaemonCli } from '../../fixtures/programs/daemon-cli.ts';
import { HostProcess } from '../../fixtures/programs/native-host.ts';
import { temporaryFolder } from '../../fixtures/programs/processes.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let origin: FaultOrigin;
let files: FileServer;

beforeAll(async () => {
  folder = await temporaryFolder();
  origin = await FaultOrigin.start();
  files = await FileServer.start();
});

afterAll(async () => {
  await origin.stop();
  await files.stop();
  await folder.remove();
});

/** Packages the app and copies it away from the project. @returns its folder */
async function packaged(): Promise<string> {
  await promisify(execFile)(process.execPath, [join(root, 'scripts/package.mjs'), '--stage']);
  const place = join(folder.path, 'millrace');
  await cp(join(root, 'dist', 'stage', 'millrace'), place, { recursive: true });
  return place;
}

test('the packaged daemon downloads, checks digests and serves the page; the host finds it', async () => {
  const place = await packaged();
  const daemon = await DaemonProcess.start(
    folder.path,
    [],
    join(place, 'engine', 'daemon', 'main.mjs'),
  );
  try {
    const url = origin.url('none', { size: 4_000_000 });
    const digest = { algorithm: 'sha256', hex: origin.digest(url) };
    const { path } = await daemon.reaches(
      await daemon.add({ urls: [url], digests: [digest] }),
      'complete',
    );
    expect(sha256(await readFile(path))).toBe(origin.digest(url));
    const wrong = { ...digest, hex: digest.hex.replace(/^./, (c) => (c === '0' ? '1' : '0')) };
    const failed = await daemon.add({ urls: [url], digests: [wrong], file: 'other' });
    expect((await daemon.reaches(failed, 'error')).error?.code).toBe('checksum-mismatch');

    // A library that is loaded when it is needed is in the bundle, too.
    const cookieFile = join(folder.path, 'cookies.txt');
    await writeFile(cookieFile, '127.0.0.1\tFALSE\t/\tFALSE\t0\tname\tvalue\n');
    const file = files.add('/with-cookie', { body: contentOf('cookie', 1000) });
    await daemon.reaches(await daemon.add({ urls: [file], cookieFile }), 'complete');
    expect(files.requests.at(-1)?.headers.cookie).toBe('name=value');

    const page = await fetch(new URL('/', daemon.url));
    expect(page.status).toBe(200);
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(await page.text())?.[1] as string;
    expect((await fetch(new URL(script, daemon.url))).headers.get('content-type')).toMatch(
      /script/,
    );
  } finally {
    expect(await daemon.stop()).toBe(0);
  }
  // The native host starts the daemon in the same folder, as it does for a browser.
  const cli = new DaemonCli(folder.path);
  const main = join(place, 'native-host', 'main.mjs');
  const host = await HostProcess.greeted({ env: cli.env, program: [process.execPath, main] });
  try {
    expect((await host.call('list', { limit: 9 })).downloads).toHaveLength(3);
    expect(await host.end()).toBe(0);
  } finally {
    await cli.kill();
  }
});
