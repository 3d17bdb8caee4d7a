/**
 * Notifies connected clients of events: in aria2's form, and in our own form to clients that have
 * subscribed.
 */

import { ON_UPDATE } from '@millrace/shared/bridge/rpc/live-api';
import type { Manager } from '../../downloads/manager.ts';
import type { ManagerEvent } from '../../queue/records.ts';
import { viewOf } from '../../views/view.ts';
import type { Subscriber } from './dispatcher.ts';

const ARIA2: Readonly<Partial<Record<ManagerEvent['kind'], string>>> = {
  started: 'aria2.onDownloadStart',
  paused: 'aria2.onDownloadPause',
  stopped: 'aria2.onDownloadStop',
  completed: 'aria2.onDownloadComplete',
  failed: 'aria2.onDownloadError',
};

/**
 * Names of all notifications. Our own are sent only after `millrace.subscribe`, live updates
 * (`live-feed.ts`) only after `millrace.watch`.
 */
export const NOTIFICATIONS: readonly string[] = [
  ...(Object.values(ARIA2) as string[]),
  'millrace.onChange',
  'millrace.onProgress',
  'millrace.onNote',
  'millrace.onForget',
  ON_UPDATE,
];

interface Subscription {
  readonly gids: ReadonlySet<string> | undefined;
  readonly timer: NodeJS.Timeout;
}

export class Notifier {
  readonly #manager: Manager;
  readonly #aria2 = new Set<Subscriber>();
  readonly #own = new Map<Subscriber, Subscription>();
  readonly #changed = new Set<string>();
  readonly #stopListening: () => void;
  #flush: NodeJS.Immediate | undefined;

  constructor(manager: Manager) {
    this.#manager = manager;
    this.#stopListening = manager.listen((event) => this.#onEvent(event));
  }

  /** Starts aria2's notifications for a client. @returns a function that ends them */
  listenAria2(subscriber: Subscriber): () => void {
    this.#aria2.add(subscriber);
    return () => this.#aria2.delete(subscriber);
  }

  /** Starts sending changes, notes and progress. A second call replaces the first. */
  subscribe(subscriber: Subscriber, progressMs: number, gids: ReadonlySet<string> | undefined) {
    if (this.#own.has(subscriber)) this.unsubscribe(subscriber);
    else subscriber.onClosed(() => this.unsubscribe(subscriber));
    const timer = setInterval(() => this.#sendProgress(subscriber), progressMs);
    this.#own.set(subscriber, { gids, timer });
  }

  unsubscribe(subscriber: Subscriber): void {
    clearInterval(this.#own.get(subscriber)?.timer);
    this.#own.delete(subscriber);
  }

  close(): void {
    this.#stopListening();
    clearImmediate(this.#flush);
    for (const subscriber of [...this.#own.keys()]) this.unsubscribe(subscriber);
  }

  #onEvent(event: ManagerEvent): void {
    if (event.kind === 'changed') {
      if (this.#own.size === 0) return;
      // Several changes at the same time are sent as one.
      this.#changed.add(event.gid);
      this.#flush ??= setImmediate(() => this.#sendChanged());
    } else if (event.kind === 'note') {
      const { gid, text } = event;
      this.#sendOwn(gid, 'millrace.onNote', { gid, text });
    } else if (event.kind === 'forgotten') {
      for (const subscriber of this.#own.keys()) {
        subscriber.send('millrace.onForget', [{ gids: event.gids }]);
      }
    } else if (event.kind !== 'settings' && event.kind !== 'trash' && event.kind !== 'stand') {
      const method = ARIA2[event.kind] as string;
      for (const subscriber of this.#aria2) subscriber.send(method, [{ gid: event.gid }]);
    }
  }

  #sendChanged(): void {
    this.#flush = undefined;
    for (const gid of this.#changed) {
      const download = this.#view(gid);
      if (download !== undefined) this.#sendOwn(gid, 'millrace.onChange', { download });
    }
    this.#changed.clear();
  }

  #sendProgress(subscriber: Subscriber): void {
    const gids = this.#own.get(subscriber)?.gids;
    const downloads = this.#manager.queue.active
      .filter(({ gid }) => gids === undefined || gids.has(gid))
      .flatMap(({ gid }) => this.#view(gid) ?? []);
    if (downloads.length > 0) subscriber.send('millrace.onProgress', [{ downloads }]);
  }

  #sendOwn(gid: string, method: string, param: object): void {
    for (const [subscriber, { gids }] of this.#own) {
      if (gids === undefined || gids.has(gid)) subscriber.send(method, [param]);
    }
  }

  #view(gid: string) {
    try {
      return viewOf(this.#manager, this.#manager.get(gid));
    } catch {
      // Deleted meanwhile.
      return undefined;
    }
  }
}
