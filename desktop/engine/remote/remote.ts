/** The daemon's side for other machines: its server, its certificate, and who may come. */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import type { Devices, PairingCode } from '@millrace/shared/bridge/results/device-results';
import { ClientAddress, parseNetwork } from '@millrace/shared/node/clients/client-address';
import { secureContextOptions } from '@millrace/shared/node/tls/certificate';
import { CertificateWatch } from '@millrace/shared/node/tls/certificate-watch';
import type { Exposure } from '@millrace/shared/remote/exposure';
import {
  CODE_CHARS,
  codeFrom,
  codeText,
  PairingCodes,
} from '@millrace/shared/remote/pairing-codes';
import type { SettingStore } from '../store/small-stores.ts';
import type { RemoteCaller } from '../web/callers.ts';
import { LiveAccounts } from './accounts.ts';
import { LogInRoute } from './log-in-route.ts';
import { RemoteEntrance } from './remote-entrance.ts';
import { Visitors } from './visitors.ts';

/** Interval at which changes of the accounts are looked for, ms. */
const LOOK_MS = 2000;
const HANDSHAKE_MS = 10_000;
/** Most TLS handshakes at a time; the oldest makes room for a new one. */
const MAX_HANDSHAKES = 128;

export interface RemoteOptions {
  readonly exposure: Exposure;
  readonly state: string;
  readonly store: SettingStore;
  /** Limits of the HTTP server. */
  readonly limits: object;
  readonly onNote: (text: string) => void;
}

export class Remote {
  readonly #options: RemoteOptions;
  readonly #accounts: LiveAccounts;
  readonly #visitors: Visitors;
  readonly #codes = new PairingCodes<string | undefined>();
  readonly #certificates: CertificateWatch | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly entrance: RemoteEntrance;
  readonly server: Server;
  readonly opened: 'connection' | 'secureConnection';

  /** @throws MillraceError `bad-option` if there is no account, or no usable certificate */
  constructor(options: RemoteOptions) {
    const { exposure, state, store } = options;
    this.#options = options;
    this.#accounts = new LiveAccounts(state);
    if (this.#accounts.all.length === 0) {
      const detail = '--host needs an account: "millrace daemon account add NAME" makes one';
      throw new MillraceError('bad-option', detail);
    }
    this.#visitors = new Visitors(store, this.#accounts, Date.now);
    this.entrance = new RemoteEntrance({
      exposure,
      visitors: this.#visitors,
      clients: new ClientAddress(exposure.proxies.map(parseNetwork), 'x-forwarded-for'),
      login: new LogInRoute({
        visitors: this.#visitors,
        accounts: this.#accounts,
        codes: this.#codes,
        now: () => performance.now(),
      }),
    });
    this.#certificates = this.#readCertificate();
    this.opened = this.#certificates === undefined ? 'connection' : 'secureConnection';
    this.server = this.#certificates === undefined ? this.#plain() : this.#secure();
  }

  /** Begins to listen. @returns the port @throws MillraceError `bad-option` */
  async listen(port: number): Promise<number> {
    const { host } = this.#options.exposure;
    try {
      this.server.listen(port, host);
      await once(this.server, 'listening');
    } catch (cause) {
      throw new MillraceError('bad-option', String(cause), { cause });
    }
    // Watched from outside: another process of the same user changes the accounts.
    this.#timer = setInterval(() => this.#visitors.sweep(), LOOK_MS).unref();
    return (this.server.address() as AddressInfo).port;
  }

  /** Stops watching files. The server is closed by its door. */
  close(): void {
    clearInterval(this.#timer);
    this.#certificates?.stop();
  }

  devices(caller: RemoteCaller | undefined): Devices {
    const devices = this.#visitors.all().map((visitor) => {
      const { id, kind, name, address, createdAt, usedAt } = visitor;
      const account = this.#visitors.accountOf(visitor)?.name;
      const you = caller?.id === id;
      return { id, kind, name, account, address, createdAt, usedAt, you };
    });
    return { url: this.#options.exposure.origin, devices };
  }

  pairingCode(caller: RemoteCaller | undefined): PairingCode {
    const code = codeFrom(randomBytes(CODE_CHARS));
    const now = performance.now();
    // A device that a browser pairs belongs to that browser's account.
    const endsAt = this.#codes.add(code, caller?.account, now);
    const { origin: url } = this.#options.exposure;
    return { code: codeText(code), endsAt: Date.now() + Math.round(endsAt - now), url };
  }

  /** @throws MillraceError `bad-option` if there is no such device */
  revoke(id: string): void {
    if (!this.#visitors.revoke(id))
      throw new MillraceError('bad-option', { code: 'no-such-device' });
  }

  #readCertificate(): CertificateWatch | undefined {
    const { exposure, onNote } = this.#options;
    if (exposure.tls === undefined) return undefined;
    const note = (fields: object, message: string) => onNote(`${message}: ${wordsOf(fields)}`);
    const log: Log = { debug: () => {}, info: () => {}, warn: note, error: note };
    try {
      return new CertificateWatch({ files: exposure.tls, log, wallClock: Date.now });
    } catch (cause) {
      throw new MillraceError('bad-option', (cause as Error).message, { cause });
    }
  }

  #plain(): Server {
    return process.getBuiltinModule('node:http').createServer(this.#options.limits);
  }

  #secure(): Server {
    const watch = this.#certificates as CertificateWatch;
    const server = process.getBuiltinModule('node:https').createServer({
      ...secureContextOptions(watch.current),
      ALPNProtocols: ['http/1.1'],
      handshakeTimeout: HANDSHAKE_MS,
      ...this.#options.limits,
    });
    server.removeAllListeners('tlsClientError');
    // A handshake that fails is no bad request: there is no client to answer.
    server.on('tlsClientError', (_error, socket) => socket.destroy());
    limitHandshakes(server);
    watch.start((certificate) => server.setSecureContext(secureContextOptions(certificate)));
    return server;
  }
}

/** Bounds the connections that have not finished their handshake. */
function limitHandshakes(server: Server): void {
  const open = new Map<string, Socket>();
  const keyOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;
  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket);
    open.set(key, socket);
    socket.on('close', () => open.delete(key));
    if (open.size <= MAX_HANDSHAKES) return;
    const [oldest] = open.values();
    oldest?.destroy();
  });
  server.on('secureConnection', (socket: Socket) => open.delete(keyOf(socket)));
}

function wordsOf(fields: object): string {
  return Object.values(fields).map(String).join(', ');
}
