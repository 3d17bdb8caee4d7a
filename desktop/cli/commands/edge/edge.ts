/** `millrace edge`: runs an edge; administers one, and the network that it is a node of. */

import { EXIT } from '@millrace/shared/base/errors';
import { parseBytes, parseDuration } from '@millrace/shared/base/unit-options';
import { formatBytes } from '@millrace/shared/base/units';
import { Command } from 'commander';
import { action, type CliContext, type Report } from '../../console/context.ts';
import { EdgeLink, type EdgeOptions, edgeOptions } from '../../console/edge-link.ts';
import { reading, UsageError } from '../../text/option-values.ts';
import {
  type EdgeStatus,
  leaseText,
  type NodeResult,
  nodeLines,
  type Pin,
  type Pins,
  type Prefetch,
  pinTable,
  statusLines,
} from '../../view/edge-text.ts';
import { addAllocations } from './allocations.ts';
import { addDownloads } from './downloads.ts';
import { edgeOwnerCommand } from './owner.ts';
import { addPrefetchCommands } from './prefetch.ts';
import { edgeSignCommand } from './sign.ts';
import { edgeStartCommand } from './start.ts';

interface PurgeOptions extends EdgeOptions {
  readonly prefix?: boolean;
  readonly label?: boolean;
  readonly etag?: string;
  readonly all?: boolean;
  readonly network?: boolean;
}

interface PinOptions extends EdgeOptions {
  readonly for: number;
  readonly bytes?: number;
  readonly prefetch?: boolean;
  readonly network?: boolean;
}

interface Passed {
  readonly nodes?: readonly NodeResult[];
}
type Pinned = Passed & {
  readonly pin: Pin;
  readonly capability?: string;
  readonly prefetch?: Prefetch;
};

const NETWORK = ['--network', 'do it at all nodes of the network'] as const;

export function edgeCommand(context: CliContext): Command {
  const command = new Command('edge')
    .description('run an edge; administer one: purge, prefetch, pin, drain; sign links for it')
    .summary('run or administer an edge, sign links for it');
  command.addCommand(edgeStartCommand(context), { isDefault: true });
  addPurge(command, context);
  addPrefetchCommands(command, context);
  addPins(command, context);
  addDrain(command, context);
  addDownloads(command, context);
  command.addCommand(edgeSignCommand(context));
  command.addCommand(edgeOwnerCommand(context));
  addAllocations(command, context);
  edgeOptions(command.command('status').description('show the status of an edge')).action(
    action<EdgeOptions, []>(context, async (report, options) => {
      const edge = await EdgeLink.open(context, options);
      const status = await edge.ask<EdgeStatus>('GET', 'status');
      report.result(status, () => statusLines(edge.url, status));
      return undefined;
    }),
  );
  return command;
}

function addPurge(parent: Command, context: CliContext): void {
  const command = parent
    .command('purge')
    .description('purge files from the cache')
    .argument('[url...]', 'files; with --prefix folders and hosts, with --label labels')
    .option('--prefix', 'purge all files below each URL, which ends with a slash')
    .option(
      '--label',
      'purge all files whose origin gave them the label (Surrogate-Key, Cache-Tag)',
    )
    .option(
      '--etag <etag>',
      'only the version with this ETag, written as clients see it, with the quotes',
    )
    .option('--all', 'everything')
    .option(...NETWORK);
  edgeOptions(command).action(
    action<PurgeOptions, [string[]]>(context, async (report, options, urls) => {
      const edge = await EdgeLink.open(context, options);
      const answers: (Passed & { readonly id: string })[] = [];
      for (const body of purgeBodies(options, urls))
        answers.push(await edge.ask('POST', 'purge', body));
      const nodes = answers.flatMap((answer) => answer.nodes ?? []);
      report.result({ purges: answers }, () => [
        options.all === true ? 'Purged everything' : `Purged ${urls.join(' ')}`,
        ...nodeLines(nodes),
      ]);
      return passedStatus(report, nodes, 'They learn of it when they come back.');
    }),
  );
}

/** Returns the bodies of the purge requests. @throws UsageError for contradictory options */
function purgeBodies(
  { prefix, label, etag, all, network }: PurgeOptions,
  urls: readonly string[],
): object[] {
  if (
    all === true &&
    (urls.length > 0 || prefix === true || label === true || etag !== undefined)
  ) {
    throw new UsageError('--all purges everything: give no URL with it');
  }
  if (prefix === true && etag !== undefined) {
    throw new UsageError('--etag is for one file, --prefix for many');
  }
  if (label === true && (prefix === true || etag !== undefined)) {
    throw new UsageError('--label names files by their labels: --prefix and --etag are for URLs');
  }
  if (all === true) return [{ all, network }];
  if (urls.length === 0) throw new UsageError('name what is to be purged, or --all');
  if (label === true) return urls.map((url) => ({ label: url, network }));
  return urls.map((url) =>
    prefix === true ? { prefix: url, network } : { url, version: etag, network },
  );
}

