/** `millrace shares`: lists the files that the app has sent and its invitations, and ends them. */

import type { ShareView } from '@millrace/shared/bridge/rpc/share-api';
import { Command, InvalidArgumentError } from 'commander';
import { action, type CliContext, type CommonOptions } from '../../console/context.ts';
import { withDaemon } from '../../console/daemon-link.ts';
import { repeated, UsageError } from '../../text/option-values.ts';
import { shareLines } from '../../view/share-text.ts';

interface SharesOptions extends CommonOptions {
  readonly revoke?: readonly string[];
}

export function sharesCommand(context: CliContext): Command {
  return new Command('shares')
    .description(
      'list the files that the app has sent, and its invitations: id, name, size, end, state and link',
    )
    .summary('list the files that the app has sent')
    .option(
      '--revoke <id>',
      'delete this file at its depots, or end this invitation; may be repeated',
      repeated(shareIdValue),
    )
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
These are the files of "Send a file" and the invitations of "Invite a guest" in the
app. What "millrace upload" and "millrace invite" have made is not among them: see
"millrace stat", and the addresses that "millrace invite" prints. --revoke takes ids
as this list shows them. The daemon asks the depots ten seconds later, and again as
long as one of them does not answer.`,
    )
    .action(
      action<SharesOptions, []>(context, (report, { revoke }) =>
        withDaemon(context, async (daemon) => {
          const { shares } = await daemon.call('millrace.shares');
          if (revoke === undefined) {
            report.result({ shares }, () => shareLines(shares));
            return undefined;
          }
          // All ids are looked up before the first one is revoked.
          const ids = new Set(revoke.map((id) => idIn(shares, id)));
          const revoked: ShareView[] = [];
          for (const id of ids) revoked.push(await daemon.call('millrace.revokeShare', { id }));
          report.result({ shares: revoked }, () => shareLines(revoked));
          return undefined;
        }),
      ),
    );
}

function shareIdValue(text: string): string {
  const id = text.toLowerCase();
  if (/^[0-9a-f]{1,32}$/.test(id)) return id;
  throw new InvalidArgumentError(
    'an id has up to 32 hexadecimal digits, as "millrace shares" shows it',
  );
}

/** @throws UsageError unless one id begins so */
function idIn(shares: readonly ShareView[], start: string): string {
  const [found, ...others] = shares.filter(({ id }) => id.startsWith(start));
  if (found !== undefined && others.length === 0) return found.id;
  const what = found === undefined ? 'no file or invitation has' : 'several have';
  throw new UsageError(`${what} an id that begins with ${start}`);
}
