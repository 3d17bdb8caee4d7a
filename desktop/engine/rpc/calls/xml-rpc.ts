/**
 * XML-RPC (http://xmlrpc.com/spec.md) as aria2 speaks it: reads a call, and writes its answer. Calls
 * of several methods are made with `system.multicall`, as in JSON-RPC.
 */

import { MillraceError } from '@millrace/shared/base/errors';
import {
  isObject,
  type JsonRpcError,
  type JsonRpcResponse,
} from '@millrace/shared/bridge/rpc/json-rpc';
import {
  childElements,
  XmlDocument,
  type XmlNode,
} from '@millrace/shared/download/metalink/xml-tree';

export interface XmlCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

/**
 * Reads a call.
 *
 * @throws MillraceError `bad-metalink` for text that is not XML, or not a call; its detail says where
 */
export function readXmlCall(text: string): XmlCall {
  const document = new XmlDocument(text);
  const { root } = document;
  if (root.local !== 'methodCall') document.fail(root, 'it is not a methodCall');
  const [name] = named(root, 'methodName');
  if (name === undefined) return document.fail(root, 'it names no method');
  const params = named(root, 'params').flatMap((list) => named(list, 'param'));
  return {
    method: textOf(name).trim(),
    params: params.map((param) => {
      const [value] = named(param, 'value');
      return value === undefined
        ? document.fail(param, 'it has no value')
        : valueIn(document, value);
    }),
  };
}

/** Reads the value in a `value` element. Text in base64 stays as it is: methods take it that way. */
function valueIn(document: XmlDocument, node: XmlNode): unknown {
  const [typed] = childElements(node);
  if (typed === undefined) return textOf(node);
  const text = textOf(typed);
  switch (typed.local) {
    case 'string':
      return text;
    case 'base64':
      return text.replace(/\s+/g, '');
    case 'boolean':
      return text.trim() === '1' || text.trim() === 'true';
    case 'int':
    case 'i4':
    case 'i8':
    case 'double': {
      const number = Number(text.trim() || Number.NaN);
      return Number.isFinite(number) ? number : document.fail(typed, 'it is not a number');
    }
    case 'array':
      return named(typed, 'data')
        .flatMap((data) => named(data, 'value'))
        .map((value) => valueIn(document, value));
    case 'struct':
      return Object.fromEntries(
        named(typed, 'member').map((member) => {
          const [[name], [value]] = [named(member, 'name'), named(member, 'value')];
          if (name === undefined || value === undefined) {
            return document.fail(member, 'it is not whole');
          }
          return [textOf(name), valueIn(document, value)];
        }),
      );
    default:
      return document.fail(typed, 'this type of value is not known');
  }
}

const named = (node: XmlNode, local: string) =>
  childElements(node).filter((child) => child.local === local);

const textOf = ({ content }: XmlNode) =>
  content.filter((part) => typeof part === 'string').join('');

/** Writes the answer to a call. Errors inside the results of a multicall are written as faults. */
export function xmlAnswer(response: JsonRpcResponse, { method }: XmlCall): string {
  const body =
    'error' in response
      ? `<fault>${written(faultOf(response.error))}</fault>`
      : `<params><param>${written(resultOf(response.result, method))}</param></params>`;
  return `<?xml version="1.0"?><methodResponse>${body}</methodResponse>`;
}

function resultOf(result: unknown, method: string): unknown {
  if (method !== 'system.multicall' || !Array.isArray(result)) return result;
  return result.map((each) => (Array.isArray(each) ? each : faultOf(each as JsonRpcError)));
}

const faultOf = ({ code, message }: JsonRpcError) => ({ faultCode: code, faultString: message });

function written(value: unknown): string {
  return `<value>${typedValue(value)}</value>`;
}

function typedValue(value: unknown): string {
  if (typeof value === 'string') return `<string>${escaped(value)}</string>`;
  if (typeof value === 'boolean') return `<boolean>${value ? 1 : 0}</boolean>`;
  if (typeof value === 'number') {
    return Object.is(value, value | 0) ? `<int>${value}</int>` : `<double>${value}</double>`;
  }
  if (Array.isArray(value)) return `<array><data>${value.map(written).join('')}</data></array>`;
  if (!isObject(value)) return '<nil/>';
  const members = Object.entries(value).filter(([, each]) => each !== undefined);
  const inside = members.map(
    ([name, each]) => `<member><name>${escaped(name)}</name>${written(each)}</member>`,
  );
  return `<struct>${inside.join('')}</struct>`;
}

/** Escapes a text, and replaces the characters that XML 1.0 (2.2) cannot have. */
function escaped(text: string): string {
  return text
    .toWellFormed()
    .replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '\uFFFD')
    .replace(/[&<>\r]/g, (c) => `&#${c.charCodeAt(0)};`);
}

/** Returns what is wrong with a text that could not be read as a call. @throws any other error */
export function faultIn(error: unknown): string {
  if (error instanceof MillraceError && error.code === 'bad-metalink') return error.detail;
  throw error;
}
