/** `millrace metalink`: describes a local file for others to download (RFC 5854). */

import { basename, resolve } from 'node:path';
import { describeDownload } from '@millrace/shared/download/metalink/described-request';
import type { FileDescription } from '@millrace/shared/download/metalink/description';
import { formatMetalink } from '@millrace/shared/download/metalink/metalink-write';
import { Command } from 'commander';
import { digestPieces, pieceBytesFor } from '../../engine/hash/digest-pieces.ts';
import { action, type CliContext, type CommonOptions } from '../console/context.ts';
import { writeResult } from '../console/result-file.ts';
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
    .description('write a Metalink of a file: its URLs, its digests, and those of its pieces')
    .summary('describe a file for others')
    .argument('<file>', 'file to describe')
    .option('--url <url>', 'URL of the file; may be repeated, best first', repeated(urlValue))
    .option('-o, --output <file>', 'file to write; default: standard output')
    .option('--overwrite', 'replace an existing file of that name')
    .option('--json', 'print one JSON document')
    .action(
      action<MetalinkOptions, [string]>(context, async (report, options, file) => {
        const path = resolve(context.cwd, file);
        const description = await describe(path, options.url ?? [], context.signal);
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
