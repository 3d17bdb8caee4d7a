/** `millrace metalink`: describes a local file for others to download (RFC 5854). */

import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { describeDownload } from '@millrace/shared/download/metalink/described-request';
import type { FileDescription } from '@millrace/shared/download/metalink/description';
import { formatMetalink } from '@millrace/shared/download/metalink/metalink-write';
import { Command } from 'commander';
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
const READ_BYTES = 256 * 1024;

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
  const handle = await open(path).catch((cause: unknown) => {
    throw new MillraceError('bad-option', `${path} cannot be read`, { cause });
  });
  try {
    const { size } = await handle.stat();
    let pieceBytes = MIN_PIECE_BYTES;
    while (size / pieceBytes > MAX_PIECES) pieceBytes *= 2;
    const whole = createHash('sha256');
    const hexes: string[] = [];
    const buffer = Buffer.allocUnsafe(READ_BYTES);
    let piece = createHash('sha256');
    for (let at = 0; at < size; ) {
      if (signal.aborted) throw new MillraceError('interrupted');
      // A piece is a multiple of the read buffer, so no read spans two pieces.
      const { bytesRead } = await handle.read(buffer, 0, READ_BYTES, at);
      if (bytesRead === 0) throw new MillraceError('file-changed', `${path} has become shorter`);
      const bytes = buffer.subarray(0, bytesRead);
      whole.update(bytes);
      piece.update(bytes);
      at += bytesRead;
      if (at % pieceBytes !== 0 && at < size) continue;
      hexes.push(piece.digest('hex'));
      piece = createHash('sha256');
    }
    return describeDownload({
      name: basename(path),
      size,
      urls,
      digests: [{ algorithm: 'sha256', hex: whole.digest('hex') }],
      ...(size === 0 ? {} : { pieces: { algorithm: 'sha256', pieceBytes, hexes } }),
    });
  } finally {
    await handle.close();
  }
}
