/** A download uses the edges of a network that answer first, wherever they stand in its list. */

import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import {
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { MAX_EDGES } from '@millrace/shared/download/edges/edge-order';
import { LateProxy } from '../../fixtures/clients/late-proxy.ts';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import { DaemonCli } from '../../fixtures/programs/daemon-cli.ts';
import { EdgeProcess, runCli, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

const SIZE = 4_000_000;
/** Edges far away, of which there are more than a download uses. */
const LATE = MAX_EDGES + 8;
/** Bytes that the near edge must have sent before the others may send anything of a file. */
const OWN_PART = 64 * 1024;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let origin: FaultOrigin;
/** The edge behind the front and all late proxies. */
let distant: EdgeProcess;
/** The near edge, and the proxy before it, which delays nothing. */
let near: EdgeProcess;
let door: LateProxy;
let late: LateProxy[] = [];
/** Bytes of the near edge after which those far away answer. */
let farAfterBytes: number;
let front: Server;
let frontUrl: string;

beforeEach(async () => {
  [folder, origin] = await Promise.all([temporaryFolder(), FaultOrigin.start()]);
  const options = ['--allow-origin', '127.0.0.1', '--log-level', 'warn'];
  [distant, near] = await Promise.all([EdgeProcess.start(options), EdgeProcess.start(options)]);
  farAfterBytes = OWN_PART;
  door = await LateProxy.start(near.url, () => true);
  late = await Promise.all(
    Array.from({ length: LATE }, () =>
      LateProxy.start(distant.url, () => door.deliveredBytes >= farAfterBytes),
    ),
  );
  const urls = [...late, door].map(({ url }) => url);
  const edges = urls.map((url, i) => ({ name: `e${i}`, url, healthy: true, weight: 1 }));
  const list = JSON.stringify({ routing: 'hrw-1', chunkBytes: 524_288, edges });
  /** Bytes that the near edge must have delivered before the front sends more, by file. */
  const wanted = new Map<string, number>();
  front = createServer(async (req, res) => {
    const { url = '' } = req;
    if (url === '/-/edges') return void res.end(list);
    const before = wanted.get(url);
    if (before === undefined) wanted.set(url, door.deliveredBytes + OWN_PART);
    else await until(() => res.destroyed || door.deliveredBytes >= before);
    passOn(req, res);
  }).listen(0, '127.0.0.1');
  await once(front, 'listening');
  frontUrl = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
});

/** Has the distant edge answer a request. */
function passOn({ url, headers }: IncomingMessage, res: ServerResponse): void {
  const { hostname, port } = new URL(distant.url);
  const behind = request({ host: hostname, port, path: url, headers }, (answer) => {
    res.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.on('error', () => res.destroy()).pipe(res);
  });
  behind.on('error', () => res.destroy()).end();
  res.on('close', () => behind.destroy());
}

afterEach(async () => {
  front.close();
  front.closeAllConnections();
  await Promise.all([...late, door].map((proxy) => proxy.stop()));
  await Promise.all([near.stop('SIGKILL'), distant.stop('SIGKILL')]);
  await Promise.all([origin.stop(), folder.remove()]);
});

describe('of more edges than a download uses', () => {
  test('the near one at the end of the list sends bytes, and some far ones before it are left out', async () => {
    const url = origin.url('none', { size: SIZE, seed: 'listed', name: 'listed.bin' });
    const options = ['--edge', frontUrl, '--edges-only', '-d', folder.path];
    const result = await runCli(['get', url, '--json', ...options]);
    expect(result).toMatchObject({ code: 0 });
    expect(sha256(await readFile(join(folder.path, 'listed.bin')))).toBe(origin.digest(url));
    expect((await near.status()).bytes.toClients).toBeGreaterThan(OWN_PART / 2);
    expect(late.filter(({ asked }) => asked > 0).length).toBeLessThan(MAX_EDGES);
  });
});

describe('the daemon', () => {
  test('remembers how far edges are: the next download measures the near one no more, and uses it', async () => {
    const cli = new DaemonCli(folder.path);
    try {
      await cli.startDaemon();
      const download = async (name: string) => {
        farAfterBytes = door.deliveredBytes + OWN_PART;
        const url = origin.url('none', { size: SIZE, seed: name, name });
        await cli.json('add', url, '--edge', frontUrl, '--edges-only');
        await until(async () => (await fileIn(cli, name)) === origin.digest(url));
      };
      await download('first.bin');
      await download('second.bin');
      expect((await near.status()).bytes.toClients).toBeGreaterThan(OWN_PART);
      expect(door.measured).toBe(1);
    } finally {
      await cli.kill();
    }
  });
});

/** Returns the digest of a file that the daemon has saved; undefined before it has. */
async function fileIn(cli: DaemonCli, name: string): Promise<string | undefined> {
  const bytes = await readFile(join(cli.downloads, name)).catch(() => undefined);
  return bytes === undefined ? undefined : sha256(bytes);
}
