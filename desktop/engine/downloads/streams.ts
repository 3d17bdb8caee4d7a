/**
 * Serves downloads to media players, at one address each, while they run and when they are
 * complete.
 */

import { MillraceError } from '@millrace/shared/base/errors';
import type { Run } from '../queue/contract.ts';
import type { Manager } from './manager.ts';

/** The parts of a download that a player needs. */
type Streamed = Pick<Run, 'described' | 'read' | 'prefer'>;

/** Serves a download to players on this machine, at an unguessable address. */
export type ServeStream = (
  download: Streamed,
  finished: Promise<{ readonly path: string }>,
) => Promise<{
  readonly url: string;
  /** Number of players that read at the moment. */
  readonly readers: number;
  close(): Promise<void>;
}>;

type Served = Awaited<ReturnType<ServeStream>>;

const MAX_STREAMS = 32;

export class Streams {
  readonly #manager: Manager;
  readonly #serve: ServeStream;
  readonly #served = new Map<string, { readonly of: object; readonly stream: Promise<Served> }>();

  constructor(manager: Manager, serve: ServeStream) {
    this.#manager = manager;
    this.#serve = serve;
    manager.listen((event) => {
      // The stream would wait for bytes that will not come.
      if (event.kind === 'paused' || event.kind === 'stopped' || event.kind === 'failed') {
        void this.#close(event.gid);
      }
      if (event.kind === 'forgotten') for (const gid of event.gids) void this.#close(gid);
    });
  }

  /**
   * Returns the address of a download for a media player.
   *
   * @throws MillraceError `wrong-state` if the download neither runs nor is complete; the
   *   download's own error if it fails before its file is known
   */
  async open(gid: string): Promise<string> {
    await this.#manager.queueRunner.begun(gid);
    const { download, finished, of } = this.#source(gid);
    const present = this.#served.get(gid);
    if (present?.of === of) return (await present.stream).url;
    await this.#close(gid);
    if (this.#served.size >= MAX_STREAMS) await this.#closeIdle();
    const stream = this.#serve(download, finished);
    this.#served.set(gid, { of, stream });
    try {
      return (await stream).url;
    } catch (error) {
      this.#served.delete(gid);
      throw error;
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#served.keys()].map((gid) => this.#close(gid)));
  }

  /** Finds the data to serve. @returns `of` stays the same object as long as the stream is valid */
  #source(gid: string) {
    const run = this.#manager.running(gid);
    const finished = this.#manager.queueRunner.finished(gid);
    if (run !== undefined && finished !== undefined) return { download: run, finished, of: run };
    const { state, path, length } = this.#manager.get(gid);
    if (state !== 'complete' || path === undefined) {
      throw new MillraceError('wrong-state', { code: 'not-streamed' });
    }
    const there = this.#served.get(gid)?.of;
    const download: Streamed = {
      described: Promise.resolve({ path, length, contentType: undefined }),
      read: () => Promise.reject(new MillraceError('wrong-state', { code: 'is-complete' })),
      prefer() {},
    };
    // A stream that began during the download continues with the file.
    return { download, finished: Promise.resolve({ path }), of: there ?? download };
  }

  /** Makes room: closes the oldest idle stream. @throws MillraceError `too-many-transfers` */
  async #closeIdle(): Promise<void> {
    for (const [gid, { stream }] of this.#served) {
      const served = await stream.catch(() => undefined);
      if (served === undefined || served.readers === 0) return this.#close(gid);
    }
    throw new MillraceError('too-many-transfers');
  }

  async #close(gid: string): Promise<void> {
    const served = this.#served.get(gid);
    this.#served.delete(gid);
    const stream = await served?.stream.catch(() => undefined);
    await stream?.close();
  }
}
