/** `millrace native-host`: registers the host that browsers start for the extension. */

import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Argument, Command } from 'commander';
import {
  hostStates,
  installHost,
  type Registered,
  uninstallHost,
} from '../../native-host/install.ts';
import {
  BROWSERS,
  type Browser,
  type HostProgram,
  type Surroundings,
} from '../../native-host/registration.ts';
import { action, type CliContext, type CommonOptions, type Report } from '../console/context.ts';
import { UsageError } from '../text/option-values.ts';

interface HostOptions extends CommonOptions {
  readonly dir?: string;
}

type Act = typeof installHost;

const MAIN = fileURLToPath(new URL('../../native-host/main.ts', import.meta.url));

const NAMES: Readonly<Record<Browser, string>> = {
  chrome: 'Chrome',
  chromium: 'Chromium',
  edge: 'Edge',
  brave: 'Brave',
  vivaldi: 'Vivaldi',
  opera: 'Opera',
  firefox: 'Firefox',
  librewolf: 'LibreWolf',
  zen: 'Zen',
};

const STATES: Readonly<Record<Registered['state'], string>> = {
  current: 'registered',
  other: 'registered by another Millrace',
  system: 'registered for all users, by a package of the system',
  none: 'not registered',
};

export function nativeHostCommand(context: CliContext): Command {
  const command = new Command('native-host').description(
    'let the browser extension hand downloads to the daemon',
  );
  const add = (name: string, description: string, act: Act, all: boolean) =>
    command
      .command(name)
      .description(description)
      .addArgument(
        new Argument('[browser...]', 'browsers; none: those that are used here').choices(BROWSERS),
      )
      .option('-d, --dir <folder>', 'folder of a profile (with one browser)')
      .option('--json', 'print one JSON document')
      .action(
        action<HostOptions, [Browser[]]>(context, async (report, options, given) => {
          await run(context, report, options, { given, act, all });
          return undefined;
        }),
      );
  add('install', 'register the native host with browsers', installHost, false);
  add('uninstall', 'remove the native host from browsers', uninstallHost, true);
  add('status', 'show the browsers in which the native host is registered', hostStates, true);
  return command;
}

/**
 * Runs one subcommand.
 *
 * @param asked `all`: without a named browser, the command applies to all of them
 */
async function run(
  context: CliContext,
  report: Report,
  { dir }: HostOptions,
  { given, act, all }: { given: readonly Browser[]; act: Act; all: boolean },
): Promise<void> {
  const { state, cwd } = context;
  if (dir !== undefined && given.length !== 1) {
    throw new UsageError('--dir is for one browser: name which');
  }
  const around: Surroundings = {
    platform: process.platform,
    home: homedir(),
    env: process.env,
    state: resolve(cwd, state),
    profile: dir === undefined ? undefined : resolve(cwd, dir),
  };
  const program: HostProgram = { words: [process.execPath, MAIN], env: {} };
  const states = await hostStates(BROWSERS, program, around);
  const used = states.filter(({ present }) => present || all).map(({ browser }) => browser);
  const browsers = given.length > 0 ? given : used;
  const registered = browsers.length === 0 ? [] : await act(browsers, program, around);
  report.result({ browsers: registered }, () => lines(registered));
  const apps = registered.flatMap(({ file, state: is }) =>
    is === 'current' ? (/[/]\.var[/]app[/]([^/]+)/.exec(file)?.[1] ?? []) : [],
  );
  for (const app of apps) {
    report.note(
      `${app} is in a sandbox, and may start Millrace only if you allow it to start any program: flatpak override --user --talk-name=org.freedesktop.Flatpak ${app}`,
    );
  }
  if (browsers.length === 0) {
    report.note(`No browser is used here; name one to register it anyway: ${BROWSERS.join(', ')}.`);
  }
}

function lines(registered: readonly Registered[]): string[] {
  return registered.map(({ browser, present, state, file }) => {
    const where = state === 'none' ? '' : `: ${file}`;
    return `${NAMES[browser]}: ${STATES[state]}${present ? '' : ' (not used here)'}${where}`;
  });
}
