/** Parses messages of the browser to the native host; nothing in them is trusted before that. */

import { MillraceError } from '../../base/errors.ts';
import { MAX_ETAG_CHARS, MAX_URL_CHARS } from '../../base/limits.ts';
import { isObject } from '../rpc/json-rpc.ts';
import type { NativeCalls, NativeOffer, NativeRequest, NativeType } from './native-api.ts';
import { checkText, Fields, type TextRules } from './native-fields.ts';

/** Most downloads that `list` gives. */
export const MAX_NATIVE_LIST = 500;
/** Most links in one `add`. */
export const MAX_NATIVE_LINKS = 1000;
const MAX_FILE_NAME_CHARS = 255;
const MAX_EDGES = 16;

const HAND_OFF: TextRules = {
  max: 36,
  pattern: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
};
const GID: TextRules = { max: 16, pattern: /^[0-9a-f]{16}$/ };
const URL_TEXT: TextRules = { max: MAX_URL_CHARS, pattern: /^https?:\/\/[^\s\x00-\x1f]+$/i };
const FIELD_TEXT = /^[\t\x20-\x7e\x80-\xff]*$/;
const HEADERS = {
  entries: 16,
  name: { min: 1, max: 64, pattern: /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/ },
  value: { max: 16_384, pattern: FIELD_TEXT },
};
const FILE_NAME: TextRules = {
  min: 1,
  max: MAX_FILE_NAME_CHARS,
  // A plain name: no separators, so the file stays in its folder.
  pattern: /^[^/\\\0]+$/,
};

const PATH: TextRules = { min: 1, max: 32_768, pattern: /^[^\0]+$/ };

const COMMANDS = ['pause', 'resume', 'remove', 'open', 'show'] as const;

/** A parser per request: the compiler checks that each returns the parameters of its type. */
const PARAMS: { readonly [T in NativeType]: (given: Fields) => NativeCalls[T]['params'] } = {
  hello: (given) => ({
    version: given.whole('version', 0, 1_000_000),
    browser: given.text('browser', { max: 64 }),
  }),
  offer: nativeOffer,
  commit: handOff,
  withdraw: handOff,
  discard: (given) => ({ gid: given.text('gid', GID), kept: given.optionalText('kept', PATH) }),
  offerState: handOff,
  list: (given) => ({ limit: given.whole('limit', 0, MAX_NATIVE_LIST) }),
  watch: (given) => ({ on: given.flag('on') }),
  command: (given) => ({
    gid: given.text('gid', GID),
    command: given.oneOf('command', COMMANDS),
  }),
  add: (given) => ({ links: given.list('links', MAX_NATIVE_LINKS, link) }),
  openApp: () => ({}),
};

/**
 * Reads a request.
 *
 * @throws MillraceError `bad-option` with the fault that was found
 */
export function parseNativeRequest(value: unknown): NativeRequest {
  const given = new Fields(value);
  const id = given.whole('id', 1);
  const type = given.oneOf('type', Object.keys(PARAMS) as NativeType[]);
  return { id, type, ...PARAMS[type](given) } as NativeRequest;
}

/** Reads an offer, as the daemon gets it from the host. @throws MillraceError `bad-option` */
export function parseNativeOffer(value: unknown): NativeOffer {
  return nativeOffer(new Fields(value));
}

/** Reads the UUID of an offer. @throws MillraceError `bad-option` */
export function parseHandOff(value: unknown): string {
  return new Fields({ handOff: value }).text('handOff', HAND_OFF);
}

/** Returns the id to answer with, even if the rest is malformed; 0 if there is none. */
export function nativeIdOf(value: unknown): number {
  const id = isObject(value) ? value.id : undefined;
  return Number.isSafeInteger(id) && Number(id) > 0 ? (id as number) : 0;
}

function handOff(given: Fields): { readonly handOff: string } {
  return { handOff: given.text('handOff', HAND_OFF) };
}

function nativeOffer(given: Fields): NativeOffer {
  const etag = given.optionalText('etag', { max: MAX_ETAG_CHARS, pattern: FIELD_TEXT });
  const lastModified = given.optionalText('lastModified', { max: 64, pattern: FIELD_TEXT });
  if (etag === undefined && lastModified === undefined) {
    throw new MillraceError('bad-option', 'etag and lastModified are both missing');
  }
  return {
    ...handOff(given),
    url: given.text('url', URL_TEXT),
    finalUrl: given.text('finalUrl', URL_TEXT),
    fileName: given.text('fileName', FILE_NAME),
    path: given.optionalText('path', PATH),
    length: given.whole('length', 1),
    etag,
    lastModified,
    contentType: given.optionalText('contentType', { max: 1024, pattern: FIELD_TEXT }),
    headers: given.texts('headers', HEADERS),
    edges: edges(given),
    ...(given.has('onlyRenews') ? { onlyRenews: given.flag('onlyRenews') } : {}),
  };
}

function link(item: unknown, where: string): NativeCalls['add']['params']['links'][number] {
  const given = new Fields(item, where);
  return {
    url: given.text('url', URL_TEXT),
    fileName: given.optionalText('fileName', FILE_NAME),
    headers: given.texts('headers', HEADERS),
    edges: edges(given),
  };
}

function edges(given: Fields): readonly string[] {
  return given.list('edges', MAX_EDGES, (item, where) => checkText(item, where, URL_TEXT));
}
