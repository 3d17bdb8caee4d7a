/** The part of BitTorrent (BEP 3) that an experiment with one file needs: the metainfo file. */

import { createHash } from 'node:crypto';

/** Makes a metainfo file. @param announce URL of the tracker */
export function torrentOf(
  name: string,
  content: Buffer,
  pieceBytes: number,
  announce: string,
): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0; at < content.length; at += pieceBytes) {
    const piece = content.subarray(at, at + pieceBytes);
    pieces.push(createHash('sha1').update(piece).digest());
  }
  return bencoded({
    announce,
    info: {
      length: content.length,
      name,
      'piece length': pieceBytes,
      pieces: Buffer.concat(pieces),
    },
  });
}

type Value = string | number | Buffer | { readonly [key: string]: Value };

/** Encodes a value; keys are sorted by their bytes. */
export function bencoded(value: Value): Buffer {
  if (typeof value === 'number') return Buffer.from(`i${value}e`);
  if (typeof value === 'string') return bencoded(Buffer.from(value));
  if (Buffer.isBuffer(value)) return Buffer.concat([Buffer.from(`${value.length}:`), value]);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Buffer.concat([
    Buffer.from('d'),
    ...entries.flatMap(([key, entry]) => [bencoded(key), bencoded(entry)]),
    Buffer.from('e'),
  ]);
}
