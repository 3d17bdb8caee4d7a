/** JSON-RPC 2.0 messages (https://www.jsonrpc.org/specification), as aria2 speaks it. */

export type JsonRpcId = string | number | null;

export interface JsonRpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** A JSON-RPC error: thrown where it occurs, sent, and thrown again where it arrives. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  readonly data: unknown;

  constructor({ code, message, data }: JsonRpcError) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export type JsonRpcResponse =
  | { readonly id: JsonRpcId; readonly jsonrpc: '2.0'; readonly result: unknown }
  | { readonly id: JsonRpcId; readonly jsonrpc: '2.0'; readonly error: JsonRpcError };

export interface JsonRpcNotification {
  readonly jsonrpc: '2.0';
  readonly method: string;
  readonly params: readonly unknown[];
}

export interface JsonRpcCall {
  readonly id: JsonRpcId;
  readonly method: string;
  /** A list, or one object by name. */
  readonly params: readonly unknown[] | Readonly<Record<string, unknown>>;
}

/** The specification's own errors. */
export const PARSE_ERROR: JsonRpcError = { code: -32700, message: 'Parse error.' };
const INVALID_REQUEST: JsonRpcError = { code: -32600, message: 'Invalid Request.' };
export const METHOD_NOT_FOUND: JsonRpcError = { code: -32601, message: 'Method not found.' };
export const INVALID_PARAMS: JsonRpcError = { code: -32602, message: 'Invalid params.' };

/** Reads one call. Like aria2, it requires an `id` but no `jsonrpc`. */
export function parseCall(value: unknown): JsonRpcCall | { id: JsonRpcId; error: JsonRpcError } {
  if (!isObject(value)) return { id: null, error: INVALID_REQUEST };
  const { method, params = [] } = value;
  const hasId = typeof value.id === 'string' || typeof value.id === 'number' || value.id === null;
  const id = hasId ? (value.id as JsonRpcId) : null;
  if (!hasId || typeof method !== 'string') return { id, error: INVALID_REQUEST };
  if (!Array.isArray(params) && !isObject(params)) return { id, error: INVALID_PARAMS };
  return { id, method, params };
}

/** Reads a message of a server: an answer or a notification; undefined if it is neither. */
export function parseFromServer(value: unknown): JsonRpcResponse | JsonRpcNotification | undefined {
  if (!isObject(value)) return undefined;
  if (typeof value.method === 'string') {
    const params = Array.isArray(value.params) ? value.params : [];
    return { jsonrpc: '2.0', method: value.method, params };
  }
  const { id, error } = value;
  if (typeof id !== 'string' && typeof id !== 'number' && id !== null) return undefined;
  if (!isObject(error)) return { jsonrpc: '2.0', id, result: value.result };
  const code = typeof error.code === 'number' ? error.code : 0;
  const message = typeof error.message === 'string' ? error.message : '';
  return { jsonrpc: '2.0', id, error: { code, message, data: error.data } };
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
