/**
 * Requests of the extension's own pages to the background. Each is one `runtime.sendMessage`; a
 * page that connects a port named `watch` is told `{ changed: true }` on it when it should ask
 * again. All of it is parsed: content scripts could send messages too.
 */

import { z } from 'zod';
import { type Settings, settingsSchema } from './settings.ts';
import type { ShownDownload } from './taker.ts';

const taker = z.enum(['desktop', 'browser']);
const host = z.string().min(1).max(253);

export const requestSchema = z.discriminatedUnion('type', [
  /** Everything that the popup shows. Answered with `PopupState`. */
  z.object({ type: z.literal('state'), url: z.string().max(65_536).optional() }),
  z.object({
    type: z.literal('command'),
    taker,
    id: z.string().max(64),
    command: z.enum(['pause', 'resume', 'remove', 'open', 'show']),
  }),
  /** Leaves the downloads of a host alone, or no longer. */
  z.object({ type: z.literal('switch-host'), host, off: z.boolean() }),
  z.object({ type: z.literal('switch-all'), on: z.boolean() }),
  /** Leaves the next download alone. */
  z.object({ type: z.literal('skip-next'), skip: z.boolean() }),
  /**
   * Links that were found for the picker, which is opened as `picker.html?key=KEY`. Answered with
   * `FoundLinks` any number of times while the browser runs: pages may be loaded again.
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
]);

export type Request = z.output<typeof requestSchema>;

export interface PopupState {
  /** Newest first, of both takers. */
  readonly downloads: readonly ShownDownload[];
  /** Taker of a download that begins now; undefined: none. */
  readonly taker: 'desktop' | 'browser' | undefined;
  /** Why the desktop is not there, in words for the user; undefined: it is. */
  readonly desktopProblem?: string | undefined;
  readonly on: boolean;
  readonly skipNext: boolean;
  /** Of the page that the popup was opened on. */
  readonly host?: { readonly name: string; readonly off: boolean } | undefined;
}

export interface FoundLinks {
  /** The page they are of. */
  readonly page: string;
  readonly title: string;
  readonly links: readonly { readonly url: string; readonly text: string }[];
}

/** Answers to requests. */
export type Answer<T extends Request['type']> = T extends 'state'
  ? PopupState
  : T extends 'picked-links'
    ? FoundLinks | undefined
    : T extends 'get-settings'
      ? Settings
      : T extends 'add'
        ? { readonly added: number; readonly failed: number }
        : Record<string, never>;

/** Requests that fail are answered with this. */
export interface Failed {
  readonly failed: { readonly message: string };
}
