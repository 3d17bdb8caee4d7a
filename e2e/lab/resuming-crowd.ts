/**
 * Many clients in one process: each downloads a URL over a connection of its own, and requests the
 * rest at once whenever the connection breaks (ANYCAST 3.1.1). Usage: resuming-crowd.ts CLIENTS URL
 * BYTES SECONDS STAGGER-MS. BYTES is the file's length, SECONDS the duration, STAGGER-MS the time
 * over which starts are spread. Counts and drops the bytes. Prints one JSON value at the end.
 */

import { connect } from 'node:net';
import { portOf } from '../fixtures/programs/port-of.ts';

export interface ResumingCrowdResult {
  readonly bytes: number;
  /** Connections that broke before the end of their answer. */
  readonly resets: number;
  /** Clients that have the whole file. */
  readonly complete: number;
  /** Bytes of each client. */
  readonly each: readonly number[];
}

const BUFFER = Buffer.allocUnsafeSlow(256 * 1024);
/** Pause after a connection without any bytes, so that refused clients do not retry in a loop. */
const PAUSE_MS = 200;

const [clients = '1', address = '', length = '0', seconds = '60', stagger = '0'] =
  process.argv.slice(2);
const url = new URL(address);
const each = new Array<number>(Number(clients)).fill(0);
let resets = 0;
let ended = false;

function download(client: number): void {
  const position = each[client] as number;
  if (ended || position >= Number(length)) return;
  let inBody = false;
  let head = '';
  const socket = connect({
    host: url.hostname,
    port: portOf(url),
    onread: {
      buffer: BUFFER,
      callback: (count) => {
        let bytes = count;
        if (!inBody) {
          head += BUFFER.subarray(0, count).toString('latin1');
          const end = head.indexOf('\r\n\r\n');
          inBody = end >= 0;
          bytes = inBody ? head.length - end - 4 : 0;
          if (inBody && !head.startsWith('HTTP/1.1 206')) socket.destroy();
        }
        each[client] = (each[client] as number) + bytes;
        if ((each[client] as number) >= Number(length)) socket.destroy();
        return true;
      },
    },
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    if (ended || (each[client] as number) >= Number(length)) return;
    resets++;
    if (each[client] === position) setTimeout(() => download(client), PAUSE_MS);
    else download(client);
  });
  const fields = [`Host: ${url.host}`, `Range: bytes=${position}-`, '', ''].join('\r\n');
  socket.write(`GET ${url.pathname} HTTP/1.1\r\n${fields}`);
}

for (let client = 0; client < each.length; client++) {
  setTimeout(() => download(client), (Number(stagger) * client) / each.length);
}
setTimeout(() => {
  ended = true;
  const bytes = each.reduce((sum, got) => sum + got, 0);
  const complete = each.filter((got) => got >= Number(length)).length;
  const result: ResumingCrowdResult = { bytes, resets, complete, each };
  process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit());
}, Number(seconds) * 1000);
