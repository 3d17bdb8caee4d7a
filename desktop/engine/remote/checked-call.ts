/** Decides what a caller from another machine may do, by the rule of the method. */

import { MillraceError } from '@millrace/shared/base/errors';
import { remoteRule } from '@millrace/shared/bridge/contract/remote-rules';
import type { RemoteCaller } from '../web/callers.ts';
import { checkedParams, checkSettings, type Places } from './places.ts';

/** Methods that change where categories put their files. */
const SETS_FOLDERS: ReadonlySet<string> = new Set([
  'millrace.setSettings',
  'millrace.setCategories',
]);

/**
 * Checks a call.
 *
 * @returns the parameters to use
 * @throws MillraceError `not-remote`
 */
export async function checkedCall(
  name: string,
  params: readonly unknown[],
  { kind }: RemoteCaller,
  places: Places,
): Promise<readonly unknown[]> {
  const rule = remoteRule(name);
  if (rule === 'never') throw new MillraceError('not-remote', name);
  if (rule === 'person' && kind === 'device') {
    throw new MillraceError('not-remote', { code: 'not-here', values: { name } });
  }
  if (SETS_FOLDERS.has(name)) await checkSettings(params[0], places);
  return rule === 'places' ? checkedParams(name, params, places) : params;
}
