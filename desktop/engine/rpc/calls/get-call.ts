/**
 * Calls in the query of a GET, as aria2 takes them: `method`, `id` and `params`, a list as JSON in
 * base64. Without `method`, `params` is a whole batch. `jsoncallback` asks for a script that calls a
 * function with the answer (JSONP).
 */

/** A call as the text of a JSON-RPC message, and the function that the answer goes to. */
export interface GetCall {
  readonly message: string;
  readonly callback: string | undefined;
}

/** Longest query of a call, in characters. */
const MAX_QUERY_CHARS = 16 * 1024;
/** A name that does nothing but name a function. */
const CALLBACK = /^[A-Za-z_$][\w$]{0,63}(?:\.[A-Za-z_$][\w$]{0,63}){0,4}$/;

/** Reads a call. @returns what is wrong with the query, as text, if it has none */
export function readGetCall(query: string): GetCall | string {
  if (query.length > MAX_QUERY_CHARS) return `a query has at most ${MAX_QUERY_CHARS} characters`;
  const fields = new URLSearchParams(query);
  const callback = fields.get('jsoncallback') ?? undefined;
  if (callback !== undefined && !CALLBACK.test(callback)) return 'jsoncallback is no function';
  const encoded = fields.get('params');
  // A plus sign in a query stands for a space.
  const text = encoded === null ? '[]' : decoded(encoded.replaceAll(' ', '+'));
  if (text === undefined) return 'params is not JSON in base64';
  const method = fields.get('method');
  if (method === null) return { message: text, callback };
  const id = fields.get('id');
  return {
    message: JSON.stringify({ jsonrpc: '2.0', id, method, params: JSON.parse(text) as unknown }),
    callback,
  };
}

/** Decodes JSON in base64; undefined if it is not. */
function decoded(base64: string): string | undefined {
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(base64)) return undefined;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(base64, 'base64'));
    JSON.parse(text);
    return text;
  } catch {
    return undefined;
  }
}

/** Writes an answer as a script. The comment keeps a browser from taking it for anything else. */
export function asScript(callback: string, answer: string): string {
  return `/**/${callback}(${answer.replaceAll('<', '\\u003c')});`;
}
