/**
 * The connection to the native host: opened when it is needed, and again after it has ended. By
 * connecting, the browser starts the host, and the host starts the engine.
 */

import {
  parseNativeMessage,
  parseNativeResult,
} from '@millrace/shared/bridge/native/native-answer';
import {
  MAX_FROM_BROWSER_BYTES,
  NATIVE_HOST,
  NATIVE_VERSION,
  type NativeCalls,
  type NativeFailure,
  type NativeType,
} from '@millrace/shared/bridge/native/native-api';
import { TakerError, takerError } from '../contract/taker.ts';

/** The members in use of the browser's port to the native host. */
export interface NativePort {
  postMessage(message: unknown): void;
  disconnect(): void;
  readonly onMessage: { addListener(listener: (message: unknown) => void): void };
  readonly onDisconnect: { addListener(listener: (port: NativePort) => void): void };
  /** Reason why the port has ended, in Firefox. */
  readonly error?: { readonly message?: string } | null;
}

export interface NativeLinkOptions {
  /** Starts the host, and returns the port to it. */
  readonly connect: (name: string) => NativePort;
  /** Returns the reason why the reported port has ended, in Chromium. */
  readonly lastError: () => string | undefined;
  readonly browser: string;
  /** Called when the list of downloads may have changed. */
  readonly onChanged: () => void;
}

/** Reason why the desktop is not available. */
export type DesktopProblem = 'no-host' | 'forbidden' | 'no-engine' | 'other-version' | 'lost';

/**
 * Longest wait for the first answer, ms: the engine starts within a few seconds, also on slow
 * machines.
 */
const HELLO_MS = 30_000;
/** Longest wait for the answer to any other request, ms. */
const ANSWER_MS = 30_000;
/** Time before an absent host is looked for again, ms. */
const LOOK_AGAIN_MS = 3000;

interface Waiting {
  readonly type: NativeType;
  resolve(result: unknown): void;
  reject(error: TakerError): void;
}

class Connection {
  readonly port: NativePort;
  readonly waiting = new Map<number, Waiting>();
  #nextId = 1;

  constructor(port: NativePort) {
    this.port = port;
  }

  /** Sends a request. @returns the answer @throws TakerError */
  call<T extends NativeType>(
    type: T,
    params: NativeCalls[T]['params'],
    timeoutMs: number,
  ): Promise<NativeCalls[T]['result']> {
    const id = this.#nextId++;
    const message = { id, type, ...params };
    if (JSON.stringify(message).length > MAX_FROM_BROWSER_BYTES / 4) {
      return Promise.reject(
        new TakerError('refused', 'The message is too long to be sent', 'bad-option'),
      );
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(id);
        reject(new TakerError('lost', 'The desktop app does not answer', 'daemon-silent'));
      }, timeoutMs);
      const done = () => {
        clearTimeout(timer);
        this.waiting.delete(id);
      };
      this.waiting.set(id, {
        type,
        resolve: (result) => {
          done();
          try {
            resolve(parseNativeResult(type, result));
          } catch (error) {
            reject(new TakerError('lost', String(error), 'malformed-response'));
          }
        },
        reject: (error) => {
          done();
          reject(error);
        },
      });
      this.port.postMessage(message);
    });
  }
}

export class NativeLink {
  readonly #options: NativeLinkOptions;
  #connection: Promise<Connection> | undefined;
  #absentUntil = 0;
  #absence: TakerError | undefined;
  #problem: DesktopProblem | undefined;
  #watching = false;

  constructor(options: NativeLinkOptions) {
    this.#options = options;
  }

  /** Reason why the desktop is not available; undefined if it is, or has not been asked yet. */
  get problem(): DesktopProblem | undefined {
    return this.#problem;
  }

  /** Whether a connection is open or being opened, and no problem is known. */
  get connected(): boolean {
    return this.#connection !== undefined && this.#problem === undefined;
  }

  /**
   * Sends a request, over a new connection if there is none.
   *
   * @throws TakerError; `absent` if the host cannot be reached, and nothing was sent
   */
  async call<T extends NativeType>(
    type: T,
    params: NativeCalls[T]['params'],
  ): Promise<NativeCalls[T]['result']> {
    const connection = await this.#open();
    return connection.call(type, params, ANSWER_MS);
  }

  /** Switches reports of changes on or off, for later connections too. @throws TakerError */
  async watch(on: boolean): Promise<void> {
    if (this.#watching === on) return;
    this.#watching = on;
    if (on || this.#connection !== undefined) await this.call('watch', { on });
  }

  /** Ends the host, for which the browser would keep the background alive. */
  close(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    void connection?.then(
      ({ port }) => port.disconnect(),
      () => {},
    );
  }

  #open(): Promise<Connection> {
    if (this.#absence !== undefined && Date.now() < this.#absentUntil) {
      return Promise.reject(this.#absence);
    }
    this.#connection ??= this.#connect();
    return this.#connection;
  }

  async #connect(): Promise<Connection> {
    const connection = new Connection(this.#start());
    const { port } = connection;
    const opened: Promise<Connection> = connection
      .call('hello', { version: NATIVE_VERSION, browser: this.#options.browser }, HELLO_MS)
      .then(async () => {
        this.#problem = undefined;
        this.#absence = undefined;
        if (this.#watching) await connection.call('watch', { on: true }, ANSWER_MS);
        return connection;
      })
      .catch((error: TakerError) => {
        port.disconnect();
        throw this.#absent(error);
      });
    let why: string | undefined;
    port.onMessage.addListener((message) => this.#onMessage(connection, message));
    port.onDisconnect.addListener((ended) => {
      why = ended.error?.message ?? this.#options.lastError();
      this.#connection = undefined;
      if (this.#problem === undefined) this.#problem = problemOf(why);
      const error = new TakerError(
        'lost',
        why ?? 'The connection to the desktop app broke',
        'ended',
      );
      for (const { reject } of [...connection.waiting.values()]) reject(error);
      if (this.#watching) this.#options.onChanged();
    });
    return opened;
  }

  #start(): NativePort {
    try {
      return this.#options.connect(NATIVE_HOST);
    } catch (error) {
      throw this.#absent(new TakerError('absent', String(error)));
    }
  }

  #absent({ message, code }: TakerError): TakerError {
    this.#connection = undefined;
    this.#problem = code === 'bad-option' ? 'other-version' : problemOf(message);
    if (code?.startsWith('daemon-')) this.#problem = 'no-engine';
    this.#absentUntil = Date.now() + LOOK_AGAIN_MS;
    this.#absence = new TakerError('absent', message, code);
    return this.#absence;
  }

  #onMessage(connection: Connection, value: unknown): void {
    const message = parseNativeMessage(value);
    if (message === undefined) return;
    if ('event' in message) return this.#options.onChanged();
    const waiting = connection.waiting.get(message.id);
    if (waiting === undefined) return;
    if ('result' in message) waiting.resolve(message.result);
    else waiting.reject(failure(message.error));
  }
}

function problemOf(why: string | undefined): DesktopProblem {
  if (why === undefined) return 'lost';
  if (/not found|no such native application/i.test(why)) return 'no-host';
  if (/forbidden|not allowed|permission/i.test(why)) return 'forbidden';
  return /exited|failed to start|disconnected/i.test(why) ? 'no-engine' : 'lost';
}

function failure({ code, message, detail }: NativeFailure): TakerError {
  const text = detail === '' ? message : `${message}: ${detail}`;
  return takerError(code, text);
}
