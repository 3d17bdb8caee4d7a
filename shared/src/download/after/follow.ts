/**
 * Decides what becomes of a complete file that describes others: a torrent or a Metalink document. The
 * choices are those of aria2's `--follow-torrent` and `--follow-metalink`.
 */

import {
  describesFiles,
  isFollowed,
  isTorrentName,
  isTorrentType,
} from '../request/document-name.ts';

/**
 * True: its files are downloaded as well. `mem`: they are downloaded, and the description is not kept.
 * False: the description is a file like others.
 */
export const FOLLOWS = [true, false, 'mem'] as const;
export type Follow = (typeof FOLLOWS)[number];

/** A choice for each kind of description, as clients of aria2 make it. */
export interface FollowByKind {
  readonly torrent: Follow;
  readonly metalink: Follow;
}

/** How far the following of a complete description is; undefined: the file has not been looked at. */
export const FOLLOWING = ['keep', 'mem', 'remove', 'done'] as const;
export type Following =
  /** Its files are to be added; the description stays. */
  | 'keep'
  /** Its files are to be added, and the description is to be removed. */
  | 'mem'
  /** Its files have been added, and the description is to be removed. */
  | 'remove'
  | 'done';

/** A complete file. */
export interface CompleteFile {
  /** Its name; a path may come before it. */
  readonly name: string;
  /** Content-Type of its source. */
  readonly type: string | undefined;
  /** True if the user has named it, or says which bytes it has: its type counts for nothing then. */
  readonly isKnown: boolean;
  /** True if a description has led to it: it could describe itself, and is not followed. */
  readonly isDescribed: boolean;
}

/** Returns the first step with a complete file; undefined for a file like others. */
export function firstStep(
  { name, type, isKnown, isDescribed }: CompleteFile,
  follow: Follow | FollowByKind = true,
): 'keep' | 'mem' | undefined {
  if (isDescribed || !isFollowed({ given: name, type, isKnown })) return undefined;
  const isTorrent = describesFiles(name) ? isTorrentName(name) : isTorrentType(type);
  const chosen = typeof follow === 'object' ? follow[isTorrent ? 'torrent' : 'metalink'] : follow;
  if (chosen === false) return undefined;
  return chosen === 'mem' ? 'mem' : 'keep';
}

/** Returns the step after a description's files have been added, or cannot be. */
export function nextStep(step: 'keep' | 'mem', areAdded: boolean): Following {
  return step === 'mem' && areAdded ? 'remove' : 'done';
}
