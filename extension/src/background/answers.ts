/**
 * Answers the extension's own pages, and hears of clicks in other pages. Every message is checked.
 */

import { isAmong } from '@millrace/shared/http/urls/host-list';
import { tryRead } from '@millrace/shared/schema/read';
import * as z from 'zod';
import type { BrowserApi } from '../browser/api.ts';
import { clickSchema } from '../content/click.ts';
import {
  type Answer,
  type Failed,
  type FoundLinks,
  type PopupState,
  type Request,
  requestSchema,
} from '../contract/messages.ts';
import type { Settings } from '../contract/settings.ts';
import type { TakerKind } from '../contract/taker.ts';
import { hostOf } from '../intercept/hosts.ts';
import type { KeptPairing } from '../takers/kept-pairing.ts';
import type { DesktopProblem } from '../takers/native-link.ts';
import type { Activity } from './activity.ts';
import { takersOf } from './interceptor.ts';
import type { KeptSettings } from './kept-settings.ts';
import type { LastShown } from './last-shown.ts';
import { FOUND } from './menus.ts';
import type { RemoteDaemon } from './remote-daemon.ts';
import type { Skipping } from './skipping.ts';
import type { Takers } from './takers.ts';

export interface AnswersOptions {
  readonly api: BrowserApi;
  readonly takers: Takers;
  readonly settings: KeptSettings;
  readonly skipping: Skipping;
  readonly activity: Activity;
  readonly shown: LastShown;
  readonly daemon: RemoteDaemon;
  readonly pairing: Pick<KeptPairing, 'read'>;
  readonly add: (
    links: readonly { url: string; referrer?: string | undefined }[],
  ) => Promise<{ added: number; failed: number }>;
}

/** Names of the texts that tell the user why the desktop is not available. */
const PROBLEMS: Readonly<Record<DesktopProblem, string>> = {
  'no-host': 'desktopNoHost',
  forbidden: 'desktopForbidden',
  'no-engine': 'desktopNoEngine',
  'other-version': 'desktopOtherVersion',
  lost: 'desktopLost',
};

/** Takers whose downloads are listed, by the chosen taker. */
const ASKED: Readonly<Record<Settings['taker'], readonly TakerKind[]>> = {
  auto: ['desktop'],
  desktop: ['desktop'],
  browser: [],
  remote: ['remote'],
};

type Answers = {
  readonly [T in Request['type']]: (
    request: Extract<Request, { type: T }>,
  ) => Promise<Answer<T>> | Answer<T>;
};

const foundSchema = z.object({
  page: z.string(),
  title: z.string(),
  links: z.array(z.object({ url: z.string(), text: z.string() })),
});

export class PageAnswers {
  readonly #options: AnswersOptions;

  /** Must be called while the background's script runs for the first time. */
  constructor(options: AnswersOptions) {
    this.#options = options;
    options.api.runtime.onMessage.addListener((message, sender, answer) => {
      if (sender.id !== options.api.runtime.id) return false;
      if (!this.#isOwnPage(sender)) {
        this.#onClick(message);
        return false;
      }
      const parsed = tryRead(requestSchema, message);
      if (!parsed.success) return false;
      void this.#answer(parsed.data).then(answer);
      // Tells the browser that the answer comes later.
      return true;
    });
  }

  #isOwnPage({ url }: chrome.runtime.MessageSender): boolean {
    return url?.startsWith(this.#options.api.runtime.getURL('')) === true;
  }

  /**
   * Handles a message of a content script. A page may control that script: the most it can achieve
   * is that the extension leaves the page's downloads alone.
   */
  #onClick(message: unknown): void {
    const click = tryRead(clickSchema, message).data;
    const { skipKey } = this.#options.settings.now;
    if (skipKey !== 'none' && click?.keys.includes(skipKey))
      this.#options.skipping.clicked(Date.now());
  }

  async #answer(request: Request): Promise<unknown> {
    try {
      await this.#options.settings.ready;
      const answer = this.#answers[request.type] as (request: Request) => Promise<unknown>;
      // Chromium's messages cannot carry undefined.
      return (await answer(request)) ?? null;
    } catch (error) {
      return {
        failed: { message: error instanceof Error ? error.message : String(error) },
      } as Failed;
    }
  }

  readonly #answers: Answers = {
    state: ({ url }) => this.#state(url),
    command: async ({ taker, id, command }) => {
      await this.#options.takers.get(taker).command(id, command);
      this.#options.activity.changed();
      return {};
    },
    'switch-host': async ({ host, off }) => {
      const { offHosts } = this.#options.settings.now;
      const others = offHosts.filter((other) => !isAmong(host, [other]));
      return this.#change({ offHosts: off ? [...others, host] : others });
    },
    'switch-all': ({ on }) => this.#change({ on }),
    'skip-next': async ({ skip }) => {
      await this.#options.skipping.setNext(skip);
      this.#options.activity.changed();
      return {};
    },
    'picked-links': async ({ key }) => {
      const stored = await this.#options.api.storage.session.get(FOUND + key);
      return tryRead(foundSchema, stored[FOUND + key]).data as FoundLinks | undefined;
    },
    add: ({ links }) => this.#options.add(links),
    'get-settings': () => this.#options.settings.now,
    'set-settings': ({ settings }) => this.#change(settings),
    'open-app': async () => {
      const { api, pairing, settings, takers } = this.#options;
      const url = settings.now.taker === 'remote' ? (await pairing.read())?.url : undefined;
      if (url === undefined) await takers.desktop.openApp();
      else await api.tabs.create({ url });
      return {};
    },
    remote: () => this.#options.daemon.state(),
    'pair-remote': async ({ url, code }) => {
      const answer = await this.#options.daemon.pair(url, code);
      this.#options.activity.changed();
      return answer;
    },
    'forget-remote': async () => {
      const answer = await this.#options.daemon.forget();
      this.#options.activity.changed();
      return answer;
    },
  };

  /** Changes settings, and tells other open pages to show the change. */
  async #change(changes: Partial<Settings>): Promise<Record<string, never>> {
    await this.#options.settings.change(changes);
    this.#options.activity.changed();
    return {};
  }

  /** Returns why the daemon of another machine is not available; undefined if it is not chosen. */
  async #remoteProblem(): Promise<PopupState['remoteProblem']> {
    const { pairing, settings, takers } = this.#options;
    if (settings.now.taker !== 'remote') return undefined;
    return (await pairing.read()) === undefined ? 'not-paired' : takers.remote.link.problem;
  }

  async #state(url: string | undefined): Promise<PopupState> {
    const { takers, settings, skipping, shown, api } = this.#options;
    await skipping.ready;
    const kinds = takersOf(settings.now);
    // Skip the takers that the user chose not to use; always show the browser's downloads.
    const asked = [...new Set<TakerKind>([...ASKED[settings.now.taker], 'browser'])];
    const downloads = await shown.list(asked);
    const { link } = takers.desktop;
    const problem = asked.includes('desktop') ? link.problem : undefined;
    const remoteProblem = await this.#remoteProblem();
    const isReady: Readonly<Record<TakerKind, boolean>> = {
      browser: true,
      desktop: link.connected,
      remote: remoteProblem === undefined,
    };
    const taker = kinds.find((kind) => isReady[kind]);
    const name = hostOf(url);
    return {
      downloads,
      taker,
      desktopProblem: problem && api.i18n.getMessage(PROBLEMS[problem]),
      remoteProblem,
      on: settings.now.on,
      skipNext: skipping.next,
      host: name === undefined ? undefined : { name, off: isAmong(name, settings.now.offHosts) },
    };
  }
}
