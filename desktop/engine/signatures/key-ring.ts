/** The keys that may vouch for a file: the user's own, and those that come with Millrace. */

import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import {
  looksLikeMinisign,
  type MinisignKey,
  parseMinisignKey,
} from '@millrace/shared/download/signatures/minisign';
import type { OwnKey } from '@millrace/shared/download/signatures/own-key';
import { SIGNERS, type Signer } from '@millrace/shared/download/signatures/signers';
import { judge, type Outcome } from '@millrace/shared/download/signatures/verdict';
import type { OpenpgpKey } from './openpgp-check.ts';
import type { SignedContent } from './signed-content.ts';

/** Imported when a signature or a key is there: most downloads need no OpenPGP. */
const openpgp = () => import('./openpgp-check.ts');

export class KeyRing {
  readonly #openpgp: OpenpgpKey[] = [];
  readonly #minisign: MinisignKey[] = [];

  /**
   * Reads keys.
   *
   * @param texts the user's keys: OpenPGP's armored or in base64, or minisign's
   * @param signer the one that the file belongs to: only its shipped keys count; undefined: those
   *   of all do
   * @param own keys of the user's list, each with the name that it vouches by
   * @throws MillraceError `bad-option` for a text that is not a public key
   */
  static async open(
    texts: readonly string[],
    signer: Signer | undefined,
    own: readonly OwnKey[] = [],
  ): Promise<KeyRing> {
    const ring = new KeyRing();
    for (const text of texts) await ring.#add(text, undefined);
    for (const { text, name } of own) await ring.#add(text, name);
    const { default: shipped } = await import('./shipped-keys.json', { with: { type: 'json' } });
    const { fingerprintOf, readOpenpgpKeys } = await openpgp();
    for (const { id, name, fingerprints } of signer === undefined ? SIGNERS : [signer]) {
      const bytes = Buffer.from((shipped as Readonly<Record<string, string>>)[id] ?? '', 'base64');
      const keys = await readOpenpgpKeys(bytes, name);
      ring.#openpgp.push(...keys.filter(({ key }) => fingerprints.includes(fingerprintOf(key))));
    }
    return ring;
  }

  /** Checks a signature in a file of its own, of any kind. @param now Unix milliseconds */
  async check(signature: Uint8Array, content: SignedContent, now: number): Promise<Outcome> {
    const text = Buffer.from(signature).toString('utf8');
    if (looksLikeMinisign(text)) {
      const { checkMinisign } = await import('./minisign-check.ts');
      return checkMinisign(text, content, this.#minisign);
    }
    const { checkDetached } = await openpgp();
    return readable(
      () => checkDetached(signature, content, this.#openpgp, now),
      (outcome) => outcome,
    );
  }

  /**
   * Checks a text that has its signature around it.
   *
   * @returns the outcome with the signed text; undefined for a plain text
   */
  async checkClearSigned(
    bytes: Uint8Array,
    now: number,
  ): Promise<{ readonly outcome: Outcome; readonly text: string } | undefined> {
    const { checkClearSigned } = await openpgp();
    return readable(
      () => checkClearSigned(bytes, this.#openpgp, now),
      (outcome) => ({ outcome, text: '' }),
    );
  }

  async #add(text: string, name: string | undefined): Promise<void> {
    const minisign = parseMinisignKey(text);
    if (minisign !== undefined) {
      this.#minisign.push({ ...minisign, comment: name ?? minisign.comment });
      return;
    }
    try {
      const { readOpenpgpKeys } = await openpgp();
      const isArmored = text.trimStart().startsWith('-----BEGIN PGP ');
      const bytes = Buffer.from(text, isArmored ? 'utf8' : 'base64');
      const keys = await readOpenpgpKeys(bytes, name);
      if (keys.length === 0) throw new Error('there is no key in it');
      this.#openpgp.push(...keys);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new MillraceError('bad-option', `a key cannot be read: ${why}`, { cause: error });
    }
  }
}

/**
 * Runs a check of a stranger's packets: an error of the library means that they cannot be read.
 *
 * @param as makes the result of an outcome
 * @throws MillraceError of the content
 */
async function readable<T>(check: () => Promise<T>, as: (outcome: Outcome) => T): Promise<T> {
  try {
    return await check();
  } catch (error) {
    if (isMillraceError(error)) throw error;
    return as({ kind: 'doubtful', doubt: 'signature-unreadable' });
  }
}

/** Checks several signatures of the same content. */
export async function checkAll(
  ring: KeyRing,
  signatures: readonly Uint8Array[],
  content: SignedContent,
  now: number,
): Promise<Outcome> {
  const outcomes: Outcome[] = [];
  for (const signature of signatures) outcomes.push(await ring.check(signature, content, now));
  return judge(outcomes);
}
