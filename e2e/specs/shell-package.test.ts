/** What is packaged works without the project around it: the daemon in plain JavaScript, and its page. */

import { execFile } from 'node:child_process';
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sha256 } from '../fixtures/content.ts';
import { DaemonProcess } from '../fixtures/daemon.ts';
import { FaultOrigin } from '../fixtures/fault-origin.ts';
import { temporaryFolder } from '../fixtures/processes.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let origin: FaultOrigin;

beforeAll(async () => {
  folder = await temporaryFolder();
  origin = await FaultOrigin.start();
});

afterAll(async () => {
  await origin.stop();
  await folder.remove();
});

test('the packaged daemon downloads, checks digests and serves the page', async () => {
  await promisify(execFile)(process.execPath, [join(root, 'scripts/package.mjs'), '--stage']);
  // Elsewhere: nothing of the project is beside it.
  await cp(join(root, 'dist', 'stage', 'millrace'), join(folder.path, 'millrace'), {
    recursive: true,
  });
  const main = join(folder.path, 'millrace', 'engine', 'daemon', 'main.mjs');
  const daemon = await DaemonProcess.start(folder.path, [], main);
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

    const page = await fetch(new URL('/', daemon.url));
    expect(page.status).toBe(200);
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(await page.text())?.[1] as string;
    expect((await fetch(new URL(script, daemon.url))).headers.get('content-type')).toMatch(
      /script/,
    );
  } finally {
    expect(await daemon.stop()).toBe(0);
  }
});
