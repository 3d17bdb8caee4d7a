/**
 * Asks the places of an exNode for their replicas: whether they are there, and whether their bytes
 * are right. Several depots are asked at a time, each for one replica after the other. The requests
 * go as those of downloads: through the proxy, and not into the user's own network.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { REQUEST_DEFAULTS } from '@millrace/shared/download/request/request';
import type { Exnode } from '@millrace/shared/exnode/exnode';
import { type Finding, type Findings, findingOf } from '@millrace/shared/exnode/findings';
import { depotOf } from '@millrace/shared/exnode/layout';
import { manageLinkIn } from '@millrace/shared/exnode/manage-link';
import { allReplicas, type Listed } from '@millrace/shared/exnode/replicas';
import { MAX_PROBLEM_BYTES } from '@millrace/shared/http/answers/problem';
import { DEPOTS_AT_A_TIME, patiently } from '../net/depot-pace.ts';
import { Connections } from '../sources/connections.ts';
import type { DownloadSource } from '../sources/download-source.ts';
import { readSmallFile } from '../sources/small-file.ts';
import { inParallel } from '../sync/in-parallel.ts';
import { readStored } from '../upload/depot-client.ts';

/** Longest time for a depot's answer about an allocation. */
const STATE_MS: Millis = 30_000;

export interface AskOptions {
  readonly exnode: Exnode;
  readonly signal: AbortSignal;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
}

/** Asks for one replica. @throws MillraceError */
export type Ask = (listed: Listed, source: DownloadSource) => Promise<Finding>;

/**
 * Asks for all replicas. A depot that is silent is not asked for its further ones.
 *
 * @throws MillraceError `interrupted`
 */
export async function askReplicas(options: AskOptions, ask: Ask): Promise<Findings> {
  const { exnode, signal, wallClock } = options;
  const listed = allReplicas(exnode);
  const findings = new Map<Listed['replica'], Finding>();
  const byDepot = Map.groupBy(listed, ({ replica }) => depotOf(replica));
  const urls = [...byDepot.keys()].map((depot) => `${depot}/`);
  if (urls.length === 0) return findings;
  const connections = await Connections.open({ ...REQUEST_DEFAULTS, urls, listed: urls, dir: '' });
  // Digests say what the bytes are worth, so they may come by any way.
  connections.trustDigest();
  try {
    await inParallel([...byDepot.values()], { atATime: DEPOTS_AT_A_TIME }, async (own) => {
      let silent: Finding | undefined;
      for (const one of own) {
        const { replica } = one;
        const source = connections.source('mirror', replica.read, Math.random);
        const finding =
          silent === undefined
            ? await patiently(() => ask(one, source), signal).catch((thrown: unknown) => {
                if (signal.aborted) throw new MillraceError('interrupted');
                return findingOf(asMillraceError(thrown), replica, wallClock());
              })
            : findingOf(silent.error as MillraceError, replica, wallClock());
        if (finding.state === 'silent') silent = finding;
        findings.set(replica, await withDamage(finding, one, connections, signal));
      }
    });
    return findings;
  } finally {
    await connections.close();
  }
}

/** Asks the depot itself about a replica that it does not give, if its owner asks. */
async function withDamage(
  finding: Finding,
  { replica }: Listed,
  connections: Connections,
  signal: AbortSignal,
): Promise<Finding> {
  const { manage } = replica;
  if (finding.state !== 'failing' || manage === undefined) return finding;
  const link = manageLinkIn(manage)?.url;
  if (link === undefined || new URL(link).origin !== depotOf(replica)) return finding;
  // Also goes as a download does: a stranger may have made the exNode.
  const source = connections.source('mirror', link, Math.random);
  const isDamaged = await readSmallFile(source, MAX_PROBLEM_BYTES, signal, STATE_MS)
    .then(({ body }) => readStored(body.toString()).damaged)
    .catch(() => false);
  return isDamaged ? { ...finding, state: 'damaged' } : finding;
}
