/** The form for adding downloads: from the typed text to the requests to the daemon. */

import { readRate } from '@millrace/shared/base/units';
import type { AddRequest, LinkOptions } from '@millrace/shared/bridge/rpc/adding-api';
import type { AfterChoice } from '@millrace/shared/bridge/rpc/settings-api';
import { isAbsolutePath } from '../first-run.ts';
import { DEFAULT_PROXY, isBadProxy, type ProxyPick, proxyOf } from './proxy-pick.ts';

export type Start = 'now' | 'next' | 'paused' | 'at';

export interface AddForm {
  /** Empty: chosen by category. */
  readonly dir: string;
  /** Empty: named by the server. */
  readonly file: string;
  readonly edges: boolean;
  readonly checksum: string;
  readonly sidecars: boolean;
  /** Path of an older version of the file; empty: none. */
  readonly older: string;
  /** Lines of `Name: value`. */
  readonly headers: string;
  readonly limit: string;
  readonly proxy: ProxyPick;
  readonly start: Start;
  /** Value of an input of type datetime-local. */
  readonly startAt: string;
  /** Actions after the download; undefined: those of the settings. */
  readonly after: AfterChoice | undefined;
}

export const FIRST_FORM: AddForm = {
  dir: '',
  file: '',
  edges: true,
  checksum: '',
  sidecars: false,
  older: '',
  headers: '',
  limit: '',
  proxy: DEFAULT_PROXY,
  start: 'now',
  startAt: '',
  after: undefined,
};

const ALGORITHMS: Readonly<Record<number, string>> = {
  32: 'md5',
  40: 'sha1',
  56: 'sha224',
  64: 'sha256',
  96: 'sha384',
  128: 'sha512',
};

/** Reads a digest; its length tells its algorithm. @returns undefined if it is not a digest */
export function readChecksum(text: string): { algorithm: string; hex: string } | undefined {
  const hex = text
    .trim()
    .replace(/^[a-z0-9-]+\s*[=:]\s*/i, '')
    .toLowerCase();
  const algorithm = ALGORITHMS[hex.length];
  if (algorithm === undefined || !/^[0-9a-f]+$/.test(hex)) return undefined;
  return { algorithm, hex };
}

const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*(.*)$/;

/** Reads header fields. @returns the fields, or the number of the first invalid line, from 1 */
export function readHeaders(text: string): Record<string, string> | number {
  const fields: Record<string, string> = {};
  for (const [i, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const match = FIELD.exec(line.trim());
    if (match === null) return i + 1;
    fields[match[1] as string] = match[2] as string;
  }
  return fields;
}

/**
 * Reads a speed as people write it, also with a decimal comma.
 *
 * @returns bytes/s; null for an empty text; undefined for an invalid one
 */
export function readLimit(text: string): number | null | undefined {
  return text.trim() === '' ? null : readRate(text.replace(',', '.'));
}

export type AddProblem = 'checksum' | 'older' | 'headers' | 'limit' | 'proxy' | 'startAt';

/** Finds the mistakes in the form. @param single true if one file is asked for */
export function problemsOf(form: AddForm, single: boolean): ReadonlySet<AddProblem> {
  const problems = new Set<AddProblem>();
  const checksum = form.checksum.trim();
  if (single && checksum !== '' && readChecksum(checksum) === undefined) problems.add('checksum');
  const older = form.older.trim();
  if (single && older !== '' && !isAbsolutePath(older)) problems.add('older');
  if (typeof readHeaders(form.headers) === 'number') problems.add('headers');
  if (readLimit(form.limit) === undefined) problems.add('limit');
  if (isBadProxy(form.proxy)) problems.add('proxy');
  if (form.start === 'at' && Number.isNaN(Date.parse(form.startAt))) problems.add('startAt');
  return problems;
}

/** Makes the part of the request that all downloads of the form share. */
export function commonRequest(form: AddForm): Omit<AddRequest, 'urls' | 'file' | 'digests'> {
  const headers = readHeaders(form.headers);
  const limit = readLimit(form.limit);
  const proxy = proxyOf(form.proxy);
  return {
    useEdges: form.edges,
    ...(form.dir.trim() === '' ? {} : { dir: form.dir.trim() }),
    ...(form.sidecars ? { sidecars: true } : {}),
    ...(typeof headers === 'number' || Object.keys(headers).length === 0 ? {} : { headers }),
    ...(typeof limit === 'number' ? { limit } : {}),
    ...(proxy === undefined ? {} : { proxy }),
    ...(form.after === undefined ? {} : { after: form.after }),
    ...(form.start === 'paused' ? { paused: true } : {}),
    ...(form.start === 'next' ? { position: 0 } : {}),
    ...(form.start === 'at' ? { startAt: Date.parse(form.startAt) } : {}),
  };
}

/** A link, and what a command of curl says of it. */
export interface AskedLink {
  readonly url: string;
  readonly options?: LinkOptions | undefined;
  /** Folder that the daemon would choose. */
  readonly dir?: string;
  /** Folder below a page that the file is in; empty or undefined: none. */
  readonly folder?: string | undefined;
}

/** Makes one request for each link, or one for all of them together. What is typed comes first. */
export function requestsOf(
  form: AddForm,
  links: readonly AskedLink[],
  together: boolean,
): AddRequest[] {
  const urls = links.map(({ url }) => url);
  const own = new Map(links.map((link) => [link.url, link]));
  return typedRequests(form, urls, together).map((plain) => {
    const { options, dir, folder = '' } = own.get(plain.urls[0] as string) ?? {};
    const typed = folder === '' ? plain : { ...plain, dir: `${plain.dir ?? dir}/${folder}` };
    if (options === undefined) return typed;
    return { ...options, ...typed, headers: { ...options.headers, ...lowerCase(typed.headers) } };
  });
}

function lowerCase(fields: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([k, v]) => [k.toLowerCase(), v]));
}

function typedRequests(form: AddForm, urls: readonly string[], together: boolean): AddRequest[] {
  const groups = together ? [urls] : urls.map((url) => [url]);
  const common = commonRequest(form);
  if (groups.length !== 1) {
    // Each request goes before the one added earlier, so the last link is added first.
    const list = form.start === 'next' ? [...groups].reverse() : groups;
    return list.map((group) => ({ ...common, urls: group }));
  }
  const digest = readChecksum(form.checksum);
  const older = form.older.trim();
  return [
    {
      ...common,
      urls: groups[0] as readonly string[],
      ...(form.file.trim() === '' ? {} : { file: form.file.trim() }),
      ...(digest === undefined ? {} : { digests: [digest] }),
      ...(older === '' ? {} : { older: { path: older } }),
    },
  ];
}
