/** `millrace info`: shows everything about one download. */

import { Command } from 'commander';
import { action, type CliContext, type CommonOptions } from '../console/context.ts';
import { withDaemon } from '../console/daemon-link.ts';
import { idValue } from '../text/option-values.ts';
import { infoText } from '../view/info-text.ts';

const CELLS = 60;

export function infoCommand(context: CliContext): Command {
  return new Command('info')
    .description('show a download in detail: sources, blocks, failures')
    .summary('show a download in detail')
    .argument('<id>', 'its id, or the beginning of it', idValue)
    .option('--json', 'print one JSON document')
    .action(
      action<CommonOptions, [string]>(context, (report, _options, id) =>
        withDaemon(context, async (daemon) => {
          const download = await daemon.call('millrace.status', { gid: id });
          const { gid } = download;
          const { sources } = await daemon.call('millrace.sources', { gid });
          const cells = Math.min(CELLS, Math.max(10, (report.width ?? CELLS) - 16));
          const { cells: strip } = await daemon.call('millrace.strip', { gid, cells });
          const details = { download, sources, strip };
          report.result(details, () => infoText(details, Date.now(), report.width, report.style));
          return undefined;
        }),
      ),
    );
}
