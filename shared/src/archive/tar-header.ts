/**
 * Writes the headers of a tar: ustar where they suffice, and pax headers before them for what ustar
 * has no room for (POSIX.1-2024, pax). Equal members get equal bytes, everywhere and at any time.
 */

/** A file or a folder of a tar. */
export interface TarMember {
  /** Relative, with `/` between names. */
  readonly path: string;
  readonly kind: 'file' | 'folder';
  /** Length; 0 for folders. */
  readonly bytes: number;
  /** Time of the last change, Unix milliseconds. The tar has it in whole seconds. */
  readonly mtimeMs: number;
  /** True if its owner may run the file. */
  readonly executable: boolean;
}

/** Bytes of a block: headers and contents end at multiples of it. */
export const TAR_BLOCK_BYTES = 512;
/** Bytes of an 11-digit octal number and a zero at most: 8 GiB, and the year 2242. */
const MAX_OCTAL = 0o77777777777;
/** Longest path that ustar holds in one field. */
const MAX_NAME_BYTES = 100;

const encoder = new TextEncoder();

/** Returns all bytes that stand before a member's content, in whole blocks. */
export function tarHeader({ path, kind, bytes, mtimeMs, executable }: TarMember): Uint8Array {
  const name = encoder.encode(kind === 'folder' ? `${path}/` : path);
  const seconds = Math.floor(mtimeMs / 1000);
  const isPlain = name.length <= MAX_NAME_BYTES && name.every((byte) => byte < 0x80);
  const holdsTime = seconds >= 0 && seconds <= MAX_OCTAL;
  const records = [
    ...(isPlain ? [] : [paxRecord('path', kind === 'folder' ? `${path}/` : path)]),
    ...(bytes <= MAX_OCTAL ? [] : [paxRecord('size', String(bytes))]),
    ...(holdsTime ? [] : [paxRecord('mtime', String(seconds))]),
  ];
  const own = block({
    name,
    mode: kind === 'folder' || executable ? 0o755 : 0o644,
    bytes: bytes <= MAX_OCTAL ? bytes : 0,
    seconds: holdsTime ? seconds : 0,
    type: kind === 'folder' ? '5' : '0',
  });
  if (records.length === 0) return own;
  const pax = encoder.encode(records.join(''));
  const extended = block({
    name: encoder.encode('PaxHeader'),
    ...{ mode: 0o644, bytes: pax.length, seconds: 0, type: 'x' },
  });
  const all = new Uint8Array(2 * TAR_BLOCK_BYTES + inBlocks(pax.length));
  all.set(extended);
  all.set(pax, TAR_BLOCK_BYTES);
  all.set(own, all.length - TAR_BLOCK_BYTES);
  return all;
}

/** Rounds up to whole blocks. */
export function inBlocks(bytes: number): number {
  return Math.ceil(bytes / TAR_BLOCK_BYTES) * TAR_BLOCK_BYTES;
}

/** Makes a record that begins with its own length. */
function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const bytes = encoder.encode(rest).length;
  let length = bytes + 1;
  while (length !== bytes + String(length).length) length = bytes + String(length).length;
  return `${length}${rest}`;
}

function block(of: {
  readonly name: Uint8Array;
  readonly mode: number;
  readonly bytes: number;
  readonly seconds: number;
  readonly type: string;
}): Uint8Array {
  const header = new Uint8Array(TAR_BLOCK_BYTES);
  const text = (at: number, value: string) => header.set(encoder.encode(value), at);
  const octal = (at: number, digits: number, value: number) =>
    text(at, value.toString(8).padStart(digits, '0'));
  header.set(of.name.subarray(0, MAX_NAME_BYTES));
  octal(100, 7, of.mode);
  // The owner is number 0 without a name: whoever unpacks the tar is the owner then.
  octal(108, 7, 0);
  octal(116, 7, 0);
  octal(124, 11, of.bytes);
  octal(136, 11, of.seconds);
  text(156, of.type);
  text(257, 'ustar\0');
  text(263, '00');
  octal(329, 7, 0);
  octal(337, 7, 0);
  // The sum counts its own field as blanks.
  let sum = 8 * 0x20;
  for (const byte of header) sum += byte;
  text(148, `${sum.toString(8).padStart(6, '0')}\0 `);
  return header;
}
