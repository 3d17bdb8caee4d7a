/**
 * Mends heads of answers that other clients understand although they break the rules of RFC 9112:
 * line ends without CR, folded lines, lines that are not fields, stray spaces and control
 * characters, an empty or repeated length, other spellings of Content-Range. For downloads only:
 * what is ambiguous about the length of the body stays refused, and a connection with such an
 * answer is never used again.
 */

import { MillraceError } from '../../base/errors.ts';
import { type MessageHead, parseMessageHead } from './message-head.ts';

/** The second form is used by servers of music streams. */
const STATUS_LINE = /^[ \t]*(?:http\/(\d)(?:\.(\d))?|icy)[ \t]+(\d{3})(?!\d)/i;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Control characters other than the tab, which no field value may contain. */
const CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/g;

/** A Content-Range with other spaces, with `:` or `=` behind the unit, or without the unit. */
const CONTENT_RANGE =
  /^(?:bytes(?:[\t ]*[:=][\t ]*|[\t ]+))?(\d{1,16}[\t ]*-[\t ]*\d{1,16}|\*)[\t ]*\/[\t ]*(\d{1,16}|\*)$/i;

/**
 * Reads a message head, and mends it if it breaks the rules.
 *
 * @param text everything before the empty line, as Latin-1
 * @throws MillraceError `malformed-response`
 */
export function parseBrokenHead(text: string): MessageHead {
  try {
    const head = withPlainRange(parseMessageHead(text));
    const { 'transfer-encoding': coding = 'chunked' } = head.headers;
    const isPlain = typeof coding === 'string' && coding.toLowerCase() === 'chunked';
    return isPlain ? head : { ...head, keepAlive: false };
  } catch (error) {
    const mended = mend(text);
    if (mended === undefined) throw error;
    return { ...withPlainRange(parseMessageHead(mended)), keepAlive: false };
  }
}

/** Writes a Content-Range in the one form that is read (RFC 9110 14.4). */
function withPlainRange(head: MessageHead): MessageHead {
  const { 'content-range': field } = head.headers;
  const parts = typeof field === 'string' ? CONTENT_RANGE.exec(field) : null;
  if (parts === null) return head;
  const [, range = '', total] = parts;
  const plain = `bytes ${range.replace(/[\t ]/g, '')}/${total}`;
  return { ...head, headers: { ...head.headers, 'content-range': plain } };
}

function mend(text: string): string | undefined {
  const [first = '', ...rest] = unfold(text.split(/\r?\n/));
  const status = STATUS_LINE.exec(first);
  if (status === null || status[1] === '0') return undefined;
  const version = status[1] === undefined || status[2] === '0' ? '1.0' : '1.1';
  const fields = rest.flatMap((line) => readField(line) ?? []);
  const isChunked = fields.some(
    ({ name, value }) => name === 'transfer-encoding' && value.toLowerCase() !== 'identity',
  );
  const lines = fields.flatMap(({ name, value }) => {
    if (name === 'transfer-encoding' && value.toLowerCase() === 'identity') return [];
    if (name !== 'content-length') return [`${name}: ${value}`];
    // The coding of the body tells its end, and overrides a length (RFC 9112 6.3).
    return isChunked || value === '' ? [] : [`${name}: ${length(value)}`];
  });
  return [`HTTP/${version} ${status[3]}`, ...lines].join('\r\n');
}

/** Joins lines that begin with a space or tab to the lines before them (RFC 9112 5.2). */
function unfold(lines: readonly string[]): string[] {
  const whole: string[] = [];
  for (const line of lines) {
    const isFolded = /^[ \t]/.test(line) && whole.length > 1;
    if (isFolded) whole[whole.length - 1] += ` ${line.trim()}`;
    else if (line !== '' || whole.length > 0) whole.push(line);
  }
  return whole;
}

/** Reads a field line; undefined for any other line, which other clients skip. */
function readField(line: string): { readonly name: string; readonly value: string } | undefined {
  const colon = line.indexOf(':');
  const name = line.slice(0, Math.max(0, colon)).trim().toLowerCase();
  if (!NAME.test(name)) return undefined;
  return {
    name,
    value: line
      .slice(colon + 1)
      .replace(CONTROL, ' ')
      .trim(),
  };
}

/**
 * Reads a length that is repeated in one field (RFC 9110 8.6), or has a sign or zeros before it.
 *
 * @throws MillraceError `malformed-response` if the repetitions differ
 */
function length(value: string): string {
  const numbers = value.split(',').map((text) => text.trim().replace(/^\+?0*(?=\d)/, ''));
  const [first = ''] = numbers;
  if (numbers.some((number) => number !== first)) {
    throw new MillraceError('malformed-response', 'two Content-Lengths cannot be read');
  }
  return first;
}
