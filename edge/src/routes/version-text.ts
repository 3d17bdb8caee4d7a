/** The text that tells another node the current version of a file. */

import type { IncomingMessage } from 'node:http';
import type { Millis } from '@millrace/shared/base/clock';
import type { Resolution } from '../agent/origin-version.ts';
import { wholePointer } from '../agent/whole-pointer.ts';
import { MAX_NAMES } from '../files/path.ts';
import { writeTunnel, writeVersion } from '../peers/version-message.ts';
import type { OriginPolicy } from '../policy/policy.ts';
import { follows, isStreamed, readsStreams } from './read-inside.ts';

/**
 * Writes the message about a version.
 *
 * @param wallClock Unix milliseconds
 * @throws MillraceError of the policy, or of a stream; the signal's reason
 */
export async function versionText(
  policy: OriginPolicy,
  req: IncomingMessage,
  resolution: Resolution,
  wallClock: () => Millis,
  signal: AbortSignal,
): Promise<string> {
  if (resolution.kind === 'stream' && follows(req)) {
    const { stream, pointer } = resolution;
    const length = Math.max(0, pointer.version.length);
    policy.checkFile({ ...pointer, version: { ...pointer.version, length } });
    // The other node comes for the first bytes in a moment.
    stream.follow(true).leave();
    return writeVersion(pointer, wallClock(), stream.sources.slice(0, MAX_NAMES));
  }
  const pointer = await wholePointer(resolution, signal);
  if (pointer !== undefined) policy.checkFile(pointer);
  const isUsable = pointer !== undefined && (!isStreamed(pointer) || readsStreams(req));
  if (isUsable) return writeVersion(pointer, wallClock());
  return writeTunnel(resolution.kind === 'tunnel' ? resolution.reason : 'no-ranges');
}
