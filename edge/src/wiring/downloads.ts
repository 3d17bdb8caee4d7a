/** The counts of downloads: of this process, or by way of its supervisor, which has all. */

import type { DownloadCount } from '@millrace/shared/cdn/figures/download-table';
import {
  DownloadCounter,
  type Downloads,
  type TakenBytes,
  WRITE_INTERVAL_MS,
} from '../figures/download-counter.ts';
import type { WorkerLink } from '../workers/worker-link.ts';
import type { NodeContext } from './node-context.ts';

/** Interval at which a worker tells its supervisor what clients have taken. */
const TELL_INTERVAL_MS = 1000;
/** Most requests told at once. */
const MAX_TOLD = 500;

/** Opens the counts; undefined without an administration token: nobody could read them. */
export function openDownloads(context: NodeContext): Downloads | undefined {
  const { config, log, link, metrics, account, wallClock, rounds } = context;
  if (config.adminTokenFile === undefined) return undefined;
  if (link !== undefined) return told(link, context);
  const counter = new DownloadCounter({
    dir: config.cacheDir,
    log,
    wallClock,
    onEvent: (state, country) => metrics.downloads.inc({ state, country }),
  });
  account.share('downloads', () => counter.bytes);
  rounds.every(WRITE_INTERVAL_MS, () => void counter.write());
  return {
    record: counter.record,
    read: async (days) => counter.read(days),
    close: () => counter.write(),
  };
}

function told(link: WorkerLink, { rounds }: NodeContext): Downloads {
  let waiting: TakenBytes[] = [];
  const tell = () => {
    if (waiting.length > 0) link.taken(waiting);
    waiting = [];
  };
  rounds.every(TELL_INTERVAL_MS, tell);
  return {
    record(taken) {
      waiting.push(taken);
      if (waiting.length >= MAX_TOLD) tell();
    },
    async read(days) {
      tell();
      return JSON.parse(await link.downloads(days)) as DownloadCount[];
    },
    close: async () => tell(),
  };
}