function addPins(parent: Command, context: CliContext): void {
  const pin = parent
    .command('pin')
    .description('keep a file in the cache for a time, within the quota; prints a capability')
    .argument('<url>', 'file')
    .requiredOption('--for <time>', 'time, such as 12h or 7d', reading(parseDuration))
    .option(
      '--bytes <size>',
      'size that the file may grow to (default: its present size)',
      reading(parseBytes),
    )
    .option('--prefetch', 'fetch the missing chunks now')
    .option(...NETWORK);
  edgeOptions(pin).action(
    action<PinOptions, [string]>(context, async (report, options, url) => {
      const edge = await EdgeLink.open(context, options);
      const { bytes, prefetch, network } = options;
      const body = { url, seconds: options.for / 1000, bytes, prefetch, network };
      const answer = await edge.ask<Pinned>('POST', 'pins', body);
      report.result(answer, () => [
        `Pinned ${answer.pin.url}, ${formatBytes(answer.pin.bytes)}, ${endText(answer.pin)}`,
        `  id          ${answer.pin.id}`,
        `  capability  ${answer.capability} (shown this once: it extends and releases the pin)`,
        ...(answer.prefetch === undefined ? [] : [`  prefetch    ${answer.prefetch.id}`]),
        ...nodeLines(answer.nodes),
      ]);
      return passedStatus(report, answer.nodes, 'They pin it when they come back, or have room.');
    }),
  );
  edgeOptions(parent.command('pins').description('list the pinned files')).action(
    action<EdgeOptions, []>(context, async (report, options) => {
      const pins = await (await EdgeLink.open(context, options)).ask<Pins>('GET', 'pins');
      report.result(pins, () => pinTable(pins, Date.now(), report.width));
      return undefined;
    }),
  );
  const extend = parent
    .command('extend')
    .description('change the end of a pin; a token file may hold its capability')
    .argument('<pin>', 'its id')
    .requiredOption('--for <time>', 'time from now, such as 12h or 7d', reading(parseDuration))
    .option(...NETWORK);
  edgeOptions(extend).action(
    action<PinOptions, [string]>(context, async (report, options, id) => {
      const edge = await EdgeLink.open(context, options);
      const body = { seconds: options.for / 1000, network: options.network };
      const answer = await edge.ask<Pinned>('PATCH', `pins/${encodeURIComponent(id)}`, body);
      report.result(answer, () => [
        `Pinned ${answer.pin.url}, ${endText(answer.pin)}`,
        ...nodeLines(answer.nodes),
      ]);
      return passedStatus(report, answer.nodes, 'They learn of it when they come back.');
    }),
  );
  const unpin = parent
    .command('unpin')
    .description('end a pin; a token file may hold its capability')
    .argument('<pin>', 'its id')
    .option(...NETWORK);
  edgeOptions(unpin).action(
    action<PinOptions, [string]>(context, async (report, options, id) => {
      const edge = await EdgeLink.open(context, options);
      const query = options.network === true ? '?network=true' : '';
      const answer = await edge.ask<Pinned>('DELETE', `pins/${encodeURIComponent(id)}${query}`);
      report.result(answer, () => [`Released ${answer.pin.url}`, ...nodeLines(answer.nodes)]);
      return passedStatus(report, answer.nodes, 'They learn of it when they come back.');
    }),
  );
}

function addDrain(parent: Command, context: CliContext): void {
  const command = parent
    .command('drain')
    .description('send clients elsewhere and accept no new ones')
    .option('--undo', 'accept clients again');
  edgeOptions(command).action(
    action<EdgeOptions & { readonly undo?: boolean }, []>(context, async (report, options) => {
      const edge = await EdgeLink.open(context, options);
      const answer = await edge.ask<{ draining: boolean }>(
        options.undo === true ? 'DELETE' : 'POST',
        'drain',
      );
      report.result(answer, () => [
        answer.draining ? `${edge.url} drains.` : `${edge.url} takes clients again.`,
      ]);
      return undefined;
    }),
  );
}

/** Returns the exit status of a command that other nodes were asked to carry out as well. */
function passedStatus(
  report: Report,
  nodes: readonly NodeResult[] | undefined,
  what: string,
): number {
  const failed = (nodes ?? []).filter(({ ok }) => !ok).length;
  if (failed === 0) return EXIT.ok;
  report.note(`${failed} of ${nodes?.length} other nodes could not do it. ${what}`);
  return EXIT.network;
}

function endText({ expiresAt }: Pin): string {
  return `ends in ${leaseText(expiresAt - Date.now())}`;
}
