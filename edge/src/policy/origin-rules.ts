/**
 * Rules per origin (NSDI 6.4: which types of files are served, from where, and whose `no-cache` is
 * ignored), from the file of `--rules-file`. Of the entries that match a URL only the narrowest
 * counts; URLs that match none have the file's `defaults`.
 */

import { readFileSync, statSync } from 'node:fs';
import { MillraceError } from '@millrace/shared/base/errors';
import {
  MAX_PASSED_FIELD_CHARS,
  MAX_RULES,
  MAX_RULES_FILE_BYTES,
} from '@millrace/shared/base/limits';
import { parseBytes, parseDuration, parseRate } from '@millrace/shared/base/unit-options';
import { formatBytes } from '@millrace/shared/base/units';
import { applyCors, type CorsRule } from '@millrace/shared/http/answers/cors-rule';
import type { FreshTimes } from '@millrace/shared/http/answers/freshness';
import { isFieldOfFile } from '@millrace/shared/http/answers/passed-fields';
import { LABEL_FIELDS } from '@millrace/shared/http/fields/labels';
import type { IgnoredQuery } from '@millrace/shared/http/urls/ignored-query';
import { fileWords } from '@millrace/shared/node/files/file-words';
import { tryRead } from '@millrace/shared/schema/read';
import * as z from 'zod';
import { OriginPattern } from './origin-pattern.ts';
import { corsForm, IGNORE_QUERY } from './rule-forms.ts';

/**
 * Files of an origin that are served, for how long they are taken for current (milliseconds), and
 * limits on their use.
 */
export interface OriginRule extends FreshTimes {
  /** Fields that clients do not get, names in lower case. */
  readonly dropFields?: readonly string[] | undefined;
  /** Fields that clients get in place of the origin's, names in lower case. */
  readonly addFields?: Readonly<Record<string, string>> | undefined;
  /** Query parameters that name no other file. */
  readonly ignoreQuery?: IgnoredQuery | undefined;
  /** True if clients get the fields with the labels of files, which are for caches. */
  readonly passLabels?: boolean | undefined;
  /** Pages of other sites that may read files; undefined: as the origin says. */
  readonly cors?: CorsRule | undefined;
  /** Only these types, as `type/subtype` or `type/*`; undefined: any. */
  readonly contentTypes?: readonly string[] | undefined;
  /** All types but these. */
  readonly refuseContentTypes?: readonly string[] | undefined;
  /** Longest file, bytes. */
  readonly maxFileSize?: number | undefined;
  /** True if clients do not decide when the origin is asked again. */
  readonly ignoreNoCache?: boolean | undefined;
  /** True if clients get the origin's own answers where it has no file, such as its error pages. */
  readonly passAnswers?: boolean | undefined;
  /**
   * Files that never change under their names: endings of paths such as `.deb`, or folders between
   * slashes such as `/pool/`.
   */
  readonly immutable?: readonly string[] | undefined;
  /** Fields of redirects that go to clients with the file that they lead to, names in lower case. */
  readonly redirectFields?: readonly string[] | undefined;
  /** Hosts whose links in pages clients get as links through this edge. */
  readonly edgeLinks?: readonly string[] | undefined;
  /** Accept of the edge's requests, for origins that choose an answer by it. */
  readonly accept?: string | undefined;
  /** URL of the server that gives tokens for public images to everybody, without a query. */
  readonly tokenServer?: string | undefined;
  /** Bytes sent to clients of files of one host, per time (milliseconds). */
  readonly quota?: { readonly bytes: number; readonly per: number } | undefined;
  /** Transfers at once of files of one host. */
  readonly transfers?: number | undefined;
  /** Bytes per second of files of one host, over all transfers. */
  readonly rate?: number | undefined;
}

type Says = 'serve' | 'signed' | 'refuse';

/** The rules' verdict on a URL. */
export interface RuleVerdict {
  /** `signed`: served by signed links only; `none`: the file does not name the origin. */
  readonly says: Says | 'none';
  /** True if the entry names the host literally. */
  readonly privateToo: boolean;
  readonly rule: OriginRule;
}

const MIN_QUOTA_MS = 1000;
const MAX_QUOTA_MS = 366 * 86_400_000;

/** Makes the schema of a text that one of the units' readers reads. */
function unit(read: (text: string) => number) {
  return z.string().transform((text, context) => {
    try {
      return read(text);
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as MillraceError).detail });
      return z.NEVER;
    }
  });
}

const typePattern = z
  .string()
  .regex(/^(\*\/\*|[a-z0-9][\w.+-]*\/([a-z0-9][\w.+-]*|\*))$/i, 'must be like video/mp4 or video/*')
  .transform((text) => text.toLowerCase());

