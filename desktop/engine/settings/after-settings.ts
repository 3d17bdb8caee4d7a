/** Settings of what happens after downloads: their checks, and changes of them. */

import { isAbsolute } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { afterParts } from '@millrace/shared/bridge/contract/after-rows';
import type { AfterChoice } from '@millrace/shared/download/after/after';
import { signingKey } from '@millrace/shared/download/after/webhook';
import * as z from 'zod';

/** The stored form. */
export const afterSchema = z.object({
  rules: afterParts.rules.catch([]),
  commands: afterParts.commands.catch([]),
  webhook: afterParts.webhook.optional().catch(undefined),
});

export type AfterSettings = Readonly<z.output<typeof afterSchema>>;

export const NO_AFTER: AfterSettings = { rules: [], commands: [] };

/** A change: members that are left out stay as they are. */
export interface AfterChange {
  readonly rules?: AfterSettings['rules'] | undefined;
  readonly commands?: AfterSettings['commands'] | undefined;
  readonly webhook?:
    | { readonly url: string; readonly secret?: string | undefined }
    | null
    | undefined;
}

/**
 * Returns the settings after a change.
 *
 * @param categories names of the categories
 * @throws MillraceError `bad-option`
 */
export function changedAfter(
  now: AfterSettings,
  change: AfterChange,
  categories: readonly string[],
): AfterSettings {
  const { rules = now.rules, commands = now.commands } = change;
  const webhook = change.webhook === undefined ? now.webhook : readWebhook(now, change.webhook);
  const next = { rules, commands, webhook };
  checkUnique(
    commands.map(({ name }) => name),
    'commands',
  );
  checkUnique(
    rules.map(({ category }) => category ?? ''),
    'rules',
  );
  for (const rule of rules) {
    if (rule.category !== undefined && change.rules && !categories.includes(rule.category)) {
      fail(`rules: there is no category "${rule.category}"`);
    }
    checkChoice(rule, next);
  }
  return next;
}

/** Throws `bad-option` if a choice names a command or a webhook that is not set up, or a bad folder. */
export function checkChoice({ move, run, webhook }: AfterChoice, settings: AfterSettings): void {
  if (run !== undefined && !settings.commands.some(({ name }) => name === run)) {
    fail(`after: there is no command "${run}"`);
  }
  if (webhook === true && settings.webhook === undefined) fail('after: no webhook is set up');
  if (move !== undefined && !isAbsolute(move) && move.split(/[/\\]/).includes('..')) {
    fail(`after: "${move}" leads out of the download folder`);
  }
}

function readWebhook(now: AfterSettings, given: AfterChange['webhook']): AfterSettings['webhook'] {
  if (given === null || given === undefined) return undefined;
  const url = URL.parse(given.url);
  if (url === null || !/^https?:$/.test(url.protocol))
    fail('webhook: an http or https URL is expected');
  if (url.username !== '' || url.password !== '')
    fail('webhook: a URL without a log-in is expected');
  url.hash = '';
  // A secret is not sent to another address just because the address was changed.
  const kept = now.webhook?.url === url.href ? now.webhook.secret : undefined;
  const secret = given.secret ?? kept ?? fail('webhook: a secret is needed');
  if (signingKey(secret) === undefined) {
    fail('webhook: the secret is "whsec_" and 24 to 64 bytes in base64');
  }
  return { url: url.href, secret };
}

function checkUnique(names: readonly string[], what: string): void {
  if (new Set(names).size < names.length) fail(`${what}: two are for the same`);
}

function fail(detail: string): never {
  throw new MillraceError('bad-option', detail);
}
