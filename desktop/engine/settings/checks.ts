/** Checks of users' input: values by a schema, and addresses. */

import { MillraceError } from '@millrace/shared/base/errors';
import { MAX_URL_CHARS } from '@millrace/shared/base/limits';
import { isFetchable } from '@millrace/shared/download/request/source-kinds';
import { tryRead } from '@millrace/shared/schema/read';
import type * as z from 'zod';
import { withoutLogin } from '../net/credentials.ts';

/** Checks a value by a schema. @throws MillraceError `bad-option` that names the fault */
export function check<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = tryRead(schema, value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const where = issue?.path.length ? `${issue.path.join('.')}: ` : '';
  throw new MillraceError('bad-option', `${where}${issue?.message ?? 'not understood'}`);
}

/**
 * Parses a URL that can be downloaded, and drops its fragment.
 *
 * @throws MillraceError `bad-url`
 */
export function downloadUrl(text: string): URL {
  try {
    const parsed = new URL(text.trim());
    parsed.hash = '';
    if (isFetchable(parsed.href) && parsed.hostname !== '' && parsed.href.length <= MAX_URL_CHARS)
      return parsed;
  } catch {
    // Reported below.
  }
  throw new MillraceError('bad-url', withoutLogin(text).slice(0, 200));
}

export function edgeUrl(text: string): string {
  return downloadUrl(text.includes('://') ? text : `http://${text}`).href;
}
