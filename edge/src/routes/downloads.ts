/** Counts of downloads for publishers: as JSON and as CSV, for whoever has the token. */

import { MillraceError } from '@millrace/shared/base/errors';
import {
  type CountPart,
  countsCsv,
  type DownloadCount,
  MAX_DAYS,
  summedBy,
} from '@millrace/shared/cdn/figures/download-table';
import type { FastifyInstance } from 'fastify';
import type { Config } from '../config/config.ts';
import type { Downloads } from '../figures/download-counter.ts';
import { isAdmin } from './admin.ts';
import { answerWithProblems } from './admin-api.ts';

export interface DownloadRoutesOptions {
  readonly config: Config;
  /** Undefined without an administration token. */
  readonly downloads: Pick<Downloads, 'read'> | undefined;
}

const DEFAULT_DAYS = 30;
/** Most rows of each list on the dashboard. */
const SHOWN = 25;
export const CSV_TYPE = 'text/csv; charset=utf-8; header=present';

export async function downloadRoutes(
  server: FastifyInstance,
  { config, downloads }: DownloadRoutesOptions,
): Promise<void> {
  answerWithProblems(server);
  server.addHook('onRequest', async (request) => {
    if (!isAdmin(request, config.adminTokenFile)) throw new MillraceError('token-required');
  });
  server.get('/-/downloads', async ({ query }) => {
    const days = readDays(query);
    return { days, downloads: (await downloads?.read(days)) ?? [] };
  });
  server.get('/-/downloads.csv', async ({ query }, reply) => {
    const rows = (await downloads?.read(readDays(query))) ?? [];
    return reply.type(CSV_TYPE).send(countsCsv(rows));
  });
}

/** Reads the number of days that a request asks for. @throws MillraceError `bad-option` */
export function readDays(query: unknown): number {
  const { days } = query as Record<string, unknown>;
  if (days === undefined) return DEFAULT_DAYS;
  const number = typeof days === 'string' && /^\d{1,3}$/.test(days) ? Number(days) : 0;
  if (number >= 1 && number <= MAX_DAYS) return number;
  throw new MillraceError('bad-option', `days must be a number from 1 to ${MAX_DAYS}`);
}

/** Makes the summary that the dashboard shows. */
export function downloadSummary(rows: readonly DownloadCount[]) {
  const most = (part: CountPart) => summedBy(rows, part).sort((a, b) => b.begun - a.begun);
  const total = { begun: 0, completed: 0, bytes: 0 };
  for (const { begun, completed, bytes } of rows) {
    total.begun += begun;
    total.completed += completed;
    total.bytes += bytes;
  }
  const files = most('file');
  return {
    total,
    days: summedBy(rows, 'day'),
    files: files.slice(0, SHOWN),
    moreFiles: Math.max(0, files.length - SHOWN),
    countries: most('country').slice(0, SHOWN),
  };
}
