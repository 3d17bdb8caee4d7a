/** Runs an upload, to one depot or to several. */

import { basename, resolve, sep } from 'node:path';
import { WEEK_MS } from '@millrace/shared/base/clock';
import { EXIT } from '@millrace/shared/base/errors';
import { safeFileName } from '@millrace/shared/download/request/file-name';
import { formatExnode } from '@millrace/shared/exnode/exnode-text';
import { Stripe } from '@millrace/shared/exnode/stripe';
import { openSource } from '../../../engine/archive/open-source.ts';
import type { UploadSource } from '../../../engine/archive/upload-source.ts';
import {
  type FindObserver,
  type FoundDepots,
  findDepots,
} from '../../../engine/depots/find-depots.ts';
import { KeptHistory } from '../../../engine/upload/spread/kept-history.ts';
import {
  type DepotAccess,
  type Spread,
  type SpreadOptions,
  spreadUpload,
} from '../../../engine/upload/spread-upload.ts';
import { type StripeOptions, stripeUpload } from '../../../engine/upload/stripe-upload.ts';
import { upload } from '../../../engine/upload/upload.ts';
import type { CliContext, CommonOptions, Report } from '../../console/context.ts';
import { edgeOrigin } from '../../console/edge-link.ts';
import { writeResult } from '../../console/result-file.ts';
import { depotsOf } from '../../options/depots.ts';
import { type StripeValue, UsageError } from '../../text/option-values.ts';
import { checkFree } from './free-output.ts';
import { limitOf } from './upload-limit.ts';
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
  readonly retryFor?: number;
  readonly name?: string;
  readonly limit?: number;
  readonly skipLinks?: boolean;
  readonly quiet?: boolean;
  readonly guest?: string;
}

/** Time without progress after which an upload is given up. */
export const RETRY_MS = 120_000;

/**
 * Uploads a file.
 *
 * @returns the exit status: 0, or 3 if it is stored and shards are missing
 * @throws as `upload`
 */
export async function runUpload(
  file: string,
  options: UploadCommandOptions,
  report: Report,
  context: CliContext,
): Promise<number> {
  const path = resolve(context.cwd, file);
  const { edge = [undefined] } = options;
  const depots = await depotsOf(edge.map(edgeOrigin), options.tokenFile, context);
  const source = await openSource(path, context.signal, options.skipLinks);
  try {
    return await runFrom(path, source, depots, options, report, context);
  } finally {
    await source.close();
  }
}

/** Returns the name under which a file, or the tar of a folder, is downloaded. */
export function nameOf(path: string, source: UploadSource, name: string | undefined): string {
  return safeFileName(
    name ?? (source.file === undefined ? `${basename(path)}.tar` : basename(path)),
  );
}

async function runFrom(
  path: string,
  source: UploadSource,
  depots: readonly DepotAccess[],
  options: UploadCommandOptions,
  report: Report,
  context: CliContext,
): Promise<number> {
  const name = nameOf(path, source, options.name);
  checkOutside(path, context.state);
  const view = new UploadView(report, context, name, options.quiet === true);
  view.opened(source);
  const common: CommonUpload = {
    ...{ path, source, name, signal: context.signal, state: context.state },
    limit: limitOf(options.limit, depotsOfUpload(depots.length, options)),
    history: new KeptHistory(context.state),
    forMs: options.for ?? WEEK_MS,
    retryMs: options.retryFor ?? RETRY_MS,
    now: () => performance.now(),
    observe: view,
  };
  try {
    if (options.stripe !== undefined && options.copies !== undefined) {
      throw new UsageError('--stripe stores no copies: leave out --copies');
    }
    const [first] = depots;
    const isPlain = options.stripe === undefined && options.encrypt !== true;
    if (isPlain && first !== undefined && isSingle(depots, options)) {
      view.done(await upload({ ...common, ...first }));
      return EXIT.ok;
    }
    const { depots: all, forget } = await enough(common, depots, options, view);
    const store = storing(common, all, options);
    const output = resolve(context.cwd, options.output ?? `${name}.exnode`);
    // The exNode would be sent with the folder the next time, and it gives all rights.
    checkOutside(path, output);
    await checkFree(output, options.overwrite === true);
    const spread = await store();
    // For its user only: it gives all rights to what is stored.
    const overwrites = options.overwrite === true;
    await writeResult(output, formatExnode(spread.exnode, false), { overwrites, mode: 0o600 });
    await spread.forget();
    await forget();
    view.spread(spread, output);
    return view.lacksShards ? EXIT.network : EXIT.ok;
  } finally {
    view.end();
  }
}

/** Returns the number of depots that get bytes at the same time. */
function depotsOfUpload(
  named: number,
  { stripe, copies = named }: Pick<UploadCommandOptions, 'stripe' | 'copies'>,
): number {
  return stripe === undefined ? Math.max(named, copies) : stripe.data + stripe.parity;
}

/** Checks a file that is written. @throws UsageError if it would be in the folder that is sent */
export function checkOutside(folder: string, written: string): void {
  if (!written.startsWith(folder.endsWith(sep) ? folder : folder + sep)) return;
  throw new UsageError(`${written} would be in the folder that is sent`);
}

type CommonUpload = Omit<SpreadOptions, 'depots' | 'copies' | 'encrypts'> &
  Pick<StripeOptions, 'observe'> & { readonly source: UploadSource };

/** Returns true if one depot stores the file, and no exNode is wanted. */
export function isSingle(
  depots: readonly DepotAccess[],
  { output, copies = 1 }: UploadCommandOptions,
): boolean {
  return depots.length === 1 && output === undefined && copies === 1;
}

/**
 * Finds further depots if the user has named too few.
 *
 * @throws MillraceError `too-few-depots`
 */
async function enough(
  { path, source, forMs, state, history, signal }: CommonUpload,
  named: readonly DepotAccess[],
  { copies = named.length, stripe, encrypt = false }: UploadCommandOptions,
  observe: FindObserver,
): Promise<FoundDepots> {
  const count = stripe === undefined ? copies : stripe.data + stripe.parity;
  const size = source.state.bytes;
  const what = stripe === undefined ? `copies ${copies}` : `stripe ${stripe.data}+${stripe.parity}`;
  return findDepots({
    ...{ named, count, forMs, state, history, signal, observe },
    bytes: stripe === undefined ? size : bytesOfDepot(size, stripe),
    upload: [path, what, `${encrypt}`, ...named.map(({ edge }) => edge)],
  });
}

/** Returns the most bytes that a depot of a striped upload stores. */
function bytesOfDepot(size: number, { data, parity }: StripeValue): number {
  const stripe = new Stripe(size, data, parity);
  return Math.max(
    ...Array.from({ length: stripe.depots }, (_, depot) => stripe.streamBytes(depot)),
  );
}

/** Returns the function that uploads the file in the way that the user wants. */
function storing(
  common: CommonUpload,
  depots: readonly DepotAccess[],
  { copies = depots.length, stripe, encrypt: encrypts = false }: UploadCommandOptions,
): () => Promise<Spread> {
  return stripe === undefined
    ? () => spreadUpload({ ...common, depots, copies, encrypts })
    : () => stripeUpload({ ...common, depots, ...stripe, encrypts });
}
