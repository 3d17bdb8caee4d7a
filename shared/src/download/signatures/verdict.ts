/** Judges the signatures of a file: who vouches for it, and whether its download may go on. */

import { type Note, noteOf } from '../../base/notes.ts';

/** A statement that somebody with a pinned key vouches for a file. */
export interface Vouch {
  /** Name of the signer for people. */
  readonly by: string;
  /** Fingerprint of the primary key, upper-case hexadecimal; of minisign: the key's id. */
  readonly fingerprint: string;
  /** URL of the signature, or of the signed list; undefined for a signature that was given. */
  readonly url?: string | undefined;
  /** True if the signature covers a list with the file's digest, false if it covers the file. */
  readonly byList: boolean;
  /** When it was signed, Unix milliseconds, as the signature says; minisign does not say it. */
  readonly signedAt?: number | undefined;
}

/**
 * Reasons why nobody vouches for a file although there was something to look for. None of them says
 * that the file is wrong.
 */
export type Doubt =
  | 'no-signature'
  | 'signature-unknown-key'
  | 'signature-key-not-valid'
  | 'signature-weak'
  | 'signature-unreadable'
  | 'signature-unlisted';

/** Result of checking one signature. */
export type Outcome =
  | {
      readonly kind: 'good';
      readonly by: string;
      readonly fingerprint: string;
      readonly signedAt: number | undefined;
    }
  /** A pinned key has signed other bytes than these. */
  | { readonly kind: 'bad'; readonly by: string; readonly fingerprint: string }
  | { readonly kind: 'doubtful'; readonly doubt: Doubt };

/** Doubts, the one that tells the user most first. */
const TELLING: readonly Doubt[] = [
  'signature-unlisted',
  'signature-key-not-valid',
  'signature-weak',
  'signature-unknown-key',
  'signature-unreadable',
  'no-signature',
];

/**
 * Judges the signatures of one text or file. One good signature is enough, for nobody else can make
 * it; a bad one counts if no other is good; other signatures say nothing.
 */
export function judge(outcomes: readonly Outcome[]): Outcome {
  const of = (kind: Outcome['kind']) => outcomes.find((outcome) => outcome.kind === kind);
  const decided = of('good') ?? of('bad');
  if (decided !== undefined) return decided;
  const doubts = outcomes.flatMap((outcome) => (outcome.kind === 'doubtful' ? outcome.doubt : []));
  return { kind: 'doubtful', doubt: tellingDoubt(doubts) };
}

/** Returns the doubt that tells the user most; `no-signature` if there is none. */
export function tellingDoubt(doubts: readonly Doubt[]): Doubt {
  return TELLING.find((doubt) => doubts.includes(doubt)) ?? 'no-signature';
}

/** Returns the note for the user about a doubt. */
export function noteOfDoubt(doubt: Doubt): Note {
  return noteOf(doubt);
}

/** Characters of a signer's name that are shown. */
const MAX_NAME_CHARS = 80;

/**
 * Makes the name of a key of the user's own fit to be shown: one line of visible characters, at most
 * 80, without the mail address that OpenPGP's user IDs have.
 */
export function shownSigner(text: string): string {
  const plain = text
    .replace(/<[^<>]*>\s*$/, '')
    .replace(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  return [...plain].slice(0, MAX_NAME_CHARS).join('');
}
