/** A daemon that serves other machines, in this process, as a reverse proxy would reach it. */

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Exposure } from '@millrace/shared/remote/exposure';
import { type Daemon, startDaemon } from '../engine/daemon/daemon.ts';
import { setAccount } from '../engine/remote/accounts.ts';
import { createLastingDownload } from './lasting-download.ts';

export const HOST = 'nas.example';
export const ORIGIN = `https://${HOST}`;
export const PASSWORD = 'correct horse';
export const PROXIED: Exposure = {
  host: '127.0.0.1',
  origin: ORIGIN,
  hosts: [HOST, 'nas.local:8443'],
  tls: undefined,
  proxies: ['127.0.0.1'],
};

export interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  /** Address that the proxy names. */
  readonly from?: string;
  readonly port?: number | undefined;
}

interface Answer {
  readonly result?: unknown;
  readonly error?: { readonly message: string; readonly data?: { readonly code: string } };
}

const JSON_BODY = { 'content-type': 'application/json' };

export class RemoteStage {
  readonly state = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  daemon!: Daemon;
  /** Number of the test, of which its clients' address is made: guesses of others do not count. */
  number = 0;

  /** Makes the account and starts the daemon. */
  async begin(): Promise<void> {
    await setAccount(this.state, 'ann', PASSWORD);
    await this.start();
  }

  async start(exposure = PROXIED): Promise<void> {
    this.daemon = await startDaemon({
      state: this.state,
      dir: join(this.state, 'downloads'),
      port: 0,
      exposure,
      remotePort: 0,
      createDownload: createLastingDownload,
    });
  }

  async end(): Promise<void> {
    await this.daemon.close();
    rmSync(this.state, { recursive: true, force: true });
  }

  send = async ({ method = 'POST', path = '/jsonrpc', headers = {}, body, from, port }: Sent) => {
    const fields = { host: HOST, 'x-forwarded-for': from ?? `198.51.100.${this.number}` };
    const at = port ?? this.daemon.remotePort;
    const to = { host: '127.0.0.1', port: at, method, path, agent: false };
    const req = request({ ...to, headers: { ...fields, ...headers } });
    req.on('error', () => {});
    req.end(body);
    const [res] = await once(req, 'response');
    let text = '';
    for await (const piece of res) text += piece;
    return { status: res.statusCode as number, headers: res.headers, text };
  };

  logIn = (given: object, more: Sent = {}) =>
    this.send({
      path: '/session',
      body: JSON.stringify(given),
      ...more,
      headers: { ...JSON_BODY, origin: ORIGIN, ...more.headers },
    });

  pair = (code: string, more: Sent = {}) => {
    const body = JSON.stringify({ code, name: 'phone' });
    return this.send({ path: '/pair', body, headers: JSON_BODY, ...more });
  };

  call = async (method: string, params: object, headers: Record<string, string>) => {
    const body = JSON.stringify({ id: 1, method, params: [params] });
    const { status, text } = await this.send({ body, headers });
    return { status, ...((text.startsWith('{') ? JSON.parse(text) : {}) as Answer) };
  };

  /** Returns the fields with which a logged-in page calls. */
  loggedIn = async (): Promise<Record<string, string>> => {
    const { headers } = await this.logIn({ name: 'Ann', password: PASSWORD });
    const [cookie = ''] = (headers['set-cookie'] ?? [''])[0]?.split(';') ?? [];
    return { cookie, origin: ORIGIN };
  };

  /** Calls on loopback, with the daemon's own token. */
  locally = async <T>(method: string, params: object = {}): Promise<T> => {
    const { url, token } = this.daemon;
    const answer = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ id: 1, method, params: [params] }),
    });
    return ((await answer.json()) as { result: T }).result;
  };

  newCode = async () => (await this.locally<{ code: string }>('millrace.pairingCode')).code;

  /** Pairs a device. @returns the fields with which it calls */
  paired = async () => {
    const { text } = await this.pair(await this.newCode());
    return { authorization: `Bearer ${JSON.parse(text).token}` };
  };

  /** Returns the beginning of the answer to a WebSocket handshake. */
  upgraded = async (headers: Record<string, string>): Promise<string> => {
    const socket = connect(this.daemon.remotePort ?? 0, '127.0.0.1');
    const lines = Object.entries({ host: HOST, ...headers }).map(([k, v]) => `${k}: ${v}\r\n`);
    socket.write(
      `GET /jsonrpc HTTP/1.1\r\n${lines.join('')}Connection: Upgrade\r\nUpgrade: websocket\r\n` +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
    const [data] = await once(socket, 'data');
    socket.destroy();
    return String(data);
  };
}
