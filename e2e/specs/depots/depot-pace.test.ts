/** Uploads that take longer than other requests may, and uploads that are too slow. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { rawConnect } from '../../fixtures/clients/raw-client.ts';
import { makeCertificate } from '../../fixtures/origins/certificate.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { askDepot, DepotStage, OWNER_TOKEN, reserve } from '../../fixtures/stages/depot-stage.ts';

const stage = await DepotStage.set();
/** Other requests end after 20 s, which the server looks at every 5 s. */
const SECONDS = 28;
const PACE = 100 * 1024;

test('an upload may take longer than any other request, over HTTP/1.1 and HTTP/2, but not pause for half a minute', async () => {
  const pair = makeCertificate(stage.folder, 'pace');
  const edge = await stage.start(
    ...['--tls-cert', pair.cert, '--tls-key', pair.key, '--http-port', '0'],
  );
  const content = contentOf('pace', SECONDS * PACE);
  const file = join(stage.folder, 'pace.bin');
  await writeFile(file, content);
  const upload = async (base: string, version: string) => {
    const args = ['-sS', version, '--cacert', pair.cert, '--limit-rate', String(PACE), '-T', file];
    const url = `${base}/-/depot/pace.bin`;
    const curl = spawn('curl', [...args, '-H', `Authorization: Bearer ${OWNER_TOKEN}`, url]);
    let [stdout, stderr] = ['', ''];
    curl.stdout.on('data', (data) => {
      stdout += data;
    });
    curl.stderr.on('data', (data) => {
      stderr += data;
    });
    const [code] = await once(curl, 'close');
    expect([code, stderr]).toEqual([0, '']);
    const path = new URL(stdout.trim()).pathname;
    const stored = await fetch(edge.url + path);
    expect(sha256(Buffer.from(await stored.arrayBuffer()))).toBe(sha256(content));
  };
  const stall = async () => {
    const { write } = await reserve(edge, 1000);
    const socket = await rawConnect(edge.url);
    const answer: Buffer[] = [];
    socket.on('data', (piece) => answer.push(piece as Buffer));
    const fields = 'Content-Type: application/partial-upload\r\nUpload-Offset: 0';
    socket.write(
      `PATCH ${new URL(write).pathname} HTTP/1.1\r\nHost: a\r\n${fields}\r\n` +
        'Upload-Complete: ?1\r\nContent-Length: 1000\r\n\r\n0123456789',
    );
    await new Promise<void>((resolve) => {
      socket.once('close', () => resolve());
    });
    const text = Buffer.concat(answer).toString();
    expect(text).toContain('HTTP/1.1 408 ');
    expect(text).toContain('upload-too-slow');
    // The bytes that came before are kept.
    const { headers } = await askDepot('HEAD', edge.url + new URL(write).pathname);
    expect(headers.get('upload-offset')).toBe('10');
  };
  const others = [upload(edge.secureUrl, '--http2'), upload(edge.secureUrl, '--http1.1')];
  await Promise.all([...others, upload(edge.url, '--http1.1'), stall()]);
});
