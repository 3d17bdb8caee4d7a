/**
 * Pieces of torrents of version 1 that several files have in common: their pieces run over all files
 * one after the other, so that nobody can check such a piece who has only one of its files.
 */

import type { ByteRange } from '../../base/byte-range.ts';
import type { SharedPiece } from '../metalink/description.ts';

/** A file or padding, in the order of the torrent. */
export interface Lying {
  readonly length: number;
  /** True for padding. */
  readonly isZeros: boolean;
}

/**
 * Finds the pieces that each file shares with others: at most two.
 *
 * @param hexes digests of all pieces
 * @returns a list for each of the files
 */
export function sharedPieces(
  files: readonly Lying[],
  pieceBytes: number,
  hexes: readonly string[],
  infoHash: string,
): SharedPiece[][] {
  const total = files.reduce((sum, { length }) => sum + length, 0);
  const starts: number[] = [];
  let position = 0;
  for (const { length } of files) {
    starts.push(position);
    position += length;
  }
  const before = zerosBeside(files);
  const after = zerosBeside([...files].reverse()).reverse();
  return files.map(({ length, isZeros }, index) => {
    if (isZeros || length === 0) return [];
    const from = starts[index] as number;
    const to = from + length;
    const ends = new Set([Math.floor(from / pieceBytes), Math.floor((to - 1) / pieceBytes)]);
    return [...ends].flatMap((number): SharedPiece[] => {
      const start = number * pieceBytes;
      const end = Math.min(total, start + pieceBytes);
      if (start >= from && end <= to) return [];
      const part = { start: Math.max(start, from), end: Math.min(end, to) };
      return [
        {
          key: `${infoHash}:${number}`,
          hex: hexes[number] as string,
          bytes: end - start,
          at: part.start - start,
          start: part.start - from,
          end: part.end - from,
          before: Math.min(before[index] as number, Math.max(0, part.start - start)),
          after: part.end === to ? Math.min(after[index] as number, end - part.end) : 0,
        },
      ];
    });
  });
}

/** Counts the bytes of padding directly before each file. */
function zerosBeside(files: readonly Lying[]): number[] {
  let zeros = 0;
  return files.map(({ length, isZeros }) => {
    const before = zeros;
    if (isZeros) zeros += length;
    else if (length > 0) zeros = 0;
    return before;
  });
}

/** A file that has a part of a shared piece. */
export interface Holder {
  readonly gid: string;
  readonly part: SharedPiece;
  readonly state: 'complete' | 'coming' | 'failed';
  /** True if the whole file has been shown to be right by a digest of its own. */
  readonly isProven: boolean;
  /** How often the part has been fetched again because the piece was wrong. */
  readonly again: number;
  /** Number of sources that the file can be fetched from. */
  readonly sources: number;
}

/** Bytes of a piece: a part of a file, or zeros. */
export type Stretch = { readonly holder: Holder } | { readonly zeros: number };

export type Cover =
  /** All bytes of the piece are there, in this order. */
  | { readonly kind: 'whole'; readonly stretches: readonly Stretch[] }
  /** Some file has not come yet. */
  | { readonly kind: 'waits' }
  /** Some file is not downloaded, or has failed. */
  | { readonly kind: 'lacks' };

/**
 * Puts a piece together of the files that share it.
 *
 * @param holders those that were added together, the one that counts first where two have the same part
 */
export function coverOf(holders: readonly Holder[]): Cover {
  const inOrder = [...holders].sort((a, b) => a.part.at - b.part.at);
  const stretches: Stretch[] = [];
  let [at, isComing] = [0, false];
  for (const holder of inOrder) {
    const { part, state } = holder;
    // Another download of the same file.
    if (part.at < at) continue;
    const zeros = part.at - at;
    if (zeros > part.before) return { kind: 'lacks' };
    if (zeros > 0) stretches.push({ zeros });
    if (state === 'failed') return { kind: 'lacks' };
    isComing ||= state === 'coming';
    stretches.push({ holder });
    at = part.at + (part.end - part.start);
    // The padding at the end of a piece has no file behind it.
    const rest = part.bytes - at;
    if (rest > 0 && rest <= part.after) {
      stretches.push({ zeros: rest });
      at = part.bytes;
    }
  }
  if (at < (inOrder[0]?.part.bytes ?? 1)) return { kind: 'lacks' };
  return isComing ? { kind: 'waits' } : { kind: 'whole', stretches };
}

/** Most times that a part is fetched again. */
const MOST_AGAIN = 3;

export type Step =
  /** The parts of these files are fetched again. */
  | { readonly kind: 'again'; readonly holders: readonly Holder[] }
  /** These files do not count as right: who has sent wrong bytes is unknown. */
  | { readonly kind: 'fail'; readonly holders: readonly Holder[] }
  /** The files have digests of their own, which contradict that of the piece. */
  | { readonly kind: 'contradicts' };

/**
 * Decides what follows from a wrong piece. Nobody is blamed: which of the files is wrong is unknown,
 * but for those that digests of their own have shown to be right. Each source gets its turn, because
 * one that lies would send the same again; a file that was complete while others were fetched again has
 * had fewer turns, and gets them too.
 */
export function afterWrong(holders: readonly Holder[]): Step {
  const suspects = holders.filter(({ isProven }) => !isProven);
  if (suspects.length === 0) return { kind: 'contradicts' };
  const tried = Math.min(...suspects.map(({ again }) => again));
  const most = Math.min(MOST_AGAIN, Math.max(...suspects.map(({ sources }) => sources)));
  return { kind: tried < most ? 'again' : 'fail', holders: suspects };
}

/** The pieces that a file shares and about which something has been found out. */
export interface Known {
  /** Keys of pieces that are right, or cannot be checked. */
  readonly said: readonly string[];
  /** Keys of those among them that are right. */
  readonly right: readonly string[];
}

/** A line in the log of a file about its shared pieces. */
export interface Told {
  readonly note: 'shared-right' | 'shared-unchecked' | 'shared-contradicts';
  /** Bytes of the file. */
  readonly bytes: number;
}

/**
 * Adds what has been found out about one of the pieces that a file shares. Its log says that they are right
 * once, when something is known of each.
 *
 * @param shared all pieces that the file shares
 */
export function afterLook(
  shared: readonly SharedPiece[],
  { said, right }: Known,
  key: string,
  found: 'right' | 'unchecked' | 'contradicts',
): { readonly known: Known; readonly told: readonly Told[] } {
  const isNew = !(found === 'right' ? right : said).includes(key);
  const known = {
    said: [...new Set([...said, key])],
    right: found === 'right' ? [...new Set([...right, key])] : right,
  };
  const bytesOf = (keys: readonly string[]) =>
    shared.reduce((sum, one) => sum + (keys.includes(one.key) ? one.end - one.start : 0), 0);
  if (!isNew) return { known, told: [] };
  const told: Told[] = [];
  if (found !== 'right') told.push({ note: `shared-${found}`, bytes: bytesOf([key]) });
  const isAll = shared.every((one) => known.said.includes(one.key));
  if (isAll && known.right.length > 0) {
    told.push({ note: 'shared-right', bytes: bytesOf(known.right) });
  }
  return { known, told };
}

/** Returns the range of a part in its file. */
export const rangeOfPart = ({ start, end }: SharedPiece): ByteRange => ({ start, end });
