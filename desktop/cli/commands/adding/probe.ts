/** `millrace probe`: asks servers about files, and downloads nothing. */

import { asMillraceError, EXIT, MillraceError } from '@millrace/shared/base/errors';
import { formatBytes } from '@millrace/shared/base/units';
import type { ProbedLink } from '@millrace/shared/bridge/rpc/adding-api';
import { Command } from 'commander';
import { askServer } from '../../../engine/downloads/probes.ts';
import { withoutLogin } from '../../../engine/net/credentials.ts';
import { inParallel } from '../../../engine/sync/in-parallel.ts';
import { action, type CliContext, type CommonOptions, errorObject } from '../../console/context.ts';
import { downloadUrl, requestOf, wholeRequest } from '../../options/asked-request.ts';
import { type RequestOptions, requestOption } from '../../options/request-options.ts';
import { printable } from '../../text/printable.ts';
import { type Column, table } from '../../text/table.ts';

interface ProbeOptions extends RequestOptions, CommonOptions {}

/** URLs that are asked about at a time. */
const AT_ONCE = 4;
/** Longest time for one URL, in milliseconds. */
const LONGEST_MS = 30_000;
const TAKEN = [
  ...(['header', 'cookie', 'cookies', 'referer', 'userAgent'] as const),
  ...(['user', 'netrc', 'proxy', 'timeout'] as const),
];
const COLUMNS: readonly Column[] = [
  { title: 'NAME', cut: 'middle', min: 12 },
  { title: 'SIZE', align: 'right' },
  { title: 'RESUMABLE' },
  { title: 'TYPE', cut: 'end', min: 10, drop: 3 },
  { title: 'VERSION', cut: 'end', min: 10, drop: 1 },
  { title: 'DIGESTS', cut: 'end', min: 10, drop: 2 },
  { title: 'NOTE', cut: 'end', min: 8 },
];

type Answer =
  | { readonly url: string; readonly found: ProbedLink }
  | { readonly url: string; readonly error: MillraceError };

export function probeCommand(context: CliContext): Command {
  const command = new Command('probe')
    .description('ask servers about files: name, size, type, whether a download can be resumed')
    .summary('ask servers about files, and download nothing')
    .argument('<url...>', 'URLs of files');
  for (const name of TAKEN) command.addOption(requestOption(name));
  return command.option('--json', 'print one JSON document').action(
    action<ProbeOptions, [string[]]>(context, async (report, options, urls) => {
      const answers = await askAll(context, options, urls);
      const files = answers.map((answer) =>
        'error' in answer
          ? { url: answer.url, error: errorObject(answer.error) }
          : { url: answer.url, ...answer.found },
      );
      report.result({ files }, () => table(COLUMNS, answers.map(rowOf), report.width));
      const failed = answers.flatMap((one) => ('error' in one ? one.error : []))[0];
      return failed?.row.exit ?? EXIT.ok;
    }),
  );
}

async function askAll(
  context: CliContext,
  options: ProbeOptions,
  urls: readonly string[],
): Promise<Answer[]> {
  const answers: Answer[] = [];
  await inParallel([...urls.entries()], { atATime: AT_ONCE }, async ([index, url]) => {
    answers[index] = await ask(context, options, url);
  });
  return answers;
}

async function ask(context: CliContext, options: ProbeOptions, given: string): Promise<Answer> {
  const { cwd, signal } = context;
  const url = withoutLogin(given);
  const late = AbortSignal.timeout(LONGEST_MS);
  try {
    const request = wholeRequest(requestOf(downloadUrl(given), options, cwd), cwd);
    return { url, found: await askServer(request, AbortSignal.any([signal, late])) };
  } catch (thrown) {
    if (signal.aborted) return { url, error: new MillraceError('interrupted') };
    const error = late.aborted ? new MillraceError('origin-timeout') : asMillraceError(thrown);
    return { url, error };
  }
}

function rowOf(answer: Answer): string[] {
  if ('error' in answer) {
    const { row, detail } = answer.error;
    const why = detail === '' ? row.title : `${row.title}: ${detail}`;
    return [printable(answer.url), '', '', '', '', '', printable(why)];
  }
  const {
    name = '',
    length,
    type = '',
    resumable,
    etag,
    lastModified,
    digests = [],
  } = answer.found;
  return [
    name,
    length === undefined ? 'unknown' : formatBytes(length),
    resumable ? 'yes' : 'no',
    type,
    etag ?? lastModified ?? '',
    digests.map(({ algorithm }) => algorithm).join(' '),
    '',
  ].map(printable);
}
