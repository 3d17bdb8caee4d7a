/**
 * Encrypted files in exNodes. A random key, which is in links and in the owner's exNode only, yields
 * a head key and a body key. The head says what the file is, and is sealed into the exNode; the body
 * is what depots store, of the same length as the file. The head names the root of the exNode, the
 * root covers the digests of all blocks: so the key tells right bytes from wrong ones.
 */

import * as z from 'zod';
import { MillraceError } from '../base/errors.ts';
import { tryRead } from '../schema/read.ts';
import type { Exnode } from './exnode.ts';

/** Bytes of a key, and of the two keys that it yields. */
export const KEY_BYTES = 32;
/** Random bytes in front of a sealed head, and the tag at its end (AES-GCM). */
export const NONCE_BYTES = 12;
export const TAG_BYTES = 16;
/** Longest sealed head. */
export const MAX_SEALED_BYTES = 8192;
/** Name and type of an encrypted file for everybody without its key. */
export const NEUTRAL_NAME = 'encrypted';
export const NEUTRAL_TYPE = 'application/octet-stream';
/** Contexts of the two keys (RFC 5869 2.3, `info`). */
export const HEAD_CONTEXT = 'millrace exnode 1 head';
export const BODY_CONTEXT = 'millrace exnode 1 body';

const HEAD = z.object({
  name: z.string().min(1).max(1024),
  type: z.string().max(255).optional(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  root: z.string().regex(/^[0-9a-f]{64}$/),
});

/** A head: the facts that only holders of the key know of a file, and the root that it belongs to. */
export type Head = z.output<typeof HEAD>;

/** The key or the root that a link has, by which the exNode behind it is proven. */
export interface LinkProof {
  readonly key?: string | undefined;
  readonly root?: string | undefined;
}

/** Returns true for the text of a key: 32 bytes in base64url. */
export function isKeyText(text: string): boolean {
  // The last character has two bits that belong to no byte.
  return /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/.test(text);
}

/** Writes a head, to be sealed. */
export function formatHead({ name, type, sha256, root }: Head): string {
  return JSON.stringify({ name, type, sha256, root });
}

/** Reads an opened head. @throws MillraceError `bad-exnode` */
export function parseHead(text: string): Head {
  try {
    const read = tryRead(HEAD, JSON.parse(text));
    if (read.success) return read.data;
  } catch {
    // Reported below.
  }
  throw new MillraceError('bad-exnode', 'its sealed part cannot be understood');
}

/**
 * Adds the key or the root of an exNode to a link to a copy of it, as a fragment, which no program
 * sends to a server (RFC 9110 7.1).
 */
export function linkWith(link: string, { key, root }: LinkProof): string {
  return `${link}#${key === undefined ? `r.${root}` : `k.${key}`}`;
}

/**
 * Takes off what a link says about its exNode.
 *
 * @throws MillraceError `wrong-key` if the fragment is no complete key or root
 */
export function splitLink(given: string): { readonly link: string; readonly proof: LinkProof } {
  const mark = given.indexOf('#');
  if (mark < 0 || mark === given.length - 1) return { link: given.replace('#', ''), proof: {} };
  const link = given.slice(0, mark);
  const [kind, text] = [given.slice(mark + 1, mark + 3), given.slice(mark + 3)];
  if (kind === 'k.' && isKeyText(text)) return { link, proof: { key: text } };
  if (kind === 'r.' && /^[0-9a-f]{64}$/.test(text)) return { link, proof: { root: text } };
  throw new MillraceError('wrong-key', { code: 'link-key-not-complete' });
}

/**
 * Holds an exNode to the link that it was named by.
 *
 * @returns the exNode, with the key of the link
 * @throws MillraceError `bad-exnode` if the link was made for another one. An encrypted file is never
 *   replaced by one that is not: whoever keeps the exNode could otherwise give any file for it
 */
export function heldToLink(exnode: Exnode, { key, root }: LinkProof): Exnode {
  if (root !== undefined && root !== exnode.root) {
    throw new MillraceError('bad-exnode', 'the link was made for another file');
  }
  if (key === undefined) return exnode;
  if (exnode.sealed === undefined) {
    throw new MillraceError('bad-exnode', 'the link has a key, and the exNode is not encrypted');
  }
  return { ...exnode, key };
}
