/**
 * Writes DNS answers. The library writes the values of records. Names of the zone are pointers into
 * the question (RFC 1035 4.1.4), which the library cannot write: answers are shorter by half, and
 * the question comes back in the letters in which it was asked.
 */

import type { RecordData, ZoneRecord } from '@millrace/shared/cdn/zone/zone';
import type { Labels } from '@millrace/shared/cdn/zone/zone-name';
import {
  type Answer,
  encode,
  type HInfoAnswer,
  type OptAnswer,
  type SoaAnswer,
  type StringAnswer,
} from 'dns-packet';
import type { Query } from './query.ts';

const HEADER_BYTES = 12;
const FLAG = { response: 0x8000, authoritative: 0x0400, truncated: 0x0200 } as const;
/** Longest answer by UDP that is sent, and asked for: no path splits it (DNS Flag Day 2020). */
export const UDP_BYTES = 1232;
/** Longest answer by UDP to those who say nothing about it. */
export const PLAIN_UDP_BYTES = 512;

/** An option of EDNS. */
export interface EdnsOption {
  readonly code: number;
  readonly data: Uint8Array;
}

/** An answer, before it is written. */
export interface Reply {
  readonly rcode: number;
  readonly authoritative: boolean;
  readonly answers: readonly ZoneRecord[];
  readonly authority: readonly ZoneRecord[];
  /** Records that are left out where there is no room. */
  readonly additional: readonly ZoneRecord[];
  /** Options of EDNS; undefined: the question came without EDNS. */
  readonly options: readonly EdnsOption[] | undefined;
}

/**
 * Writes an answer.
 *
 * @param most longest answer, bytes
 * @param cut true to truncate the answer in any case
 * @returns the packet, and whether it is truncated
 */
export function writeReply(
  query: Query,
  reply: Reply,
  most: number,
  cut = false,
): { packet: Buffer; truncated: boolean } {
  const { answers, authority, additional } = reply;
  if (!cut) {
    const whole = write(query, reply, [answers, authority, additional], 0);
    if (whole.length <= most) return { packet: whole, truncated: false };
    const bare = write(query, reply, [answers, authority, []], 0);
    if (bare.length <= most) return { packet: bare, truncated: false };
  }
  return { packet: write(query, reply, [[], [], []], FLAG.truncated), truncated: true };
}

function write(
  query: Query,
  { rcode, authoritative, options }: Reply,
  [answers, authority, additional]: readonly [
    readonly ZoneRecord[],
    readonly ZoneRecord[],
    readonly ZoneRecord[],
  ],
  flags: number,
): Buffer {
  const { question, kept, opcode } = query;
  const header = Buffer.alloc(HEADER_BYTES);
  const aa = authoritative ? FLAG.authoritative : 0;
  header.writeUInt16BE(query.id, 0);
  header.writeUInt16BE(FLAG.response | (opcode << 11) | aa | flags | kept | (rcode & 15), 2);
  header.writeUInt16BE(question === undefined ? 0 : 1, 4);
  header.writeUInt16BE(answers.length, 6);
  header.writeUInt16BE(authority.length, 8);
  header.writeUInt16BE(additional.length + (options === undefined ? 0 : 1), 10);
  const asked = question?.labels ?? [];
  return Buffer.concat([
    header,
    question?.bytes ?? Buffer.alloc(0),
    ...[answers, authority, additional].flat().map((one) => writeRecord(one, asked)),
    ...(options === undefined ? [] : [writeOptions(options, rcode)]),
  ]);
}

/** Writes a record: the library's with the root for its owner, and the owner instead of the root. */
function writeRecord({ owner, ttlS, data }: ZoneRecord, asked: Labels): Buffer {
  const answer = { name: '.', ttl: ttlS, class: 'IN', ...valueFor(data) } as Answer;
  const written = encode({ type: 'response', answers: [answer] });
  return Buffer.concat([writeOwner(owner, asked), written.subarray(HEADER_BYTES + 1)]);
}

/** Writes a name as a pointer into the question if it is the end of that name, else in full. */
function writeOwner(owner: Labels, asked: Labels): Buffer {
  const before = asked.length - owner.length;
  const isEnd = before >= 0 && owner.every((label, i) => asked[before + i] === label);
  if (!isEnd) return writeName(owner);
  const skipped = asked.slice(0, before).reduce((sum, label) => sum + label.length + 1, 0);
  const pointer = Buffer.alloc(2);
  pointer.writeUInt16BE(0xc000 | (HEADER_BYTES + skipped));
  return pointer;
}

function writeName(labels: Labels): Buffer {
  return Buffer.concat([
    ...labels.map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`, 'latin1')),
    Buffer.alloc(1),
  ]);
}

type Value = Pick<StringAnswer | HInfoAnswer | SoaAnswer, 'type' | 'data'>;

function valueFor(data: RecordData): Value {
  switch (data.type) {
    case 'A':
    case 'AAAA':
      return { type: data.type, data: data.address };
    case 'NS':
    case 'CNAME':
      return { type: data.type, data: data.target.join('.') };
    case 'HINFO':
      return { type: 'HINFO', data: { cpu: data.cpu, os: data.os } };
    case 'SOA': {
      const { server, mailbox, serial, refreshS, retryS, expireS, minimumS } = data;
      const timers = { refresh: refreshS, retry: retryS, expire: expireS, minimum: minimumS };
      const [mname, rname] = [server.join('.'), mailbox.join('.')];
      return { type: 'SOA', data: { mname, rname, serial, ...timers } };
    }
  }
}

/** Writes the record of EDNS (RFC 6891 6.1). */
function writeOptions(options: readonly EdnsOption[], rcode: number): Buffer {
  const edns = {
    type: 'OPT',
    name: '.',
    udpPayloadSize: UDP_BYTES,
    extendedRcode: rcode >> 4,
    ednsVersion: 0,
    flags: 0,
    options: options.map(({ code, data }) => ({ code, data: Buffer.from(data) })),
  } as unknown as OptAnswer;
  return encode({ type: 'response', additionals: [edns] }).subarray(HEADER_BYTES);
}
