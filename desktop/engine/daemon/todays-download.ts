/**
 * The contract of downloads on top of the engine as it is: what it cannot do yet is left out. To be
 * deleted when the engine's `Download` takes a request and a context itself.
 */

import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { strongest } from '@millrace/shared/download/digest';
import type { DownloadRequest } from '@millrace/shared/download/request';
import { Download } from '../download.ts';
import { edgeHeaders } from '../local-edge.ts';
import { DATA_SUFFIX, JOURNAL_SUFFIX } from '../partial-file.ts';
import type { DownloadFactory, Run, RunContext, RunProgress, RunResult } from './contract.ts';

const NO_END_MS = 365 * 24 * 3600_000;

class TodaysDownload implements Run {
  readonly #request: DownloadRequest;
  readonly #context: RunContext;
  readonly #described = Promise.withResolvers<{
    path: string;
    length: number | undefined;
    contentType: string | undefined;
  }>();
  #download: Download | undefined;
  #path: string | undefined;
  #resumedBytes = 0;

  constructor(request: DownloadRequest, context: RunContext) {
    this.#request = request;
    this.#context = context;
  }

  get described() {
    return this.#described.promise;
  }

  async run(): Promise<RunResult> {
    const r = this.#request;
    const edges = await Promise.all(
      r.edges.map(async (url) => ({ url, headers: await edgeHeaders(url) })),
    );
    const { signal, random, onEvent, rateLimits } = this.#context;
    this.#download = new Download({
      ...r,
      url: r.urls[0] as string,
      edges,
      file: r.file === undefined ? undefined : join(r.dir, r.file),
      checksum: strongest(r.digests),
      limit: r.limit,
      retryForMs: r.retryForMs ?? NO_END_MS,
      signal,
      random,
      ...(rateLimits === undefined ? {} : { rateLimits }),
      onEvent: (event) => {
        if (event.kind === 'start') {
          this.#path = event.path;
          this.#resumedBytes = event.resumedBytes;
          const { path, length } = event;
          this.#described.resolve({ path, length, contentType: undefined });
        }
        onEvent(event);
      },
    });
    try {
      return await this.#download.run();
    } catch (error) {
      this.#described.reject(error);
      throw error;
    }
  }

  progress(): RunProgress {
    const p = this.#download?.progress();
    const stored = p?.storedBytes ?? 0;
    const [url] = this.#request.urls as [string];
    return {
      state: this.#path === undefined ? 'starting' : 'running',
      path: this.#path,
      length: p?.length,
      storedBytes: stored,
      receivedBytes: Math.max(0, stored - this.#resumedBytes),
      bytesPerSecond: p?.bytesPerSecond ?? 0,
      etaMs: p?.etaMs,
      sources: [
        {
          label: new URL(url).host,
          url,
          kind: 'origin',
          state: this.#path === undefined ? 'trying' : 'used',
          bytesPerSecond: p?.bytesPerSecond ?? 0,
          receivedBytes: Math.max(0, stored - this.#resumedBytes),
          connections: this.#path === undefined ? 0 : 1,
        },
      ],
      strip: (cells) => p?.strip(cells) ?? [],
    };
  }

  setLimit(): void {}
  addUrl(): void {}
  prefer(): void {}

  read(): Promise<number> {
    return Promise.reject(new MillraceError('internal', 'reading is not possible yet'));
  }
}

export const todaysDownload: DownloadFactory = Object.assign(
  (request: DownloadRequest, context: RunContext) => new TodaysDownload(request, context),
  {
    async removePartial(path: string) {
      for (const suffix of [DATA_SUFFIX, JOURNAL_SUFFIX]) {
        await rm(join(dirname(path), basename(path) + suffix), { force: true });
      }
    },
  },
);
