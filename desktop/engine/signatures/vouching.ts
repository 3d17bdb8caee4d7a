/**
 * Looks for digests and signatures beside a file, and finds out who vouches for it. What is found is
 * a hint, except that a pinned key's signature of other bytes ends the download.
 */

import type { Digest } from '@millrace/shared/base/digest';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { type Note, noteOf } from '@millrace/shared/base/notes';
import { findDigests } from '@millrace/shared/download/metalink/checksum-file';
import type { Statement } from '@millrace/shared/download/metalink/description-merge';
import { nameFromUrl } from '@millrace/shared/download/request/file-name';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import { asksFor, type OwnKey } from '@millrace/shared/download/signatures/own-key';
import { besideOf, signatureUrls } from '@millrace/shared/download/signatures/signature-names';
import { signedDigest } from '@millrace/shared/download/signatures/signed-list';
import { type Signer, signerOf } from '@millrace/shared/download/signatures/signers';
import {
  type Doubt,
  noteOfDoubt,
  type Outcome,
  tellingDoubt,
  type Vouch,
} from '@millrace/shared/download/signatures/verdict';
import { checkAll, KeyRing } from './key-ring.ts';
import { fileContent, textContent } from './signed-content.ts';

const MAX_LIST_BYTES = 1024 * 1024;
const MAX_SIGNATURE_BYTES = 64 * 1024;
/** Most signatures of the file itself that are given: for each of them the file is read. */
const MAX_GIVEN = 4;

export interface VouchingOptions {
  readonly request: Pick<DownloadRequest, 'sidecars' | 'keys' | 'signatures'>;
  /** Keys of the user's list that may vouch for the file; default: none. */
  readonly ownKeys?: readonly OwnKey[];
  /** URL of the file that the user or a description named. */
  readonly url: string;
  /** Name that the file gets. */
  readonly name: string;
  /** Fetches a small file. @throws MillraceError; `wrong-length` if it is longer than that */
  readonly read: (url: string, maxBytes: number) => Promise<Uint8Array>;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly onNote: (note: Note) => void;
}

interface FoundSignature {
  /** Undefined if it was given. */
  readonly url: string | undefined;
  readonly bytes: Uint8Array;
}

/** The part of a partial file that is read to check a signature of the whole file. */
type StoredFile = Parameters<typeof fileContent>[0];

export class Vouching {
  readonly #options: VouchingOptions;
  readonly #signer: Signer | undefined;
  readonly #suffixes: readonly string[];
  readonly #lists: readonly string[];
  readonly #doubts: Doubt[] = [];
  #ring: Promise<KeyRing> | undefined;
  /** Digest that a pinned key vouches for, once a signed list has it. */
  #signed: { readonly digest: Digest; readonly vouch: Vouch } | undefined;
  /** Signatures of the file itself. */
  readonly #ofFile: FoundSignature[] = [];