/** Longest time for which a rule may have files taken for current. */
const MAX_FRESH_MS = 366 * 86_400_000;
const time = unit(parseDuration).pipe(z.number().min(0).max(MAX_FRESH_MS));

/** Most fields that a rule drops, or adds. */
const MAX_RULE_FIELDS = 20;
const FIELD_VALUE = /^[\t\x20-\x7e]*$/;
const fieldName = z
  .string()
  .transform((name) => name.toLowerCase())
  .refine(isFieldOfFile, 'is not a field of a file that a rule may change');

/** Longest time that counts for files that never change: the longest that RFC 9111 suggests is a year. */
const FOR_EVER_MS = 365 * 86_400_000;
/** Most names in a list of a rule, and their longest. */
const MAX_RULE_NAMES = 50;
const pathPart = z
  .string()
  .max(200)
  .regex(/^(?:\/[^\s/]+\/|\.[^\s/]+)$/, 'must be like .deb or /pool/');
const linkHost = z
  .string()
  .max(300)
  .regex(/^[a-z0-9.-]+(?::\d{1,5})?$/, 'must be a host name in lower case');

const LIMITS = {
  contentTypes: z.array(typePattern).min(1).max(100).optional(),
  refuseContentTypes: z.array(typePattern).max(100).optional(),
  maxFileSize: unit(parseBytes).optional(),
  ignoreNoCache: z.boolean().optional(),
  passAnswers: z.boolean().optional(),
  sameForAll: z.boolean().optional(),
  immutable: z.array(pathPart).max(MAX_RULE_NAMES).optional(),
  redirectFields: z.array(fieldName).max(MAX_RULE_FIELDS).optional(),
  accept: z.string().max(1000).regex(FIELD_VALUE).optional(),
  tokenServer: z
    .string()
    .regex(/^https?:\/\/[a-z0-9.-]+(?::\d{1,5})?\/[\w./-]*$/, 'must be a URL without a query')
    .optional(),
  edgeLinks: z.array(linkHost).max(MAX_RULE_NAMES).optional(),
  fresh: time.optional(),
  staleWhileRevalidate: time.optional(),
  staleIfError: time.optional(),
  dropFields: z.array(fieldName).max(MAX_RULE_FIELDS).optional(),
  addFields: z
    .record(fieldName, z.string().max(MAX_PASSED_FIELD_CHARS).regex(FIELD_VALUE))
    .refine((fields) => Object.keys(fields).length <= MAX_RULE_FIELDS, 'has too many fields')
    .optional(),
  ignoreQuery: IGNORE_QUERY.optional(),
  passLabels: z.boolean().optional(),
  cors: corsForm(time).optional(),
  quota: z
    .strictObject({
      bytes: unit(parseBytes),
      per: unit(parseDuration).pipe(z.number().min(MIN_QUOTA_MS).max(MAX_QUOTA_MS)),
    })
    .optional(),
  transfers: z.int().min(1).max(1_000_000).optional(),
  rate: unit(parseRate).optional(),
} as const;

const ALLOW = z
  .union([z.boolean(), z.literal('signed')], 'must be true, false or "signed"')
  .default(true);

const FILE = z.strictObject({
  defaults: z.strictObject(LIMITS).optional(),
  origins: z
    .array(z.strictObject({ origin: z.string(), allow: ALLOW, ...LIMITS }))
    .max(MAX_RULES)
    .default([]),
});

/** An origin that is served, as the file names it. */
export interface ServedOrigin {
  readonly origin: string;
  /** True if it is served by signed links only. */
  readonly signed: boolean;
  readonly rule: OriginRule;
}

interface Entry {
  /** As written in the file. */
  readonly origin: string;
  readonly pattern: OriginPattern;
  readonly says: Says;
  readonly rule: OriginRule;
  /** The same for files that never change. */
  readonly lasting: OriginRule;
}

export class OriginRules {
  readonly #entries: readonly Entry[];
  readonly #defaults: OriginRule;

  /**
   * @param text JSON; `{}` has no rules
   * @throws MillraceError `bad-option` saying what is wrong, and where
   */
  constructor(text: string) {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (cause) {
      throw new MillraceError('bad-option', `it is not JSON: ${(cause as Error).message}`, {
        cause,
      });
    }
    const file = tryRead(FILE, value);
    if (!file.success) {
      const [issue] = file.error.issues;
      const where = issue?.path.join('.') ?? '';
      throw new MillraceError('bad-option', `${where === '' ? '' : `${where}: `}${issue?.message}`);
    }
    const entries = file.data.origins.map(({ origin, allow, ...rule }) => ({
      origin,
      pattern: new OriginPattern(origin),
      says:
        allow === 'signed' ? ('signed' as const) : allow ? ('serve' as const) : ('refuse' as const),
      rule,
      lasting: { ...rule, fresh: FOR_EVER_MS, staleIfError: FOR_EVER_MS },
    }));
    // The narrowest first; equals in the order of the file.
    this.#entries = entries.sort((a, b) => b.pattern.narrowness - a.pattern.narrowness);
    this.#defaults = file.data.defaults ?? {};
  }

