/** `millrace metalink`: describes a local or a stored file for others to download (RFC 5854). */

import { basename, resolve } from 'node:path';
import { describeDownload } from '@millrace/shared/download/metalink/described-request';
import type { FileDescription } from '@millrace/shared/download/metalink/description';
import { formatMetalink } from '@millrace/shared/download/metalink/metalink-write';
import { Command } from 'commander';
import { digestPieces, pieceBytesFor } from '../../engine/hash/digest-pieces.ts';
import { action, type CliContext, type CommonOptions } from '../console/context.ts';
import { writeResult } from '../console/result-file.ts';
import { isLink } from '../options/named-document.ts';
import { repeated, urlValue } from '../text/option-values.ts';

interface MetalinkOptions extends CommonOptions {
  readonly url?: readonly string[];
  readonly output?: string;
  readonly overwrite?: boolean;
}

const MIN_PIECE_BYTES = 256 * 1024;
/** Most piece digests in one document, so that documents stay small. */
const MAX_PIECES = 4096;

export function metalinkCommand(context: CliContext): Command {
  return new Command('metalink')
    .description(
      'write a Metalink of a file: its URLs, its digests, and those of its pieces. Of a file in depots it names those that have all of it',
    )
    .summary('describe a file for others')
    .argument('<file>', 'file to describe; or the exNode of a stored file (*.exnode), or its link')
    .option(
      '--url <url>',
      'URL of the file; may be repeated, best first. Depots come after these',
      repeated(urlValue),
    )
    .option('-o, --output <file>', 'file to write; default: standard output')
    .option('--overwrite', 'replace an existing file of that name')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
With an exNode, other programs (such as aria2c) download a stored file from several
depots, and check its pieces. If no depot has all of the file, as with --stripe, the
URLs are links to it at edges that put it together. Whoever has the Metalink can
download the file; it gives no other right.`,
    )
    .action(
      action<MetalinkOptions, [string]>(context, async (report, options, file) => {
        const urls = options.url ?? [];
        const description =
          isLink(file) || /\.exnode$/i.test(file)
            ? await (await import('./stored/metalink-run.ts')).describeStored(file, urls, context)
            : await describe(resolve(context.cwd, file), urls, context.signal);
        const text = formatMetalink({ files: [description], generator: 'Millrace', extra: [] });
        if (options.output !== undefined) {
          const to = resolve(context.cwd, options.output);
          await writeResult(to, text, { overwrites: options.overwrite === true });
          report.result({ path: to, file: description }, () => [`Saved ${to}`]);
        } else if (report.json) report.object({ file: description, text });
        else context.stdout.write(text);
        return undefined;
      }),
    );
}

/** Reads a file once, and computes all of its digests. */
async function describe(
  path: string,
  urls: readonly string[],
  signal: AbortSignal,
): Promise<FileDescription> {
  const bytesFor = (size: number) => pieceBytesFor(size, MIN_PIECE_BYTES, MAX_PIECES);
  const { size, sha256, pieceBytes, hexes } = await digestPieces(path, bytesFor, signal);
  return describeDownload({
    name: basename(path),
    size,
    urls,
    digests: [{ algorithm: 'sha256', hex: sha256 }],
    ...(size === 0 ? {} : { pieces: { algorithm: 'sha256', pieceBytes, hexes } }),
  });
}
