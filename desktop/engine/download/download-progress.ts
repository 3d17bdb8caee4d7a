/** Assembles the progress of a download from its parts on request. */

import { broughtBy, giversOf, storedShares } from '@millrace/shared/download/figures/cell-map';
import type { SourceSet } from '../sources/source-set.ts';
import type { DownloadReport } from './download-report.ts';
import type { DownloadProgress } from './download-types.ts';
import type { SaidDigest } from './download-way.ts';
import type { TargetFile } from './target-file.ts';

export interface ProgressParts {
  readonly report: DownloadReport;
  readonly target: TargetFile;
  /** Length of the file in bytes; undefined: not known yet, or not stated by any source. */
  readonly length: number | undefined;
  /** Undefined before the first attempt. */
  readonly sources: SourceSet | undefined;
  readonly said: readonly SaidDigest[];
}

export function progressOf(parts: ProgressParts): DownloadProgress {
  const { report, target, length, sources, said } = parts;
  const { path, partial } = target;
  // Before the path is settled, the stored bytes may belong to another download.
  const stored = path === undefined ? undefined : partial?.stored;
  const storedBytes = stored?.bytes ?? 0;
  const { state, receivedBytes, bytesPerSecond: rate } = report;
  const left = length === undefined ? undefined : length - storedBytes;
  return {
    state,
    path,
    length,
    storedBytes,
    receivedBytes,
    bytesPerSecond: rate,
    etaMs: left === undefined || rate < 1 ? undefined : (left / rate) * 1000,
    sources: sources?.status() ?? [],
    digests: said,
    strip: (cells) => storedShares(stored?.ranges ?? [], length, cells),
    brought: (cells) => broughtBy(givers(parts), length, cells),
  };
}

function givers({ sources, target, length }: ProgressParts) {
  const noted = (sources?.sources ?? []).map(({ given, health, receivedBytes }) => ({
    ranges: given.ranges,
    receivedBytes,
    suspect: health.quarantine !== undefined,
  }));
  const whole = length === undefined ? [] : [{ start: 0, end: length }];
  return giversOf(noted, target.partial?.stored.ranges ?? whole);
}
