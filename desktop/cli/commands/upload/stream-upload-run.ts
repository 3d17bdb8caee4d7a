/** Uploads standard input. */

import type { Readable } from 'node:stream';
import { WEEK_MS } from '@millrace/shared/base/clock';
import { EXIT } from '@millrace/shared/base/errors';
import { safeFileName } from '@millrace/shared/download/request/file-name';
import { uploadStream } from '../../../engine/upload/streamed/stream-upload.ts';
import type { CliContext, Report } from '../../console/context.ts';
import { edgeOrigin } from '../../console/edge-link.ts';
import { depotsOf } from '../../options/depots.ts';
import { UsageError } from '../../text/option-values.ts';
import { limitOf } from './upload-limit.ts';
import { RETRY_MS, type UploadCommandOptions } from './upload-run.ts';
import { UploadView } from './upload-view.ts';

/** Options that need the file twice, or its length before its first byte. */
const UNFIT = {
  ...{ copies: '--copies', stripe: '--stripe', encrypt: '--encrypt' },
  ...{ output: '--output', guest: '--guest' },
} as const;

/**
 * Uploads standard input to one depot.
 *
 * @returns the exit status
 * @throws UsageError; others as `uploadStream`
 */
export async function runStreamUpload(
  options: UploadCommandOptions,
  report: Report,
  context: CliContext,
): Promise<number> {
  const { name, edge = [undefined] } = options;
  if (name === undefined) throw new UsageError('standard input has no name: give it with --name');
  for (const [option, shown] of Object.entries(UNFIT)) {
    if (options[option as keyof typeof UNFIT] === undefined) continue;
    throw new UsageError(
      `${shown} needs a file, which can be read twice: store standard input in a file first`,
    );
  }
  const depots = await depotsOf(edge.map(edgeOrigin), options.tokenFile, context);
  const [depot] = depots;
  if (depot === undefined || depots.length > 1) {
    throw new UsageError('standard input goes to one depot: give one --edge');
  }
  const limit = limitOf(options.limit, 1);
  const view = new UploadView(report, context, safeFileName(name), options.quiet === true);
  try {
    view.begun(undefined, 0);
    const uploaded = await uploadStream({
      ...{ ...depot, name: safeFileName(name), limit, signal: context.signal, observe: view },
      input: context.stdin,
      forMs: options.for ?? WEEK_MS,
      retryMs: options.retryFor ?? RETRY_MS,
      now: () => performance.now(),
    });
    view.done(uploaded);
    return EXIT.ok;
  } finally {
    view.end();
    // The program that writes it may go on for long: the process would wait for it.
    (context.stdin as Partial<Readable>).destroy?.();
  }
}
