/** The network of edges of a soak: each has an address of its own, at which it starts again. */

import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePorts } from '../../fixtures/origins/nginx.ts';
import { EdgeProcess } from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

/** Token of the owner whose files the depots keep. */
const OWNER_TOKEN = 'token-of-the-soak';
/** Starts of an edge at its port: another process may hold that for a moment. */
const STARTS = 5;
/** Last lines of an edge's log in a report. */
const LOG_LINES = 5;

interface EdgesOptions {
  readonly folder: string;
  readonly count: number;
  /** Folders for caches on disk, by the number of the edge; the others have a cache in memory. */
  readonly caches: ReadonlyMap<number, string>;
  /** Folders of depots, by the number of the edge. */
  readonly depots: ReadonlyMap<number, string>;
  /** Called when an edge ends that nobody has killed. */
  readonly onDeath: (what: string) => void;
}

export class Edges {
  readonly tokenFile: string;
  readonly #options: EdgesOptions;
  readonly #port: number;
  readonly #edges: (EdgeProcess | undefined)[] = [];

  private constructor(options: EdgesOptions, port: number) {
    this.#options = options;
    this.#port = port;
    this.tokenFile = join(options.folder, 'token');
  }

  /** Starts the edges and waits until each can use all others. */
  static async start(options: EdgesOptions): Promise<Edges> {
    const edges = new Edges(options, await freePorts(options.count));
    const proof = createHash('sha256').update(OWNER_TOKEN).digest('hex');
    await writeFile(join(options.folder, 'owners'), `alice sha256:${proof}\n`);
    await writeFile(edges.tokenFile, `${OWNER_TOKEN}\n`);
    try {
      const numbers = Array.from({ length: options.count }, (_, i) => i);
      await Promise.all(numbers.map((number) => edges.revive(number)));
      await edges.settled();
      return edges;
    } catch (error) {
      await edges.stop();
      throw error;
    }
  }

  get count(): number {
    return this.#options.count;
  }

  /** Numbers of the edges that keep files. */
  get depots(): readonly number[] {
    return [...this.#options.depots.keys()];
  }

  url(edge: number): string {
    return `http://127.0.0.1:${this.#port + edge}`;
  }

  /** Process id of an edge, if it runs. */
  pid(edge: number): number | undefined {
    return this.#edges[edge]?.pid;
  }

  /** Kills an edge. */
  async kill(edge: number): Promise<void> {
    const process = this.#edges[edge];
    this.#edges[edge] = undefined;
    await process?.stop('SIGKILL');
  }

  /** Starts an edge, which has its folders from before. */
  async revive(edge: number): Promise<void> {
    for (let left = STARTS; ; left--) {
      try {
        const process = await EdgeProcess.start(this.#optionsOf(edge), {
          MILLRACE_POISON_MEMORY: '0',
        });
        this.#edges[edge] = process;
        process.child.once('exit', (code, signal) => {
          if (this.#edges[edge] !== process) return;
          const log = process.log.slice(-LOG_LINES).join(' / ');
          this.#options.onDeath(`edge ${edge} has ended by itself, ${signal ?? code}: ${log}`);
        });
        return;
      } catch (error) {
        if (left <= 1) throw error;
      }
    }
  }

  /** Suspends or resumes an edge. */
  signal(edge: number, signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#edges[edge]?.child.kill(signal);
  }

  /** Waits until every edge can use all others. */
  async settled(): Promise<void> {
    for (const edge of this.#edges) {
      if (edge === undefined) continue;
      await until(async () => {
        const { peers } = await edge.status();
        return peers.filter(({ member, usable }) => member && usable).length >= this.count - 1;
      });
    }
  }

  /** Deletes a stored file. @param manage its address for its owner */
  async forget(manage: string): Promise<void> {
    await (await fetch(manage, { method: 'DELETE' })).arrayBuffer();
  }

  async stop(): Promise<void> {
    const all = this.#edges.map((_, edge) => this.kill(edge));
    await Promise.all(all);
  }

  #optionsOf(edge: number): string[] {
    const { folder, count, caches, depots } = this.#options;
    const cache = caches.get(edge);
    const depot = depots.get(edge);
    const others = Array.from({ length: count }, (_, i) => i).filter((i) => i !== edge);
    return [
      ...['--port', String(this.#port + edge), '--name', `node-${edge}`, '--log-level', 'warn'],
      ...['--allow-origin', '127.0.0.1', '--chunk-size', '256KiB', '--client-requests', '0'],
      // Small caches: chunks that are in use are evicted all the time.
      ...['--cache-memory', '6MiB', '--max-amplification', '0'],
      ...others.flatMap((i) => ['--peers', `127.0.0.1:${this.#port + i}`]),
      ...(cache === undefined ? [] : ['--cache-dir', cache, '--cache-disk', '16MiB']),
      ...(depot === undefined
        ? []
        : [
            ...['--depot-dir', depot, '--depot-quota', '40MiB'],
            ...['--depot-owners-file', join(folder, 'owners'), '--public-url', this.url(edge)],
          ]),
    ];
  }
}
