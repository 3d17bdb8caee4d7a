/** Asks an origin again for a file that is known: for a change, or for all of it. */

import { MillraceError } from '@millrace/shared/base/errors';
import { isStreamTag } from '@millrace/shared/cdn/chunks/version-tag';
import { contentCoding, judgeWholeAsSent } from '@millrace/shared/http/answers/range-contract';
import { ifChanged, ifSame } from '@millrace/shared/http/fields/conditions';
import { matchVersion, readValidators } from '@millrace/shared/http/fields/validators';
import type { HttpResponse } from '@millrace/shared/node/http-response';
import { answerError } from '../egress/answer-error.ts';
import type { ChunkRequest } from '../files/chunk-request.ts';
import type { FileVersion } from '../files/file-version.ts';
import type { StreamsOptions } from './stream-types.ts';

/**
 * Asks for a version again.
 *
 * @param isSure true if the answer must prove by a validator that it is the same version
 * @throws MillraceError; `version-changed` if it is another one
 */
export async function askAgain(
  { client: origins, records, now }: Pick<StreamsOptions, 'client' | 'records' | 'now'>,
  { version, grant, client }: Pick<ChunkRequest, 'version' | 'grant' | 'client'>,
  signal: AbortSignal,
  isSure = false,
): Promise<HttpResponse> {
  const url = new URL(version.url);
  records.pause(url).check(now());
  const headers = ifSame(version.validators);
  const { scope } = version;
  const response = await origins.open({ url, scope, grant, client, headers, signal });
  try {
    if (response.status === 412) throw new MillraceError('version-changed');
    if (response.status !== 200) throw answerError(response, records.pause(response.url), now());
    judgeWholeAsSent(response.headers);
    const coding = contentCoding(response.headers);
    if (coding !== version.fields['content-encoding']) {
      throw new MillraceError('version-changed', `its coding is now ${coding ?? 'none'}`);
    }
    const match = matchVersion(version.validators, readValidators(response.headers));
    if (match === 'different' || (isSure && match !== 'same')) {
      throw new MillraceError('version-changed', 'another ETag or date');
    }
    return response;
  } catch (error) {
    response.discard();
    throw error;
  }
}

/**
 * Asks for a file only if it has changed. A weak tag may confirm a version that is one answer, as a
 * whole (RFC 9111 4.3.1): no other bytes are joined to it.
 */
export function unlessChanged({ tag, validators }: FileVersion): Record<string, string> {
  const { etag, weakEtag } = validators;
  const isWeak = isStreamTag(tag) && etag === undefined && weakEtag !== undefined;
  return isWeak ? { 'if-none-match': weakEtag } : ifChanged(validators);
}
