/** A depot that pulls from a server of its own, for tests. */

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { type Log, silentLog } from '@millrace/shared/base/log';
import type { Owner } from '@millrace/shared/cdn/depot/owners-file';
import type { PullPart } from '@millrace/shared/cdn/depot/pull-plan';
import type { ClientOrigins } from '../../../admission/client-origins.ts';
import { OriginUse } from '../../../admission/origin-use.ts';
import { OriginClient } from '../../../egress/origin-client.ts';
import type { Owners } from '../../../policy/depot-owners.ts';
import type { OriginPolicy } from '../../../policy/policy.ts';
import type { Allocation } from '../../allocation.ts';
import { Depot } from '../../depot.ts';
import { Puller } from '../puller.ts';

const ALICE: Owner = {
  ...{ name: 'alice', proof: '00', bytes: 1e9, each: 1e9 },
  ...{ forMs: Infinity, count: 100, rate: Infinity },
};
const owners = {
  named: (name: string) => (name === 'alice' ? ALICE : undefined),
  pause: () => 0,
} as unknown as Owners;

/** Content of the file that the server has. */
export const CONTENT = Buffer.alloc(300_000, 'the bytes of a file, ');
export const SHA256 = createHash('sha256').update(CONTENT).digest('hex');

/** An answer of the server: by default, the range of the content that was asked for. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
  /** True to send no more, and not to end. */
  hangs?: boolean;
  readonly range: { readonly start: number; readonly end: number };
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

/** Returns parts that are the whole content at once. */
export const whole = (...from: string[]): PullPart[] => [{ from, start: 0, bytes: CONTENT.length }];
/** Returns the content in two parts, the second from other URLs. */
export const halves = (first: string[], second: string[]): PullPart[] => [
  { from: first, start: 0, bytes: 100_000 },
  { from: second, start: 100_000, bytes: 200_000 },
];

export class PullStage {
  /** Requests that the server has got: path, range and condition. */
  readonly asked: string[] = [];
  readonly refusals: string[] = [];
  /** Hosts that the policy refuses, and paths of files of the network's depots. */
  readonly refusedHosts = new Set<string>();
  readonly inNetwork = new Set<string>();
  /** Fields of the warnings in the log. */
  readonly warnings: object[] = [];
  depot!: Depot;
  puller!: Puller;
  /** Called with the number of bytes that have come. */
  onBytes: (bytes: number) => void = () => {};
  readonly #dir: string;
  readonly #server: Server;
  readonly #handlers = new Map<string, (req: IncomingMessage, res: ServerResponse) => void>();
  #client = this.#makeClient(60_000);

  private constructor(dir: string) {
    this.#dir = dir;
    this.#server = createServer((req, res) => {
      const { range, 'if-range': condition = '' } = req.headers;
      this.asked.push(`${req.url} ${range} ${condition}`.trim());
      res.on('error', () => {});
      this.#handlers.get(req.url ?? '')?.(req, res);
    });
  }

  static async set(): Promise<PullStage> {
    const stage = new PullStage(await mkdtemp(join(tmpdir(), 'millrace-pull-')));
    stage.#server.listen(0, '127.0.0.1');
    await once(stage.#server, 'listening');
    await stage.open();
    return stage;
  }

  /** Opens the depot, as a new run of the edge does. @param timeoutMs longest silence of a server */
  async open(timeoutMs = 60_000): Promise<void> {
    await this.#client.close();
    this.#client = this.#makeClient(timeoutMs);
    const log: Log = { ...silentLog, warn: (fields) => void this.warnings.push(fields) };
    this.depot = await Depot.open({
      ...{ dir: this.#dir, quotaBytes: 1e9, maxLeaseMs: 1e9, owners, log, wallClock: Date.now },
    });
    this.puller = new Puller({
      ...{ depot: this.depot, owners, client: this.#client, log, wallClock: Date.now },
      policy: { rule: () => ({}), checkAnswer() {} },
      originUse: new OriginUse({ share: 1, wallClock: Date.now }),
      isInNetwork: (url) => this.inNetwork.has(url.pathname),
      onRefusal: (resource, outcome, who) =>
        void this.refusals.push(`${resource} ${outcome} ${who}`),
      onBytes: (bytes) => this.onBytes(bytes),
      now: () => performance.now(),
    });
  }

  async close(): Promise<void> {
    await this.depot.close();
    await this.#client.close();
    this.#server.closeAllConnections();
    await once(this.#server.close(), 'close');
    await rm(this.#dir, { recursive: true, force: true });
  }

  #makeClient(timeoutMs: number): OriginClient {
    return new OriginClient({
      policy: {
        own: undefined,
        check: (url: URL) => {
          if (this.refusedHosts.has(url.host)) throw new MillraceError('private-address', url.host);
          return true;
        },
        rule: () => ({}),
      } as unknown as OriginPolicy,
      ...{ name: 'edge', connections: 8, timeoutMs, maxOrigins: 100 },
      clientOrigins: { admit: () => {} } as unknown as ClientOrigins,
      now: () => performance.now(),
    });
  }

  /** Serves the content, or what a test makes of it. @returns its URL */
  serve(path: string, change: (answer: Answer) => void = () => {}): string {
    this.#handlers.set(path, (req, res) => {
      const [, first = 0, last = 0] = /^bytes=(\d+)-(\d+)$/.exec(req.headers.range ?? '') ?? [];
      const range = { start: Number(first), end: Number(last) + 1 };
      const answer: Answer = {
        ...{ status: 206, body: CONTENT.subarray(range.start, range.end), range, req, res },
        headers: {
          'content-range': `bytes ${range.start}-${range.end - 1}/${CONTENT.length}`,
          'content-length': String(range.end - range.start),
          etag: '"1"',
        },
      };
      change(answer);
      if (res.headersSent) return;
      res.writeHead(answer.status, answer.headers).write(answer.body);
      if (answer.hangs !== true) res.end();
    });
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  /** Waits until the server has been asked so many times. */
  async askedTimes(times: number): Promise<void> {
    while (this.asked.length < times) await once(this.#server, 'request');
  }

  async reserve(): Promise<Allocation> {
    const wanted = { bytes: CONTENT.length, forMs: 1e6, resumable: true };
    return (await this.depot.allocate(ALICE, wanted)).allocation;
  }

  begin(allocation: Allocation, parts: PullPart[], sha256?: string) {
    return this.puller.begin(allocation, { parts, sha256 }, '192.0.2.1');
  }

  /** Pulls to the end, well or not. */
  async pull(allocation: Allocation, parts: PullPart[], sha256?: string): Promise<void> {
    const { ended } = await this.begin(allocation, parts, sha256);
    await ended;
  }
}
