/** Runs an upload, to one depot or to several. */

import { access, constants } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { WEEK_MS } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { safeFileName } from '@millrace/shared/download/request/file-name';
import { formatExnode } from '@millrace/shared/exnode/exnode-text';
import { fileError } from '../../../engine/files/file-error.ts';
import { exists } from '../../../engine/files/file-steps.ts';
import {
  type DepotAccess,
  type Spread,
  type SpreadOptions,
  spreadUpload,
} from '../../../engine/upload/spread-upload.ts';
import { stripeUpload } from '../../../engine/upload/stripe-upload.ts';
import { upload } from '../../../engine/upload/upload.ts';
import type { CliContext, CommonOptions, Report } from '../../console/context.ts';
import { edgeOrigin } from '../../console/edge-link.ts';
import { writeResult } from '../../console/result-file.ts';
import { depotsOf } from '../../options/depots.ts';
import { type StripeValue, UsageError } from '../../text/option-values.ts';
import { UploadView } from './upload-view.ts';

export interface UploadCommandOptions extends CommonOptions {
  readonly edge?: readonly string[];
  readonly tokenFile?: readonly string[];
  readonly copies?: number;
  readonly encrypt?: boolean;
  readonly stripe?: StripeValue;
  readonly output?: string;
  readonly overwrite?: boolean;
  readonly for?: number;
  readonly name?: string;
  readonly quiet?: boolean;
}

/** Time without progress after which an upload is given up. */
const RETRY_MS = 120_000;

/** Uploads a file. @returns undefined: the exit status is 0. @throws as `upload` */
export async function runUpload(
  file: string,
  options: UploadCommandOptions,
  report: Report,
  context: CliContext,
): Promise<undefined> {
  const path = resolve(context.cwd, file);
  const { edge = [undefined] } = options;
  const depots = await depotsOf(edge.map(edgeOrigin), options.tokenFile, context);
  const name = safeFileName(options.name ?? basename(path));
  const view = new UploadView(report, context, name, options.quiet === true);
  const common: Omit<SpreadOptions, 'depots' | 'copies' | 'encrypts'> = {
    ...{ path, name, signal: context.signal, state: context.state },
    forMs: options.for ?? WEEK_MS,
    retryMs: RETRY_MS,
    now: () => performance.now(),
    observe: view,
  };
  try {
    if (options.stripe !== undefined && options.copies !== undefined) {
      throw new UsageError('--stripe stores no copies: leave out --copies');
    }
    if (options.stripe !== undefined && options.encrypt === true) {
      throw new UsageError('--stripe cannot encrypt yet: leave out one of the two');
    }
    const [first] = depots;
    const isPlain = options.stripe === undefined && options.encrypt !== true;
    if (isPlain && first !== undefined && isSingle(depots, options)) {
      view.done(await upload({ ...common, ...first }));
      return undefined;
    }
    const store = storing(common, depots, options);
    const output = resolve(context.cwd, options.output ?? `${name}.exnode`);
    await checkFree(output, options.overwrite === true);
    const spread = await store();
    // For its user only: it gives all rights to what is stored.
    const overwrites = options.overwrite === true;
    await writeResult(output, formatExnode(spread.exnode, false), { overwrites, mode: 0o600 });
    await spread.forget();
    view.spread(spread, output);
    return undefined;
  } finally {
    view.end();
  }
}

function isSingle(depots: readonly DepotAccess[], { output }: UploadCommandOptions): boolean {
  return depots.length === 1 && output === undefined;
}

/**
 * Returns the function that uploads the file in the way that the user wants.
 *
 * @throws UsageError if there are too few depots for it
 */
function storing(
  common: Omit<SpreadOptions, 'depots' | 'copies' | 'encrypts'>,
  depots: readonly DepotAccess[],
  { copies = depots.length, stripe, encrypt: encrypts = false }: UploadCommandOptions,
): () => Promise<Spread> {
  if (stripe === undefined) {
    if (copies <= depots.length) return () => spreadUpload({ ...common, depots, copies, encrypts });
    throw new UsageError('there are more --copies than depots (--edge)');
  }
  const { data, parity } = stripe;
  if (data + parity <= depots.length) return () => stripeUpload({ ...common, depots, ...stripe });
  const needed = `--stripe ${data}+${parity} takes ${data + parity} depots (--edge)`;
  throw new UsageError(
    `${needed}, and there ${depots.length === 1 ? 'is 1' : `are ${depots.length}`}`,
  );
}

/**
 * Checks before the upload that the exNode can be written.
 *
 * @throws MillraceError `file-exists`; `file-not-writable` for a folder that is missing or closed
 */
async function checkFree(path: string, overwrites: boolean): Promise<void> {
  try {
    if ((await exists(path)) && !overwrites) throw new MillraceError('file-exists', path);
    await access(dirname(path), constants.W_OK);
  } catch (error) {
    throw fileError(error, path);
  }
}
