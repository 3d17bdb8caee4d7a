/**
 * Stands between a cache and the server of the suite http-tests/cache-tests, and before the cache.
 *
 * The server tells requests apart by fields of the suite's client (`Test-ID`, `Req-Num`). An edge
 * sends no field of a client to an origin. So the front notes those fields and the origin adds them
 * again; the requests of one test come one after the other. `files` makes a file server of the
 * suite's script: whole answers are cut into the ranges that were asked for, and get an entity tag
 * of their own where the script gives them no validator.
 */

import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseContentRange } from '@millrace/shared/http/fields/content-range';
import { canPin, readValidators } from '@millrace/shared/http/fields/validators';

export interface SuiteOriginOptions {
  /** URL of the suite's server, without a slash at its end. */
  readonly server: string;
  /** True if whole answers get ranges and validators. */
  readonly files: boolean;
}

/** The suite's fields of a client's request. */
const BOOKKEEPING = ['test-id', 'test-name', 'req-num'];
/** Conditions with a tag of our own: the suite's server knows nothing of them. */
const OWN_TAG = /^"file-[^"]*"$/;

/** Raw header: names and values by turns. */
type RawHeaders = readonly string[];

export class SuiteOrigin {
  readonly #options: SuiteOriginOptions;
  readonly #server: Server;
  readonly #front: Server;
  /** Fields of the client's latest request, by test. */
  readonly #latest = new Map<string, RawHeaders>();
  #entry = '';

  private constructor(options: SuiteOriginOptions) {
    this.#options = options;
    this.#server = createServer(
      (req, res) => void this.#answer(req, res).catch(() => res.destroy()),
    );
    this.#front = createServer((req, res) => void this.#enter(req, res).catch(() => res.destroy()));
  }

  static async start(options: SuiteOriginOptions): Promise<SuiteOrigin> {
    const origin = new SuiteOrigin(options);
    await once(origin.#server.listen(0, '127.0.0.1'), 'listening');
    await once(origin.#front.listen(0, '127.0.0.1'), 'listening');
    return origin;
  }

  /** URL of the origin for the cache. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** URL for the suite's client. @param entry prefix of the origin's paths at the cache */
  before(entry: string): string {
    this.#entry = entry;
    return `http://127.0.0.1:${(this.#front.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    for (const server of [this.#front, this.#server]) {
      server.closeAllConnections();
      await once(server.close(), 'close');
    }
  }

  /** Passes a client's request on to the cache; the suite's own paths go past it. */
  async #enter(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const path = req.url ?? '/';
    const test = testOf(path);
    if (test !== undefined) this.#latest.set(test, only(req.rawHeaders, BOOKKEEPING));
    const to = `${test === undefined ? this.#options.server : this.#entry}${path}`;
    const got = await ask(to, req, without(req.rawHeaders, ['host', 'connection']), res);
    res.sendDate = false;
    res.writeHead(got.statusCode ?? 502, got.statusMessage, bodyHeaders(got.rawHeaders));
    got.pipe(res);
    got.on('error', () => res.destroy());
  }

  /** Passes a cache's request on to the suite's server. */
  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const path = req.url ?? '/';
    const test = testOf(path) ?? '';
    let fields = without(req.rawHeaders, ['host', 'connection', ...BOOKKEEPING]);
    if (this.#options.files) fields = withoutOwnTags(fields);
    const got = await ask(
      `${this.#options.server}${path}`,
      req,
      [...fields, ...(this.#latest.get(test) ?? [])],
      res,
    );
    let body: Buffer = Buffer.alloc(0);
    for await (const part of got) body = Buffer.concat([body, part]);
    let status = got.statusCode ?? 502;
    let headers = bodyHeaders(got.rawHeaders);
    if (this.#options.files && (status === 200 || status === 206)) {
      ({ status, headers, body } = asFile(req, got, headers, body));
    }
    res.sendDate = false;
    res.writeHead(status, got.statusMessage, headers);
    res.end(body);
  }
}

/** Makes a file server's answer of a scripted one. */
function asFile(req: IncomingMessage, got: IncomingMessage, raw: string[], scripted: Buffer) {
  let body = scripted;
  let headers = raw;
  const stated = parseContentRange(got.headers['content-range']);
  if (got.statusCode === 206) {
    // The script has a part only. Its place in the file is what it says, its length is the body's.
    if (stated?.kind !== 'range') return { status: 206, headers, body };
    const { start } = stated.range;
    const rest = Math.max(0, (stated.total ?? 0) - stated.range.end);
    body = Buffer.concat([Buffer.alloc(start, '.'), scripted, Buffer.alloc(rest, '.')]);
    headers = without(headers, ['content-range', 'content-length']);
  }
  if (!canPin(readValidators(got.headers)) && got.headers.etag === undefined) {
    const count = got.headers['server-request-count'] ?? '';
    headers = [...headers, 'ETag', `"file-${testOf(req.url ?? '')}-${count}"`];
  }
  const [, from, to = ''] = /^bytes=(\d+)-(\d*)$/.exec(req.headers.range ?? '') ?? [];
  if (from === undefined || Number(from) >= body.length) return { status: 200, headers, body };
  const end = to === '' ? body.length : Math.min(body.length, Number(to) + 1);
  headers = [
    ...without(headers, ['content-length', 'content-range']),
    ...['Content-Range', `bytes ${from}-${end - 1}/${body.length}`],
    ...['Content-Length', String(end - Number(from))],
  ];
  return { status: 206, headers, body: body.subarray(Number(from), end) };
}

/** Sends a request on. @returns the answer; interim ones are passed to `res` at once */
async function ask(
  to: string,
  req: IncomingMessage,
  headers: RawHeaders,
  res: ServerResponse,
): Promise<IncomingMessage> {
  const url = new URL(to);
  const onward = request(url, {
    method: req.method,
    headers: ['Host', url.host, 'Connection', 'close', ...headers],
    path: to.slice(url.origin.length),
    agent: false,
  });
  onward.on('information', ({ statusCode, headers }) => {
    if (statusCode === 102) res.writeProcessing();
    else if (statusCode === 103) res.writeEarlyHints(headers as Record<string, string>);
  });
  // The suite's server also sends bytes after the end of a body.
  onward.on('error', () => {});
  res.on('close', () => onward.destroy());
  req.pipe(onward);
  const [answer] = (await once(onward, 'response')) as [IncomingMessage];
  return answer;
}

function testOf(path: string): string | undefined {
  return /^\/test\/([^/?]+)/.exec(path)?.[1];
}

function only(raw: RawHeaders, names: readonly string[]): string[] {
  return pick(raw, (name) => names.includes(name));
}

function without(raw: RawHeaders, names: readonly string[]): string[] {
  return pick(raw, (name) => !names.includes(name));
}

/** Leaves out what belongs to the connection that an answer came on. */
function bodyHeaders(raw: RawHeaders): string[] {
  return pick(raw, (name, value) =>
    name === 'connection'
      ? !/^(?:close|keep-alive)$/i.test(value)
      : name !== 'transfer-encoding' && !(name === 'keep-alive' && value.startsWith('timeout=')),
  );
}

function withoutOwnTags(raw: RawHeaders): string[] {
  return pick(raw, (name, value) => !name.startsWith('if-') || !OWN_TAG.test(value));
}

function pick(raw: RawHeaders, wanted: (name: string, value: string) => boolean): string[] {
  const kept: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const [name = '', value = ''] = raw.slice(i, i + 2);
    if (wanted(name.toLowerCase(), value)) kept.push(name, value);
  }
  return kept;
}
