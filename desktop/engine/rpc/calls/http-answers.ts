/** Answers calls that come by HTTP, in each of the forms that aria2 takes: JSON, XML, and a query. */

import type { JsonRpcResponse } from '@millrace/shared/bridge/rpc/json-rpc';
import type { CallContext, Dispatcher } from './dispatcher.ts';
import { asScript, readGetCall } from './get-call.ts';

export interface HttpAnswer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

/** Answers a JSON-RPC message. */
export async function answerJson(
  dispatcher: Dispatcher,
  message: string,
  context: CallContext,
): Promise<HttpAnswer> {
  const { status, body } = await dispatcher.answer(message, context);
  return { status, type: 'application/json-rpc', text: JSON.stringify(body) };
}

/**
 * Answers a call in the query of a GET. A page's cookie must not count for it: any page can make a
 * browser send it.
 *
 * @param query the query without its question mark
 */
export async function answerQuery(
  dispatcher: Dispatcher,
  query: string,
  context: CallContext,
): Promise<HttpAnswer> {
  const call = readGetCall(query);
  if (typeof call === 'string') return plain(call);
  const answer = await answerJson(dispatcher, call.message, context);
  if (call.callback === undefined) return answer;
  return { ...answer, type: 'text/javascript', text: asScript(call.callback, answer.text) };
}

/** Answers an XML-RPC call. A fault has status 200, as XML-RPC wants it. */
export async function answerXml(
  dispatcher: Dispatcher,
  text: string,
  context: CallContext,
): Promise<HttpAnswer> {
  // The parser is loaded with the first document: the daemon starts faster without it.
  const { faultIn, readXmlCall, xmlAnswer } = await import('./xml-rpc.ts');
  try {
    const call = readXmlCall(text);
    const message = JSON.stringify({ jsonrpc: '2.0', id: null, ...call });
    const { body } = await dispatcher.answer(message, context);
    return { status: 200, type: 'text/xml', text: xmlAnswer(body as JsonRpcResponse, call) };
  } catch (error) {
    return plain(faultIn(error));
  }
}

const plain = (reason: string): HttpAnswer => ({
  status: 400,
  type: 'text/plain; charset=utf-8',
  text: `${reason}\n`,
});
