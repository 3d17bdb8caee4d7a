/** `millrace edge owner`: makes the token of someone who may store files in a depot. */

import { createHash, randomBytes } from 'node:crypto';
import { formatOwner, isOwnerName, parseLimit } from '@millrace/shared/cdn/depot/owners-file';
import { Command, InvalidArgumentError } from 'commander';
import { action, type CliContext, type CommonOptions } from '../../console/context.ts';
import { reading, repeated } from '../../text/option-values.ts';

interface OwnerOptions extends CommonOptions {
  readonly limit?: readonly string[];
}

const TOKEN_BYTES = 32;

export function edgeOwnerCommand(context: CliContext): Command {
  return new Command('owner')
    .description(
      'make a token for someone who may store files in a depot; prints it, and the line for the file that the edge reads (its --depot-owners-file)',
    )
    .summary('make a token for someone who may store files in a depot')
    .argument('<name>', 'name of the owner, for the file and the log', ownerName)
    .option(
      '--limit <limit>',
      'limit, such as bytes=100GiB (in all), each=10GiB (one file), for=30d, count=1000 or rate=50MiB/s; may be repeated',
      repeated(reading(checkedLimit)),
    )
    .option('--json', 'print one JSON document')
    .action(
      action<OwnerOptions, [string]>(context, async (report, { limit = [] }, name) => {
        const token = randomBytes(TOKEN_BYTES).toString('base64url');
        const proof = createHash('sha256').update(token).digest('hex');
        const line = formatOwner(name, proof, limit);
        report.result({ name, token, line }, () => [
          `token  ${token} (for ${name}; shown this once)`,
          `line   ${line}`,
        ]);
        return undefined;
      }),
    );
}

function ownerName(text: string): string {
  if (isOwnerName(text)) return text;
  throw new InvalidArgumentError('a name has up to 64 letters, digits, . _ -');
}

function checkedLimit(text: string): string {
  parseLimit(text);
  return text;
}
