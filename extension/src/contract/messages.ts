/**
 * Requests of the extension's own pages to the background. Each is one `runtime.sendMessage`. A
 * page that connects a port named `watch` gets `{ changed: true }` on it when it should ask again.
 * All messages are checked against schemas, because content scripts could send messages too.
 */

import * as z from 'zod';
import type { PairProblem, RemoteProblem, RemoteState } from './remote.ts';
import { type Settings, settingsSchema } from './settings.ts';
import type { ShownDownload, TakerKind } from './taker.ts';

const taker = z.enum(['desktop', 'browser', 'remote']);
const host = z.string().min(1).max(253);

export const requestSchema = z.discriminatedUnion('type', [
  /** Asks for everything that the popup shows. Answered with `PopupState`. */
  z.object({ type: z.literal('state'), url: z.string().max(65_536).optional() }),
  z.object({
    type: z.literal('command'),
    taker,
    id: z.string().max(64),
    command: z.enum(['pause', 'resume', 'remove', 'open', 'show']),
  }),
  /** Switches the extension off or on for a host's downloads. */
  z.object({ type: z.literal('switch-host'), host, off: z.boolean() }),
  z.object({ type: z.literal('switch-all'), on: z.boolean() }),
  /** Leaves the next download alone. */
  z.object({ type: z.literal('skip-next'), skip: z.boolean() }),
  /**
   * Asks for the links that were found for the picker, opened as `picker.html?key=KEY`. Can be
   * answered with `FoundLinks` repeatedly while the browser runs, as the page may be reloaded.
   */
  z.object({ type: z.literal('picked-links'), key: z.string().max(64) }),
  z.object({
    type: z.literal('add'),
    links: z
      .array(z.object({ url: z.string().max(65_536), referrer: z.string().max(65_536).optional() }))
      .max(10_000),
  }),
  z.object({ type: z.literal('get-settings') }),
  z.object({ type: z.literal('set-settings'), settings: settingsSchema }),
  z.object({ type: z.literal('open-app') }),
  /** Asks whether a daemon of another machine is paired, and answers. */
  z.object({ type: z.literal('remote') }),
  /** Pairs this browser with a daemon; the daemon paired before is forgotten. */
  z.object({
    type: z.literal('pair-remote'),
    /** Origin, as of `remoteOrigin`. */
    url: z.string().max(300),
    code: z.string().min(1).max(64),
  }),
  z.object({ type: z.literal('forget-remote') }),
]);

export type Request = z.output<typeof requestSchema>;

export interface PopupState {
  /** Downloads of all takers, newest first. */
  readonly downloads: readonly ShownDownload[];
  /** Taker for a download that begins now; undefined if there is none. */
  readonly taker: TakerKind | undefined;
  /**
   * Reason why the desktop is not available, as a text for the user; undefined if it is available.
   */
  readonly desktopProblem?: string | undefined;
  /** Reason why the chosen daemon of another machine is not available. */
  readonly remoteProblem?: RemoteProblem | 'not-paired' | undefined;
  readonly on: boolean;
  readonly skipNext: boolean;
  /** Host of the page that the popup was opened on. */
  readonly host?: { readonly name: string; readonly off: boolean } | undefined;
}

export interface FoundLinks {
  /** URL of the page that contains the links. */
  readonly page: string;
  readonly title: string;
  readonly links: readonly { readonly url: string; readonly text: string }[];
}

/** Answer to a request of type T. */
export type Answer<T extends Request['type']> = T extends 'state'
  ? PopupState
  : T extends 'picked-links'
    ? FoundLinks | undefined
    : T extends 'get-settings'
      ? Settings
      : T extends 'add'
        ? { readonly added: number; readonly failed: number }
        : T extends 'remote'
          ? RemoteState
          : T extends 'pair-remote'
            ? { readonly problem?: PairProblem }
            : Record<string, never>;

/** Answer to a request that failed. */
export interface Failed {
  readonly failed: { readonly message: string };
}
