/**
 * Resolvers of this machine's user: a file in the state folder, so that `get` knows them without a
 * daemon. RPC methods change them for callers on this machine only.
 */

import { isAbsolute } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Resolver } from '@millrace/shared/bridge/rpc/settings-api';
import { isLinkPattern } from '@millrace/shared/download/resolve/link-pattern';
import {
  MAX_PATTERNS,
  MAX_RESOLVER_SECONDS,
  MAX_RESOLVERS,
  RESOLVER_SECONDS,
} from '@millrace/shared/download/resolve/resolved';
import { replaceFile } from '@millrace/shared/node/files/replace-file';
import { tryRead } from '@millrace/shared/schema/read';
import * as z from 'zod';
import { makeStateFolder } from '../../local/daemon-address.ts';
import { readOwnJson, zodFault } from '../files/own-json.ts';
import { resolverFile } from './resolver-file.ts';

const MAX_ARGS = 64;
const MAX_ARG_CHARS = 4096;

const resolver = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$/, 'is not a name of letters and digits'),
  /** Program and arguments. No shell reads them. */
  args: z
    .array(
      z
        .string()
        .max(MAX_ARG_CHARS)
        .refine((text) => !text.includes('\0'), 'must not have NUL in it'),
    )
    .min(1)
    .max(MAX_ARGS)
    .refine(
      ([program = '']) => isAbsolute(program) || /^[^/\\]+$/.test(program),
      'must begin with an absolute path, or with the name of a program on PATH',
    ),
  /** Links that it is for; none: only those for which the user names it. */
  patterns: z
    .array(z.string().refine(isLinkPattern, 'is not a pattern of links'))
    .max(MAX_PATTERNS),
  /** Longest time that it may run. */
  seconds: z.number().int().min(1).max(MAX_RESOLVER_SECONDS).default(RESOLVER_SECONDS),
  /** Form of its output: our own, or yt-dlp's. */
  prints: z.enum(['answer', 'yt-dlp']).default('answer'),
  /** True: it is not asked, also not by its name. */
  off: z.literal(true).optional(),
});

const file = z.strictObject({ resolvers: z.array(resolver).max(MAX_RESOLVERS) });

/**
 * Reads the resolvers.
 *
 * @param state state folder
 * @throws MillraceError `state-unusable` if the file cannot be used, or others may write to it
 */
export async function readResolvers(state: string): Promise<readonly Resolver[]> {
  return (await readOwnJson(resolverFile(state), file))?.resolvers ?? [];
}

/**
 * Adds a resolver, or replaces the one of its name.
 *
 * @throws MillraceError `bad-option`, `state-unusable`
 */
export async function setResolver(state: string, given: Resolver): Promise<void> {
  const read = tryRead(resolver, given);
  if (!read.success) throw new MillraceError('bad-option', zodFault(read.error));
  const others = (await readResolvers(state)).filter(({ name }) => name !== given.name);
  if (others.length >= MAX_RESOLVERS) {
    throw new MillraceError('bad-option', {
      code: 'resolvers-at-most',
      values: { most: MAX_RESOLVERS },
    });
  }
  await write(state, [...others, read.data]);
}

/**
 * Replaces all resolvers. The first one that is for a link is asked.
 *
 * @throws MillraceError `bad-option`, `state-unusable`
 */
export async function setResolvers(state: string, given: readonly unknown[]): Promise<void> {
  if (given.length > MAX_RESOLVERS) {
    throw new MillraceError('bad-option', {
      code: 'resolvers-at-most',
      values: { most: MAX_RESOLVERS },
    });
  }
  const resolvers = given.map((one) => {
    const read = tryRead(resolver, one);
    if (!read.success) throw new MillraceError('bad-option', zodFault(read.error));
    return read.data;
  });
  if (new Set(resolvers.map(({ name }) => name)).size < resolvers.length) {
    throw new MillraceError('bad-option', { code: 'resolvers-same-name' });
  }
  // A file that cannot be read may have resolvers that nobody sees here.
  await readResolvers(state);
  await write(state, resolvers);
}

/** Removes a resolver. @throws MillraceError `bad-option` if there is none of that name */
export async function removeResolver(state: string, gone: string): Promise<void> {
  const all = await readResolvers(state);
  const others = all.filter(({ name }) => name !== gone);
  if (others.length === all.length) throw new MillraceError('bad-option', noResolver(gone));
  await write(state, others);
}

/** Says that there is no resolver of a name. */
export function noResolver(name: string): string {
  return `there is no resolver "${name.slice(0, 40)}" on this machine; "millrace resolvers" lists them`;
}

async function write(state: string, resolvers: readonly Resolver[]): Promise<void> {
  await makeStateFolder(state);
  await replaceFile(resolverFile(state), `${JSON.stringify({ resolvers }, null, 2)}\n`);
}
