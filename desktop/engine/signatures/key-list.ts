/**
 * The user's list of keys: a file in the state folder, so that `get` knows them without a daemon. A key
 * decides whose word counts, so nobody else may be able to write there.
 */

import { MillraceError } from '@millrace/shared/base/errors';
import { MAX_KEY_CHARS } from '@millrace/shared/download/request/request';
import { isLinkPattern } from '@millrace/shared/download/resolve/link-pattern';
import { parseMinisignKey } from '@millrace/shared/download/signatures/minisign';
import {
  MAX_KEY_PATTERNS,
  MAX_OWN_KEYS,
  type OwnKey,
  plainFingerprint,
} from '@millrace/shared/download/signatures/own-key';
import { shownSigner } from '@millrace/shared/download/signatures/verdict';
import { replaceFile } from '@millrace/shared/node/files/replace-file';
import { tryRead } from '@millrace/shared/schema/read';
import * as z from 'zod';
import { makeStateFolder } from '../../local/daemon-address.ts';
import { readOwnJson, zodFault } from '../files/own-json.ts';
import { keyFile } from './key-file.ts';

const key = z.strictObject({
  fingerprint: z.string().regex(/^[0-9A-F]{16,64}$/),
  name: z.string().min(1).max(200),
  text: z.string().max(MAX_KEY_CHARS),
  patterns: z
    .array(z.string().refine(isLinkPattern, 'is not a pattern of links'))
    .max(MAX_KEY_PATTERNS),
});

const file = z.strictObject({ keys: z.array(key).max(MAX_OWN_KEYS) });

/**
 * Reads the list.
 *
 * @param state state folder
 * @throws MillraceError `state-unusable` if the file cannot be used, or others may write to it
 */
export async function readKeyList(state: string): Promise<readonly OwnKey[]> {
  return (await readOwnJson(keyFile(state), file))?.keys ?? [];
}

export interface AskedKey {
  /** The file's content: OpenPGP's, armored or in base64, or minisign's. */
  readonly text: string;
  /** Only the key with this fingerprint is taken; undefined: all in the file. */
  readonly fingerprint?: string | undefined;
  /** Name that is shown; undefined: that which the key itself has. */
  readonly name?: string | undefined;
  readonly patterns: readonly string[];
}

/**
 * Adds the keys of a file, or replaces those of the same fingerprint.
 *
 * @returns the keys that are in the list now and were in the file
 * @throws MillraceError `bad-option`, `state-unusable`; the list is as before then
 */
export async function addKeys(state: string, asked: AskedKey): Promise<readonly OwnKey[]> {
  const wanted = asked.fingerprint === undefined ? undefined : plainFingerprint(asked.fingerprint);
  if (asked.fingerprint !== undefined && wanted === undefined) {
    throw new MillraceError('bad-option', { code: 'fingerprint-form' });
  }
  const found = await keysIn(asked);
  const taken = found.filter(({ fingerprint }) => wanted === undefined || fingerprint === wanted);
  if (taken.length === 0) {
    const have = found
      .map(({ fingerprint }) => fingerprint)
      .slice(0, 4)
      .join(', ');
    throw new MillraceError('bad-option', `the file has no key ${wanted}, but ${have}`);
  }
  const read = tryRead(z.array(key), taken);
  if (!read.success) throw new MillraceError('bad-option', zodFault(read.error));
  const isTaken = (one: OwnKey) => taken.some(({ fingerprint }) => fingerprint === one.fingerprint);
  const all = [...(await readKeyList(state)).filter((one) => !isTaken(one)), ...taken];
  if (all.length > MAX_OWN_KEYS) {
    throw new MillraceError('bad-option', { code: 'keys-at-most', values: { most: MAX_OWN_KEYS } });
  }
  await write(state, all);
  return taken;
}

/** Removes a key. @throws MillraceError `bad-option` if there is none of that fingerprint */
export async function removeKey(state: string, text: string): Promise<void> {
  const gone = plainFingerprint(text);
  const all = await readKeyList(state);
  const others = all.filter(({ fingerprint }) => fingerprint !== gone);
  if (others.length === all.length) {
    throw new MillraceError('bad-option', { code: 'no-key', values: { key: text.slice(0, 80) } });
  }
  await write(state, others);
}

async function keysIn({ text, name, patterns }: AskedKey): Promise<OwnKey[]> {
  const given = name === undefined ? '' : shownSigner(name);
  const minisign = parseMinisignKey(text);
  if (minisign !== undefined) {
    const shown = given || shownSigner(minisign.comment) || minisign.id;
    return [{ fingerprint: minisign.id, name: shown, text, patterns }];
  }
  const { fingerprintOf, readOpenpgpKeys } = await import('./openpgp-check.ts');
  try {
    const isArmored = text.trimStart().startsWith('-----BEGIN PGP ');
    const keys = await readOpenpgpKeys(Buffer.from(text, isArmored ? 'utf8' : 'base64'), undefined);
    if (keys.length === 0) throw new Error('there is no key in it');
    return keys.map((one) => ({
      fingerprint: fingerprintOf(one.key),
      name: given || one.by,
      text: one.key.armor(),
      patterns,
    }));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MillraceError('bad-option', { code: 'key-not-read', values: { why } }, { cause });
  }
}

async function write(state: string, keys: readonly OwnKey[]): Promise<void> {
  await makeStateFolder(state);
  await replaceFile(keyFile(state), `${JSON.stringify({ keys }, null, 2)}\n`);
}
