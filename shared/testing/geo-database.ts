/**
 * Writes databases of the places of addresses, in the format MaxMind DB 2.0, as far as tests need
 * it: https://maxmind.github.io/MaxMind-DB/.
 */

import type { Place } from '../src/cdn/near/places.ts';

/** A network in CIDR notation, IPv4, with its place and the code of its country. */
export type Located = readonly [network: string, place: Place, country?: string];

const MARKER = '\xab\xcd\xefMaxMind.com';
/** Bits of a record, of which each node of the tree has two. */
const RECORD_BITS = 24;
/** Bits before an IPv4 address in a tree of IPv6 addresses. */
const V4_BITS = 96;
const SEPARATOR_BYTES = 16;
/** Types of fields. */
const [TEXT, DOUBLE, UINT16, UINT32, MAP, UINT64, ARRAY] = [2, 3, 5, 6, 7, 9, 11] as const;
/** Smallest size that takes bytes of its own. */
const LONG = 29;

type Bytes = readonly number[];
type Child = { readonly node: number } | { readonly data: number } | undefined;

/** Returns a database. @param type as in `GeoLite2-City` */
export function geoDatabase(places: readonly Located[], type = 'Test-City'): Uint8Array {
  const nodes: [Child, Child][] = [[undefined, undefined]];
  const data: number[] = [];
  for (const [network, { latitude, longitude }, country] of places) {
    insert(nodes, bitsOf(network), data.length);
    const location = map({ latitude: double(latitude), longitude: double(longitude) });
    const inCountry: Record<string, Bytes> =
      country === undefined ? {} : { country: map({ iso_code: text(country) }) };
    data.push(...map({ location, ...inCountry }));
  }
  const tree = nodes.flat().flatMap((child) => encode(child, nodes.length));
  const metadata = map({
    binary_format_major_version: number(UINT16, 2),
    binary_format_minor_version: number(UINT16, 0),
    build_epoch: number(UINT64, 1_790_000_000),
    database_type: text(type),
    description: map({ en: text('for tests') }),
    ip_version: number(UINT16, 6),
    languages: field(ARRAY, 0, []),
    node_count: number(UINT32, nodes.length),
    record_size: number(UINT16, RECORD_BITS),
  });
  const separator = Array<number>(SEPARATOR_BYTES).fill(0);
  return Uint8Array.from([...tree, ...separator, ...data, ...codes(MARKER), ...metadata]);
}

function bitsOf(network: string): Bytes {
  const [address = '', length = ''] = network.split('/');
  const bytes = address.split('.').map(Number);
  const bits = bytes.flatMap((byte) => [7, 6, 5, 4, 3, 2, 1, 0].map((at) => (byte >> at) & 1));
  return [...Array<number>(V4_BITS).fill(0), ...bits.slice(0, Number(length))];
}

function insert(nodes: [Child, Child][], bits: Bytes, data: number): void {
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

function encode(child: Child, count: number): Bytes {
  if (child === undefined) return bigEndian(count, RECORD_BITS / 8);
  const value = 'node' in child ? child.node : count + SEPARATOR_BYTES + child.data;
  return bigEndian(value, RECORD_BITS / 8);
}

function field(type: number, size: number, bytes: Bytes): Bytes {
  if (size >= LONG) throw new Error('too long for these tests');
  // Types above 7 have a byte of their own.
  return [...(type > 7 ? [size, type - 7] : [(type << 5) | size]), ...bytes];
}

function map(members: Readonly<Record<string, Bytes>>): Bytes {
  const entries = Object.entries(members);
  return field(
    MAP,
    entries.length,
    entries.flatMap(([key, value]) => [...text(key), ...value]),
  );
}

function text(value: string): Bytes {
  return field(TEXT, value.length, codes(value));
}

/** Returns a text of single bytes as such. */
function codes(value: string): Bytes {
  return [...value].map((char) => char.charCodeAt(0));
}

function double(value: number): Bytes {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setFloat64(0, value);
  return field(DOUBLE, bytes.length, [...bytes]);
}

function number(type: number, value: number): Bytes {
  const size = type === UINT16 ? 2 : 4;
  return field(type, size, bigEndian(value, size));
}

function bigEndian(value: number, size: number): Bytes {
  return Array.from({ length: size }, (_, i) => (value >>> (8 * (size - 1 - i))) & 0xff);
}
