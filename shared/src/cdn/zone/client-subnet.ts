/** The network of a client that a resolver tells (EDNS client subnet, RFC 7871). */

/** A client's network as a resolver told it. */
export interface ClientSubnet {
  readonly family: 4 | 6;
  /** Bits of the address that were told, 0 to 32 or 128. */
  readonly bits: number;
  /** The address, its untold bits 0: 4 or 16 bytes. */
  readonly address: Uint8Array;
}

const FAMILIES = new Map<number, { readonly family: 4 | 6; readonly bytes: number }>([
  [1, { family: 4, bytes: 4 }],
  [2, { family: 6, bytes: 16 }],
]);
const HEAD_BYTES = 4;

/**
 * Reads the option of a question (RFC 7871 6, 7.1.2).
 *
 * @param data value of the option, without code and length
 * @returns undefined if it is malformed: the question is then answered with FORMERR
 */
export function readClientSubnet(data: Uint8Array): ClientSubnet | undefined {
  const [high = 0, low = 0, bits = 0, scope = 0] = data;
  const known = FAMILIES.get(high * 256 + low);
  const told = data.length - HEAD_BYTES;
  if (known === undefined || scope !== 0) return undefined;
  if (bits > known.bytes * 8 || told !== Math.ceil(bits / 8)) return undefined;
  const address = new Uint8Array(known.bytes);
  address.set(data.subarray(HEAD_BYTES));
  const untold = 8 * told - bits;
  const last = address[told - 1] ?? 0;
  if (told > 0 && (last & ((1 << untold) - 1)) !== 0) return undefined;
  return { family: known.family, bits, address };
}

/**
 * Writes the option of an answer: the network as told, and the bits that the answer depends on.
 *
 * @param scope bits of a client's address that answers depend on; 0 if they suit all clients
 */
export function writeClientSubnet(
  { family, bits, address }: ClientSubnet,
  scope: number,
): Uint8Array {
  const told = Math.ceil(bits / 8);
  const data = new Uint8Array(HEAD_BYTES + told);
  data.set([0, family === 4 ? 1 : 2, bits, scope]);
  data.set(address.subarray(0, told), HEAD_BYTES);
  return data;
}

/** Writes a told network's address as text. */
export function subnetAddress({ family, address }: ClientSubnet): string {
  if (family === 4) return address.join('.');
  const groups = Array.from({ length: 8 }, (_, i) =>
    (((address[2 * i] ?? 0) << 8) | (address[2 * i + 1] ?? 0)).toString(16),
  );
  return groups.join(':');
}
