/**
 * Accounts of people who use the daemon from other machines. They are in a file of the state folder
 * that only its user can read, so that they can be set up while no daemon runs; a running daemon
 * notices changes.
 */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { fileIdentity } from '@millrace/shared/node/files/file-identity';
import { replaceFile } from '@millrace/shared/node/files/replace-file';
import { tryRead } from '@millrace/shared/schema/read';
import * as z from 'zod';
import { isKeptPassword, keptPassword } from './password.ts';

export interface Account {
  readonly name: string;
  /** Text of `keptPassword`. */
  readonly password: string;
}

const MAX_ACCOUNTS = 64;
const MIN_PASSWORD_CHARS = 10;
/** Longest password, characters: a stranger's must not cost much. */
export const MAX_PASSWORD_CHARS = 256;
const NAME = /^[\p{L}\p{N}][\p{L}\p{N}._@ -]{0,62}$/u;

const schema = z.array(
  z.strictObject({
    name: z.string().regex(NAME),
    password: z.string().refine(isKeptPassword),
  }),
);

const fileOf = (state: string) => join(state, 'accounts.json');

/** Reads all accounts. @throws MillraceError `state-unusable` if the file is damaged */
export async function readAccounts(state: string): Promise<Account[]> {
  const path = fileOf(state);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw new MillraceError('state-unusable', path, { cause });
  }
  const accounts = parse(text);
  if (accounts === undefined) throw new MillraceError('state-unusable', `${path} is damaged`);
  return accounts;
}

/**
 * Adds an account, or changes the password of one, which logs its browsers out.
 *
 * @returns true if the account is new
 * @throws MillraceError `bad-option`, `state-unusable`
 */
export async function setAccount(state: string, name: string, password: string): Promise<boolean> {
  if (!NAME.test(name)) {
    throw new MillraceError('bad-option', { code: 'account-name', values: { name } });
  }
  if (password.length < MIN_PASSWORD_CHARS || password.length > MAX_PASSWORD_CHARS) {
    const detail = `a password has ${MIN_PASSWORD_CHARS} to ${MAX_PASSWORD_CHARS} characters`;
    throw new MillraceError('bad-option', detail);
  }
  const before = await readAccounts(state);
  const others = before.filter((account) => !isSame(account.name, name));
  if (others.length >= MAX_ACCOUNTS)
    throw new MillraceError('bad-option', { code: 'too-many-accounts' });
  await write(state, [...others, { name, password: await keptPassword(password) }]);
  return others.length === before.length;
}

/** Removes an account. @throws MillraceError `bad-option` if there is none of that name */
export async function removeAccount(state: string, name: string): Promise<void> {
  const before = await readAccounts(state);
  const left = before.filter((account) => !isSame(account.name, name));
  if (left.length === before.length) {
    throw new MillraceError('bad-option', { code: 'no-account', values: { name } });
  }
  await write(state, left);
}

async function write(state: string, accounts: readonly Account[]): Promise<void> {
  try {
    await replaceFile(fileOf(state), `${JSON.stringify(accounts, undefined, 2)}\n`);
  } catch (cause) {
    throw new MillraceError('state-unusable', fileOf(state), { cause });
  }
}

function parse(text: string): Account[] | undefined {
  try {
    return tryRead(schema, JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Names are the same in any case: people type them on phones. */
function isSame(one: string, other: string): boolean {
  return one.normalize('NFC').toLowerCase() === other.normalize('NFC').toLowerCase();
}

/** The accounts as a running daemon sees them: read again whenever the file has changed. */
export class LiveAccounts {
  readonly #path: string;
  #seen = '';
  #accounts: readonly Account[] = [];

  constructor(state: string) {
    this.#path = fileOf(state);
  }

  /** Looks whether the file has changed. A file that cannot be read lets nobody in. */
  get all(): readonly Account[] {
    const seen = fileIdentity(this.#path);
    if (seen === this.#seen) return this.#accounts;
    this.#seen = seen;
    try {
      this.#accounts = parse(readFileSync(this.#path, 'utf8')) ?? [];
    } catch {
      this.#accounts = [];
    }
    return this.#accounts;
  }

  find(name: string): Account | undefined {
    return this.all.find((account) => isSame(account.name, name));
  }

  /** Returns the account with a key; undefined once it is removed or has another password. */
  byKey(key: string): Account | undefined {
    return this.all.find((account) => keyOf(account) === key);
  }
}

/** Returns a text that stands for an account as long as its password stays the same. */
export function keyOf({ name, password }: Account): string {
  return createHash('sha256').update(`${name}\0${password}`).digest('base64url');
}
