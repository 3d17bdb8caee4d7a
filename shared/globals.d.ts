/**
 * The few globals that every runtime has (Node, browsers, workers) and that the pure core may use.
 * Timers, fetch, the clock, randomness and the console are left out on purpose.
 */

interface AbortSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
  throwIfAborted(): void;
}

declare class AbortController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}

declare class URLSearchParams {
  constructor(query?: string);
  get(name: string): string | null;
  getAll(name: string): string[];
  set(name: string, value: string): void;
}

declare class URL {
  constructor(url: string, base?: string | URL);
  readonly href: string;
  readonly origin: string;
  readonly protocol: string;
  static canParse(url: string, base?: string): boolean;
  readonly searchParams: URLSearchParams & { keys(): Iterable<string> };
  readonly username: string;
  readonly password: string;
  readonly host: string;
  hostname: string;
  readonly port: string;
  readonly pathname: string;
  search: string;
  hash: string;
}

declare class TextEncoder {
  encode(text: string): Uint8Array<ArrayBuffer>;
}

declare class TextDecoder {
  constructor(encoding?: string, options?: { fatal?: boolean });
  decode(bytes: Uint8Array): string;
}

/** Decodes base64 into characters of one byte each; throws on malformed input. */
declare function atob(text: string): string;
declare function btoa(binary: string): string;
