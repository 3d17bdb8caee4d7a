/**
 * A node's message to another about a file: its current version, or that it can only be tunnelled.
 */

import { ERRORS, type ErrorCode } from '@millrace/shared/base/errors';
import { MAX_ANSWER_BYTES, MAX_PASSED_FIELD_CHARS } from '@millrace/shared/base/limits';
import { isStreamTag, versionTag } from '@millrace/shared/cdn/chunks/version-tag';
import { currentAge, type Freshness } from '@millrace/shared/http/answers/freshness';
import { canPin } from '@millrace/shared/http/fields/validators';
import { readOrThrow } from '@millrace/shared/schema/read';
import * as z from 'zod';
import type { FileVersion, Pointer } from '../files/file-version.ts';
import type { OriginAnswer } from '../files/origin-answer.ts';
import { MAX_NAMES } from '../files/path.ts';

/** Digests of the state that a node shares; those of older nodes may be missing. */
export interface Digests {
  readonly purges?: string | undefined;
  readonly pins?: string | undefined;
}

/** The answer of another node. */
export type RemoteVersion =
  | { readonly kind: 'file'; readonly pointer: Pointer }
  /** A file that still comes in one stream; its length is -1 while nobody knows it. */
  | {
      readonly kind: 'stream';
      readonly pointer: Pointer;
      /** Names of the nodes from which the answering node has it, one from the other. */
      readonly sources: readonly string[];
    }
  /** The origin's own answer without a file. */
  | { readonly kind: 'answer'; readonly answer: OriginAnswer }
  | { readonly kind: 'tunnel'; readonly reason: string };

const duration = z.number().min(0).max(1e15);
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Names of fields that nodes of every version read. */
const PLAIN_NAME = /^[a-z-]{1,40}$/;
const FIELDS = z.record(
  z.string().regex(/^[\w!#$%&'*+.^|~\x60-]{1,100}$/),
  z.string().max(MAX_PASSED_FIELD_CHARS).regex(FIELD_VALUE),
);

const FRESHNESS = {
  ageMs: duration,
  lifetimeMs: duration,
  staleIfErrorMs: duration,
  staleWhileRevalidateMs: duration.optional(),
};
const FINAL_URL = z.url({ protocol: /^https?$/ }).max(8192);

const ANSWER = z.object({
  answer: z.object({
    code: z.string().refine((code) => Object.hasOwn(ERRORS, code)),
    detail: z.string().max(1000),
    retryAfterMs: duration.optional(),
    status: z.int().min(201).max(599),
    fields: FIELDS,
    body: z.base64().max(Math.ceil(MAX_ANSWER_BYTES / 3) * 4),
    finalUrl: FINAL_URL,
    /** Why it must not be kept. */
    notStorable: z.string().max(100).optional(),
    ...FRESHNESS,
  }),
});

const MESSAGE = z.union([
  z.object({ tunnel: z.string().regex(/^[\x21-\x7e]{1,200}$/) }),
  ANSWER,
  z.object({
    length: z.int().min(-1),
    /** For a file that still comes: the nodes that it comes from. -1 is an unknown length. */
    running: z.array(z.string().max(100)).max(MAX_NAMES).optional(),
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
    ...FRESHNESS,
    finalUrl: FINAL_URL,
    /** Only for files that came in one stream: validators do not tell it. */
    tag: z.string().refine(isStreamTag).optional(),
  }),
]);

/**
 * Writes a pointer, with ages instead of times, because clocks of nodes differ.
 *
 * @param running names of the nodes that a file comes from, if it still comes in one stream
 */
export function writeVersion(pointer: Pointer, now: number, running?: readonly string[]): string {
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
    running,
  });
}

/** Writes an origin's answer without a file. */
export function writeAnswer(answer: OriginAnswer, now: number): string {
  const { freshness, body, ...rest } = answer;
  const { notStorable, lifetimeMs, staleIfErrorMs, staleWhileRevalidateMs } = freshness;
  const times = { ageMs: currentAge(freshness, now), lifetimeMs, staleIfErrorMs };
  const told = { ...rest, body: body.toString('base64'), notStorable };
  return JSON.stringify({ answer: { ...told, ...times, staleWhileRevalidateMs } });
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
  if ('answer' in message) return { kind: 'answer', answer: asAnswer(message.answer, now) };
  const { length, finalUrl, running } = message;
  const fields = { ...message.fields, ...message.more };
  const validators = definedOnly(message.validators);
  const pinned = canPin(validators) ? versionTag(validators, length, digest) : undefined;
  const tag = digest === undefined ? (message.tag ?? pinned) : pinned;
  if (tag === undefined) throw new Error('nothing pins the version');
  if (running === undefined ? length < 0 : !isStreamTag(tag)) throw new Error('no length');
  const version: FileVersion = { url, scope: 'public', length, validators, digest, tag, fields };
  const pointer = { version, freshness: freshnessOf(message, now), finalUrl };
  return running === undefined
    ? { kind: 'file', pointer }
    : { kind: 'stream', pointer, sources: running };
}

type Told = z.infer<typeof ANSWER>['answer'];

function freshnessOf(
  told: Pick<Told, 'ageMs' | 'lifetimeMs' | 'staleIfErrorMs' | 'staleWhileRevalidateMs'>,
  now: number,
): Freshness {
  const { ageMs, lifetimeMs, staleIfErrorMs, staleWhileRevalidateMs } = told;
  return {
    notStorable: undefined,
    initialAgeMs: ageMs,
    arrivedAt: now,
    lifetimeMs,
    staleIfErrorMs,
    ...(staleWhileRevalidateMs === undefined ? {} : { staleWhileRevalidateMs }),
  };
}

function asAnswer(told: Told, now: number): OriginAnswer {
  const { detail, retryAfterMs, status, fields, finalUrl, notStorable } = told;
  return {
    ...{ code: told.code as ErrorCode, detail, retryAfterMs, status, fields, finalUrl },
    body: Buffer.from(told.body, 'base64'),
    freshness: { ...freshnessOf(told, now), notStorable },
  };
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
