/** Reserves space for guests, and uploads as a guest. */

import { resolve } from 'node:path';
import { WEEK_MS } from '@millrace/shared/base/clock';
import { EXIT } from '@millrace/shared/base/errors';
import { formatGuestLink, parseGuestLink } from '@millrace/shared/http/urls/guest-link';
import { openSource } from '../../../engine/archive/open-source.ts';
import { type Allocated, allocate, release } from '../../../engine/upload/depot-client.ts';
import { upload } from '../../../engine/upload/upload.ts';
import type { CliContext, CommonOptions, Report } from '../../console/context.ts';
import { edgeOrigin } from '../../console/edge-link.ts';
import { depotsOf } from '../../options/depots.ts';
import { UsageError } from '../../text/option-values.ts';
import { limitOf } from './upload-limit.ts';
import { checkOutside, nameOf, RETRY_MS, type UploadCommandOptions } from './upload-run.ts';
import { UploadView } from './upload-view.ts';

export interface InviteOptions extends CommonOptions {
  readonly bytes: number;
  readonly for?: number;
  readonly times?: number;
  readonly edge?: string;
  readonly tokenFile?: string;
}

/** Reserves the spaces of a link for guests, all or none. @throws as `allocate` */
export async function runInvite(
  options: InviteOptions,
  report: Report,
  context: CliContext,
): Promise<undefined> {
  const { bytes, times = 1, tokenFile } = options;
  const files = tokenFile === undefined ? undefined : [tokenFile];
  const [depot] = await depotsOf([edgeOrigin(options.edge)], files, context);
  const { edge, token } = depot as { edge: string; token: string };
  const seconds = Math.ceil((options.for ?? WEEK_MS) / 1000);
  const made: Allocated[] = [];
  try {
    for (let i = 0; i < times; i++) {
      made.push(await allocate(edge, token, { bytes, seconds, guest: true }, context.signal));
    }
  } catch (error) {
    // The command's own signal may be the reason.
    const soon = AbortSignal.timeout(5000);
    await Promise.allSettled(made.map(({ manage }) => release(manage, soon)));
    throw error;
  }
  const guest = formatGuestLink(made);
  const [first] = made;
  const spaces = made.map(({ read: file, manage }) => ({ file, manage }));
  report.result({ guest, expires: first?.expires, files: spaces }, () => [
    guest,
    `  expires  ${first?.expires}`,
    ...spaces.flatMap(({ file, manage }) => [`  file     ${file}`, `  manage   ${manage}`]),
  ]);
  return undefined;
}

/**
 * Uploads a file to the space that an owner has reserved.
 *
 * @returns the exit status
 * @throws as `upload`
 */
export async function runGuestUpload(
  file: string,
  link: string,
  options: UploadCommandOptions,
  report: Report,
  context: CliContext,
): Promise<number> {
  const others = ['edge', 'tokenFile', 'copies', 'encrypt', 'stripe', 'output', 'for'] as const;
  const other = others.find((name) => options[name] !== undefined);
  if (other !== undefined) throw new UsageError('--guest names the space: give only the file');
  const spaces = parseGuestLink(link);
  const path = resolve(context.cwd, file);
  // The state folder has keys of other uploads, which nobody wants to send to a stranger.
  checkOutside(path, context.state);
  const source = await openSource(path, context.signal, options.skipLinks);
  const name = nameOf(path, source, options.name);
  const view = new UploadView(report, context, name, options.quiet === true);
  view.opened(source);
  try {
    const uploaded = await upload({
      ...{ path, source, name, signal: context.signal, state: context.state, guest: spaces },
      // The journal's name: one upload of a file for each link.
      ...{ edge: spaces[0]?.write ?? '', token: '', forMs: 0 },
      limit: limitOf(options.limit, 1),
      retryMs: options.retryFor ?? RETRY_MS,
      now: () => performance.now(),
      observe: view,
    });
    view.guest(uploaded);
    return EXIT.ok;
  } finally {
    await source.close();
    view.end();
  }
}
