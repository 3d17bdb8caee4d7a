/** `millrace export` and `import`: lists of downloads as files. */

import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { EXIT } from '@millrace/shared/base/errors';
import type { ParamsOf } from '@millrace/shared/bridge/contract/contract';
import { Command, Option } from 'commander';
import { action, type CliContext, type CommonOptions } from '../console/context.ts';
import { folderFor, withDaemon } from '../console/daemon-link.ts';
import { confirmed, isPerson } from '../console/question.ts';
import { writeResult } from '../console/result-file.ts';
import { counted } from '../text/counted.ts';
import { UsageError } from '../text/option-values.ts';
import { importLines } from '../view/import-text.ts';

type Exported = ParamsOf<'millrace.export'>;

interface ExportOptions extends CommonOptions {
  readonly format: Exported['format'];
  readonly which: NonNullable<Exported['which']>;
  readonly secrets?: boolean;
  readonly overwrite?: boolean;
}

interface ImportOptions extends CommonOptions {
  readonly format?: Exported['format'];
  readonly paused?: boolean;
  readonly dir?: string;
  readonly trusted?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

const FORMATS = ['json', 'urls', 'aria2'];
const MAX_IMPORT_BYTES = 64 * 1024 * 1024;

export function exportCommand(context: CliContext): Command {
  return new Command('export')
    .description('write downloads as a list: Millrace’s JSON, plain URLs, or an aria2 session')
    .summary('write downloads as a list')
    .argument('[file]', 'file to write; default, and "-": standard output')
    .addOption(
      new Option('--format <format>', 'format of the list').choices(FORMATS).default('json'),
    )
    .addOption(
      new Option('--which <part>', 'downloads to write')
        .choices(['queue', 'history', 'all'])
        .default('all'),
    )
    .option('--secrets', 'include cookies and passwords')
    .option('--overwrite', 'replace an existing file of that name')
    .option('--json', 'print one JSON document')
    .action(
      action<ExportOptions, [string | undefined]>(context, async (report, options, file) => {
        const { format, which, secrets = false } = options;
        const params = { format, which, secrets };
        const { text } = await withDaemon(context, (daemon) =>
          daemon.call('millrace.export', params),
        );
        if (file === undefined || file === '-') {
          if (report.json) report.object({ text });
          else context.stdout.write(text);
          return undefined;
        }
        const path = resolve(context.cwd, file);
        // For its owner only: URLs may contain secrets.
        await writeResult(path, text, { overwrites: options.overwrite === true, mode: 0o600 });
        report.result({ path, bytes: Buffer.byteLength(text) }, () => [`Saved ${path}`]);
        return undefined;
      }),
    );
}

export function importCommand(context: CliContext): Command {
  return new Command('import')
    .description('add the downloads of a list: the output of "export", or URLs, one per line')
    .summary('add the downloads of a list')
    .argument('<file>', '"-" for standard input')
    .addOption(
      new Option('--format <format>', 'format of the list; guessed if not given').choices(FORMATS),
    )
    .option('--paused', 'add without starting; "resume" starts them')
    .option('-d, --dir <folder>', 'folder to save in')
    .option(
      '--trusted',
      'trust the list: accept folders elsewhere, overwriting, cookie files, netrc, proxies, header fields and edges, which only a list of your own should name',
    )
    .option('--dry-run', 'only show the downloads that would be added')
    .option('-y, --yes', 'do not ask')
    .option('--json', 'print one JSON document')
    .action(
      action<ImportOptions, [string]>(context, async (report, options, file) => {
        const { format, paused, dir, trusted = false, dryRun = false } = options;
        const from = folderFor(context);
        const folder = dir === undefined || from === undefined ? dir : resolve(from, dir);
        const text = await read(context, file);
        const list = { text, format, paused, dir: folder, trusted };
        return withDaemon(context, async (daemon) => {
          const preview = await daemon.call('millrace.previewImport', list);
          if (dryRun && report.json) report.object(preview);
          if (!report.json) {
            for (const line of importLines(preview, trusted, report.width)) {
              context.stdout.write(`${line}\n`);
            }
          }
          if (dryRun) return undefined;
          const asks = options.yes !== true && file !== '-' && isPerson(context);
          if (asks && !(await wants(context, preview.entries.length))) {
            report.note('Nothing was added.');
            return EXIT.ok;
          }
          const result = await daemon.call('millrace.import', list);
          report.result(result, () => [`Added ${counted(result.gids.length, 'download')}.`]);
          return undefined;
        });
      }),
    );
}

async function wants(context: CliContext, count: number): Promise<boolean> {
  return count > 0 && confirmed(context, `Add ${counted(count, 'download')}?`);
}

async function read({ stdin, cwd }: CliContext, file: string): Promise<string> {
  const tooLarge = () => new UsageError('the list is too large');
  if (file !== '-') {
    const path = resolve(cwd, file);
    try {
      if ((await stat(path)).size > MAX_IMPORT_BYTES) throw tooLarge();
      return await readFile(path, 'utf8');
    } catch (cause) {
      if (cause instanceof UsageError) throw cause;
      throw new UsageError(`${file} cannot be read`, { cause });
    }
  }
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of stdin) {
    bytes += piece.length;
    if (bytes > MAX_IMPORT_BYTES) throw tooLarge();
    pieces.push(Buffer.from(piece));
  }
  return Buffer.concat(pieces).toString();
}
