/** `millrace edges`: which edges there are, how far they are, and how much they can take. */

import { asMillraceError, EXIT, isMillraceError } from '@millrace/shared/base/errors';
import { sleep } from '@millrace/shared/node/sleep';
import { Argument, Command } from 'commander';
import type { EdgeRow } from '../../../engine/edges/edge-table.ts';
import { localEdge } from '../../../local/local-edge.ts';
import { action, type CliContext, type CommonOptions } from '../../console/context.ts';
import { withDaemon } from '../../console/daemon-link.ts';
import { edgeValues } from '../../options/request-options.ts';
import { UsageError, urlValue } from '../../text/option-values.ts';
import { edgeTable } from '../../view/edges-text.ts';

interface EdgesOptions extends CommonOptions {
  readonly house?: boolean;
}

/** Time for edges of the local network to answer twice, in milliseconds: packets get lost. */
const LOOK_MS = 2000;

export function edgesCommand(context: CliContext): Command {
  return new Command('edges')
    .description(
      'list the edges of the network that an edge belongs to, with their round trips from here, load, and room for more transfers',
    )
    .summary('list edges with round trip, load and room')
    .addArgument(
      new Argument(
        '[edge]',
        'an edge of the network (environment: MILLRACE_EDGE; default: the edges of the settings)',
      ).argParser((text: string) => urlValue(text, ['http', 'https'])),
    )
    .option('--house', 'list the edges that announce themselves on the local network instead')
    .option('--json', 'print one JSON document')
    .action(
      action<EdgesOptions, [string | undefined]>(context, async (report, { house }, asked) => {
        if (house === true) {
          if (asked !== undefined) throw new UsageError('--house looks for edges: name none');
          const found = await edgesOfHouse(context.signal);
          if (found.length === 0) report.note('No edge has announced itself on the local network.');
          report.result({ edges: found }, () =>
            found.length === 0 ? [] : edgeTable(found, report.width),
          );
          return EXIT.ok;
        }
        const urls = asked === undefined ? await edgesOfSettings(context) : [asked];
        // Imported here: the command's help needs no engine.
        const { networkOf } = await import('../../../engine/edges/edge-table.ts');
        const answers = await Promise.allSettled(urls.map((url) => networkOf(url, context.signal)));
        const rows = answers.flatMap((answer) =>
          answer.status === 'fulfilled' ? answer.value : [],
        );
        const failures = answers.flatMap((answer) =>
          answer.status === 'rejected' ? [asMillraceError(answer.reason)] : [],
        );
        const [failure] = failures;
        if (failure !== undefined && (rows.length === 0 || failure.code === 'interrupted')) {
          throw failure;
        }
        for (const { message } of failures) report.note(`${message}.`);
        const byAddress = [...new Map(rows.map((row) => [new URL(row.url).origin, row])).values()];
        const near = byAddress.toSorted((a, b) => (a.rttMs ?? Infinity) - (b.rttMs ?? Infinity));
        report.result({ edges: near }, () => edgeTable(near, report.width));
        return failures.length === 0 ? EXIT.ok : EXIT.network;
      }),
    );
}

/** Looks for edges on the local network, for as long as all of them need to answer. */
async function edgesOfHouse(signal: AbortSignal): Promise<EdgeRow[]> {
  // Imported here: the command's help needs no engine.
  const { HouseEdges } = await import('../../../engine/edges/house-edges.ts');
  const house = new HouseEdges();
  try {
    await sleep(LOOK_MS, signal);
    return house.edges.map(({ name, url, rttMs }) => ({
      ...{ name, url, rttMs, load: undefined, room: undefined },
      state: 'ready' as const,
    }));
  } finally {
    house.close();
  }
}

/**
 * Returns the edges that downloads would use: those of the environment, otherwise those that are
 * set up and switched on.
 *
 * @throws UsageError if there are none
 */
async function edgesOfSettings({ state }: CliContext): Promise<string[]> {
  const named = edgesOfEnvironment();
  if (named.length > 0) return named;
  const urls = await withDaemon({ state }, (daemon) => daemon.call('millrace.getSettings'))
    .then(({ edges }) => edges.flatMap(({ url, enabled }) => (enabled ? [url] : [])))
    .catch(async (error: unknown) => {
      if (!isMillraceError(error, 'daemon-not-running')) throw error;
      const local = await localEdge();
      return local === undefined ? [] : [local];
    });
  if (urls.length > 0) return urls;
  throw new UsageError('no edge is set up: name one, as in "millrace edges https://edge.example"');
}

/** @throws UsageError if the environment's list cannot be read */
function edgesOfEnvironment(): string[] {
  try {
    return edgeValues(process.env.MILLRACE_EDGE ?? '');
  } catch {
    throw new UsageError('MILLRACE_EDGE is not a list of URLs');
  }
}
