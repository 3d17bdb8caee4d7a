/** The thread that hashes a file (`hash-worker.ts`). */

import { Worker } from 'node:worker_threads';
import { MillraceError } from '@millrace/shared/base/errors';
import { AskedThread } from '@millrace/shared/node/threads/asked-thread';
import type { HashRequest } from './hash-worker.ts';

/** Answers with the result of each request, hexadecimal; none for requests without a result. */
export type HashThread = AskedThread<HashRequest, readonly string[]>;

/** Returns a thread; its requests fail with `file-not-writable` if a file cannot be read. */
export function hashThread(): HashThread {
  const make = () =>
    new Worker(new URL('./hash-worker.ts', import.meta.url), {
      // The thread holds one buffer and a few numbers.
      resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 },
    });
  return new AskedThread(make, (why) => new MillraceError('file-not-writable', why));
}
