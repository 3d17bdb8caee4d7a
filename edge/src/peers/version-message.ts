/**
 * A node's message to another about a file: its current version, or that it can only be tunnelled.
 */

import { MAX_PASSED_FIELD_CHARS } from '@millrace/shared/base/limits';
import { isStreamTag, versionTag } from '@millrace/shared/cdn/chunks/version-tag';
import { currentAge, type Freshness } from '@millrace/shared/http/answers/freshness';
import { canPin } from '@millrace/shared/http/fields/validators';
import { readOrThrow } from '@millrace/shared/schema/read';
import * as z from 'zod';
import type { FileVersion, Pointer } from '../files/file-version.ts';

/** Digests of the state that a node shares; those of older nodes may be missing. */
export interface Digests {
  readonly purges?: string | undefined;
  readonly pins?: string | undefined;
}

/** The answer of another node. */
export type RemoteVersion =
  | { readonly kind: 'file'; readonly pointer: Pointer }
  | { readonly kind: 'tunnel'; readonly reason: string };

const duration = z.number().min(0).max(1e15);
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Names of fields that nodes of every version read. */
const PLAIN_NAME = /^[a-z-]{1,40}$/;
const FIELDS = z.record(
  z.string().regex(/^[\w!#$%&'*+.^|~\x60-]{1,100}$/),
  z.string().max(MAX_PASSED_FIELD_CHARS).regex(FIELD_VALUE),
);

const MESSAGE = z.union([
  z.object({ tunnel: z.string().regex(/^[\x21-\x7e]{1,200}$/) }),
  z.object({
    length: z.int().min(0),
    validators: z.object({
      etag: z.string().max(300).optional(),
      weakEtag: z.string().max(300).optional(),
      lastModified: z.number().optional(),
      lastModifiedIsStrong: z.boolean().optional(),
    }),
    fields: z.record(
      z.string().regex(PLAIN_NAME),
      z.string().max(MAX_PASSED_FIELD_CHARS).regex(FIELD_VALUE),
    ),
    /** Fields whose names nodes of earlier versions refuse. */
    more: FIELDS.optional(),
    ageMs: duration,
    lifetimeMs: duration,
    staleIfErrorMs: duration,
    staleWhileRevalidateMs: duration.optional(),
    finalUrl: z.url({ protocol: /^https?$/ }).max(8192),
    /** Only for files that came in one stream: validators do not tell it. */
    tag: z.string().refine(isStreamTag).optional(),
  }),
]);

/** Writes a pointer, with ages instead of times, because clocks of nodes differ. */
export function writeVersion(pointer: Pointer, now: number): string {
  const { version, freshness, finalUrl } = pointer;
  const { length, validators } = version;
  const all = Object.entries(version.fields);
  const fields = Object.fromEntries(all.filter(([name]) => PLAIN_NAME.test(name)));
  const more = Object.fromEntries(all.filter(([name]) => !PLAIN_NAME.test(name)));
  const { lifetimeMs, staleIfErrorMs, staleWhileRevalidateMs } = freshness;
  const ageMs = currentAge(freshness, now);
  return JSON.stringify({
    length,
    validators,
    fields,
    more,
    ageMs,
    lifetimeMs,
    staleIfErrorMs,
    staleWhileRevalidateMs,
    finalUrl,
    ...(isStreamTag(version.tag) ? { tag: version.tag } : {}),
  });
}

export function writeTunnel(reason: string): string {
  return JSON.stringify({ tunnel: reason });
}

/**
 * Reads another node's message.
 *
 * @param url canonical URL of the file that was asked for
 * @param now Unix milliseconds
 * @param digest that was asked for, if one was
 * @throws Error if the text is not such a message
 */
export function readVersion(
  text: string,
  url: string,
  now: number,
  digest?: string,
): RemoteVersion {
  const message = readOrThrow(MESSAGE, JSON.parse(text));
  if ('tunnel' in message) return { kind: 'tunnel', reason: message.tunnel };
  const { length, ageMs, lifetimeMs, staleIfErrorMs, staleWhileRevalidateMs, finalUrl } = message;
  const fields = { ...message.fields, ...message.more };
  const validators = definedOnly(message.validators);
  const pinned = canPin(validators) ? versionTag(validators, length, digest) : undefined;
  const tag = digest === undefined ? (message.tag ?? pinned) : pinned;
  if (tag === undefined) throw new Error('nothing pins the version');
  const version: FileVersion = { url, scope: 'public', length, validators, digest, tag, fields };
  const freshness: Freshness = {
    notStorable: undefined,
    initialAgeMs: ageMs,
    arrivedAt: now,
    lifetimeMs,
    staleIfErrorMs,
    ...(staleWhileRevalidateMs === undefined ? {} : { staleWhileRevalidateMs }),
  };
  return { kind: 'file', pointer: { version, freshness, finalUrl } };
}

/** Leaves out properties that are undefined, which zod's type allows. */
function definedOnly(
  validators: {
    [K in keyof FileVersion['validators']]: FileVersion['validators'][K] | undefined;
  },
): FileVersion['validators'] {
  return Object.fromEntries(
    Object.entries(validators).filter(([, value]) => value !== undefined),
  ) as FileVersion['validators'];
}
