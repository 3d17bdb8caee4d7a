/** The depots that a command stores something in, and the user's tokens for them. */

import { MillraceError } from '@millrace/shared/base/errors';
import { MAX_PLACES } from '@millrace/shared/exnode/places';
import type { DepotAccess } from '../../engine/upload/spread-upload.ts';
import type { CliContext } from '../console/context.ts';
import { readToken } from '../console/edge-link.ts';
import { UsageError } from '../text/option-values.ts';

const TOKEN_VARIABLE = 'MILLRACE_DEPOT_TOKEN';

/**
 * Lists depots with their tokens.
 *
 * @param edges addresses of the depots
 * @param tokenFiles one for all, or one for each depot, in order
 * @throws MillraceError `owner-token-required`; UsageError for too many depots or tokens
 */
export function depotsOf(
  edges: readonly string[],
  tokenFiles: readonly string[] = [],
  context: CliContext,
): Promise<DepotAccess[]> {
  const own = [...new Set(edges)];
  if (own.length > MAX_PLACES) throw new UsageError(`name at most ${MAX_PLACES} depots (--edge)`);
  if (tokenFiles.length > 1 && tokenFiles.length !== own.length) {
    throw new UsageError('give one --token-file for all depots, or one for each --edge, in order');
  }
  return Promise.all(
    own.map(async (edge, i) => {
      const file = tokenFiles[i] ?? tokenFiles[0];
      const token = await readToken(context, file, TOKEN_VARIABLE);
      if (token !== undefined) return { edge, token };
      throw new MillraceError('owner-token-required', 'name a file with it: --token-file');
    }),
  );
}
