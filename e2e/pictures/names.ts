/**
 * Hosts and folders with familiar names, for pictures. The program that takes them runs again in a
 * separate network, where those names lead to this machine, and with a separate `/home`. Nothing
 * leaves that network, and no other program sees the names. Needs Linux, and root.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { makeCertificate } from '../fixtures/origins/certificate.ts';
import { temporaryFolder } from '../fixtures/programs/processes.ts';

/** Environment variable of the second run: the folder with the certificate. */
const INSIDE = 'MILLRACE_PICTURE_NAMES';
const CERTIFICATE = 'names';
const ADDRESS = '127.0.0.2';
/**
 * Command that enters the second run. Home folders are separate too, so that pictures show familiar
 * folders.
 */
const ENTER =
  'ip link set lo up && mount --bind "$1" /etc/hosts && mount -t tmpfs home /home && shift && exec "$@"';

export class Names {
  readonly #ports = new Map<string, number>();
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    server.on('secureConnection', (socket) =>
      this.#connect(socket as TLSSocket & { servername: string }),
    );
  }

  /**
   * Gives the program a network in which it has these names. The first call runs the program again
   * inside that network, and ends with it.
   */
  static async claim(names: readonly string[]): Promise<Names> {
    const folder = process.env[INSIDE];
    if (folder === undefined) process.exit(await runInside(names));
    const [cert, key] = await Promise.all(
      ['crt', 'key'].map((end) => readFile(join(folder, `${CERTIFICATE}.${end}`))),
    );
    const server = createServer({ cert, key });
    await once(server.listen(443, ADDRESS), 'listening');
    server.unref();
    return new Names(server);
  }

  /**
   * Makes a name lead to a port of this machine, which serves HTTP without TLS. @returns its URL
   */
  lead(name: string, port: number): string {
    this.#ports.set(name, port);
    return `https://${name}`;
  }

  close(): void {
    this.#server.close();
  }

  #connect(socket: TLSSocket & { readonly servername: string }): void {
    const port = this.#ports.get(socket.servername);
    socket.on('error', () => {});
    if (port === undefined) return void socket.destroy();
    const target = connect(port, '127.0.0.1');
    target.on('error', () => socket.destroy());
    socket.on('close', () => target.destroy());
    target.on('close', () => socket.end());
    socket.pipe(target);
    target.pipe(socket);
  }
}

/** Runs this program in a separate network. @returns its exit status */
async function runInside(names: readonly string[]): Promise<number> {
  const folder = await temporaryFolder();
  try {
    const { cert } = makeCertificate(folder.path, CERTIFICATE, names);
    const hosts = join(folder.path, 'hosts');
    await writeFile(
      hosts,
      `127.0.0.1 localhost\n${names.map((n) => `${ADDRESS} ${n}\n`).join('')}`,
    );
    const program = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
    const child = spawn(
      'unshare',
      ['--mount', '--net', 'sh', '-c', ENTER, 'sh', hosts, ...program],
      {
        stdio: 'inherit',
        env: { ...process.env, [INSIDE]: folder.path, NODE_EXTRA_CA_CERTS: cert },
      },
    );
    const [status] = (await once(child, 'exit')) as [number | null];
    return status ?? 1;
  } finally {
    await folder.remove();
  }
}
