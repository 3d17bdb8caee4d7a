/** Asks the depots of an exNode for its replicas, and shows how far that is. */

import { RateMeter } from '@millrace/shared/download/figures/rate-meter';
import { eventsIn } from '@millrace/shared/exnode/depot-history';
import type { Exnode } from '@millrace/shared/exnode/exnode';
import type { Findings } from '@millrace/shared/exnode/findings';
import { allReplicas, replicaBytes } from '@millrace/shared/exnode/replicas';
import { checkReplicas } from '../../../engine/stored/check-replicas.ts';
import { verifyReplicas } from '../../../engine/stored/verify-replicas.ts';
import { KeptHistory } from '../../../engine/upload/spread/kept-history.ts';
import type { CliContext, Report } from '../../console/context.ts';
import { MovingLine } from '../../text/moving-line.ts';
import { printable } from '../../text/printable.ts';
import { plainLine } from '../../text/progress-line.ts';

/** Intervals between updates of the progress. */
const TERMINAL_INTERVAL_MS = 200;
const PLAIN_INTERVAL_MS = 5000;

/**
 * Asks for all replicas, and remembers which depots have kept theirs.
 *
 * @param reads true to read all of them, which shows whether their bytes are right
 * @throws MillraceError `interrupted`
 */
export async function findReplicas(
  exnode: Exnode,
  reads: boolean,
  report: Report,
  context: CliContext,
): Promise<Findings> {
  const findings = await askAll(exnode, reads, report, context);
  const history = new KeptHistory(context.state);
  for (const [depot, event] of eventsIn(findings)) history.note(depot, event);
  await history.save();
  return findings;
}

async function askAll(
  exnode: Exnode,
  reads: boolean,
  report: Report,
  { signal, stderr }: CliContext,
): Promise<Findings> {
  const asked = { exnode, signal, wallClock: () => Date.now() };
  if (!reads) return checkReplicas(asked);
  const isTerminal = stderr === process.stderr && process.stderr.isTTY === true;
  const line = new MovingLine(stderr, isTerminal && !report.json);
  const length = allReplicas(exnode).reduce((sum, listed) => sum + replicaBytes(listed), 0);
  const rate = new RateMeter(performance.now());
  let storedBytes = 0;
  const show = () => {
    const bytesPerSecond = rate.bytesPerSecond(performance.now());
    const left = Math.max(0, length - storedBytes);
    const etaMs = bytesPerSecond > 0 ? (left / bytesPerSecond) * 1000 : undefined;
    const text = plainLine(printable(exnode.name), {
      length,
      storedBytes,
      bytesPerSecond,
      etaMs,
      strip: () => [],
    });
    if (line.isMoving) line.draw(text);
    else line.say(text);
  };
  const intervalMs = line.isMoving ? TERMINAL_INTERVAL_MS : PLAIN_INTERVAL_MS;
  const timer = report.json ? undefined : setInterval(show, intervalMs);
  try {
    return await verifyReplicas({
      ...asked,
      onBytes(bytes) {
        rate.add(bytes);
        storedBytes += bytes;
      },
    });
  } finally {
    clearInterval(timer);
    line.clear();
  }
}
