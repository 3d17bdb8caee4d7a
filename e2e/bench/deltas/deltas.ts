/**
 * Compares what millrace, zsync and rsync fetch of a file that an older version of it is there for. The
 * two files are given, because only real ones say anything.
 */

import { execFile } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { copyFile, mkdtemp, readFile, rm, stat, symlink } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseArgs, promisify } from 'node:util';
import { CLI } from '../../fixtures/programs/main-files.ts';
import { runProgram } from '../measuring/program-run.ts';

const USAGE = 'npm run bench -- deltas --older FILE --wanted FILE (needs zsync and rsync)';
const BOUNDARY = 'millrace-bench';
/** zsync takes minutes for an image of many small changes on a busy machine. */
const DEADLINE_MS = 20 * 60_000;

/** Runs the comparison. @returns the exit status */
export async function deltas(args: readonly string[]): Promise<number> {
  const options = { older: { type: 'string' }, wanted: { type: 'string' } } as const;
  const { older, wanted } = parseArgs({ args: [...args], options }).values;
  if (older === undefined || wanted === undefined) {
    process.stderr.write(`Usage: ${USAGE}\n`);
    return 2;
  }
  const root = await mkdtemp(join(tmpdir(), 'millrace-deltas-'));
  try {
    process.stdout.write(await compared(resolve(older), resolve(wanted), root));
    return 0;
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

async function compared(older: string, wanted: string, root: string): Promise<string> {
  await symlink(wanted, join(root, 'file'));
  const list = join(root, 'file.zsync');
  await run('zsyncmake', ['-u', 'file', '-o', list, wanted]);
  await using server = await Server.start(root);
  const url = `${server.url}/file`;
  const rows: string[] = [];
  const note = async (name: string, bytes: number, seconds: number, path: string) => {
    const isRight = (await readFile(path)).equals(await readFile(wanted));
    if (!isRight) throw new Error(`${name} made another file`);
    rows.push(`| ${name} | ${(bytes / 1e6).toFixed(2)} | ${seconds.toFixed(1)} |`);
  };
  const zsynced = join(root, 'zsync.out');
  let before = server.bytes;
  const zsync = await run('zsync', ['-q', '-i', older, '-o', zsynced, `${url}.zsync`]);
  await note('zsync', server.bytes - before, zsync.seconds, zsynced);
  before = server.bytes;
  const get = [CLI, 'get', url, '--older', older, '-o', 'millrace.out', '-d', root];
  const own = await run(process.execPath, get);
  await note('millrace', server.bytes - before, own.seconds, join(root, 'millrace.out'));
  const rsynced = join(root, 'rsync.out');
  await copyFile(older, rsynced);
  const startedAt = performance.now();
  // The times of both files may be equal.
  const flags = ['--no-whole-file', '--ignore-times', '--stats', '--no-human-readable', '-L'];
  const { stdout } = await promisify(execFile)('rsync', [...flags, join(root, 'file'), rsynced]);
  const sent = Number(/Total bytes sent: ([\d,]+)/.exec(stdout)?.[1]?.replaceAll(',', ''));
  await note('rsync', sent, (performance.now() - startedAt) / 1000, rsynced);
  const { size } = await stat(wanted);
  return `\nOf ${(size / 1e6).toFixed(1)} MB:\n\n| | MB fetched | seconds |\n|---|--:|--:|\n${rows.join('\n')}\n`;
}

const run = (command: string, args: readonly string[]) =>
  runProgram(command, args, {}, DEADLINE_MS);

/** A server of a folder, with ranges, that counts all bytes that it sends. */
class Server implements AsyncDisposable {
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((request, response) => {
    this.#answer(request.url ?? '', request.headers.range, response).catch(() =>
      response.destroy(),
    );
  });
  readonly #root: string;
  #closedBytes = 0;

  private constructor(root: string) {
    this.#root = root;
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        this.#closedBytes += socket.bytesWritten;
      });
    });
  }

  static async start(root: string): Promise<Server> {
    const server = new Server(root);
    await new Promise<void>((done) => server.#server.listen(0, '127.0.0.1', done));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get bytes(): number {
    let sum = this.#closedBytes;
    for (const { bytesWritten } of this.#sockets) sum += bytesWritten;
    return sum;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }

  async #answer(path: string, range: string | undefined, response: ServerResponse): Promise<void> {
    const file = join(this.#root, path.slice(1));
    const { size } = await stat(file);
    const ranges = (range ?? 'bytes=0-').slice('bytes='.length).split(',');
    const asked = ranges.map((one) => {
      const [from, to] = one.trim().split('-');
      return { start: Number(from), end: to ? Math.min(Number(to), size - 1) : size - 1 };
    });
    const stated = ({ start, end }: { start: number; end: number }) =>
      `bytes ${start}-${end}/${size}`;
    response.setHeader('etag', '"1"');
    const [first] = asked;
    if (first === undefined || asked.length === 1) {
      const { start, end } = first ?? { start: 0, end: size - 1 };
      const partial = range === undefined ? {} : { 'content-range': stated({ start, end }) };
      const fields = { 'content-length': end - start + 1, ...partial };
      response.writeHead(range === undefined ? 200 : 206, fields);
      return pipeline(createReadStream(file, { start, end }), response);
    }
    const parts: Buffer[] = [];
    for (const part of asked) {
      parts.push(Buffer.from(`\r\n--${BOUNDARY}\r\nContent-Range: ${stated(part)}\r\n\r\n`));
      for await (const bytes of createReadStream(file, part)) parts.push(bytes);
    }
    const body = Buffer.concat([...parts, Buffer.from(`\r\n--${BOUNDARY}--\r\n`)]);
    // zsync waits for ever for the end of a body without a length.
    const type = `multipart/byteranges; boundary=${BOUNDARY}`;
    response.writeHead(206, { 'content-type': type, 'content-length': body.length });
    response.end(body);
  }
}
