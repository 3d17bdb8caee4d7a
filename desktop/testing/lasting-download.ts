/** Downloads that neither end nor touch the network, for tests of the RPC. */

import { join } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import type { DownloadFactory, RunContext } from '../engine/queue/contract.ts';

/** Makes a download that runs until it is interrupted, unless its URL names another end. */
export const createLastingDownload: DownloadFactory = Object.assign(
  ({ urls, dir }: { urls: readonly string[]; dir: string }, { signal, onEvent }: RunContext) => {
    const [, , , name = '', end = ''] = (urls[0] as string).split('/');
    const path = join(dir, name);
    return {
      described: new Promise<never>(() => {}),
      async run() {
        onEvent({ kind: 'start', path, length: 5_000_000, resumedBytes: 0, via: 'test' });
        if (end === 'done') return { path, bytes: 10, receivedBytes: 10, resumedBytes: 0 };
        if (end !== '') throw new MillraceError(end as 'origin-gone');
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        throw new MillraceError('interrupted');
      },
      progress: () => ({
        state: 'running' as const,
        path,
        length: 5_000_000,
        storedBytes: 2_000_000,
        receivedBytes: 2_000_000,
        bytesPerSecond: 1000.4,
        sources: [
          {
            label: 'a',
            url: urls[0] as string,
            kind: 'origin' as const,
            state: 'used' as const,
            bytesPerSecond: 1000.4,
            receivedBytes: 2_000_000,
            connections: 3,
            resets: 0,
          },
        ],
        digests: [],
        brought: (cells: number) => Array.from({ length: cells }, () => 0),
        strip: (cells: number) => Array.from({ length: cells }, (_, i) => (i === 1 ? 1 : 0.5)),
      }),
      setLimit() {},
      addUrl() {},
      settle: async () => {},
      prefer() {},
      read: () => Promise.resolve(0),
    };
  },
  { removePartial: async () => {}, removeJournal: async () => {}, movePartial: async () => 0 },
);
