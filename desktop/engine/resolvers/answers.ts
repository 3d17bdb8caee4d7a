/** Reads what resolvers print. Everything in it comes from a page, so everything is checked. */

import { DIGEST_ALGORITHMS, DIGEST_DIGITS } from '@millrace/shared/base/digest';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { MAX_URL_CHARS } from '@millrace/shared/base/limits';
import { safeFileName } from '@millrace/shared/download/request/file-name';
import {
  answerProblem,
  MAX_RESOLVED_URLS,
  type ResolverAnswer,
} from '@millrace/shared/download/resolve/resolved';
import { chosenByYtDlp } from '@millrace/shared/download/resolve/yt-dlp';
import { userFields } from '@millrace/shared/http/fields/field-syntax';
import { tryRead } from '@millrace/shared/schema/read';
import * as z from 'zod';
import { takeLogin } from '../net/credentials.ts';

const MAX_NAME_CHARS = 1000;
const MAX_WORDS_CHARS = 300;
const MAX_FIELDS = 32;
const MAX_FORMATS = 5000;
/** Control characters, and those that change the direction of a text. */
const UNPRINTABLE = /[\x00-\x1f\x7f-\x9f\u2028\u2029\p{Bidi_Control}]+/gu;

const url = z.string().max(MAX_URL_CHARS);
const fields = z
  .record(z.string(), z.string())
  .refine((all) => Object.keys(all).length <= MAX_FIELDS, 'are too many');
const length = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const words = z.string().max(10 * MAX_WORDS_CHARS);

/** Our own form of an answer. */
const answer = z.strictObject({
  urls: z.array(url).min(1).max(MAX_RESOLVED_URLS),
  headers: fields.default({}),
  name: z.string().min(1).max(MAX_NAME_CHARS).optional(),
  length: length.optional(),
  digests: z
    .array(
      z
        .strictObject({
          algorithm: z.enum(DIGEST_ALGORITHMS),
          hex: z
            .string()
            .regex(/^[0-9a-fA-F]+$/)
            .transform((text) => text.toLowerCase()),
        })
        .refine((d) => d.hex.length === DIGEST_DIGITS[d.algorithm], 'has the wrong length'),
    )
    .max(DIGEST_ALGORITHMS.length)
    .default([]),
  /** Unix seconds. */
  expires: z.number().min(0).max(1e11).optional(),
  note: words.optional(),
});
const refusal = z.strictObject({ error: words });

const text = z.string().nullish();
const format = z.object({
  url: text,
  protocol: text,
  ext: text,
  vcodec: text,
  acodec: text,
  height: z.number().nullish(),
  filesize: length.nullish().catch(undefined),
  format_note: text,
  fragments: z.unknown().optional(),
  has_drm: z.unknown().optional(),
  http_headers: z.record(z.string(), z.string()).nullish(),
});
const ytDlp = format.extend({
  _type: text,
  title: text,
  id: text,
  is_live: z.boolean().nullish(),
  formats: z.array(format).max(MAX_FORMATS).nullish(),
  entries: z.array(z.unknown()).nullish(),
});

/**
 * Reads an answer.
 *
 * @param printed all of the output
 * @param page URL that the resolver got
 * @returns undefined if the resolver has nothing to say about the page: its output is `null`
 * @throws MillraceError `resolver-failed` for an answer that breaks the rules, `resolver-refused`
 */
export function readAnswer(
  printed: string,
  prints: 'answer' | 'yt-dlp',
  page: string,
): ResolverAnswer | undefined {
  let value: unknown;
  try {
    value = JSON.parse(printed);
  } catch {
    throw failed(printed.trim() === '' ? 'it printed nothing' : 'it did not print one JSON value');
  }
  if (value === null) return undefined;
  const read = prints === 'yt-dlp' ? fromYtDlp(value) : ownAnswer(value);
  const checked = checkedAnswer(read);
  const problem = answerProblem(page, checked);
  if (problem !== undefined) throw new MillraceError('resolver-refused', problem);
  return checked;
}

type Read = z.output<typeof answer>;

function ownAnswer(value: unknown): Read {
  const said = tryRead(refusal, value);
  if (said.success)
    throw new MillraceError('resolver-refused', {
      code: 'quoted',
      values: { text: printableWords(said.data.error) },
    });
  const read = tryRead(answer, value);
  if (!read.success) throw failed(`its answer has a fault: ${faultOf(read.error)}`);
  return read.data;
}

function fromYtDlp(value: unknown): Read {
  const read = tryRead(ytDlp, value);
  if (!read.success) throw failed(`yt-dlp's output has a fault: ${faultOf(read.error)}`);
  const chosen = chosenByYtDlp(read.data);
  if ('refused' in chosen) throw new MillraceError('resolver-refused', chosen.refused);
  const { url: link, headers, name, ...rest } = chosen;
  return { urls: [link], headers, name: name.slice(0, MAX_NAME_CHARS), digests: [], ...rest };
}

function checkedAnswer({ urls, headers, name, length: bytes, digests, expires, note }: Read) {
  try {
    return {
      urls: [...new Set(urls.map(cleanUrl))],
      headers: userFields(headers),
      digests,
      ...(name === undefined ? {} : { name: safeFileName(name) }),
      ...(bytes === undefined ? {} : { length: bytes }),
      ...(expires === undefined ? {} : { expires: Math.round(expires * 1000) }),
      ...(note === undefined ? {} : { note: printableWords(note) }),
    };
  } catch (error) {
    throw failed(`its answer has a fault: ${asMillraceError(error).detail}`);
  }
}

/** Returns an http(s) link without its fragment. @throws Error for any other one */
function cleanUrl(link: string): string {
  const parsed = URL.parse(link);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw new Error('urls: only links of http: and https: can be downloaded');
  }
  parsed.hash = '';
  if (takeLogin(parsed.href).login !== undefined) {
    throw new Error('urls: a log-in belongs into an Authorization field');
  }
  return parsed.href;
}

/** Returns words of a stranger as one short line. */
export function printableWords(said: string): string {
  const line = said.toWellFormed().replace(UNPRINTABLE, ' ').trim();
  return line.length > MAX_WORDS_CHARS ? `${line.slice(0, MAX_WORDS_CHARS)}…` : line;
}

function faultOf({ issues }: z.ZodError): string {
  const [issue] = issues;
  return printableWords([issue?.path.join('.'), issue?.message].filter(Boolean).join(': '));
}

function failed(why: string): MillraceError {
  return new MillraceError('resolver-failed', why);
}
