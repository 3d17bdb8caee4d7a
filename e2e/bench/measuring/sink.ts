/**
 * Clients that fetch and discard bytes as cheaply as possible, so that the server is measured.
 * Usage: sink.ts TIMES URL... Starts a client for each URL, all at once; each fetches its URL TIMES
 * times, one after the other. Prints bytes and seconds as JSON.
 */

import { connect } from 'node:net';
import { portOf } from '../../fixtures/programs/port-of.ts';

const BUFFER_BYTES = 1024 * 1024;
const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);

function fetchOnce(url: URL): Promise<number> {
  return new Promise((resolve, reject) => {
    let bytes = 0;
    let expected = Number.NaN;
    const socket = connect({
      host: url.hostname,
      port: portOf(url),
      onread: {
        buffer,
        callback: (count, data) => {
          if (bytes === 0) {
            const head = Buffer.from(data.buffer, data.byteOffset, Math.min(count, 8192));
            const text = head.toString('latin1');
            const end = text.indexOf('\r\n\r\n') + 4;
            if (!text.startsWith('HTTP/1.1 200 ')) reject(new Error(text.slice(0, 40)));
            expected = end + Number(/^content-length: (\d+)/im.exec(text)?.[1]);
          }
          bytes += count;
          return true;
        },
      },
    });
    socket.on('error', reject);
    socket.on('close', () =>
      bytes === expected ? resolve(bytes) : reject(new Error(`${bytes} of ${expected} bytes`)),
    );
    const target = `${url.pathname}${url.search}`;
    socket.write(`GET ${target} HTTP/1.1\r\nHost: ${url.host}\r\nConnection: close\r\n\r\n`);
  });
}

const [times = '1', ...urls] = process.argv.slice(2);
const startedAt = performance.now();
const sums = await Promise.all(
  urls.map(async (url) => {
    let sum = 0;
    for (let time = 0; time < Number(times); time++) sum += await fetchOnce(new URL(url));
    return sum;
  }),
);
const bytes = sums.reduce((a, b) => a + b, 0);
const seconds = (performance.now() - startedAt) / 1000;
process.stdout.write(`${JSON.stringify({ bytes, seconds })}\n`);
