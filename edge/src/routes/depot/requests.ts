/** Reads what clients ask of the depot: bodies, queries, names and types of files. */

import type { IncomingHttpHeaders } from 'node:http';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { MAX_ETAG_CHARS, MAX_URL_CHARS } from '@millrace/shared/base/limits';
import { parseDuration } from '@millrace/shared/base/unit-options';
import { pullLength } from '@millrace/shared/cdn/depot/pull-plan';
import { safeFileName } from '@millrace/shared/download/request/file-name';
import { parseOriginUrl } from '@millrace/shared/http/urls/prefixed-url';
import { tryRead } from '@millrace/shared/schema/read';
import { parse as parseDisposition } from 'content-disposition';
import * as z from 'zod';

const bytes = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const seconds = z.number().min(1, 'must be at least 1').max(1e10);
const sha256 = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'must have 64 hexadecimal digits')
  .optional();
const TYPE = /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+$/;

const CREATION = z.strictObject({
  bytes,
  seconds,
  name: z.string().min(1).max(1000).transform(safeFileName).optional(),
  type: z.string().max(200).optional(),
  /** SHA-256 that the file must have. */
  sha256,
  /** True for space that a guest is to fill. */
  guest: z.literal(true).optional(),
});

const CHANGE = z.strictObject({ seconds: seconds.optional(), bytes: bytes.optional() });

/** Most parts of a pull, and most URLs of one of them. */
const MAX_PARTS = 1024;
const MAX_URLS = 16;

const PULL = z.strictObject({
  parts: z
    .array(
      z
        .strictObject({
          from: z
            .array(z.string().max(MAX_URL_CHARS).transform(readUrl))
            .min(1, 'must name a URL')
            .max(MAX_URLS),
          etag: z
            .string()
            .max(MAX_ETAG_CHARS)
            .regex(/^"[\x21\x23-\x7e]*"$/, 'must be a strong entity tag, quotes included')
            .optional(),
          start: bytes,
          bytes: bytes.min(1, 'must be at least 1'),
        })
        .refine((part) => Number.isSafeInteger(part.start + part.bytes), 'ends too far away'),
    )
    .min(1, 'must name a part')
    .max(MAX_PARTS)
    .refine((parts) => Number.isSafeInteger(pullLength(parts)), 'are too long together'),
  /** SHA-256 that the file must have. */
  sha256,
});

/** Reads a pull. @throws MillraceError `bad-request` that says which part is wrong */
export function readPull(text: string): z.output<typeof PULL> {
  return read(PULL, text);
}

const SOURCE = z.strictObject({ from: z.string().max(MAX_URL_CHARS).transform(readUrl) });

/** Reads the URL that an owner asks about. @throws MillraceError `bad-request` */
export function readSource(text: string): string {
  return read(SOURCE, text).from;
}

/** Reads a URL that is to be fetched, without what no server is sent. */
function readUrl(text: string, context: z.RefinementCtx): string {
  try {
    return parseOriginUrl(text).href;
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as MillraceError).message });
    return z.NEVER;
  }
}

/** Reads a reservation. @throws MillraceError `bad-request` that says which part is wrong */
export function readCreation(text: string): z.output<typeof CREATION> {
  return read(CREATION, text);
}

/** Reads a change of an allocation. @throws MillraceError `bad-request` */
export function readChange(text: string): z.output<typeof CHANGE> {
  return read(CHANGE, text);
}

/**
 * Reads the query of an upload: `for`, the time to store it, such as `7d`.
 *
 * @param usual the time without it
 * @throws MillraceError `bad-request`
 */
export function readQuery(query: string, usual: Millis): { readonly forMs: Millis } {
  const given = new URLSearchParams(query).get('for');
  if (given === null) return { forMs: usual };
  try {
    return { forMs: parseDuration(given) };
  } catch (error) {
    throw new MillraceError('bad-request', `for: ${(error as MillraceError).detail}`);
  }
}

/** Reads the name in the last part of a path. @param encoded with its percent signs */
export function readPathName(encoded: string): string {
  try {
    return safeFileName(decodeURIComponent(encoded));
  } catch {
    return safeFileName(encoded);
  }
}

/** Reads the name and the type of a file that is sent; undefined: not said, or not readable. */
export function readName(headers: IncomingHttpHeaders): {
  readonly contentDisposition: string | undefined;
  readonly contentType: string | undefined;
} {
  const { 'content-disposition': disposition, 'content-type': type = '' } = headers;
  const [plain = ''] = type.toLowerCase().split(';');
  const contentType = TYPE.test(plain.trim()) ? plain.trim() : undefined;
  return { contentDisposition: nameIn(disposition), contentType };
}

function nameIn(disposition: string | undefined): string | undefined {
  if (disposition === undefined) return undefined;
  try {
    const { filename } = parseDisposition(disposition).parameters;
    return filename === undefined ? undefined : safeFileName(filename);
  } catch {
    return undefined;
  }
}

function read<S extends z.ZodType>(schema: S, text: string): z.output<S> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new MillraceError('bad-request', 'the body is not JSON');
  }
  const result = tryRead(schema, value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = issue?.path.join('.') ?? '';
  throw new MillraceError('bad-request', `${path === '' ? 'the body' : path}: ${issue?.message}`);
}
