/**
 * Decodes bodies that a server has encoded although it was not asked to: the file itself (RFC 9110
 * 8.4.1), or its bytes on the way only (RFC 9112 7.2).
 */

import type { Transform } from 'node:stream';
import { finished } from 'node:stream/promises';
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from 'node:zlib';
import { MillraceError } from '@millrace/shared/base/errors';
import { type Headers, listField } from '@millrace/shared/http/fields/headers';
import { readTransferCodings } from '@millrace/shared/http/messages/transfer-coding';

interface Coding {
  readonly make: () => Transform;
  /** First bytes of every encoded body; undefined: they vary. */
  readonly begins: readonly number[] | undefined;
  /** Content types and names of files that are encoded themselves, and stay so. */
  readonly types: RegExp;
  readonly names: RegExp;
}

/** Matches nothing. */
const NONE = /(?!)/;
const GZIP: Coding = {
  make: createGunzip,
  begins: [0x1f, 0x8b],
  types: /^application\/(?:x-)?(?:gzip|gunzip|tgz|gtar|gzip-compressed|gzipped)\b/i,
  names: /\.(?:gz|tgz|gzip|svgz)$/i,
};
const DEFLATE: Coding = { make: createInflate, begins: undefined, types: NONE, names: NONE };
const CODINGS: Readonly<Record<string, Coding>> = {
  gzip: GZIP,
  'x-gzip': GZIP,
  deflate: DEFLATE,
  br: { make: createBrotliDecompress, begins: undefined, types: NONE, names: /\.br$/i },
  zstd: {
    make: createZstdDecompress,
    begins: [0x28, 0xb5, 0x2f, 0xfd],
    types: /^application\/zstd\b/i,
    names: /\.(?:zst|tzst)$/i,
  },
};

type Take = (piece: Uint8Array) => Promise<void> | undefined;

/** A way to read the body of an answer that names a coding. */
interface Decoding {
  /** False if the file itself is in this form, and is stored as it comes. */
  readonly decodes: boolean;
  /**
   * Reads a body, and passes its bytes on decoded.
   *
   * @param read passes the body on as it comes
   * @throws MillraceError `wrong-encoding` if the body ends early or is damaged; errors of `read`
   *   and of `take`
   */
  run(read: (take: Take) => Promise<void>, take: Take): Promise<void>;
}

/** Returns how to read a body; undefined if its coding is unknown. */
export function decodingOf(headers: Headers, url: URL): Decoding | undefined {
  const name = listField(headers, 'content-encoding')?.trim().toLowerCase() ?? '';
  const coding = CODINGS[name];
  if (coding === undefined) return undefined;
  const type = listField(headers, 'content-type') ?? '';
  // Browsers do the same: whoever downloads an archive wants the archive.
  const isFile = coding.types.test(type) || coding.names.test(url.pathname);
  return { decodes: !isFile, run: isFile ? (read, take) => read(take) : runDecoder(coding) };
}

/**
 * Returns how to undo the compression of a body on its way, whatever the file is; undefined: there
 * is none.
 */
export function transferDecodingOf(headers: Headers): Decoding['run'] | undefined {
  const compression = readTransferCodings(headers['transfer-encoding'])?.compression;
  if (compression === undefined) return undefined;
  return runDecoder(compression === 'gzip' ? GZIP : DEFLATE);
}

function runDecoder({ make, begins }: Coding): Decoding['run'] {
  return async (read, take) => {
    let decoder: Transform | undefined;
    let ended: Promise<void> | undefined;
    let failure: unknown;
    const begin = () => {
      const made = make();
      decoder = made;
      ended = finished(made).catch((cause) => {
        failure ??= new MillraceError('wrong-encoding', { code: 'not-decoded' }, { cause });
      });
      const fail = (error: unknown) => {
        failure ??= error;
        made.destroy();
      };
      made.on('data', (piece: Buffer) => {
        try {
          const wait = take(piece);
          if (wait === undefined) return;
          made.pause();
          wait.then(() => made.resume(), fail);
        } catch (error) {
          fail(error);
        }
      });
    };
    let isEncoded: boolean | undefined;
    await read((piece) => {
      if (failure !== undefined) throw failure;
      // Some servers name a coding that the body does not have.
      isEncoded ??= begins?.every((byte, i) => i >= piece.length || piece[i] === byte) ?? true;
      if (!isEncoded) return take(piece);
      if (decoder === undefined) begin();
      // The memory of the piece is used again.
      return decoder?.write(Buffer.from(piece)) ? undefined : whenDrained(decoder as Transform);
    });
    decoder?.end();
    await ended;
    if (failure !== undefined) throw failure;
  };
}

/** Resolves when the decoder takes more bytes, or has ended. */
function whenDrained(decoder: Transform): Promise<void> {
  return new Promise((resolve) => {
    for (const event of ['drain', 'close', 'error']) decoder.once(event, () => resolve());
  });
}
