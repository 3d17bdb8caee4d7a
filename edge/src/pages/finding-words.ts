/** The findings about an origin, in plain words. */

import { formatBytes } from '@millrace/shared/base/units';
import type { Finding, FindingId, Grade } from '@millrace/shared/http/origin/origin-findings';

export interface Words {
  readonly title: string;
  readonly text: string;
}

type Values = Readonly<Record<string, string | number>>;

/** Words for the grades. */
export const GRADE_WORDS: Readonly<Record<Grade, string>> = {
  good: 'Good',
  limited: 'Works, but',
  bad: 'Problem',
  note: 'Note',
};

/** Puts a finding into words. */
export function findingWords({ id, values }: Finding): Words {
  const [title, text] = WORDS[id](values ?? {});
  return { title, text };
}

const SPANS = [
  [86_400, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
] as const;

function seconds(values: Values): string {
  return spanWords(Number(values.seconds ?? 0));
}

/** Formats a time in the largest unit that it contains, rounded. @param value seconds */
export function spanWords(value: number): string {
  const [unit, name] = SPANS.find(([each]) => value >= each) ?? [1, 'second'];
  const count = Math.round(value / unit);
  return `${count} ${name}${count === 1 ? '' : 's'}`;
}

const WORDS: Readonly<Record<FindingId, (values: Values) => readonly [string, string]>> = {
  'not-found': () => ['There is no such file', 'The origin answers 404.'],
  gone: () => ['The file has been removed', 'The origin answers 410.'],
  denied: (v) => [
    'The origin refuses access',
    `It answers ${v.status}. Edges ask without cookies and passwords: the file must be open to everybody.`,
  ],
  busy: (v) => [
    'The origin is busy',
    `It answers ${v.status}. The edge pauses for as long as the origin asks; try again later.`,
  ],
  'strange-status': (v) => [
    'The answer brings no file',
    `The origin answers ${v.status} where 206 or 200 was expected.`,
  ],
  'ranges-right': (v) => [
    'Ranges work',
    `The origin sends parts (206, right Content-Range), and the length is known: ${formatBytes(Number(v.bytes))}.`,
  ],
  'ranges-ignored': () => [
    'Ranges are ignored',
    'The origin sends the whole file instead of the requested part. Edges keep such a file as it passes, if it has a version or a lifetime; the first client waits for all that is before its part, and what an edge has lost comes again as a whole.',
  ],
  'ranges-wrong': (v) => [
    'Ranges are answered wrongly',
    `The origin does not send the requested part (${v.code}). Edges do not serve such files: the bytes could be wrong.`,
  ],
  encoded: () => [
    'The file comes compressed',
    'The origin sends a Content-Encoding that was not requested. Edges keep such a file as it comes, if it has a version or a lifetime, and send it whole, without ranges. Clients such as wget save it compressed.',
  ],
  'length-unknown': () => [
    'The length is not known',
    'Content-Range ends in /*. Edges pass such a file through in one piece.',
  ],
  'empty-file': () => ['The file is empty', 'It has 0 bytes; there is nothing to keep.'],
  'etag-strong': (v) => [
    'Versions can be told apart',
    `There is a strong ETag, the same in every answer: ${v.etag}.`,
  ],
  'date-only': () => [
    'Versions are told apart by date only',
    'There is a Last-Modified but no ETag. Two versions of the same length within one second look the same.',
  ],
  'etag-weak': (v) => [
    'The ETag is weak',
    `${v.etag} does not say that bytes are the same, so the date in Last-Modified is used instead.`,
  ],
  'date-too-new': () => [
    'The file has only just been changed',
    'A date less than a second old cannot tell versions apart yet. From the next second on the file can be cut and kept.',
  ],
  'etag-weak-only': () => [
    'Versions cannot be told apart',
    'The only ETag is weak and there is no usable date. Parts of different versions could be mixed, so edges pass the file through in one piece, unless it has only one part. Where it stays current for a time, they keep the whole of it for that time.',
  ],
  'version-none': () => [
    'Versions cannot be told apart',
    'There is neither an ETag nor a usable Last-Modified. Parts of different versions could be mixed, so edges pass the file through in one piece, unless it has only one part. Where it stays current for a time, they keep the whole of it for that time.',
  ],
  'version-unstable': () => [
    'The version changes with every answer',
    'Two answers within a second named different versions. Either the file is changing right now, or several servers each make an ETag of their own. Edges break off such a download rather than mix versions.',
  ],
  'own-version-refused': () => [
    'The origin does not recognise its own version',
    'It answers 412 to If-Match with the ETag that it has just sent. Each chunk costs it another request.',
  ],
  fresh: (v) => [
    'Caching is allowed',
    `Edges need not ask again for ${seconds(v)}: within that time a new version may not show yet.`,
  ],
  'fresh-briefly': (v) => [
    'Caching is allowed for a short time',
    `After ${seconds(v)} edges ask whether the file has changed. That is one small request, but each costs time.`,
  ],
  'fresh-never': () => [
    'Edges must ask every time',
    'Edges use their copies, but only after a small request for each download (no-cache, or a lifetime of 0).',
  ],
  'fresh-guessed': (v) => [
    'The origin does not say how long copies stay valid',
    `Edges assume ${seconds(v)}, and never more than a minute.`,
  ],
  'no-store': () => ['Keeping is forbidden', 'Cache-Control says no-store: nothing is kept.'],
  private: () => [
    'The file is marked as private',
    'Cache-Control says private: a file for one person is not kept for others.',
  ],
  'set-cookie': () => [
    'The answer sets a cookie',
    'An answer with a cookie is meant for one visitor, so it is not kept for others.',
  ],
  vary: (v) => [
    'The answer depends on who asks',
    `Vary names ${v.field}: there may be a file for each visitor, so none is kept.`,
  ],
  revalidates: () => [
    'Asking whether it has changed is cheap',
    'The origin answers 304 without a body if nothing has changed.',
  ],
  'no-revalidation': () => [
    'The origin does not say when nothing has changed',
    'It sends the bytes again instead of 304. Each question costs it a chunk.',
  ],
  'type-known': (v) => ['There is a content type', `${v.type}.`],
  'type-missing': () => [
    'There is no content type',
    'Browsers have to guess; edges send application/octet-stream.',
  ],
  'type-page': (v) => [
    'This looks like a web page',
    `The type is ${v.type}. Is it the file itself, or a page in front of it (a log-in, a list of mirrors)?`,
  ],
  redirects: (v) => [
    Number(v.count) === 1 ? 'There is a redirect' : `There are ${v.count} redirects`,
    'Edges follow and check each. Chunks are asked for at the last address.',
  ],
  'redirect-downgrade': () => [
    'A redirect leaves HTTPS',
    'From there on the bytes could be changed on the way.',
  ],
  'signed-link': () => [
    'The link looks signed or made for one person',
    'It may stop working, or work once only. A link for everybody is better here.',
  ],
  encrypted: () => ['The way to the origin is encrypted', 'The edge checks its certificate.'],
  plain: () => [
    'The way to the origin is not encrypted',
    'Between origin and edge the bytes could be changed by others.',
  ],
  'first-byte': (v) => [
    `The first answer took ${v.ms} ms`,
    'Measured once from this edge, for information only.',
  ],
};
