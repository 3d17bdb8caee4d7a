/** `millrace pair` and `devices`: who may use the daemon from other machines. */

import { hostname } from 'node:os';
import { MillraceError } from '@millrace/shared/base/errors';
import { PAIR_PATH, type Paired } from '@millrace/shared/bridge/page/remote-api';
import type { Devices } from '@millrace/shared/bridge/results/device-results';
import { Command } from 'commander';
import { makeStateFolder } from '../../../local/daemon-address.ts';
import { keepRemote } from '../../../local/known-remotes.ts';
import { action, type CliContext, type CommonOptions, type Report } from '../../console/context.ts';
import { withDaemon } from '../../console/daemon-link.ts';
import { counted } from '../../text/counted.ts';
import { UsageError } from '../../text/option-values.ts';
import { printable } from '../../text/printable.ts';
import { table } from '../../text/table.ts';
import { ago } from '../../view/download-words.ts';

const JSON_OPTION = ['--json', 'print one JSON document'] as const;
const TIMEOUT_MS = 30_000;

const COLUMNS = ['ID', 'NAME', 'KIND', 'ACCOUNT', 'LAST USED', 'FROM'].map((title) => ({ title }));

interface PairOptions extends CommonOptions {
  readonly name?: string;
}

export function pairCommand(context: CliContext): Command {
  return new Command('pair')
    .description(
      'make a code that lets one device use the daemon of this machine; with --remote, use such a code here',
    )
    .summary('let a device use the daemon from another machine')
    .argument('[code]', 'with --remote: the code that the other machine has shown')
    .option('--name <name>', 'with --remote: name of this machine in the list of devices')
    .option(...JSON_OPTION)
    .action(
      action<PairOptions, [string | undefined]>(context, (report, options, code) => {
        const { remote } = context;
        if (remote === undefined) {
          if (code !== undefined) throw new UsageError('a code is used with --remote URL');
          return makeCode(context, report);
        }
        if (code === undefined) throw new UsageError('give the code that the other machine shows');
        return pairWith(context, report, remote, code, options.name ?? hostname());
      }),
    );
}

export function devicesCommand(context: CliContext): Command {
  const command = new Command('devices').description(
    'list and revoke devices that use the daemon from other machines',
  );
  command
    .command('list', { isDefault: true })
    .description('list the devices and logged-in browsers')
    .option(...JSON_OPTION)
    .action(
      action(context, (report) =>
        withDaemon(context, async (daemon) => show(report, await daemon.call('millrace.devices'))),
      ),
    );
  command
    .command('revoke')
    .description('end the access of a device, or log a browser out, at once')
    .argument('<id>', 'as "millrace devices" shows it')
    .option(...JSON_OPTION)
    .action(
      action<CommonOptions, [string]>(context, (report, _options, id) =>
        withDaemon(context, async (daemon) =>
          show(report, await daemon.call('millrace.revokeDevice', { id })),
        ),
      ),
    );
  return command;
}

async function makeCode(context: CliContext, report: Report): Promise<undefined> {
  const result = await withDaemon(context, (daemon) => daemon.call('millrace.pairingCode'));
  const { code, endsAt, url } = result;
  report.result(result, () => [
    code,
    `Works once, for ${counted(Math.max(1, Math.round((endsAt - Date.now()) / 60_000)), 'minute')}, at ${url}`,
    `On the other machine: millrace --remote ${url} pair ${code}`,
  ]);
}

async function pairWith(
  { state, signal }: CliContext,
  report: Report,
  remote: string,
  code: string,
  name: string,
): Promise<undefined> {
  const answer = await ask(remote, { code, name }, signal);
  if (answer.status === 429) {
    const seconds = Number(answer.headers.get('retry-after') ?? 1);
    throw new MillraceError('not-paired', `too many wrong codes: try again in ${seconds} s`);
  }
  if (answer.status === 409) throw new MillraceError('not-paired', 'it has too many devices');
  if (answer.status === 401) throw new MillraceError('not-paired', 'the code is not valid');
  const paired = (await answer.json().catch(() => undefined)) as Partial<Paired> | undefined;
  if (answer.status !== 200 || typeof paired?.token !== 'string') {
    throw new MillraceError('remote-unreachable', `${remote} is no daemon of Millrace`);
  }
  await makeStateFolder(state);
  await keepRemote(state, remote, paired.token);
  report.result({ url: remote, name }, () => [
    `Paired with ${remote}.`,
    `Try: millrace --remote ${remote} list`,
  ]);
}

async function ask(remote: string, body: object, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(`${remote}${PAIR_PATH}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
  } catch (cause) {
    const { message } = ((cause as Error).cause as Error | undefined) ?? (cause as Error);
    throw new MillraceError('remote-unreachable', `${remote}: ${message}`, { cause });
  }
}

function show(report: Report, result: Devices): undefined {
  const { url, devices } = result;
  report.result(result, () => {
    if (url === null) return ['This daemon serves no other machines (millrace daemon --host).'];
    if (devices.length === 0) return ['No device is paired. "millrace pair" makes a code.'];
    const rows = devices.map(({ id, name, kind, account, usedAt, address }) => [
      id,
      printable(name),
      kind,
      printable(account ?? ''),
      ago(Date.now() - usedAt),
      address,
    ]);
    return table(COLUMNS, rows, report.width);
  });
}
