/** A download whose course tests decide. */

import { join } from 'node:path';
import { type ErrorCode, MillraceError } from '@millrace/shared/base/errors';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import type { Run, RunContext, RunProgress, RunResult } from '../engine/queue/contract.ts';

/** A download that follows the test's orders. */
export class ScriptedRun implements Run {
  readonly request: DownloadRequest;
  readonly context: RunContext;
  readonly described = new Promise<never>(() => {});
  readonly limits: (number | undefined)[] = [];
  readonly urls: string[] = [];
  readonly #end = Promise.withResolvers<RunResult>();
  storedBytes = 0;
  /** One entry for each call of `settle`: whether the completion was recorded. */
  readonly settlings: boolean[] = [];
  /** True if the run has a partial file that it has not reported. */
  hasFile = false;
  /** True if the run takes its time to end when it is stopped. */
  lingers = false;

  readonly #settled: () => Promise<void>;

  /** Makes a run. @param settled lets everything happen that follows from the end of the run */
  constructor(request: DownloadRequest, context: RunContext, settled: () => Promise<void>) {
    this.#settled = settled;
    this.request = request;
    this.context = context;
    context.signal.addEventListener('abort', () => {
      if (!this.lingers) this.fail('interrupted');
    });
  }

  get path(): string {
    return join(this.request.dir, this.request.file ?? 'x.bin');
  }

  begin(): void {
    this.context.onEvent({
      kind: 'start',
      path: this.path,
      length: 100,
      resumedBytes: 0,
      via: 'x',
    });
  }

  complete(more: Partial<RunResult> = {}): Promise<void> {
    const bytes = 100;
    this.#end.resolve({ path: this.path, bytes, receivedBytes: bytes, resumedBytes: 0, ...more });
    return this.#settled();
  }

  fail(code: ErrorCode, detail = '', retryAfterMs?: number): Promise<void> {
    this.#end.reject(new MillraceError(code, detail, { retryAfterMs }));
    return this.#settled();
  }

  run(): Promise<RunResult> {
    return this.#end.promise;
  }

  async settle(written: boolean): Promise<void> {
    this.settlings.push(written);
  }

  progress(): RunProgress {
    const { storedBytes } = this;
    return {
      state: 'running',
      path: this.hasFile ? this.path : undefined,
      storedBytes,
      receivedBytes: storedBytes,
      bytesPerSecond: 0,
      sources: [],
      digests: [],
      strip: () => [],
      brought: () => [],
    };
  }

  setLimit(bytesPerSecond: number | undefined): void {
    this.limits.push(bytesPerSecond);
  }

  addUrl(url: string): void {
    this.urls.push(url);
  }

  prefer(): void {}

  read(): Promise<number> {
    return Promise.resolve(0);
  }
}
