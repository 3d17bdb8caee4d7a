/** `--remote URL`: has a command use the daemon of another machine. It may stand anywhere. */

import { remoteOrigin } from '@millrace/shared/bridge/page/remote-origin';
import { UsageError } from '../text/option-values.ts';

/** Environment variable in place of the option. */
export const REMOTE_VARIABLE = 'MILLRACE_REMOTE';

/** Commands that can use the daemon of another machine. */
const REMOTE: ReadonlySet<string> = new Set([
  'add',
  'categories',
  'change',
  'export',
  'history',
  'import',
  'info',
  'limit',
  'list',
  'ls',
  'pair',
  'pause',
  'remove',
  'resume',
  'schedule',
  'shares',
  'trash',
  'url',
  'watch',
]);

export interface RemoteWords {
  /** The words without the option. */
  readonly words: readonly string[];
  /** Origin, such as https://nas.example; undefined: the daemon of this machine. */
  readonly remote: string | undefined;
}

/**
 * Takes the option out of the words of a command line. The variable counts only for commands that
 * can use another machine; the option with any other command is a mistake.
 *
 * @throws UsageError
 */
export function readRemote(given: readonly string[], variable: string | undefined): RemoteWords {
  const words: string[] = [];
  let url: string | undefined;
  for (let at = 0; at < given.length; at++) {
    const word = given[at] as string;
    if (word === '--') {
      words.push(...given.slice(at));
      break;
    }
    if (word !== '--remote' && !word.startsWith('--remote=')) words.push(word);
    else if (word === '--remote') url = given[++at] ?? '';
    else url = word.slice('--remote='.length);
  }
  const able = REMOTE.has(words[0] ?? '');
  if (url === undefined) {
    const named = able && variable ? originOf(variable, REMOTE_VARIABLE) : undefined;
    return { words, remote: named };
  }
  const remote = originOf(url, '--remote');
  if (able || words.length === 0 || words[0] === 'help') return { words, remote };
  throw new UsageError(`"${words[0]}" works on this machine only: leave --remote out`);
}

function originOf(text: string, name: string): string {
  const origin = remoteOrigin(text);
  if (origin !== undefined) return origin;
  throw new UsageError(`${name} is an address such as https://nas.example`);
}
