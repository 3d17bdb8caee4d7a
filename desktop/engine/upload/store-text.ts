/** Stores a small text in a depot. */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { type Allocated, appendRest, extend, release } from './depot-client.ts';
import { FIRST_LEASE_MS, reserve } from './reserve.ts';

/** Longest wait for the release of what is of no use: its short lease ends by itself. */
const RELEASE_MS: Millis = 5000;

export interface TextOptions {
  /** Base URL of the depot. */
  readonly edge: string;
  readonly token: string;
  /** Name and media type that the text gets. */
  readonly name: string;
  readonly type: string;
  readonly text: string;
  /** Time from now for which the text is stored. */
  readonly forMs: Millis;
  readonly signal: AbortSignal;
}

/** Stores a text. @throws MillraceError as `allocate` */
export async function storeText(options: TextOptions): Promise<Allocated> {
  const { edge, token, name, type, text, forMs, signal } = options;
  const buffer = Buffer.from(text);
  const bytes = buffer.length;
  const allocated = await reserve({ edge, token, bytes, name, type, forMs, signal });
  const { write, manage } = allocated;
  try {
    const pieces = (async function* () {
      yield buffer;
    })();
    const { complete } = await appendRest(write, 0, { bytes, pieces }, () => {}, signal);
    if (!complete) throw new MillraceError('malformed-response', 'the depot has not stored all');
    if (forMs <= FIRST_LEASE_MS) return allocated;
    return { ...allocated, expires: await extend(manage, Math.ceil(forMs / 1000), signal) };
  } catch (error) {
    await release(manage, AbortSignal.timeout(RELEASE_MS)).catch(() => {});
    throw error;
  }
}
