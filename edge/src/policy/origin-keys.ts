/**
 * Keys to origins that let only this edge in, from the file of `--origin-keys-file`: keys of S3,
 * fixed header fields, certificates; and the second origin that is asked when the first fails. The
 * file has secrets, so nobody but the edge's user may read it.
 */

import { readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { fileWords } from '@millrace/shared/node/files/file-words';
import { tryRead } from '@millrace/shared/schema/read';
import * as z from 'zod';
import { OriginPattern } from './origin-pattern.ts';

/** Keys for the signatures of S3 (AWS Signature Version 4). */
export interface S3Keys {
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

/** Certificates for TLS to an origin, PEM. */
export interface OriginTls {
  readonly cert?: Buffer | undefined;
  readonly key?: Buffer | undefined;
  /** Authorities that the origin's certificate may come from, in place of the system's. */
  readonly ca?: Buffer | undefined;
}

/** One origin of the file. */
export interface OriginKey {
  /** Scheme, host and port, and perhaps a path. */
  readonly origin: string;
  /** True if clients need no signed link for its files. */
  readonly public: boolean;
  readonly s3: S3Keys | undefined;
  /** Header fields of each request. */
  readonly fields: Readonly<Record<string, string>>;
  readonly tls: OriginTls | undefined;
  /** Where the same files are, asked when this origin fails. */
  readonly fallback: URL | undefined;
}

const MAX_FILE_BYTES = 1024 * 1024;
const MAX_ORIGINS = 1000;
const MAX_FIELDS = 10;
/** Fields that frame a request or that the edge makes itself. */
const NOT_FIXED =
  /^(host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|range|if-.*|via|accept-encoding|x-amz-.*|x-bigfile.*)$/;

const fixedField = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/)
  .transform((name) => name.toLowerCase())
  .refine((name) => !NOT_FIXED.test(name), 'is not a field that can be fixed');
const text = z.string().min(1).max(4096);

const FILE = z.strictObject({
  origins: z
    .array(
      z.strictObject({
        origin: text,
        public: z.boolean().default(false),
        s3: z
          .strictObject({
            region: z.string().regex(/^[a-z0-9-]{1,40}$/i),
            accessKeyId: text.optional(),
            secretAccessKey: text.optional(),
            sessionToken: text.optional(),
          })
          .optional(),
        fields: z
          .record(
            fixedField,
            z
              .string()
              .max(8192)
              .regex(/^[\t\x20-\x7e]+$/),
          )
          .refine((fields) => Object.keys(fields).length <= MAX_FIELDS, 'has too many fields')
          .default({}),
        tls: z
          .strictObject({ cert: text.optional(), key: text.optional(), ca: text.optional() })
          .optional(),
        fallback: text.optional(),
      }),
    )
    .max(MAX_ORIGINS),
});

type Entry = z.infer<typeof FILE>['origins'][number];
type Environment = Readonly<Record<string, string | undefined>>;

export class OriginKeys {
  readonly #entries: readonly { readonly pattern: OriginPattern; readonly key: OriginKey }[];

  constructor(keys: readonly OriginKey[]) {
    this.#entries = keys
      .map((key) => ({ pattern: exactly(new URL(key.origin)), key }))
      .sort((a, b) => b.pattern.narrowness - a.pattern.narrowness);
  }

  /**
   * Reads the file.
   *
   * @param env has the keys of S3 that the file leaves out, under the names that AWS gives them
   * @throws MillraceError `bad-option`: the message has no secret
   */
  static fromFile(path: string, env: Environment = process.env): OriginKeys {
    const value = readPrivate(path);
    const file = tryRead(FILE, value);
    if (!file.success) {
      const [issue] = file.error.issues;
      throw bad(`${issue?.path.join('.') ?? ''}: ${issue?.message}`);
    }
    return new OriginKeys(file.data.origins.map((entry) => readEntry(entry, dirname(path), env)));
  }

  /** The same text for files that let the same clients in; no secret is in it. */
  get text(): string {
    return JSON.stringify(this.#entries.map(({ key }) => [key.origin, key.public]));
  }

  /** Returns what is shown for a URL, however its origin reads the path; undefined: nothing. */
  of(url: URL): OriginKey | undefined {
    return this.#entries.find(({ pattern }) => pattern.covers(url))?.key;
  }

  /** Returns true if the file may be had by a signed link only: in some reading of its path. */
  isPrivate(url: URL): boolean {
    const found = this.#entries.find(({ pattern }) => pattern.mayCover(url));
    if (found === undefined) return false;
    return !found.key.public || this.of(url) !== found.key;
  }

  /** Returns the certificates for connections to a host. */
  tls({ origin }: URL): OriginTls | undefined {
    return this.#entries.find(({ key }) => key.tls !== undefined && key.origin === origin)?.key.tls;
  }
}

/** Makes the pattern of one scheme, host and port: a pattern that names no port stands for all. */
function exactly({ protocol, hostname, port, pathname }: URL): OriginPattern {
  const number = port === '' ? (protocol === 'https:' ? '443' : '80') : port;
  return new OriginPattern(`${protocol}//${hostname}:${number}${pathname}`);
}

function readPrivate(path: string): unknown {
  let content: string;
  try {
    const { mode, size } = statSync(path);
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      throw bad('others may read this file: it must have mode 0600');
    }
    if (size > MAX_FILE_BYTES) throw bad('the file is too large');
    content = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    throw bad(`cannot be read: ${fileWords(error)}`);
  }
  try {
    return JSON.parse(content);
  } catch {
    // The message of the parser shows a part of the file.
    throw bad('it is not JSON');
  }
}

function readEntry(entry: Entry, folder: string, env: Environment): OriginKey {
  const { origin: written, public: isPublic, fields } = entry;
  const url = baseUrl(written);
  const origin = url.pathname === '/' ? url.origin : url.origin + url.pathname;
  const sends = entry.s3 !== undefined || Object.keys(fields).length > 0;
  if (sends && url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw bad(`${origin}: keys go over TLS only, but to this machine`);
  }
  if (entry.tls !== undefined && (url.protocol !== 'https:' || url.pathname !== '/')) {
    throw bad(`${origin}: certificates take an origin of https, without a path`);
  }
  return {
    origin,
    public: isPublic,
    s3: entry.s3 && readS3(entry.s3, origin, env),
    fields,
    tls: entry.tls && readTls(entry.tls, origin, folder),
    fallback: entry.fallback === undefined ? undefined : baseUrl(entry.fallback),
  };
}

function readS3(s3: NonNullable<Entry['s3']>, origin: string, env: Environment): S3Keys {
  if (s3.accessKeyId !== undefined && s3.secretAccessKey !== undefined) {
    const { region, accessKeyId, secretAccessKey, sessionToken } = s3;
    return { region, accessKeyId, secretAccessKey, sessionToken };
  }
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: token } = env;
  if (!id || !secret) {
    throw bad(`${origin}: s3 needs accessKeyId and secretAccessKey, here or in the environment`);
  }
  return { region: s3.region, accessKeyId: id, secretAccessKey: secret, sessionToken: token };
}

function readTls(tls: NonNullable<Entry['tls']>, origin: string, folder: string): OriginTls {
  if ((tls.cert === undefined) !== (tls.key === undefined)) {
    throw bad(`${origin}: cert and key go together`);
  }
  const pem = (path: string | undefined) => {
    if (path === undefined) return undefined;
    try {
      return readFileSync(resolve(folder, path));
    } catch (error) {
      throw bad(`${origin}: cannot be read: ${fileWords(error)}`);
    }
  };
  return { cert: pem(tls.cert), key: pem(tls.key), ca: pem(tls.ca) };
}

/** Reads an origin, with or without a path. @throws MillraceError `bad-option` */
function baseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isBase = url !== undefined && /^https?:$/.test(url.protocol);
  if (!isBase || url.username !== '' || url.search !== '' || url.hash !== '') {
    throw bad('an origin is written like https://files.example.org or https://example.org/path');
  }
  return url;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127\./.test(host);
}

function bad(detail: string): MillraceError {
  return new MillraceError('bad-option', detail);
}
