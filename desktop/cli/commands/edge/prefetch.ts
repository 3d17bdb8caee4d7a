/** `millrace edge prefetch`, `prefetches` and `stop`. */

import { setTimeout as sleep } from 'node:timers/promises';
import {
  ERRORS,
  EXIT,
  isErrorCode,
  isMillraceError,
  MillraceError,
} from '@millrace/shared/base/errors';
import { parseRate } from '@millrace/shared/base/unit-options';
import type { Command } from 'commander';
import { action, type CliContext, type Report } from '../../console/context.ts';
import { EdgeLink, type EdgeOptions, edgeOptions } from '../../console/edge-link.ts';
import { MovingLine } from '../../text/moving-line.ts';
import { reading, sha256Value } from '../../text/option-values.ts';
import { type Prefetch, prefetchLine, prefetchTable } from '../../view/edge-text.ts';

interface PrefetchOptions extends EdgeOptions {
  readonly detach?: boolean;
  readonly rate?: number;
  readonly sha256?: string;
}

const POLL_MS = 250;
/** Longest wait, ms, for an absent edge whose prefetches outlive a restart. */
const AWAY_MS = 2 * 60_000;

export function addPrefetchCommands(parent: Command, context: CliContext): void {
  const prefetch = parent
    .command('prefetch')
    .description('fetch a file into the caches ahead of its clients')
    .argument('<url>', 'file')
    .option('--detach', 'do not wait for the end')
    .option('--rate <rate>', 'bytes per second at most, such as 10MiB/s', reading(parseRate))
    .option('--sha256 <digest>', 'SHA-256 that the file must have, hexadecimal', sha256Value);
  edgeOptions(prefetch).action(
    action<PrefetchOptions, [string]>(context, async (report, options, url) => {
      const edge = await EdgeLink.open(context, options);
      const { rate, sha256 } = options;
      let state = await edge.ask<Prefetch>('POST', 'prefetch', { url, rate, sha256 });
      if (options.detach !== true) state = await follow(context, edge, state, report);
      report.result(state, () => [`${state.id} ${state.url}: ${prefetchLine(state)}`]);
      return exitStatus(state);
    }),
  );
  edgeOptions(parent.command('prefetches').description('list prefetches')).action(
    action<EdgeOptions, []>(context, async (report, options) => {
      const edge = await EdgeLink.open(context, options);
      const all = await edge.ask<{ prefetches: Prefetch[] }>('GET', 'prefetch');
      report.result(all, () => prefetchTable(all.prefetches, report.width));
      return undefined;
    }),
  );
  const stop = parent
    .command('stop')
    .description('stop a prefetch, or remove an ended one from the list')
    .argument('<prefetch>', 'its id');
  edgeOptions(stop).action(
    action<EdgeOptions, [string]>(context, async (report, options, id) => {
      const edge = await EdgeLink.open(context, options);
      const state = await edge.ask<Prefetch>('DELETE', `prefetch/${encodeURIComponent(id)}`);
      report.result(state, () => [`${state.id} ${state.url}: ${prefetchLine(state)}`]);
      return undefined;
    }),
  );
}

/** Shows the progress of a prefetch until its end. An interrupt ends only the display. */
async function follow(
  context: CliContext,
  edge: EdgeLink,
  begun: Prefetch,
  report: Report,
): Promise<Prefetch> {
  const live = new MovingLine(context.stdout, !report.json && report.width !== undefined);
  let seenAt = Date.now();
  for (let state: Prefetch | undefined = begun; ; ) {
    const line = state === undefined ? `${edge.url} does not answer` : prefetchLine(state);
    live.draw(line);
    if (state !== undefined && state.state !== 'waiting' && state.state !== 'running') {
      live.clear();
      return state;
    }
    await sleep(POLL_MS, undefined, { signal: context.signal }).catch(() => {
      throw new MillraceError('interrupted', `the edge continues; "edge stop ${begun.id}" ends it`);
    });
    state = await progress(edge, begun, () => Date.now() - seenAt < AWAY_MS);
    if (state !== undefined) seenAt = Date.now();
  }
}

/**
 * Returns the state of a prefetch; undefined while the edge is away, for example restarting.
 *
 * @param mayBeAway whether an absent edge may still come back; if not, the error is thrown
 */
async function progress(
  edge: EdgeLink,
  { id, outlivesRestart }: Prefetch,
  mayBeAway: () => boolean,
): Promise<Prefetch | undefined> {
  try {
    return await edge.ask<Prefetch>('GET', `prefetch/${id}`);
  } catch (error) {
    const isAway = isMillraceError(error, 'origin-unreachable') && outlivesRestart === true;
    if (isAway && mayBeAway()) return undefined;
    throw error;
  }
}

function exitStatus({ state, code }: Prefetch): number {
  if (state === 'stopped') return EXIT.interrupted;
  if (state !== 'failed') return EXIT.ok;
  return isErrorCode(code) ? ERRORS[code].exit : EXIT.unexpected;
}
