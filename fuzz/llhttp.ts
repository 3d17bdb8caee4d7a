/** Node's own parser of HTTP/1.1, llhttp, as an oracle for ours. It has no public interface. */

/** llhttp's reading of one message. */
export interface Parsed {
  /** Its error code; undefined if it accepts the whole message. */
  readonly code: string | undefined;
  /** Offset of the byte that it refuses. */
  readonly fault: number;
  readonly method: number | undefined;
  readonly url: string | undefined;
  readonly status: number | undefined;
  /** Names in lower case and values, alternating. */
  readonly headers: readonly string[];
  readonly keepAlive: boolean;
  readonly body: Buffer;
  /** True once llhttp has read the whole header. */
  readonly begun: boolean;
  readonly ended: boolean;
}

interface Parser {
  initialize(type: number, resource: object, maxHeaderSize: number): void;
  execute(bytes: Buffer): number | (Error & { code: string; bytesParsed: number });
  finish(): Error | undefined;
  close(): void;
  [callback: number]: unknown;
}

interface ParserClass {
  new (): Parser;
  readonly REQUEST: number;
  readonly RESPONSE: number;
  readonly kOnHeaders: number;
  readonly kOnHeadersComplete: number;
  readonly kOnBody: number;
  readonly kOnMessageComplete: number;
}

const { HTTPParser } = (
  process as unknown as { getBuiltinModule(name: string): { HTTPParser: ParserClass } }
).getBuiltinModule('_http_common');
const MAX_HEADER_BYTES = 4 * 1024 * 1024;

/**
 * Reads the first message of some bytes.
 *
 * @param ends whether the connection ends after the bytes
 */
export function parseWithLlhttp(type: 'request' | 'response', bytes: Buffer, ends = false): Parsed {
  const parser = new HTTPParser();
  parser.initialize(
    type === 'request' ? HTTPParser.REQUEST : HTTPParser.RESPONSE,
    {},
    MAX_HEADER_BYTES,
  );
  const body: Buffer[] = [];
  const fields: string[] = [];
  const head = { method: undefined, url: undefined, status: undefined, keepAlive: false } as {
    method: number | undefined;
    url: string | undefined;
    status: number | undefined;
    keepAlive: boolean;
  };
  let flushedUrl = '';
  let begun = false;
  let ended = false;
  parser[HTTPParser.kOnHeaders | 0] = (headers: string[], url: string) => {
    if (ended || begun) return;
    fields.push(...headers);
    flushedUrl += url;
  };
  parser[HTTPParser.kOnHeadersComplete | 0] = (
    _major: number,
    _minor: number,
    headers: string[] | undefined,
    method: number | undefined,
    url: string | undefined,
    status: number | undefined,
    _message: string,
    _upgrade: boolean,
    keepAlive: boolean,
  ) => {
    if (ended) return 0;
    begun = true;
    fields.push(...(headers ?? []));
    Object.assign(head, { method, url: url ?? flushedUrl, status, keepAlive });
    return 0;
  };
  parser[HTTPParser.kOnBody | 0] = (piece: Buffer) => {
    // Copies the bytes: llhttp reuses their memory after this call.
    if (!ended) body.push(Buffer.from(piece));
  };
  parser[HTTPParser.kOnMessageComplete | 0] = () => {
    ended = true;
  };
  const result = parser.execute(bytes);
  const failed = typeof result === 'number' ? undefined : result;
  if (failed === undefined && ends && !ended) parser.finish();
  parser.close();
  const headers = fields.map((text, index) => (index % 2 === 0 ? text.toLowerCase() : text));
  return {
    ...head,
    headers,
    code: ended ? undefined : failed?.code,
    fault: failed?.bytesParsed ?? bytes.length,
    body: Buffer.concat(body),
    begun,
    ended,
  };
}
