/**
 * Creates the engine's downloads for the daemon. The engine is loaded with the first download: the
 * daemon starts faster without it.
 */

import type { DownloadRequest } from '@millrace/shared/download/request/request';
import type { DownloadFactory, RunContext } from '../queue/contract.ts';
import { ownKeysIn } from '../signatures/own-keys.ts';

const left = () => import('../partial/left-partial.ts');

/** Returns the factory. @param state state folder, with the user's keys */
export const engineDownload = (state: string): DownloadFactory =>
  Object.assign(
    async (request: DownloadRequest, ran: RunContext) => {
      const context = { ...ran, ownKeys: ownKeysIn(state) };
      const { Download } = await import('../download/download.ts');
      if (request.exnode === undefined) return new Download(request, context);
      const { openKept } = await import('../stored/read-exnode.ts');
      return new Download(request, context, openKept(request.exnode));
    },
    {
      removePartial: async (path: string, onlyOf?: readonly string[]) =>
        (await left()).removePartial(path, onlyOf),
      removeJournal: async (path: string, onlyOf: readonly string[]) =>
        (await left()).removeJournal(path, onlyOf),
      movePartial: async (path: string, to: string, onlyOf?: readonly string[]) =>
        (await left()).movePartial(path, to, onlyOf),
    },
  );
