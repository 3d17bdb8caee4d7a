/**
 * Reads an archive with 7-Zip. It lists the entries, and then prints the contents of all files one after
 * the other; sizes and checksums of the list say where each ends and whether it is right.
 */

import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { crc32 } from 'node:zlib';
import { MillraceError } from '@millrace/shared/base/errors';
import type { TarEntry } from '../archive/tar-entries.ts';
import type { Feed } from '../archive/unpack.ts';
import { decoded } from './decoder.ts';

/** Longest list of entries, characters. */
const MAX_LIST_CHARS = 128 * 2 ** 20;

/** Longest target of a symbolic link: that of Linux. */
const MAX_TARGET_BYTES = 4096;
/** Types of entries by the first letter of their mode. */
const TYPES: Readonly<Record<string, string>> = { '-': 'file', d: 'directory', l: 'symlink' };

interface Listed extends TarEntry {
  readonly crc: number | undefined;
}

/**
 * Calls `take` for each entry.
 *
 * @param program path of 7-Zip
 * @throws MillraceError `bad-archive`, `interrupted`; errors of `take`
 */
export async function readSevenZip(
  program: string,
  path: string,
  take: Parameters<Feed>[0],
  signal: AbortSignal,
): Promise<void> {
  // An empty password, because 7-Zip would wait for one.
  const list = await text(
    decoded([program, 'l', '-slt', '-ba', '-p', '-sccUTF-8', '--', path], signal),
  );
  if (list.length > MAX_LIST_CHARS) throw damaged('its list of entries is too long');
  const entries = readList(list);
  for (const entry of entries) if (!isPrinted(entry)) await take(entry, nothing());
  const contents = decodedBy(program, path, signal);
  try {
    const pieces = new Pieces(contents);
    for (const entry of entries.filter(isPrinted)) {
      const content = pieces.next(entry);
      if (entry.type === 'file') await take(entry, content);
      else await take({ ...entry, size: 0, target: await targetOf(content) }, nothing());
    }
    await pieces.end();
  } finally {
    contents.destroy();
  }
}

/** Returns what 7-Zip prints of all files. */
export function decodedBy(program: string, path: string, signal: AbortSignal): Readable {
  return decoded([program, 'x', '-so', '-p', '-sccUTF-8', '--', path], signal);
}

/** Returns true if 7-Zip prints the entry among the contents: it does so with the targets of links. */
function isPrinted({ type }: Listed): boolean {
  return type === 'file' || type === 'symlink';
}

async function targetOf(content: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of content) {
    bytes += piece.length;
    if (bytes > MAX_TARGET_BYTES) throw damaged('the target of a link is too long');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

/** Reads the list: blocks of `Name = value` lines. */
function readList(list: string): Listed[] {
  return list
    .replaceAll('\r\n', '\n')
    .split('\n\n')
    .filter((block) => block.trim() !== '')
    .map((block) => {
      const field = (name: string) => block.match(new RegExp(`^${name} = (.*)$`, 'm'))?.[1]?.trim();
      const size = Number(field('Size') || Number.NaN);
      const attributes = field('Attributes') ?? '';
      const mode = field('Mode') ?? attributes.split(' ').at(-1) ?? '';
      const isFolder = field('Folder') === '+' || /^D/.test(attributes) || mode.startsWith('d');
      const hard = field('Hard Link') || undefined;
      // Archives of Windows tell no mode.
      const kind = /^[a-z][r-][w-]/.test(mode) ? mode[0] : field('Symbolic Link') ? 'l' : '-';
      const crc = field('CRC');
      if (!isFolder && !Number.isSafeInteger(size))
        throw damaged('the length of a file is not known');
      return {
        name: (field('Path') ?? '').replaceAll('\\', '/'),
        type: hard ? 'link' : isFolder ? 'directory' : (TYPES[kind ?? ''] ?? 'special'),
        target: hard,
        size: isFolder ? 0 : size,
        mode: mode[3] === 'x' ? 0o755 : 0o644,
        mtimeMs: Date.parse(`${field('Modified') ?? ''}`.replace(' ', 'T')) || 0,
        pax: {},
        crc: crc && /^[0-9A-F]{8}$/.test(crc) ? Number.parseInt(crc, 16) : undefined,
      };
    });
}

/** Cuts one stream into the contents of files. */
class Pieces {
  readonly #source: AsyncIterator<Buffer>;
  #rest: Buffer | undefined;

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  async *next({ name, size, crc }: Listed): AsyncGenerator<Uint8Array> {
    let sum = 0;
    for (let left = size; left > 0; ) {
      const piece = await this.#read();
      if (piece === undefined) throw damaged(`${JSON.stringify(name)} is cut off`);
      const own = piece.subarray(0, left);
      this.#rest = piece.subarray(own.length);
      sum = crc32(own, sum);
      left -= own.length;
      yield own;
    }
    if (crc !== undefined && crc !== sum) throw damaged(`${JSON.stringify(name)} is damaged`);
  }

  /** @throws MillraceError `bad-archive` if there is more than was listed */
  async end(): Promise<void> {
    if ((await this.#read()) !== undefined) throw damaged('it has more than its list says');
  }

  async #read(): Promise<Buffer | undefined> {
    const rest = this.#rest;
    this.#rest = undefined;
    if (rest !== undefined && rest.length > 0) return rest;
    for (;;) {
      const { value, done } = await this.#source.next();
      if (done === true) return undefined;
      if (value.length > 0) return value;
    }
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

function damaged(why: string): MillraceError {
  return new MillraceError('bad-archive', why);
}
