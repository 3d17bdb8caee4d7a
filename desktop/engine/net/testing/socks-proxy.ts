/**
 * A SOCKS server for tests (RFC 1928, 1929; SOCKS4 and 4a): tunnels requests, records them, and
 * fails on demand.
 */

import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { ProxyServer } from './proxy-server.ts';

export interface SocksProxyOptions {
  /** `user:password` that the proxy asks for (SOCKS5). */
  readonly login?: string;
  /** Reply to every request, instead of serving it. */
  readonly reply?: number;
  readonly fault?: 'hangs-up' | 'nonsense' | 'silent';
}

export class SocksProxy extends ProxyServer {
  /** Recorded targets: "5 name origin.test", "4 address 127.0.0.1". */
  readonly asked: string[] = [];
  /** Recorded log-ins: `user:password`, or the user of SOCKS4. */
  readonly logins: string[] = [];
  readonly #options: SocksProxyOptions;

  private constructor(options: SocksProxyOptions) {
    const server = createServer((socket) => {
      this.#serve(socket).catch(() => socket.destroy());
    });
    super(server);
    this.#options = options;
  }

  static start(options: SocksProxyOptions = {}): Promise<SocksProxy> {
    return new SocksProxy(options).listen();
  }

  async #serve(socket: Socket): Promise<void> {
    const read = reader(socket);
    const version = (await read(1))[0] as number;
    const { fault } = this.#options;
    if (fault === 'hangs-up') return void socket.destroy();
    if (fault === 'nonsense') return void socket.write('HTTP/1.1 400 Bad request\r\n\r\n');
    if (fault === 'silent') return;
    const port = version === 5 ? await this.#greet5(socket, read) : await this.#greet4(read);
    const { reply = version === 5 ? 0 : 90 } = this.#options;
    const answer =
      version === 5 ? [5, reply, 0, 1, 127, 0, 0, 1, 0, 0] : [0, reply, 0, 0, 0, 0, 0, 0];
    if (this.#options.reply !== undefined) return void socket.end(Buffer.from(answer));
    this.tunnel(socket, port, () => {
      socket.write(Buffer.from(answer));
      socket.removeAllListeners('readable');
    });
  }

  async #greet5(socket: Socket, read: Read): Promise<number> {
    const methods = await read((await read(1))[0] as number);
    if (this.#options.login === undefined) {
      socket.write(Buffer.from([5, 0]));
    } else if (!methods.includes(2)) {
      socket.end(Buffer.from([5, 255]));
    } else {
      socket.write(Buffer.from([5, 2]));
      await read(1);
      const user = await read((await read(1))[0] as number);
      const password = await read((await read(1))[0] as number);
      this.logins.push(`${user}:${password}`);
      const right = this.logins.at(-1) === this.#options.login;
      socket.write(Buffer.from([1, right ? 0 : 1]));
    }
    const [, , , kind] = await read(4);
    if (kind === 1) this.asked.push(`5 address ${[...(await read(4))].join('.')}`);
    if (kind === 3) this.asked.push(`5 name ${await read((await read(1))[0] as number)}`);
    if (kind === 4) this.asked.push(`5 address ${(await read(16)).toString('hex')}`);
    return (await read(2)).readUInt16BE();
  }

  async #greet4(read: Read): Promise<number> {
    const port = (await read(3)).readUInt16BE(1);
    const address = await read(4);
    this.logins.push(await text(read));
    const named = address[0] === 0 && address[1] === 0 && address[2] === 0;
    this.asked.push(named ? `4 name ${await text(read)}` : `4 address ${[...address].join('.')}`);
    return port;
  }
}

type Read = (bytes: number) => Promise<Buffer>;

/** Returns a function that reads exactly as many bytes as asked for. */
function reader(socket: Socket): Read {
  return async (bytes) => {
    if (bytes === 0) return Buffer.alloc(0);
    for (;;) {
      const data = socket.read(bytes) as Buffer | null;
      if (data !== null) return data;
      await once(socket, 'readable');
      if (socket.readableEnded) throw new Error('ended');
    }
  };
}

/** Reads up to a zero byte. */
async function text(read: Read): Promise<string> {
  let all = '';
  for (;;) {
    const byte = (await read(1))[0] as number;
    if (byte === 0) return all;
    all += String.fromCharCode(byte);
  }
}
