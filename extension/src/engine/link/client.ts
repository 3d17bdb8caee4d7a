/** Calls the engine from the background, and starts it when it is first needed. */

import type { EngineCall, EngineMessage, EngineResults } from '../../contract/protocol.ts';
import { TakerError } from '../../contract/taker.ts';
import type { EngineHost, EngineLink } from './link.ts';

interface Waiting {
  resolve(result: object): void;
  reject(error: TakerError): void;
}

export class EngineClient {
  readonly #host: EngineHost;
  readonly #onEvent: (message: Extract<EngineMessage, { event: string }>) => void;
  readonly #waiting = new Map<string, Waiting>();
  #link: Promise<EngineLink> | undefined;

  constructor(
    host: EngineHost,
    onEvent: (message: Extract<EngineMessage, { event: string }>) => void,
  ) {
    this.#host = host;
    this.#onEvent = onEvent;
  }

  /** Whether the engine runs, so that asking it starts nothing. */
  async runs(): Promise<boolean> {
    return this.#link !== undefined || (await this.#host.runs());
  }

  /** Starts the engine if it does not run, and connects to it. @throws TakerError `absent` */
  async connect(): Promise<void> {
    await this.#linked();
  }

  /** Calls the engine. @throws TakerError */
  async call<T extends EngineCall['type']>(
    call: Extract<EngineCall, { type: T }>,
  ): Promise<EngineResults[T]> {
    const link = await this.#linked();
    const id = crypto.randomUUID();
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as Waiting['resolve'], reject });
      try {
        link.send({ id, call });
      } catch {
        this.#onEnd();
      }
    });
  }

  #linked(): Promise<EngineLink> {
    this.#link ??= this.#host
      .connect({ onMessage: (message) => this.#onMessage(message), onEnd: () => this.#onEnd() })
      .catch((error: Error) => {
        this.#link = undefined;
        throw new TakerError('absent', error.message);
      });
    return this.#link;
  }

  #onMessage(message: EngineMessage): void {
    if ('event' in message) return this.#onEvent(message);
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if ('result' in message) return waiting?.resolve(message.result);
    const { problem, message: text, code } = message.failed;
    waiting?.reject(new TakerError(problem, text, code));
  }

  #onEnd(): void {
    this.#link = undefined;
    const error = new TakerError('lost', 'The engine in the extension has ended');
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
