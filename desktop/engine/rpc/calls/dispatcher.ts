/** Answers messages by calling methods: single calls, batches, multicalls, and checks of access. */

import {
  INVALID_PARAMS,
  isObject,
  type JsonRpcError,
  type JsonRpcResponse,
  METHOD_NOT_FOUND,
  PARSE_ERROR,
  parseCall,
  RpcError,
} from '@millrace/shared/bridge/rpc/json-rpc';
import type { RemoteAccess, RemoteCaller } from '../../web/callers.ts';
import type { Secret } from '../../web/guard.ts';
import { aria2Error, toJsonRpcError, UNAUTHORIZED } from './rpc-error.ts';

/** A client that is connected by WebSocket. */
export interface Subscriber {
  send(method: string, params: readonly unknown[]): void;
  /** Returns true while the client has much unread data, so that updates should wait. */
  readonly congested?: () => boolean;
  readonly onClosed: (listener: () => void) => void;
}

export interface CallContext {
  /**
   * True if the connection has shown the token, or belongs to a logged-in page. Its calls need no
   * token then.
   */
  readonly trusted: boolean;
  /** True if the token itself was shown. */
  readonly token?: boolean;
  /** Called when a call shows the token; for a device of another machine with its id. */
  readonly onTrusted?: (id?: string) => void;
  /** Set for calls from other machines; the daemon's own token does not count there. */
  readonly remote?: RemoteAccess | undefined;
  /** Undefined for a call over HTTP. */
  readonly subscriber: Subscriber | undefined;
  /** Called by a method that waits for other machines or for programs. */
  readonly onWaiting?: () => void;
}

/** A method, called with the parameters that follow the token. */
export type Method = (params: readonly unknown[], context: CallContext) => unknown;

/** Methods that reveal nothing and change nothing; aria2 allows them without a token. */
const OPEN: ReadonlySet<string> = new Set([
  'system.listMethods',
  'system.listNotifications',
  // Each call inside a multicall has its own token.
  'system.multicall',
]);

const MAX_BATCH = 1000;

/**
 * Decides what a caller from another machine may do.
 *
 * @returns the parameters to use
 * @throws MillraceError `not-remote`
 */
export type RemoteCheck = (
  name: string,
  params: readonly unknown[],
  caller: RemoteCaller,
) => Promise<readonly unknown[]>;

export interface Answer {
  /** The HTTP status that aria2 uses. */
  readonly status: number;
  /** One response, or for a batch one response per call. */
  readonly body: JsonRpcResponse | readonly JsonRpcResponse[];
}

export class Dispatcher {
  readonly #methods: ReadonlyMap<string, Method>;
  readonly #secret: Secret;
  readonly #checkRemote: RemoteCheck;

  /** @param notifications names of the notifications that clients may get */
  constructor(
    methods: ReadonlyMap<string, Method>,
    notifications: readonly string[],
    secret: Secret,
    checkRemote: RemoteCheck,
  ) {
    this.#checkRemote = checkRemote;
    this.#methods = new Map<string, Method>([
      ...methods,
      ['system.multicall', (params, context) => this.#multicall(params, context)],
      ['system.listMethods', () => [...this.#methods.keys()]],
      ['system.listNotifications', () => notifications],
    ]);
    this.#secret = secret;
  }

  /** Answers one message: a call or a batch of them. Never rejects. */
  async answer(text: string, context: CallContext): Promise<Answer> {
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      return failed(null, PARSE_ERROR);
    }
    if (Array.isArray(message)) {
      if (message.length > MAX_BATCH) {
        return failed(null, { code: 1, message: `A batch has at most ${MAX_BATCH} calls.` });
      }
      const answers: JsonRpcResponse[] = [];
      for (const call of message) {
        if (isObject(call)) answers.push((await this.#one(call, context)).body as JsonRpcResponse);
      }
      return { status: 200, body: answers };
    }
    return isObject(message) ? this.#one(message, context) : failed(null, PARSE_ERROR);
  }

  async #one(message: unknown, context: CallContext): Promise<Answer> {
    const call = parseCall(message);
    if ('error' in call) return failed(call.id, call.error);
    try {
      const result = await this.#call(call.method, call.params, context);
      return { status: 200, body: { id: call.id, jsonrpc: '2.0', result } };
    } catch (thrown) {
      return failed(call.id, toJsonRpcError(thrown));
    }
  }

  async #call(
    name: string,
    given: readonly unknown[] | Readonly<Record<string, unknown>>,
    context: CallContext,
  ): Promise<unknown> {
    const own = name.startsWith('millrace.');
    if (!Array.isArray(given) && !own) throw new RpcError(INVALID_PARAMS);
    let params: readonly unknown[] = Array.isArray(given) ? given : [given];
    const [first] = params;
    const parameter = typeof first === 'string' && first.startsWith('token:') ? first : undefined;
    const { trusted, ...known } = this.#recognise(parameter, context);
    if (!trusted && !OPEN.has(name)) throw new RpcError(UNAUTHORIZED);
    if (parameter !== undefined) params = params.slice(1);
    const method = this.#methods.get(name);
    if (method === undefined) {
      throw own ? new RpcError(METHOD_NOT_FOUND) : aria2Error(`No such method: ${name}`);
    }
    const caller = known.remote?.caller;
    if (caller !== undefined) params = await this.#checkRemote(name, params, caller);
    return method(params, { ...context, ...known });
  }

  /** Finds out who calls. @param parameter `token:SECRET`, if the call has one */
  #recognise(
    parameter: string | undefined,
    { trusted, token: shown, remote, onTrusted }: CallContext,
  ): Pick<CallContext, 'trusted' | 'token' | 'remote'> {
    if (remote === undefined) {
      const token = shown === true || this.#secret.inParameter(parameter);
      if (token) onTrusted?.();
      return { trusted: trusted || token, token };
    }
    const byToken = parameter === undefined ? undefined : remote.byToken(parameter.slice(6));
    const caller = remote.caller ?? byToken;
    if (byToken !== undefined) onTrusted?.(byToken.id);
    return { trusted: caller !== undefined, token: false, remote: { ...remote, caller } };
  }

  /** Runs several calls. As in aria2, each result is wrapped in a list, and an error is not. */
  async #multicall([calls]: readonly unknown[], context: CallContext): Promise<unknown[]> {
    if (calls === undefined) throw aria2Error('The parameter at 0 is required but missing.');
    if (!Array.isArray(calls)) throw aria2Error('The parameter at 0 has wrong type.');
    if (calls.length > MAX_BATCH) throw aria2Error(`At most ${MAX_BATCH} calls at a time.`);
    const results: unknown[] = [];
    for (const call of calls) {
      try {
        results.push([await this.#inner(call, context)]);
      } catch (thrown) {
        results.push(toJsonRpcError(thrown));
      }
    }
    return results;
  }

  #inner(call: unknown, context: CallContext): Promise<unknown> {
    if (!isObject(call)) throw aria2Error('system.multicall expected struct.');
    const { methodName, params = [] } = call;
    if (typeof methodName !== 'string') throw aria2Error('Missing methodName.');
    if (methodName === 'system.multicall') {
      throw aria2Error('Recursive system.multicall forbidden.');
    }
    if (!Array.isArray(params)) throw new RpcError(INVALID_PARAMS);
    return this.#call(methodName, params, context);
  }
}

function failed(id: JsonRpcResponse['id'], error: JsonRpcError): Answer {
  const serverFault = error.code === PARSE_ERROR.code || error.code === INVALID_PARAMS.code;
  return { status: serverFault ? 500 : 400, body: { id, jsonrpc: '2.0', error } };
}