  /** @throws MillraceError `bad-option` if the file cannot be read or used */
  static fromFile(path: string): OriginRules {
    let text: string;
    try {
      if (statSync(path).size > MAX_RULES_FILE_BYTES) {
        throw new Error(`it is larger than ${formatBytes(MAX_RULES_FILE_BYTES)}`);
      }
      text = readFileSync(path, 'utf8');
    } catch (error) {
      throw new MillraceError('bad-option', `cannot be read: ${fileWords(error)}`);
    }
    return new OriginRules(text);
  }

  /** The same text for all files with the same rules, whatever their form. */
  get text(): string {
    const entries = this.#entries.map(({ origin, says, rule }) => [origin, says, rule]);
    return JSON.stringify([entries, this.#defaults]);
  }

  /** True if these rules serve no origin. */
  get servesNothing(): boolean {
    return this.#entries.every(({ says }) => says === 'refuse');
  }

  /** Origins that are served, those by signed links included; the narrowest first. */
  get served(): readonly ServedOrigin[] {
    const served = this.#entries.filter(({ says }) => says !== 'refuse');
    return served.map(({ origin, says, rule }) => ({ origin, signed: says === 'signed', rule }));
  }

  /** Looks a canonical URL up. */
  check(url: URL): RuleVerdict {
    for (const { pattern, says, rule: usual, lasting } of this.#entries) {
      // A path that some origin might read as forbidden is forbidden; a path is served only if it
      // is allowed in every reading.
      const covers = pattern.covers(url);
      if (says === 'serve' ? !covers : !pattern.mayCover(url)) continue;
      const rule = isImmutable(usual, url) ? lasting : usual;
      return { says, privateToo: says !== 'refuse' && pattern.literal && covers, rule };
    }
    return { says: 'none', privateToo: false, rule: this.#defaults };
  }
}

/** Returns true for the URL of a file that a rule says never changes. */
function isImmutable({ immutable = [] }: OriginRule, { pathname }: URL): boolean {
  return immutable.some((part) =>
    part.endsWith('/') ? pathname.includes(part) : pathname.endsWith(part),
  );
}

/**
 * Changes the header of an answer to a client as a rule says.
 *
 * @param page origin of the page that asks: the request's field Origin
 */
export function changeFields(
  { dropFields = [], addFields, passLabels, cors }: OriginRule,
  headers: Record<string, string>,
  page: string | undefined,
): void {
  if (passLabels !== true) for (const name of LABEL_FIELDS) delete headers[name];
  for (const name of dropFields) delete headers[name];
  Object.assign(headers, addFields);
  if (cors !== undefined) applyCors(cors, page, headers);
}

/**
 * Checks a file against a rule.
 *
 * @param file value of its Content-Type, none counting as application/octet-stream; its length in
 *   bytes, undefined if unknown
 * @throws MillraceError `content-type-refused`, `file-too-large`
 */
export function checkAgainstRule(
  rule: OriginRule,
  { type, length }: { readonly type?: string | undefined; readonly length: number | undefined },
): void {
  const types = mediaTypes(type);
  const { contentTypes, refuseContentTypes, maxFileSize } = rule;
  const isOneOf = (patterns: readonly string[], bare: string) =>
    patterns.some((pattern) => typeMatches(pattern, bare));
  if (
    (contentTypes !== undefined && !types.every((bare) => isOneOf(contentTypes, bare))) ||
    (refuseContentTypes !== undefined && types.some((bare) => isOneOf(refuseContentTypes, bare)))
  ) {
    throw new MillraceError('content-type-refused', types.join(', '));
  }
  if (maxFileSize !== undefined && length !== undefined && length > maxFileSize) {
    throw new MillraceError('file-too-large', `${length} bytes, at most ${maxFileSize}`);
  }
}

/** Returns the types that clients may read in a field: if it has several, any of them. */
function mediaTypes(field: string | undefined): string[] {
  const types = (field ?? '')
    .split(',')
    .map((one) => (one.split(';')[0] ?? '').trim().toLowerCase());
  return types.map((type) => (type === '' ? 'application/octet-stream' : type));
}

function typeMatches(pattern: string, type: string): boolean {
  if (pattern === '*/*') return true;
  return pattern.endsWith('/*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
}
