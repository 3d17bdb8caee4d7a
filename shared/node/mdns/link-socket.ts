/**
 * Sockets for multicast DNS, one for each link. A neighbour may send anything, as fast as it can:
 * packets that are too large, too many or from elsewhere are dropped before anybody reads them.
 */

import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { TokenBucket } from '../../src/base/token-bucket.ts';
import { isOnLink } from '../../src/house/on-link.ts';

/** Longest packet of multicast DNS (RFC 6762 17). */
const MAX_BYTES = 9000;
const HEADER_BYTES = 12;
/** Packets read in a second and at once: a link with many edges sends some in a minute. */
const PER_SECOND = 20;
const AT_ONCE = 100;
/** The bit of a header that tells an answer from a question. */
const IS_ANSWER = 0x80;

export interface LinkSocketOptions {
  /** Network of the interface, such as `192.168.1.5/24`. */
  readonly network: string;
  readonly wants: 'questions' | 'answers';
  /** Labels of domain names, one of which is in all packets that matter. */
  readonly labels: readonly string[];
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Called if the socket cannot be used, as where another program keeps the port to itself. */
  readonly onError: (error: Error) => void;
}

/** Opens a socket that drops all packets that do not matter. Its library sees no error of it. */
export function openLinkSocket(options: LinkSocketOptions): Socket {
  const { network, wants, labels, now, onError } = options;
  const bucket = new TokenBucket(PER_SECOND, AT_ONCE, now());
  const marks = labels.map((label) => Buffer.from(label));
  const matters = (packet: Buffer, { address }: RemoteInfo) => {
    if (packet.length < HEADER_BYTES || packet.length > MAX_BYTES) return false;
    const isAnswer = ((packet[2] as number) & IS_ANSWER) !== 0;
    if (isAnswer !== (wants === 'answers') || !isOnLink(address, network)) return false;
    // The first name with a label has it in full: only later ones can point to it (RFC 1035 4.1.4).
    return marks.some((mark) => packet.includes(mark)) && bucket.tryTake(now());
  };
  const socket = createSocket({ type: 'udp4', reuseAddr: true });
  const emit = socket.emit.bind(socket) as (event: string, ...args: unknown[]) => boolean;
  const filter = (event: string, ...args: unknown[]) => {
    if (event === 'message' && !matters(args[0] as Buffer, args[1] as RemoteInfo)) return false;
    // The library would end the process for lack of a listener of its own.
    if (event === 'error') onError(args[0] as Error);
    else return emit(event, ...args);
    return true;
  };
  socket.emit = filter as Socket['emit'];
  return socket;
}
