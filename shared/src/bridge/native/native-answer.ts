/** Parses messages of the native host to the browser: host and extension may differ in version. */

import { MillraceError } from '../../base/errors.ts';
import { isObject } from '../rpc/json-rpc.ts';
import type {
  NativeCalls,
  NativeDownload,
  NativeMessage,
  NativeOfferState,
  NativeType,
} from './native-api.ts';
import { Fields } from './native-fields.ts';
import { MAX_NATIVE_LINKS, MAX_NATIVE_LIST } from './native-request.ts';

const GID = { max: 16, pattern: /^[0-9a-f]{16}$/ };
const STATUSES = ['active', 'queued', 'waiting', 'paused', 'complete', 'error'] as const;
const NAME = { max: 1024 };
const TEXT = { max: 4096 };
const CODE = { max: 64 };

/** A parser per answer: the compiler checks that each returns the type of its answer. */
const RESULTS: { readonly [T in NativeType]: (given: Fields) => NativeCalls[T]['result'] } = {
  hello: (given) => ({
    version: given.whole('version', 0),
    engine: given.text('engine', NAME),
  }),
  offer: nothing,
  commit: (given) => ({ gid: given.text('gid', GID) }),
  withdraw: nothing,
  discard: nothing,
  offerState,
  list: (given) => ({ downloads: given.list('downloads', MAX_NATIVE_LIST, download) }),
  watch: nothing,
  command: nothing,
  add: (given) => ({
    gids: given.list('gids', MAX_NATIVE_LINKS, (item) =>
      item === null ? null : new Fields({ item }).text('item', GID),
    ),
  }),
  openApp: nothing,
};

/**
 * Reads any message of the host.
 *
 * @returns undefined for an unknown message: a newer host may send more kinds
 */
export function parseNativeMessage(value: unknown): NativeMessage | undefined {
  if (!isObject(value)) return undefined;
  const { id, event, result, error } = value;
  if (event === 'changed' || event === 'ended') return { event };
  if (typeof id !== 'number' || !Number.isSafeInteger(id)) return undefined;
  if (isObject(result)) return { id, result };
  if (!isObject(error)) return undefined;
  // Not by String(), which calls an object's own toString.
  const text = (name: string) => {
    const value = error[name];
    return typeof value === 'string' ? value.slice(0, TEXT.max) : '';
  };
  return { id, error: { code: text('code'), message: text('message'), detail: text('detail') } };
}

/**
 * Reads the result of a request.
 *
 * @throws MillraceError `malformed-response`
 */
export function parseNativeResult<T extends NativeType>(
  type: T,
  value: unknown,
): NativeCalls[T]['result'] {
  try {
    return RESULTS[type](new Fields(value));
  } catch (cause) {
    const detail = cause instanceof MillraceError ? cause.detail : '';
    throw new MillraceError('malformed-response', `of the native host: ${detail}`, { cause });
  }
}

function nothing(): Record<string, never> {
  return {};
}

function offerState(given: Fields): NativeOfferState {
  const state = given.oneOf('state', ['unknown', 'proving', 'proven', 'committed']);
  return state === 'committed' ? { state, gid: given.text('gid', GID) } : { state };
}

function download(item: unknown, where: string): NativeDownload {
  const given = new Fields(item, where);
  const optional = (name: string) => (given.has(name) ? given.amount(name) : undefined);
  const error = given.has('error') ? failure(item, where) : undefined;
  return {
    gid: given.text('gid', GID),
    name: given.text('name', NAME),
    status: given.oneOf('status', STATUSES),
    length: optional('length'),
    storedBytes: given.amount('storedBytes'),
    bytesPerSecond: given.amount('bytesPerSecond'),
    etaMs: optional('etaMs'),
    createdAt: given.amount('createdAt'),
    error,
  };
}

function failure(item: unknown, where: string): NativeDownload['error'] {
  const given = new Fields((item as { error: unknown }).error, `${where}.error`);
  return { code: given.text('code', CODE), message: given.text('message', TEXT) };
}
