/** `millrace edge allocations`: the files of a depot; an operator can delete and block them. */

import { formatBytes } from '@millrace/shared/base/units';
import type { AllocationList, TakenDown } from '@millrace/shared/cdn/depot/allocation-view';
import { allocationId } from '@millrace/shared/http/urls/depot-link';
import { type Command, InvalidArgumentError } from 'commander';
import { action, type CliContext } from '../../console/context.ts';
import { EdgeLink, type EdgeOptions, edgeOptions } from '../../console/edge-link.ts';
import { counted } from '../../text/counted.ts';
import { sha256Value, UsageError } from '../../text/option-values.ts';
import { allocationTable } from '../../view/allocations-text.ts';

interface AllocationsOptions extends EdgeOptions {
  readonly owner?: string;
  readonly sha256?: string;
  readonly id?: string;
  readonly delete?: boolean;
  readonly block?: boolean;
  readonly unblock?: boolean;
}

export function addAllocations(parent: Command, context: CliContext): void {
  const command = parent
    .command('allocations')
    .description(
      'list the files of a depot, without their links; delete them, and block their content, which the depot then neither takes nor serves',
    )
    .summary('list, delete or block the files of a depot')
    .option('--owner <name>', 'only files of this owner')
    .option('--sha256 <digest>', 'only files with this SHA-256, hexadecimal', sha256Value)
    .option('--id <id>', 'only the file with this id, or that of this link', idValue)
    .option('--delete', 'delete these files')
    .option('--block', 'block the content of these files; with --sha256 also if there are none')
    .option('--unblock', 'no longer block it');
  edgeOptions(command).action(
    action<AllocationsOptions, []>(context, async (report, options) => {
      const { owner, sha256, id, block, unblock } = options;
      if (block === true && unblock === true) {
        throw new UsageError('--block and --unblock exclude each other');
      }
      const edge = await EdgeLink.open(context, options);
      const selection = { owner, sha256, id };
      const changes = options.delete === true || block === true || unblock === true;
      if (!changes) {
        const query = new URLSearchParams();
        for (const [key, value] of Object.entries(selection)) {
          if (value !== undefined) query.set(key, value);
        }
        const list = await edge.ask<AllocationList>('GET', `allocations?${query}`);
        report.result(list, () => allocationTable(list, Date.now(), report.width));
        return undefined;
      }
      if ((owner ?? sha256 ?? id) === undefined) {
        throw new UsageError('name the files: --owner, --sha256 or --id');
      }
      const isBlocked = block === true ? true : unblock === true ? false : undefined;
      const taken = await takeDown(edge, {
        ...selection,
        delete: options.delete === true,
        block: isBlocked,
      });
      report.result(taken, () => [
        ...(options.delete === true
          ? [`Deleted ${counted(taken.allocations.length, 'file')}`]
          : []),
        ...taken.digests.map(
          (digest) => `${isBlocked ? 'Blocked' : 'No longer blocked'} ${digest}`,
        ),
        ...taken.allocations.map(({ id: one, owner: whose, bytes }) => {
          return `  ${one} of ${whose}, ${formatBytes(bytes)}`;
        }),
        ...(taken.left > 0 ? [`${counted(taken.left, 'file')} could not be changed`] : []),
      ]);
      return undefined;
    }),
  );
}

/** A request to delete or block files. */
interface TakeDown {
  readonly owner: string | undefined;
  readonly sha256: string | undefined;
  readonly id: string | undefined;
  readonly delete: boolean;
  readonly block: boolean | undefined;
}

/** Sends the request until no file is left: an edge changes a number of them at a time. */
async function takeDown(edge: EdgeLink, body: TakeDown): Promise<TakenDown> {
  const allocations = new Map<string, TakenDown['allocations'][number]>();
  const digests = new Set<string>();
  for (;;) {
    const before = allocations.size;
    const taken = await edge.ask<TakenDown>('POST', 'allocations', body);
    for (const one of taken.allocations) allocations.set(one.id, one);
    for (const digest of taken.digests) digests.add(digest);
    if (taken.left > 0 && allocations.size > before) continue;
    return { allocations: [...allocations.values()], digests: [...digests], left: taken.left };
  }
}

function idValue(text: string): string {
  const id = allocationId(text.trim());
  if (id !== undefined) return id;
  throw new InvalidArgumentError('an id has 16 letters, digits, - and _: the part behind /-/d/');
}
