/** Reads a DNS question. The library reads the packet; this file checks what the library forgives. */

import { type ClientSubnet, readClientSubnet } from '@millrace/shared/cdn/zone/client-subnet';
import { decode, type OptAnswer, type Packet } from 'dns-packet';

const HEADER_BYTES = 12;
const MAX_LABEL_BYTES = 63;
const MAX_NAME_BYTES = 255;
/** Records behind a question: EDNS, and perhaps a signature, which is not checked. */
const MAX_ADDITIONAL = 2;
/** Longest client cookie with a server's (RFC 7873 4). */
const COOKIE_BYTES = { client: 8, leastServer: 8, mostServer: 32 };
const OPTION = { subnet: 8, cookie: 10 } as const;

/** A cookie of a question. */
export interface AskedCookie {
  readonly client: Uint8Array;
  /** The part that a server made; undefined if the resolver has none yet. */
  readonly server: Uint8Array | undefined;
}

/** The resolver's properties and options, as EDNS tells them (RFC 6891). */
interface AskedEdns {
  readonly version: number;
  /** Longest answer by UDP, bytes. */
  readonly udpBytes: number;
  readonly subnet: ClientSubnet | undefined;
  readonly cookie: AskedCookie | undefined;
}

/** A question, or as much of it as can be answered with an error. */
export interface Query {
  readonly id: number;
  readonly opcode: number;
  /** Bits that the answer repeats: recursion desired, checking disabled. */
  readonly kept: number;
  /** Undefined unless there is exactly one question that can be read. */
  readonly question:
    | {
        /** Labels in lower case, byte for byte: Latin-1. */
        readonly labels: readonly string[];
        readonly type: number;
        readonly class: number;
        /** The question as it came. */
        readonly bytes: Uint8Array;
      }
    | undefined;
  readonly edns: AskedEdns | undefined;
  /** True if the rest cannot be read. */
  readonly malformed: boolean;
}

/**
 * Reads a packet.
 *
 * @returns undefined for packets that get no answer: too short for a header, or answers themselves,
 *   so that two servers never answer each other without end
 */
export function readQuery(packet: Buffer): Query | undefined {
  if (packet.length < HEADER_BYTES) return undefined;
  const flags = packet.readUInt16BE(2);
  if ((flags & 0x8000) !== 0) return undefined;
  const head = { id: packet.readUInt16BE(0), opcode: (flags >> 11) & 15, kept: flags & 0x0110 };
  const [questions, answers, authorities, additional] = [4, 6, 8, 10].map((at) =>
    packet.readUInt16BE(at),
  ) as [number, number, number, number];
  const question = questions === 1 ? readQuestion(packet) : undefined;
  const unread = { ...head, question, edns: undefined, malformed: true };
  // Counts are checked first, so that the library never reads thousands of records.
  if (question === undefined || answers + authorities > 0 || additional > MAX_ADDITIONAL) {
    return unread;
  }
  if (additional === 0) {
    const whole = packet.length === HEADER_BYTES + question.bytes.length;
    return { ...head, question, edns: undefined, malformed: !whole };
  }
  let read: Packet;
  try {
    read = decode(packet);
    if (decode.bytes !== packet.length) return unread;
  } catch {
    return unread;
  }
  const options = (read.additionals ?? []).filter((record) => record.type === 'OPT');
  if (options.length === 0) return { ...head, question, edns: undefined, malformed: false };
  const edns = options.length === 1 ? readEdns(options[0] as OptAnswer) : undefined;
  return edns === undefined ? unread : { ...head, question, edns, malformed: false };
}

function readQuestion(packet: Buffer): Query['question'] {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (;;) {
    const length = packet[at];
    // Nothing comes before the first question that it could point to.
    if (length === undefined || length > MAX_LABEL_BYTES) return undefined;
    at++;
    if (length === 0) break;
    if (at + length - HEADER_BYTES >= MAX_NAME_BYTES) return undefined;
    labels.push(packet.toString('latin1', at, at + length).replace(/[A-Z]/g, lower));
    at += length;
  }
  if (packet.length < at + 4) return undefined;
  return {
    labels,
    type: packet.readUInt16BE(at),
    class: packet.readUInt16BE(at + 2),
    bytes: packet.subarray(HEADER_BYTES, at + 4),
  };
}

const lower = (letter: string) => letter.toLowerCase();

/** Reads the record of EDNS; undefined if one of its options is malformed. */
function readEdns(record: OptAnswer): AskedEdns | undefined {
  if (record.name !== '.') return undefined;
  let subnet: ClientSubnet | undefined;
  let cookie: AskedCookie | undefined;
  // The library's declarations leave out the bytes of an option, which it keeps.
  for (const { code, data } of record.options as unknown as { code: number; data: Buffer }[]) {
    if (code === OPTION.subnet) {
      subnet = readClientSubnet(data);
      if (subnet === undefined) return undefined;
    }
    if (code === OPTION.cookie) {
      cookie = readCookie(data);
      if (cookie === undefined) return undefined;
    }
  }
  return { version: record.ednsVersion, udpBytes: record.udpPayloadSize, subnet, cookie };
}

function readCookie(data: Buffer): AskedCookie | undefined {
  const { client, leastServer, mostServer } = COOKIE_BYTES;
  const bytes = data.length - client;
  if (bytes !== 0 && (bytes < leastServer || bytes > mostServer)) return undefined;
  return {
    client: data.subarray(0, client),
    server: bytes === 0 ? undefined : data.subarray(client),
  };
}
