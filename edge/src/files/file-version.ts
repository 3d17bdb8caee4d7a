/** An edge's knowledge of a file: one version of it, and how long that may be taken as current. */

import type { Millis } from '@millrace/shared/base/clock';
import type { Freshness } from '@millrace/shared/http/answers/freshness';
import type { Validators } from '@millrace/shared/http/fields/validators';

export type PointerEntry = Pointer | TunnelVerdict;

/** An origin's answer that cannot be cut into chunks, remembered so as not to ask twice. */
interface TunnelVerdict {
  /** One word for Cache-Status: why the file is tunnelled. */
  readonly reason: string;
  readonly until: Millis;
}

/**
 * Returns the key of a URL or chunk name in caches: private files have keys of their own, so that
 * files that the owner of a local edge fetches from their own network answer no other user.
 */
export function scopedKey(scope: Scope, name: string): string {
  return scope === 'private' ? `private ${name}` : name;
}

/**
 * Audience of a request. `private` requests carry the local token, and may reach origins that are
 * not listed; files that they bring in are kept apart from public ones.
 */
export type Scope = 'public' | 'private';

/** One version of one file; immutable. */
export interface FileVersion {
  /** Canonical origin URL. */
  readonly url: string;
  /** Audience of the file: private files never answer public requests. */
  readonly scope: Scope;
  readonly length: number;
  readonly validators: Validators;
  /** SHA-256 that its content must have, hexadecimal, if a client has asked for one. */
  readonly digest?: string | undefined;
  /** Version tag, part of its chunks' names. */
  readonly tag: string;
  /** Header fields of the origin that are passed to clients, names in lower case. */
  readonly fields: Readonly<Record<string, string>>;
}

/** The current version of a file, as far as this node knows. */
export interface Pointer {
  readonly version: FileVersion;
  readonly freshness: Freshness;
  /** URL that redirects led to: chunks are requested there. */
  readonly finalUrl: string;
  /** True if the content is known to have the digest that was asked for. */
  readonly verified?: true | undefined;
  /** Digests of the chunks of a file that came in one stream (`StreamDigests`), in the same order. */
  readonly chunks?: string | undefined;
  /** True if the stream has come by way of another node, which is asked for lost chunks first. */
  readonly followed?: true | undefined;
}

/** Names a pointer: content that was requested by its digest has a pointer of its own. */
export function pointerName({ url, digest }: Pick<FileVersion, 'url' | 'digest'>): string {
  // No URL has a space in it.
  return digest === undefined ? url : `${url} ${digest}`;
}

/** Returns the URL in a pointer's name. */
export function urlOfPointer(name: string): string {
  const end = name.indexOf(' ');
  return end < 0 ? name : name.slice(0, end);
}

/**
 * Copies a version so that it keeps nothing else in memory. In V8, text cut out of a header is a
 * view of the whole header: an entity tag of 20 bytes would keep 64 KiB.
 */
export function detached(version: FileVersion): FileVersion {
  const { tag, digest, validators, fields } = version;
  return {
    ...version,
    tag: ownText(tag),
    ...(digest === undefined ? {} : { digest: ownText(digest) }),
    validators: ownTexts(validators) as Validators,
    fields: ownTexts(fields) as FileVersion['fields'],
  };
}

/** Copies header fields, so that they keep nothing else in memory. */
export function ownFields(fields: Readonly<Record<string, string>>): Record<string, string> {
  return ownTexts(fields) as Record<string, string>;
}

/** Copies a text of one byte per character, so that it shares no memory with its source. */
export function ownText(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}

function ownTexts(values: object): object {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === 'string' ? ownText(value) : value,
    ]),
  );
}
