/** Edges with something to show: distant from each other, with files in demand and some trouble. */

import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { FaultOrigin } from '../fixtures/faults/fault-origin.ts';
import { contentOf } from '../fixtures/origins/content.ts';
import { freePorts, Nginx } from '../fixtures/origins/nginx.ts';
import { Cluster } from '../fixtures/programs/cluster.ts';
import { temporaryFolder } from '../fixtures/programs/processes.ts';
import type { Names } from './names.ts';

export const TOKEN = 'a-token-for-the-picture';

/** Host names of the scene: the server of downloads, the server of data, and the edge. */
const [DOWNLOADS, DATA, EDGE] = ['downloads.example.org', 'data.example.org', 'edge.example.org'];
export const HOSTS = [DOWNLOADS, DATA, EDGE];

const MIB = 1024 * 1024;
/** Names of the edges, and the one-way delay of each to all others, milliseconds. */
const EDGES = [
  ['paris', 0],
  ['lyon', 3],
  ['zurich', 5],
  ['oslo', 14],
  ['boston', 41],
  ['tokyo', 110],
  ['sydney', 140],
] as const;
const FILES = ['dataset-2026.tar', 'desktop-13.2.iso', 'server-13.2.iso', 'map-tiles.zip'] as const;

/** Starts a slow line, which passes bytes on later. */
async function delayed(target: number, ms: number): Promise<{ port: number; server: Server }> {
  const later = (from: Socket, to: Socket) => {
    from.on('data', (piece) => setTimeout(() => to.writable && to.write(piece), ms));
    from.on('close', () => setTimeout(() => to.destroy(), ms));
    from.on('error', () => {});
  };
  const server = createServer((socket) => {
    const far = connect(target, '127.0.0.1');
    later(socket, far);
    later(far, socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as { port: number }).port, server };
}

interface Servers {
  readonly origin: FaultOrigin;
  readonly nginx: Nginx;
  readonly data: string;
}

export class EdgeScene {
  readonly cluster: Cluster;
  readonly #origin: FaultOrigin;
  readonly #nginx: Nginx;
  /** URL of the origin, under its host name. */
  readonly #data: string;
  readonly #ends: (() => unknown)[];
  #busy = true;

  private constructor(cluster: Cluster, servers: Servers, ends: (() => unknown)[]) {
    this.cluster = cluster;
    this.#origin = servers.origin;
    this.#nginx = servers.nginx;
    this.#data = servers.data;
    this.#ends = ends;
  }

  static async set(names: Names): Promise<EdgeScene> {
    const folder = await temporaryFolder();
    const token = join(folder.path, 'token');
    const root = join(folder.path, 'www');
    await mkdir(root);
    await writeFile(token, TOKEN);
    await writeFile(join(root, 'desktop-13.2.iso'), contentOf('picture', 30 * MIB));
    const nginx = await Nginx.start({ dir: join(folder.path, 'nginx'), root });
    const origin = await FaultOrigin.start();
    names.lead(DOWNLOADS, Number(new URL(nginx.url).port));
    const data = names.lead(DATA, Number(new URL(origin.url('none')).port));
    const lines = await Promise.all(
      EDGES.map(async ([name, ms]) => {
        const port = await freePorts(1);
        return { name, port, line: await delayed(port, ms) };
      }),
    );
    const cluster = await Cluster.start({
      nodes: EDGES.length,
      options: [
        ...['--allow-origin', DOWNLOADS, '--allow-origin', DATA],
        '--chunk-size',
        '256KiB',
        '--cache-memory',
        '24MiB',
        '--admin-token-file',
        token,
      ],
      perNode: (index) => {
        const { name, port, line } = lines[index] as (typeof lines)[number];
        const url = `http://127.0.0.1:${line.port}`;
        const disk = index === 0 ? ['--cache-dir', join(folder.path, 'cache')] : [];
        const open = index === 0 ? ['--public-url', `https://${EDGE}`] : [];
        return ['--name', name, '--port', `${port}`, '--peer-url', url, ...disk, ...open];
      },
    });
    const closeLines = () => lines.forEach(({ line }) => void line.server.close());
    return new EdgeScene(cluster, { origin, nginx, data }, [closeLines, () => folder.remove()]);
  }

  /** A link with findings on the page for publishers. */
  get link(): string {
    return `https://${DOWNLOADS}/desktop-13.2.iso`;
  }

  /** URL of the edge in the pictures. */
  get url(): string {
    return this.cluster.node(0).edge.url;
  }

  /** Starts clients that come and go until the scene is cleared. */
  play(): void {
    for (let client = 0; client < 3; client++) void this.#client(client);
  }

  async #client(client: number): Promise<void> {
    const { edge } = this.cluster.node(0);
    for (let i = client; this.#busy; i += 3) {
      const name = FILES[[0, 1, 0, 2, 1, 0, 3, 0][i % 8] as number] as string;
      const size = (10 + name.length) * MIB;
      const url = this.#urlOf('one-hour', { name, seed: name, size });
      const start = Math.floor((((i * 37) % 100) / 100) ** 2 * size * 0.9);
      const headers: Record<string, string> =
        i % 4 === 0 ? {} : { range: `bytes=${start}-${start + 3 * MIB}` };
      // Some trouble, as edges have it: about two requests of a hundred.
      const given = i % 97 === 7 ? this.#urlOf('not-found') : url;
      const asked = i % 131 === 11 ? 'http://10.0.0.1/x' : given;
      await fetch(edge.prefixed(asked), { headers })
        .then((answer) => answer.arrayBuffer())
        .catch(() => {});
    }
  }

  #urlOf(...about: Parameters<FaultOrigin['url']>): string {
    const { pathname, search } = new URL(this.#origin.url(...about));
    return `${this.#data}${pathname}${search}`;
  }

  async clear(): Promise<void> {
    this.#busy = false;
    await this.cluster.stop();
    await this.#origin.stop();
    await this.#nginx.stop();
    for (const end of this.#ends) await end();
  }
}
