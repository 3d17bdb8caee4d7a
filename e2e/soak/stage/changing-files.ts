/** An origin of files that change: every file is at any time in one of its versions. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import type { VersionLife } from '../account/causes.ts';
import { now } from '../account/ledger.ts';

/** Age in seconds up to which edges may use a version without asking. */
const MAX_AGE_S = 2;
/** Versions whose bytes are kept for comparisons of parts; all digests are kept. */
const KEPT_VERSIONS = 4;
/** Parts of wrong bytes that are told apart, bytes. */
const PART_BYTES = 1024;

interface Version extends VersionLife {
  readonly etag: string;
  /** Undefined once nobody can be expected to have a part of it. */
  body: Buffer | undefined;
  until: number;
}

export class ChangingFiles {
  readonly #server: Server;
  /** Versions of each file, the present one last. */
  readonly #files: Version[][] = [];
  requests = 0;
  sentBytes = 0;

  private constructor(server: Server, sizes: readonly number[]) {
    this.#server = server;
    for (const [file, bytes] of sizes.entries()) {
      this.#files.push([]);
      this.#add(file, bytes);
    }
  }

  /** Starts the origin. @param sizes lengths of the files, bytes */
  static async start(sizes: readonly number[]): Promise<ChangingFiles> {
    const server = createServer({ keepAliveTimeout: 60_000 });
    const files = new ChangingFiles(server, sizes);
    server.on('request', (req, res) => files.#answer(req, res));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return files;
  }

  get count(): number {
    return this.#files.length;
  }

  url(file: number): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/file-${file}.bin`;
  }

  /** Length of a file, which all its versions have. */
  bytesOf(file: number): number {
    return (this.#present(file).body as Buffer).length;
  }

  versions(file: number): readonly VersionLife[] {
    return this.#files[file] as Version[];
  }

  /** Returns the version that an entity tag names, if there ever was one. */
  tagged(
    file: number,
    etag: string,
  ): (VersionLife & { readonly body: Buffer | undefined }) | undefined {
    return (this.#files[file] as Version[]).find((version) => version.etag === etag);
  }

  /** Says of which versions the parts of wrong bytes are, for people. */
  describe(file: number, bytes: Buffer): string {
    const versions = (this.#files[file] as Version[]).map((_, number) =>
      contentOf(`soak ${file} ${number}`, this.bytesOf(file)),
    );
    const runs: string[] = [];
    let last: string | undefined;
    for (let at = 0; at < bytes.length; at += PART_BYTES) {
      const part = bytes.subarray(at, at + PART_BYTES);
      const number = versions.findIndex((one) => one.subarray(at, at + part.length).equals(part));
      const word =
        number >= 0 ? `version ${number}` : part.every((b) => b === 0) ? 'zeros' : 'others';
      if (word !== last) runs.push(`${word} from ${at}`);
      last = word;
    }
    return `${bytes.length} bytes of ${this.bytesOf(file)}: ${runs.slice(0, 20).join(', ') || 'nothing'}`;
  }

  /** Replaces a file by another version of the same length. */
  change(file: number): void {
    const versions = this.#files[file] as Version[];
    const bytes = this.bytesOf(file);
    this.#present(file).until = now();
    const old = versions.at(-KEPT_VERSIONS);
    if (old !== undefined) old.body = undefined;
    this.#add(file, bytes);
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  #present(file: number): Version {
    return (this.#files[file] as Version[]).at(-1) as Version;
  }

  #add(file: number, bytes: number): void {
    const versions = this.#files[file] as Version[];
    const body = contentOf(`soak ${file} ${versions.length}`, bytes);
    const etag = `"${file}-${versions.length}"`;
    const from = now();
    versions.push({ etag, body, digest: sha256(body), from, until: Number.POSITIVE_INFINITY });
  }

  #answer(req: IncomingMessage, res: ServerResponse): void {
    this.requests++;
    const file = Number(/^\/file-(\d+)\.bin$/.exec(req.url ?? '')?.[1] ?? Number.NaN);
    if (!(file < this.#files.length)) return void res.writeHead(404).end();
    const { etag, body } = this.#present(file) as Version & { body: Buffer };
    const fields = {
      etag,
      'accept-ranges': 'bytes',
      'cache-control': `max-age=${MAX_AGE_S}`,
      'content-type': 'application/octet-stream',
    };
    const {
      range,
      'if-range': ifRange,
      'if-match': ifMatch,
      'if-none-match': ifNone,
    } = req.headers;
    if (ifMatch !== undefined && ifMatch !== etag) return void res.writeHead(412, fields).end();
    if (ifNone === etag) return void res.writeHead(304, fields).end();
    const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(range ?? '') ?? [];
    const isPart = first !== undefined && (ifRange === undefined || ifRange === etag);
    const start = isPart ? Number(first) : 0;
    const end = isPart && last ? Math.min(body.length, Number(last) + 1) : body.length;
    if (start >= end) {
      return void res.writeHead(416, { 'content-range': `bytes */${body.length}` }).end();
    }
    const part = body.subarray(start, end);
    res.writeHead(isPart ? 206 : 200, {
      ...fields,
      'content-length': part.length,
      ...(isPart ? { 'content-range': `bytes ${start}-${end - 1}/${body.length}` } : {}),
    });
    if (req.method === 'HEAD') return void res.end();
    this.sentBytes += part.length;
    res.end(part);
  }
}
