/** Names of signatures beside files and beside lists of digests. */

import { sidecarCandidates } from '../metalink/checksum-file.ts';
import { listsOf, type Signer } from './signers.ts';

/** Ends of the names of signatures, after the name of what is signed. */
const SUFFIXES = ['.sign', '.asc', '.gpg', '.sig', '.minisig'] as const;

/** Places to look for digests and signatures; both empty for URLs with a query. */
export interface Beside {
  /** URLs of lists of digests, best first, at most 14. */
  readonly lists: readonly string[];
  /** Ends of the names of signatures, best first. */
  readonly suffixes: readonly string[];
}

/**
 * Returns where to look beside a file.
 *
 * @param signer the one that the URL belongs to: its own names come first
 * @param onlySigner true to look for the signer's names alone, because the user asked for nothing
 */
export function besideOf(url: string, signer: Signer | undefined, onlySigner: boolean): Beside {
  const usual = sidecarCandidates(url);
  if (usual.length === 0) return { lists: [], suffixes: [] };
  const { origin, pathname } = new URL(url);
  const folder = origin + pathname.slice(0, pathname.lastIndexOf('/') + 1);
  const own = (signer === undefined ? [] : listsOf(signer, url)).map((name) => folder + name);
  const suffixes = signer?.suffixes ?? [];
  if (onlySigner) return { lists: own, suffixes };
  return {
    lists: [...new Set([...own, ...usual])],
    suffixes: [...new Set([...suffixes, ...SUFFIXES])],
  };
}

/** Returns the URLs of the signatures of a file or list, by its URL. */
export function signatureUrls(url: string, suffixes: readonly string[]): string[] {
  const { origin, pathname } = new URL(url);
  return suffixes.map((suffix) => `${origin}${pathname}${suffix}`);
}
