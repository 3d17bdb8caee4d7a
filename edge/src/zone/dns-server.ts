/** The sockets of a zone's DNS server: UDP, and TCP (RFC 7766) on the same port. */

import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer, isIPv6, type Server, type Socket } from 'node:net';
import type { Log } from '@millrace/shared/base/log';
import { ConnectionPlaces, type Displaced } from '@millrace/shared/cdn/admission/connection-places';
import { clientKey } from '@millrace/shared/node/clients/client-key';
import type { OnRefusal } from '../admission/admissions.ts';
import { DNS_CLIENT_CONNECTIONS, DNS_CONNECTIONS } from '../admission/resources.ts';
import type { Responder, Transport } from './responder.ts';

/** Time that a connection may take for its next question, ms (RFC 7766 6.2.3). */
const QUESTION_MS = 10_000;
/** Longest question, bytes: a name, EDNS and some options of it fit. */
const MAX_QUESTION_BYTES = 4096;
/** Answers that may wait for a client, bytes: then no more of its questions are read. */
const MAX_WAITING_BYTES = 64 * 1024;
/** Weight of a connection, bytes: its socket, and what has arrived on it. */
const CONNECTION_BYTES = 32 * 1024;
const LENGTH_BYTES = 2;
/** Attempts to find a port that is free for both, if any will do. */
const ATTEMPTS = 20;

export interface DnsServerOptions {
  readonly responder: Pick<Responder, 'answer'>;
  /** Addresses to listen on. */
  readonly hosts: readonly string[];
  /** Port to listen on; 0 takes a free one. */
  readonly port: number;
  readonly onRefusal: OnRefusal;
  readonly log: Log;
}

interface Listening {
  readonly udp: UdpSocket;
  readonly tcp: Server;
}

export class DnsServer {
  readonly #options: DnsServerOptions;
  readonly #places = new ConnectionPlaces<Socket>({
    max: DNS_CONNECTIONS,
    share: DNS_CLIENT_CONNECTIONS,
  });
  readonly #listening: Listening[] = [];
  readonly #sockets = new Set<Socket>();

  constructor(options: DnsServerOptions) {
    this.#options = options;
  }

  /** Connections open. */
  get connections(): number {
    return this.#places.size;
  }

  /** Weight of the connections, bytes. */
  get bytes(): number {
    return this.#places.size * CONNECTION_BYTES;
  }

  /**
   * Begins to listen.
   *
   * @returns addresses with ports, as text
   * @throws Error of the system if a port cannot be listened on
   */
  async listen(): Promise<string[]> {
    const named: string[] = [];
    for (const host of this.#options.hosts) {
      const listening = await this.#open(host);
      this.#listening.push(listening);
      const { port } = listening.tcp.address() as AddressInfo;
      named.push(isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`);
    }
    return named;
  }

  /** Stops listening and ends all connections. */
  close(): void {
    for (const { udp, tcp } of this.#listening.splice(0)) {
      udp.close();
      tcp.close();
    }
    for (const socket of this.#sockets) socket.destroy();
  }

  async #open(host: string): Promise<Listening> {
    for (let attempt = 1; ; attempt++) {
      const tcp = createServer((socket) => this.#onConnection(socket));
      tcp.listen({ host, port: this.#options.port, exclusive: true });
      await once(tcp, 'listening');
      const { port } = tcp.address() as AddressInfo;
      try {
        return { tcp, udp: await this.#openUdp(host, port) };
      } catch (error) {
        tcp.close();
        // Another program may have the free port of TCP for UDP.
        if (this.#options.port !== 0 || attempt === ATTEMPTS) throw error;
      }
    }
  }

  async #openUdp(host: string, port: number): Promise<UdpSocket> {
    const udp = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
    udp.on('message', (packet, { address, port: from }) => {
      // Nobody listens at port 0.
      if (from === 0) return;
      const answer = this.#answer(packet, address, 'udp');
      // An answer that cannot be sent is lost, as any packet may be.
      if (answer !== undefined) udp.send(answer, from, address, () => {});
    });
    try {
      udp.bind({ address: host, port, exclusive: true });
      await once(udp, 'listening');
    } catch (error) {
      udp.close();
      throw error;
    }
    udp.on('error', () => {});
    return udp;
  }

  #onConnection(socket: Socket): void {
    const client = socket.remoteAddress;
    if (client === undefined) return void socket.destroy();
    socket.on('error', () => {});
    const displaced = this.#places.add(socket, clientKey(client));
    if (displaced !== undefined) this.#turnAway(displaced, client);
    if (displaced?.connection === socket) return;
    this.#sockets.add(socket);
    const late = setTimeout(() => socket.destroy(), QUESTION_MS);
    socket.once('close', () => {
      clearTimeout(late);
      this.#sockets.delete(socket);
      this.#places.delete(socket);
    });
    let held: Buffer = Buffer.alloc(0);
    const read = (piece: Buffer) => {
      held = this.#read(
        socket,
        held.length === 0 ? piece : Buffer.concat([held, piece]),
        client,
        late,
      );
    };
    socket.on('data', read);
    socket.on('drain', () => {
      socket.resume();
      read(Buffer.alloc(0));
    });
  }

  /**
   * Answers the questions that have arrived, as far as the client takes the answers.
   *
   * @returns the bytes that are left
   */
  #read(socket: Socket, bytes: Buffer, client: string, late: NodeJS.Timeout): Buffer {
    let at = 0;
    while (bytes.length - at >= LENGTH_BYTES) {
      if (socket.writableLength > MAX_WAITING_BYTES) {
        socket.pause();
        break;
      }
      const length = bytes.readUInt16BE(at);
      if (length > MAX_QUESTION_BYTES) {
        socket.destroy();
        break;
      }
      const end = at + LENGTH_BYTES + length;
      if (bytes.length < end) break;
      late.refresh();
      const answer = this.#answer(bytes.subarray(at + LENGTH_BYTES, end), client, 'tcp');
      at = end;
      if (answer === undefined) {
        socket.destroy();
        break;
      }
      const head = Buffer.alloc(LENGTH_BYTES);
      head.writeUInt16BE(answer.length);
      socket.write(Buffer.concat([head, answer]));
    }
    return bytes.subarray(at);
  }

  /** Answers a packet. A packet that an error of ours keeps from its answer harms nobody else. */
  #answer(packet: Buffer, client: string, transport: Transport): Buffer | undefined {
    try {
      return this.#options.responder.answer(packet, client, transport);
    } catch (error) {
      this.#options.log.error(
        { err: error, packet: packet.toString('hex') },
        'a question has no answer',
      );
      return undefined;
    }
  }

  #turnAway({ connection, client }: Displaced<Socket>, newcomer: string): void {
    const outcome = connection.remoteAddress === newcomer ? 'refused' : 'evicted';
    this.#options.onRefusal('dnsConnections', outcome, client ?? newcomer);
    connection.destroy();
  }
}
