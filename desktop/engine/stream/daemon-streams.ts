/** The streams of a daemon: one per download that somebody plays. */

import { MillraceError } from '@millrace/shared/base/errors';
import { type ServedStream, serveStream } from './serve-stream.ts';
import type { StreamedDownload } from './stream-source.ts';

/** As much of a daemon's downloads as streaming needs (`Manager` has it). */
export interface StreamableDownloads {
  /** @throws MillraceError `no-such-download` */
  get(gid: string): StreamableRecord;
  /** The download as it runs; undefined while it does not. */
  running(gid: string): StreamedDownload | undefined;
  listen(listener: (event: { readonly kind: string }) => void): () => void;
}

export interface StreamableRecord {
  readonly gid: string;
  readonly state: string;
  readonly path: string | undefined;
  readonly length: number | undefined;
}

export class DaemonStreams {
  readonly #downloads: StreamableDownloads;
  readonly #streams = new Map<string, Promise<ServedStream>>();

  constructor(downloads: StreamableDownloads) {
    this.#downloads = downloads;
  }

  /**
   * The address at which a download can be played: one that runs, until it is paused or fails, or
   * one that is complete.
   *
   * @param gid or a beginning of it that no other has
   * @throws MillraceError `no-such-download`, `wrong-state`, or what the download fails with
   */
  async open(gid: string): Promise<string> {
    const record = this.#downloads.get(gid);
    let stream = this.#streams.get(record.gid);
    if (stream === undefined) {
      stream = this.#serve(record);
      this.#streams.set(record.gid, stream);
      stream.catch(() => this.#streams.delete(record.gid));
    }
    return (await stream).url;
  }

  async close(): Promise<void> {
    const streams = [...this.#streams.values()];
    this.#streams.clear();
    await Promise.all(streams.map((stream) => stream.then((s) => s.close()).catch(() => {})));
  }

  async #serve({ gid, state, path, length }: StreamableRecord): Promise<ServedStream> {
    if (state === 'complete' && path !== undefined) {
      return serveStream(completed(path, length), Promise.resolve({ path }));
    }
    const run = this.#downloads.running(gid);
    if (run === undefined) throw new MillraceError('wrong-state', `${gid} does not run`);
    const finished = this.#finished(gid, run);
    // Paused or failed: whoever plays it later gets another address.
    finished.catch(async () => {
      const stream = this.#streams.get(gid);
      this.#streams.delete(gid);
      await stream?.then((s) => s.close()).catch(() => {});
    });
    return serveStream(run, finished);
  }

  /** Resolves when the run has brought the file, rejects when it has ended without. */
  #finished(gid: string, run: StreamedDownload): Promise<{ readonly path: string }> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (this.#downloads.running(gid) === run) return;
        leave();
        const { state, path } = recordOf(this.#downloads, gid) ?? { state: 'removed' };
        if (state === 'complete' && path !== undefined) resolve({ path });
        else reject(new MillraceError('interrupted'));
      };
      const leave = this.#downloads.listen(look);
      look();
    });
  }
}

function recordOf(downloads: StreamableDownloads, gid: string): StreamableRecord | undefined {
  try {
    return downloads.get(gid);
  } catch {
    return undefined;
  }
}

/** A download of which nothing runs any more: its file has it all. */
function completed(path: string, length: number | undefined): StreamedDownload {
  return {
    described: Promise.resolve({ path, length, contentType: undefined }),
    read: () => Promise.reject(new Error('the file is read')),
    prefer() {},
  };
}
