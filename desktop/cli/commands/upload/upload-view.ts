/** Shows the progress and the result of an upload. */

import type { MillraceError } from '@millrace/shared/base/errors';
import type { ExnodeReplica } from '@millrace/shared/exnode/exnode';
import type { UploadSource } from '../../../engine/archive/upload-source.ts';
import type { FindObserver } from '../../../engine/depots/find-depots.ts';
import type { UrlUploadObserver } from '../../../engine/stored/url-upload.ts';
import type { Spread } from '../../../engine/upload/spread-upload.ts';
import type { StripeObserver } from '../../../engine/upload/stripe-upload.ts';
import type { Uploaded } from '../../../engine/upload/upload.ts';
import type { CliContext, Report } from '../../console/context.ts';
import { counted } from '../../text/counted.ts';
import { StoreProgress } from '../../view/store-progress.ts';
import { decryptLine } from './decrypt-line.ts';

export class UploadView implements UrlUploadObserver, StripeObserver, FindObserver {
  readonly #report: Report;
  readonly #out: CliContext;
  readonly #quiet: boolean;
  readonly #progress: StoreProgress;
  #lacksShards = false;

  constructor(report: Report, out: CliContext, name: string, quiet: boolean) {
    this.#report = report;
    this.#out = out;
    this.#quiet = quiet;
    this.#progress = new StoreProgress(report, out, name, quiet);
  }

  /** Says what of a folder is left out. */
  opened({ leftOut }: Pick<UploadSource, 'leftOut'>): void {
    if (leftOut === 0) return;
    const text = `links and special files that are left out: ${leftOut}`;
    this.#progress.tell({ event: 'left-out', files: leftOut }, text);
  }

  begun(bytes: number | undefined, stored: number): void {
    this.#progress.begun(bytes, stored);
  }

  sent(end: number): void {
    this.#progress.sent(end);
  }

  retried(error: MillraceError, pauseMs: number): void {
    this.#progress.retried(error, pauseMs);
  }

  anew(): void {
    const text = 'the depot does not have the earlier upload any more: beginning anew';
    this.#progress.tell({ event: 'anew' }, text);
  }

  left(edge: string, error: MillraceError): void {
    this.#progress.left(edge, error);
  }

  slow(edge: string): void {
    this.#progress.tell(
      { event: 'depot-slow', edge },
      `${edge} is slow: another depot stores a part`,
    );
  }

  lacking(edge: string, { code, message }: MillraceError, mayFail: number): void {
    this.#lacksShards = true;
    const event = { event: 'shards-missing', edge, code, message, mayFail };
    const left = counted(mayFail, 'other depot');
    const what = `its shards are missing, and only any ${left} may fail`;
    this.#progress.warn(event, `${edge}: ${message}; ${what}: "millrace augment" rebuilds them`);
  }

  /** True if shards of the file are stored nowhere. */
  get lacksShards(): boolean {
    return this.#lacksShards;
  }

  found(edge: string, by: string): void {
    this.#progress.found(edge, by);
  }

  passed(edge: string, error: MillraceError): void {
    this.#progress.passed(edge, error);
  }

  unable(edge: string, { code, message }: MillraceError): void {
    const event = { event: 'depot-unable', edge, code, message };
    this.#progress.tell(event, `${edge}: ${message}; another depot fetches it`);
  }

  copied(copies: number, of: number): void {
    const rest = copies < of ? '; the depots copy the rest among themselves' : '';
    this.#progress.tell(
      { event: 'copy-stored', copies, of },
      `${copies} of ${counted(of, 'copy', 'copies')} stored${rest}`,
    );
  }

  fed({ depot }: { readonly depot: string }, { code, message }: MillraceError): void {
    const event = { event: 'fed', edge: depot, code, message };
    this.#progress.tell(event, `${depot}: ${message}; the bytes go through this computer`);
  }

  wrong({ read }: ExnodeReplica, { code, message }: MillraceError): void {
    const event = { event: 'replica-wrong', read, code, message };
    this.#progress.tell(event, `${new URL(read).origin}: ${message}`);
  }

  done({ link, manage, expires, bytes, sha256 }: Uploaded): void {
    this.end();
    const { ms } = this.#progress;
    if (this.#report.json) {
      this.#report.object({ event: 'done', link, manage, expires, bytes, sha256, ms });
      return;
    }
    this.#progress.stored();
    this.#out.stdout.write(`${link}\n`);
    if (this.#quiet) return;
    this.#out.stdout.write(`  expires  ${expires}\n`);
    this.#out.stdout.write(`  manage   ${manage} (shown this once; keep it to yourself)\n`);
  }

  /** Shows what a guest has stored: who has invited him has all other rights. */
  guest({ link, bytes, sha256 }: Uploaded): void {
    this.end();
    const { ms } = this.#progress;
    if (this.#report.json) {
      this.#report.object({ event: 'done', link, bytes, sha256, ms });
      return;
    }
    this.#progress.stored();
    this.#out.stdout.write(`${link}\n`);
  }

  /** Shows a file that is stored in several depots. @param path of the exNode */
  spread(spread: Spread, path: string): void {
    const { exnode, sha256, links, wholes, expires } = spread;
    this.end();
    const { ms } = this.#progress;
    const until = new Date(expires).toISOString();
    if (this.#report.json) {
      const { size: bytes, root } = exnode;
      const exnodes = (exnode.documents ?? []).map(({ read }) => read);
      const stored = { exnode: path, links, exnodes, wholes };
      const members = { ...stored, expires: until, bytes, sha256, root, ms };
      this.#report.object({ event: 'done', ...members, decrypt: decryptLine(spread) });
      return;
    }
    this.#progress.stored();
    for (const link of links) this.#out.stdout.write(`${link}\n`);
    if (this.#quiet) return;
    for (const link of wholes) this.#out.stdout.write(`  file     ${link}\n`);
    const line = decryptLine(spread);
    if (line !== undefined) this.#out.stdout.write(`  decrypt  ${line}\n`);
    this.#out.stdout.write(`  expires  ${until}\n`);
    this.#out.stdout.write(`  manage   ${path} (it gives all rights: keep it to yourself)\n`);
  }

  /** Ends the updates. */
  end(): void {
    this.#progress.end();
  }
}
