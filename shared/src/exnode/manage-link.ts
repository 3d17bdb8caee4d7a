/** The capabilities by which the owner of an exNode manages what is stored. */

import { MillraceError } from '../base/errors.ts';
import { hideSecrets, parseDepotTarget } from '../http/urls/depot-link.ts';
import { parseOriginUrl } from '../http/urls/prefixed-url.ts';
import type { ExnodeReplica } from './exnode.ts';

/**
 * Returns the address that manages a replica's allocation. An exNode may come from anybody, and what
 * is sent there deletes: so nothing but a depot's own kind of address is taken.
 *
 * @returns undefined if the exNode names none
 * @throws MillraceError `bad-exnode` if it is not one, or that of another allocation
 */
export function manageLinkOf({ read, manage }: ExnodeReplica): string | undefined {
  if (manage === undefined) return undefined;
  const managed = manageLinkIn(manage);
  const target = parseDepotTarget(new URL(read).pathname);
  const isOther = target?.kind === 'read' && target.id !== managed?.id;
  if (managed !== undefined && !isOther) return managed.url;
  const what = isOther ? 'manages another file' : 'is not one of a depot';
  throw new MillraceError('bad-exnode', `the address ${hideSecrets(manage)} ${what}`);
}

/**
 * Returns the address that writes a replica's allocation.
 *
 * @returns undefined if the exNode names none, or one that is not a depot's for this allocation
 */
export function writeLinkOf({ read, write }: ExnodeReplica): string | undefined {
  if (write === undefined || !URL.canParse(write)) return undefined;
  const { pathname, search, href } = new URL(write);
  const target = parseDepotTarget(`${pathname}${search}`);
  const own = parseDepotTarget(new URL(read).pathname);
  const isOwn = target?.kind === 'write' && own?.kind === 'read' && target.id === own.id;
  return isOwn ? href : undefined;
}

/** Reads an address that manages an allocation. @returns undefined for all other texts */
export function manageLinkIn(text: string): { url: string; id: string } | undefined {
  let url: URL;
  try {
    url = parseOriginUrl(text);
  } catch {
    return undefined;
  }
  const target = parseDepotTarget(`${url.pathname}${url.search}`);
  if (target?.kind !== 'manage' || url.search !== '') return undefined;
  return { url: url.href, id: target.id };
}
