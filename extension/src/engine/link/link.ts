/** Connects the background to the engine's worker, in either browser. */

import type { BrowserApi } from '../../browser/api.ts';
import { ENGINE_PORT } from '../../contract/engine-port.ts';
import type { EngineMessage, EngineRequest } from '../../contract/protocol.ts';

export interface EngineLink {
  send(request: EngineRequest): void;
}

export interface LinkOptions {
  readonly onMessage: (message: EngineMessage) => void;
  /** Called when the engine has ended, or this link to it has. */
  readonly onEnd: () => void;
}

export interface EngineHost {
  /** Whether the engine runs. */
  runs(): Promise<boolean>;
  /** Connects to the engine; starts it if it does not run. @throws Error */
  connect(options: LinkOptions): Promise<EngineLink>;
}

const DOCUMENT = 'offscreen.html';
/** Most tries to connect: a document that exists may still be loading. */
const TRIES = 20;
const AGAIN_MS = 100;

/** Reaches the engine in Chromium, where it runs in the offscreen document. */
export class OffscreenHost implements EngineHost {
  readonly #api: BrowserApi;

  constructor(api: BrowserApi) {
    this.#api = api;
  }

  async runs(): Promise<boolean> {
    const contexts = await this.#api.runtime.getContexts({
      contextTypes: ['OFFSCREEN_DOCUMENT' as chrome.runtime.ContextType],
    });
    return contexts.length > 0;
  }

  async connect(options: LinkOptions): Promise<EngineLink> {
    for (let tries = 1; ; tries++) {
      await this.#create();
      const link = await this.#tryConnect(options);
      if (link !== undefined) return link;
      if (tries === TRIES) throw new Error('the engine cannot be reached');
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }

  async #create(): Promise<void> {
    if (await this.runs()) return;
    try {
      await this.#api.offscreen.createDocument({
        url: DOCUMENT,
        reasons: ['WORKERS', 'BLOBS'] as chrome.offscreen.Reason[],
        justification: 'Fetches downloads in a worker, and hands finished ones to the browser',
      });
    } catch (error) {
      // Another caller may have created the document first.
      if (!(await this.runs())) throw error;
    }
  }

  /** Connects to the document. @returns undefined if it has no listener yet */
  async #tryConnect({ onMessage, onEnd }: LinkOptions): Promise<EngineLink | undefined> {
    const { runtime } = this.#api;
    const port = runtime.connect({ name: ENGINE_PORT });
    let connected = false;
    return new Promise((resolve) => {
      port.onDisconnect.addListener(() => {
        void runtime.lastError;
        if (connected) onEnd();
        else resolve(undefined);
      });
      port.onMessage.addListener((message: EngineMessage) => {
        if (connected) return onMessage(message);
        connected = true;
        resolve({ send: (request) => port.postMessage(request) });
        if ('event' in message) onMessage(message);
      });
      // Only an answer proves that the engine is there: a port opens in any case.
      port.postMessage({
        id: crypto.randomUUID(),
        call: { type: 'start' },
      } satisfies EngineRequest);
    });
  }
}

/** Reaches the engine in Firefox, where the background is a page and has the worker itself. */
export class PageHost implements EngineHost {
  readonly #api: BrowserApi;
  #worker: Worker | undefined;

  constructor(api: BrowserApi) {
    this.#api = api;
  }

  async runs(): Promise<boolean> {
    return this.#worker !== undefined;
  }

  async connect({ onMessage, onEnd }: LinkOptions): Promise<EngineLink> {
    const worker = new Worker('engine-worker.js', { type: 'module' });
    this.#worker = worker;
    // Calls of the browser's API tell Firefox that the page is not idle.
    const awake = setInterval(() => void this.#api.runtime.getPlatformInfo(), 10_000);
    const end = () => {
      clearInterval(awake);
      worker.terminate();
      this.#worker = undefined;
      onEnd();
    };
    worker.addEventListener('message', ({ data }: MessageEvent<EngineMessage>) => {
      if ('event' in data && data.event === 'idle') return end();
      onMessage(data);
    });
    worker.addEventListener('error', end);
    worker.postMessage({
      id: crypto.randomUUID(),
      call: { type: 'start' },
    } satisfies EngineRequest);
    return { send: (request) => worker.postMessage(request) };
  }
}
