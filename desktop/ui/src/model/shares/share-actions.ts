/** Users' actions on files that they send. */

import {
  OUTGOING_PATH,
  OUTGOING_PIECE_BYTES,
  type Outgoing,
  type ShareView,
} from '@millrace/shared/bridge/rpc/share-api';
import type { Connection } from '../../api/connection.ts';
import type { Text } from '../../text/text.ts';

/** Parts of the page that these actions need. */
export interface SharePage {
  readonly text: Text;
  readonly call: Connection['call'];
  attempt<T>(call: Promise<T>): Promise<T | undefined>;
  toast(
    text: string,
    more?: { kind?: 'bad'; action?: { label: string; run: () => void } },
  ): unknown;
}

/** Parts of the app's window or the browser that these actions need. */
export interface ShareWindow {
  copyText(text: string): Promise<boolean>;
  /** Names a file to the daemon; undefined: its bytes have to be copied. */
  offerFile(file: File): Promise<Outgoing | undefined>;
  /** Lets the user choose a folder; undefined: the page is in a browser, which tells no paths. */
  readonly offerFolder: (() => Promise<Outgoing | undefined>) | undefined;
  /** Shows the files that were sent. */
  show(): void;
}

export interface SendOptions {
  readonly seconds: number;
  /** Base URLs of depots. */
  readonly depots: readonly string[];
  /** More than depots: others in their networks are found. */
  readonly copies: number;
  /** True: depots get the ciphertext only. */
  readonly encrypt: boolean;
}

/** A file of the page, or a folder that the daemon knows already. */
export type Sendable = File | Outgoing;

/** Returns the length of what is sent, in bytes. */
export function bytesOf(one: Sendable): number {
  return isNamed(one) ? one.bytes : one.size;
}

function isNamed(one: Sendable): one is Outgoing {
  return 'file' in one;
}

export class ShareActions {
  readonly #app: SharePage;
  readonly #window: ShareWindow;

  constructor(app: SharePage, window: ShareWindow) {
    this.#app = app;
    this.#window = window;
  }

  /** Lets the user choose a folder; undefined: that is not possible here. */
  get chooseFolder(): (() => Promise<Outgoing | undefined>) | undefined {
    const { offerFolder } = this.#window;
    return offerFolder && (() => this.#app.attempt(offerFolder()));
  }

  show(): void {
    this.#window.show();
  }

  /**
   * Sends a folder that was chosen, or a file: by its path in the app's window, otherwise by a copy that
   * the daemon gets.
   *
   * @param onCopied called with the bytes of the copy so far
   * @throws CallError; Error if the file cannot be read; the signal's reason
   */
  async send(
    file: Sendable,
    options: SendOptions,
    onCopied: (bytes: number) => void,
    signal: AbortSignal,
  ): Promise<ShareView> {
    const outgoing = isNamed(file)
      ? file
      : ((await this.#window.offerFile(file)) ?? (await this.#copy(file, onCopied, signal)));
    return this.#app.call('millrace.share', { file: outgoing.file, ...options });
  }

  async copyLink({ link }: ShareView): Promise<void> {
    if (link !== undefined) await this.copy(link);
  }

  async copy(link: string): Promise<void> {
    const { text } = this.#app;
    if (await this.#window.copyText(link)) this.#app.toast(text.t('word.copied'));
    else this.#app.toast(text.t('share.notCopied'), { kind: 'bad' });
  }

  async pause({ id }: ShareView): Promise<void> {
    await this.#app.attempt(this.#app.call('millrace.pauseShare', { id }));
  }

  async resume({ id }: ShareView): Promise<void> {
    await this.#app.attempt(this.#app.call('millrace.resumeShare', { id }));
  }

  /** @returns whether the depots are being asked */
  async extend(id: string, seconds: number): Promise<boolean> {
    const asked = this.#app.call('millrace.extendShare', { id, seconds });
    return (await this.#app.attempt(asked)) !== undefined;
  }

  /** Has lost copies stored at other depots. */
  async repair(id: string): Promise<void> {
    await this.#app.attempt(this.#app.call('millrace.repairShare', { id }));
  }

  /** Stops a repair. */
  async stopRepair(id: string): Promise<void> {
    await this.#app.attempt(this.#app.call('millrace.stopRepair', { id }));
  }

  /** Revokes a file, and offers for a while to undo that. @param name as it is shown */
  async revoke({ id }: ShareView, name: string): Promise<void> {
    const { text } = this.#app;
    const asked = this.#app.call('millrace.revokeShare', { id });
    if ((await this.#app.attempt(asked)) === undefined) return;
    const action = { label: text.t('toast.undo'), run: () => void this.undo(id) };
    this.#app.toast(text.t('share.revoked', { name }), { action });
  }

  async undo(id: string): Promise<void> {
    await this.#app.attempt(this.#app.call('millrace.undoRevoke', { id }));
  }

  async forget({ id }: ShareView): Promise<void> {
    await this.#app.attempt(this.#app.call('millrace.forgetShare', { id }));
  }

  async #copy(
    file: File,
    onCopied: (bytes: number) => void,
    signal: AbortSignal,
  ): Promise<Outgoing> {
    const { name, size: bytes } = file;
    const outgoing = await this.#app.call('millrace.stageFile', { name, bytes });
    try {
      for (let at = 0; at < bytes; at += OUTGOING_PIECE_BYTES) {
        // A file that cannot be read any more makes this fail.
        const body = await file.slice(at, at + OUTGOING_PIECE_BYTES).arrayBuffer();
        const url = `${OUTGOING_PATH}${outgoing.file}?at=${at}`;
        const { ok, status } = await fetch(url, { method: 'PUT', body, signal });
        if (!ok) throw new Error(this.#app.text.t('send.notCopied', { status: String(status) }));
        onCopied(at + body.byteLength);
      }
      return outgoing;
    } catch (error) {
      await this.#app.call('millrace.dropFile', { file: outgoing.file }).catch(() => {});
      throw error;
    }
  }
}