  constructor(options: VouchingOptions) {
    this.#options = options;
    const { url, request, ownKeys = [] } = options;
    this.#signer = signerOf(url);
    const { sidecars, keys = [] } = request;
    const isAsked = sidecars || keys.length > 0 || asksFor(ownKeys);
    const { lists, suffixes } = besideOf(url, this.#signer, !isAsked);
    this.#lists = lists;
    this.#suffixes = suffixes;
  }

  /** Digest that a signed list has of the file: the file must be shown to have it. */
  get digest(): Digest | undefined {
    return this.#signed?.digest;
  }

  /**
   * Reads lists and signatures.
   *
   * @returns the statements of lists about the file
   * @throws MillraceError `bad-signature`; `origin-timeout` if the server lets us wait;
   *   `bad-option` for keys that cannot be read; the signal's reason
   */
  async look(): Promise<Statement[]> {
    const statements = await this.#readLists();
    if (this.#signed !== undefined) return statements;
    for (const text of this.#options.request.signatures ?? []) this.give(text);
    this.#ofFile.push(...(await this.#readSignatures(this.#options.url)));
    return statements;
  }

  /** Adds a signature of the file itself, as a text or in base64. */
  give(text: string): void {
    if (this.#ofFile.length >= MAX_GIVEN || text.length > MAX_SIGNATURE_BYTES) return;
    this.#ofFile.push({ url: undefined, bytes: signatureBytes(text) });
  }

  /**
   * Returns who vouches for a file that is complete and has the right digest, and tells the user if
   * nobody does.
   *
   * @param length bytes
   * @throws MillraceError `bad-signature`; the signal's reason
   */
  async vouch(file: StoredFile, length: number, signal: AbortSignal): Promise<Vouch | undefined> {
    const vouch = this.#signed?.vouch ?? (await this.#vouchByFile(file, length, signal));
    const { onNote, request, ownKeys = [] } = this.#options;
    if (vouch !== undefined) {
      const { by, fingerprint, url = '' } = vouch;
      onNote(noteOf('signed-by', { by, fingerprint, url }));
    } else if (
      this.#doubts.length > 0 ||
      (request.keys ?? []).length > 0 ||
      asksFor(ownKeys) ||
      this.#signer !== undefined
    ) {
      onNote(noteOfDoubt(tellingDoubt(this.#doubts)));
    }
    return vouch;
  }

  /** Reads lists until one is signed; the first one that names the file counts as a hint. */
  async #readLists(): Promise<Statement[]> {
    const { url, name, onNote } = this.#options;
    const statements: Statement[] = [];
    for (const listUrl of this.#lists) {
      const body = await this.#read(listUrl, MAX_LIST_BYTES);
      if (body === undefined) continue;
      const listName = listUrl.slice(listUrl.lastIndexOf('/') + 1);
      const digests = findDigests(body, listName, name);
      const asked = nameFromUrl(url);
      const isNamed = digests.length > 0 || findDigests(body, listName, asked).length > 0;
      if (!isNamed) continue;
      const statement = await this.#checkList(listUrl, listName, body, asked);
      // A signed list outranks others, which may be older or of somebody else.
      if (statement !== undefined) return [statement];
      if (statements.length > 0 || digests.length === 0) continue;
      statements.push({ by: listUrl, digests });
      onNote(noteOf('digest-from', { url: listUrl }));
    }
    return statements;
  }

  /** Checks the signature of a list. @returns the statement that it makes, if it counts */
  async #checkList(
    listUrl: string,
    listName: string,
    body: Uint8Array,
    asked: string,
  ): Promise<Statement | undefined> {
    const { now } = this.#options;
    const clear = isClearSigned(body)
      ? await (await this.#keys()).checkClearSigned(body, now())
      : undefined;
    let outcome = clear?.outcome;
    let signatureUrl = listUrl;
    if (outcome === undefined) {
      const found = await this.#readSignatures(listUrl);
      if (found.length === 0) return undefined;
      signatureUrl = found[0]?.url ?? listUrl;
      const bytes = found.map((one) => one.bytes);
      outcome = await checkAll(await this.#keys(), bytes, textContent(body), now());
    }
    if (!this.#holds(outcome, listName)) return undefined;
    const digest = signedDigest(clear?.text ?? body, listName, asked);
    if (digest === undefined) {
      this.#doubts.push('signature-unlisted');
      return undefined;
    }
    const { by, fingerprint, signedAt } = outcome;
    this.#signed = {
      digest,
      vouch: { by, fingerprint, url: signatureUrl, byList: true, signedAt },
    };
    return { by: listUrl, digests: [digest] };
  }

  async #vouchByFile(
    file: StoredFile,
    length: number,
    signal: AbortSignal,
  ): Promise<Vouch | undefined> {
    for (const { url, bytes } of this.#ofFile) {
      const content = fileContent(file, length, signal);
      const outcome = await (await this.#keys()).check(bytes, content, this.#options.now());
      signal.throwIfAborted();
      if (!this.#holds(outcome, nameFromUrl(this.#options.url))) continue;
      const { by, fingerprint, signedAt } = outcome;
      return { by, fingerprint, url, byList: false, signedAt };
    }
    return undefined;
  }

  /** @returns true for a good signature @throws MillraceError `bad-signature` */
  #holds(outcome: Outcome, signed: string): outcome is Outcome & { readonly kind: 'good' } {
    if (outcome.kind === 'bad') {
      const { by, fingerprint } = outcome;
      throw new MillraceError('bad-signature', {
        code: 'not-signed-so',
        values: { url: signed, by, fingerprint },
      });
    }
    if (outcome.kind === 'doubtful') this.#doubts.push(outcome.doubt);
    return outcome.kind === 'good';
  }

  /** Reads the first signature that is there. */
  async #readSignatures(url: string): Promise<FoundSignature[]> {
    for (const signatureUrl of signatureUrls(url, this.#suffixes)) {
      const bytes = await this.#read(signatureUrl, MAX_SIGNATURE_BYTES);
      if (bytes !== undefined && looksLikeSignature(bytes)) return [{ url: signatureUrl, bytes }];
    }
    return [];
  }

  async #read(url: string, maxBytes: number): Promise<Uint8Array | undefined> {
    try {
      return await this.#options.read(url, maxBytes);
    } catch (error) {
      // A server that lets us wait for one name would do so for the others.
      if (!isMillraceError(error) || error.code === 'origin-timeout') throw error;
      return undefined;
    }
  }

  #keys(): Promise<KeyRing> {
    const { request, ownKeys } = this.#options;
    this.#ring ??= KeyRing.open(request.keys ?? [], this.#signer, ownKeys);
    return this.#ring;
  }
}

/** Returns true for a text that says that its signature is around it. */
function isClearSigned(bytes: Uint8Array): boolean {
  return Buffer.from(bytes).includes('-----BEGIN PGP SIGNED MESSAGE-----');
}

/** Returns false for pages that servers send in place of files that are not there. */
function looksLikeSignature(bytes: Uint8Array): boolean {
  const text = Buffer.from(bytes).toString('latin1').trimStart();
  if (text.startsWith('untrusted comment:') || text.startsWith('-----BEGIN PGP ')) return true;
  // Binary packets have the highest bit of their first byte set (RFC 9580, 4.2).
  return ((bytes[0] ?? 0) & 0x80) !== 0;
}

/** A signature that was given is a text, or binary in base64. */
function signatureBytes(text: string): Uint8Array {
  const isText = /^\s*(?:-----BEGIN PGP |untrusted comment:)/.test(text);
  return Buffer.from(text, isText ? 'utf8' : 'base64');
}
