/** `millrace edge sign`: makes a link that edges serve although they do not list its origin. */

import { resolve } from 'node:path';
import { WEEK_MS } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { parseDuration } from '@millrace/shared/base/unit-options';
import { parseOriginUrl } from '@millrace/shared/http/urls/prefixed-url';
import { SIGNED_PATH } from '@millrace/shared/http/urls/signed-link';
import { readLinkSecrets, signLink } from '@millrace/shared/node/link-signature';
import { Command } from 'commander';
import { action, type CliContext, type CommonOptions } from '../../console/context.ts';
import { reading, urlValue } from '../../text/option-values.ts';

interface SignOptions extends CommonOptions {
  readonly secretFile: string;
  readonly expires?: number;
  readonly below?: boolean;
  readonly edge?: string;
}

/** Latest time that a permit can name, Unix seconds. */
const MAX_EXPIRES = 9_999_999_999;

export function edgeSignCommand(context: CliContext): Command {
  return new Command('sign')
    .description('make a signed link, which edges serve even if they do not list its origin')
    .argument(
      '<url>',
      'file that may be fetched, or with --below a folder',
      reading((text) => urlValue(text)),
    )
    .requiredOption('--secret-file <file>', 'secret that the edges know (their --link-secret-file)')
    .option(
      '--expires <time>',
      'time until the link expires, such as 12h (default: 7d)',
      reading(parseDuration),
    )
    .option('--below', 'cover everything below the URL, which ends with a slash')
    .option(
      '--edge <url>',
      'edge to put before the link; without it, only the path is printed',
      (text) => urlValue(text),
    )
    .option('--json', 'print one JSON document')
    .action(
      action<SignOptions, [string]>(context, async (report, options, text) => {
        const [secret] = readSecrets(resolve(context.cwd, options.secretFile));
        const url = parseOriginUrl(text);
        // Rounded up: a link for one second does not expire at once.
        const expires = Math.ceil((Date.now() + (options.expires ?? WEEK_MS)) / 1000);
        if (expires > MAX_EXPIRES)
          throw new MillraceError('bad-option', '--expires: that time is too far in the future');
        const permit = signLink(url, expires, options.below === true, secret as string);
        const base = (options.edge ?? '').replace(/\/+$/, '');
        const link = `${base}${SIGNED_PATH}${permit}/${url.href}`;
        const until = new Date(expires * 1000).toISOString();
        report.result({ link, url: url.href, expires: until }, () => [link]);
        return undefined;
      }),
    );
}

function readSecrets(path: string): readonly string[] {
  try {
    return readLinkSecrets(path);
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    throw new MillraceError('bad-option', `--secret-file ${error.detail}`, { cause: error });
  }
}
