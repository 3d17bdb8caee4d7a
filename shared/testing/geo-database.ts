/**
 * Writes databases of the places of addresses, in the format MaxMind DB 2.0, as far as tests need
 * it: https://maxmind.github.io/MaxMind-DB/.
 */

import type { Place } from '../src/cdn/near/places.ts';

/** A network in CIDR notation, IPv4, and its place. */
export type Located = readonly [network: string, place: Place];

const MARKER = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1');
/** Bits of a record, of which each node of the tree has two. */
const RECORD_BITS = 24;
/** Bits before an IPv4 address in a tree of IPv6 addresses. */
const V4_BITS = 96;
const SEPARATOR = Buffer.alloc(16);
/** Types of fields. */
const [TEXT, DOUBLE, UINT16, UINT32, MAP, UINT64, ARRAY] = [2, 3, 5, 6, 7, 9, 11] as const;
/** Size from which on it would need bytes of its own. */
const LONG = 29;

type Child = { readonly node: number } | { readonly data: number } | undefined;

/** Returns a database. @param type as in `GeoLite2-City` */
export function geoDatabase(places: readonly Located[], type = 'Test-City'): Buffer {
  const nodes: [Child, Child][] = [[undefined, undefined]];
  const data: Buffer[] = [];
  let bytes = 0;
  for (const [network, { latitude, longitude }] of places) {
    const location = map({ latitude: double(latitude), longitude: double(longitude) });
    const record = map({ location });
    insert(nodes, bitsOf(network), bytes);
    data.push(record);
    bytes += record.length;
  }
  const tree = Buffer.concat(nodes.flat().map((child) => encode(child, nodes.length)));
  const metadata = map({
    binary_format_major_version: number(UINT16, 2),
    binary_format_minor_version: number(UINT16, 0),
    build_epoch: number(UINT64, 1_790_000_000),
    database_type: text(type),
    description: map({ en: text('for tests') }),
    ip_version: number(UINT16, 6),
    languages: field(ARRAY, 0, Buffer.alloc(0)),
    node_count: number(UINT32, nodes.length),
    record_size: number(UINT16, RECORD_BITS),
  });
  return Buffer.concat([tree, SEPARATOR, ...data, MARKER, metadata]);
}

function bitsOf(network: string): number[] {
  const [address = '', length = ''] = network.split('/');
  const bytes = address.split('.').map(Number);
  const bits = bytes.flatMap((byte) => [7, 6, 5, 4, 3, 2, 1, 0].map((at) => (byte >> at) & 1));
  return [...Array<number>(V4_BITS).fill(0), ...bits.slice(0, Number(length))];
}

function insert(nodes: [Child, Child][], bits: readonly number[], data: number): void {
  let at = 0;
  for (const [i, bit] of bits.entries()) {
    const side = bit as 0 | 1;
    const node = nodes[at] as [Child, Child];
    if (i === bits.length - 1) {
      node[side] = { data };
      return;
    }
    const child = node[side];
    if (child !== undefined && 'node' in child) {
      at = child.node;
      continue;
    }
    at = nodes.push([undefined, undefined]) - 1;
    node[side] = { node: at };
  }
}

function encode(child: Child, count: number): Buffer {
  const record = Buffer.alloc(RECORD_BITS / 8);
  const value =
    child === undefined
      ? count
      : 'node' in child
        ? child.node
        : count + SEPARATOR.length + child.data;
  record.writeUIntBE(value, 0, record.length);
  return record;
}

function field(type: number, size: number, bytes: Buffer): Buffer {
  if (size >= LONG) throw new Error('too long for these tests');
  // Types above 7 have a byte of their own.
  const control = type > 7 ? [size, type - 7] : [(type << 5) | size];
  return Buffer.concat([Buffer.from(control), bytes]);
}

function map(members: Readonly<Record<string, Buffer>>): Buffer {
  const entries = Object.entries(members).flatMap(([key, value]) => [text(key), value]);
  return field(MAP, entries.length / 2, Buffer.concat(entries));
}

function text(value: string): Buffer {
  return field(TEXT, Buffer.byteLength(value), Buffer.from(value));
}

function double(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return field(DOUBLE, bytes.length, bytes);
}

function number(type: number, value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  const size = type === UINT16 ? 2 : bytes.length;
  return field(type, size, bytes.subarray(bytes.length - size));
}
