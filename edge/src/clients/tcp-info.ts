/**
 * The state of a client's connection by the kernel's account: Linux's TCP_INFO, which Node does not
 * offer. It is read through koffi if that is installed; the edge works without it.
 */

import type { Socket } from 'node:net';
import type { Millis } from '@millrace/shared/base/clock';
import type { TcpState } from '@millrace/shared/cdn/clients/vanished-client';

/** A connection's state, with its round trip. */
interface ConnectionState extends TcpState {
  /** Shortest round trip of the last minutes, milliseconds; undefined: none was measured. */
  readonly rttMs?: Millis | undefined;
}

/** Undefined for a socket without a connection: closed, or not TCP. */
export type ReadTcpInfo = (socket: Socket) => ConnectionState | undefined;

export interface TcpInfoAccess {
  /** Undefined if TCP_INFO cannot be read at all. */
  readonly read: ReadTcpInfo | undefined;
  /** Why it cannot be read, for the log. */
  readonly reason: string | undefined;
}

type GetSockOpt = (
  fd: number,
  level: number,
  name: number,
  value: Uint8Array,
  length: Uint32Array,
) => number;

// linux/in.h, linux/tcp.h; the same on every architecture.
const IPPROTO_TCP = 6;
const TCP_INFO = 11;
/** The part of struct tcp_info (linux/tcp.h) that is read; the kernel cuts it off there. */
const INFO_BYTES = 152;
/** Length of the structure that every kernel has: Linux before 4.6 ends earlier. */
const LEAST_BYTES = 60;
/** Value of a shortest round trip that was not measured, microseconds. */
const NO_RTT = 0xffffffff;
/** TCP_CLOSE in net/tcp_states.h: no connection any more. */
const CLOSED = 7;

/**
 * Finds out once whether and how TCP_INFO can be read.
 *
 * @param platform as in `process.platform`
 * @param load gives the library; for tests
 * @returns never rejects
 */
export async function openTcpInfo(
  platform: string = process.platform,
  load: () => Promise<Pick<typeof import('koffi'), 'load'>> = () => import('koffi'),
): Promise<TcpInfoAccess> {
  if (platform !== 'linux') return { read: undefined, reason: `no TCP_INFO on ${platform}` };
  try {
    const koffi = await load();
    // Node itself is linked with the C library, whichever that is.
    const getSockOpt: GetSockOpt = koffi
      .load(null)
      .func('int getsockopt(int fd, int level, int name, void *value, void *length)');
    return { read: reader(getSockOpt), reason: undefined };
  } catch (error) {
    return { read: undefined, reason: `koffi cannot be used: ${(error as Error).message}` };
  }
}

function reader(getSockOpt: GetSockOpt): ReadTcpInfo {
  // One buffer for all calls: they are synchronous. Words in the machine's own byte order.
  const words = new Uint32Array(INFO_BYTES / 4);
  const bytes = new Uint8Array(words.buffer);
  const length = new Uint32Array(1);
  const byte = (offset: number) => bytes[offset] ?? 0;
  const word = (offset: number) => words[offset / 4] ?? 0;
  return (socket) => {
    const fd = descriptorOf(socket);
    if (fd === undefined) return undefined;
    length[0] = INFO_BYTES;
    if (getSockOpt(fd, IPPROTO_TCP, TCP_INFO, bytes, length) !== 0) return undefined;
    const filled = length[0];
    if (filled < LEAST_BYTES || byte(0) === CLOSED) return undefined;
    return {
      retransmits: byte(2),
      probes: byte(3),
      unacked: word(24),
      unsentBytes: filled < 148 ? 0 : word(144),
      lastSentMs: word(44),
      lastAckMs: word(56),
      rttMs: filled < INFO_BYTES || word(148) === NO_RTT ? undefined : word(148) / 1000,
    };
  };
}

/**
 * Finds a socket's descriptor, for which Node has no public API. Windows and closed sockets have -1
 * or none.
 */
function descriptorOf(socket: Socket): number | undefined {
  const { _handle: handle } = socket as unknown as { _handle?: { fd?: unknown } | null };
  const fd = handle?.fd;
  return typeof fd === 'number' && fd >= 0 ? fd : undefined;
}
