/** Fake server for tests, as `fetch` shows it. */

export interface Asked {
  readonly url: string;
  readonly range: { readonly start: number; readonly end: number };
  readonly headers: Headers;
  readonly credentials: RequestCredentials | undefined;
  readonly redirect: RequestRedirect | undefined;
}

/** Returns an answer in place of the right one; undefined: the right one is sent. */
export type Fault = (asked: Asked, count: number, right: () => Response) => Response | undefined;

export class FakeOrigin {
  readonly content: Uint8Array<ArrayBuffer>;
  readonly asked: Asked[] = [];
  fault: Fault = () => undefined;
  /** Whether no host can be reached. */
  down = false;
  etag = '"1"';
  /** Further fields of all answers. */
  fields: Readonly<Record<string, string>> = {};
  sentBytes = 0;

  constructor(content: Uint8Array<ArrayBuffer>) {
    this.content = content;
  }

  readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
    await new Promise((resolve) => setTimeout(resolve));
    init.signal?.throwIfAborted();
    if (this.down) throw new TypeError('Failed to fetch');
    const headers = new Headers(init.headers);
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.get('range') ?? '') ?? [];
    const range = { start: Number(from), end: Math.min(this.content.length, Number(to) + 1) };
    const { credentials, redirect } = init;
    const asked = { url, range, headers, credentials, redirect };
    this.asked.push(asked);
    const right = () => this.answer(range.start, range.end);
    return this.fault(asked, this.asked.length, right) ?? right();
  };

  /** Returns a 206 for a range of the file; the body may be given. */
  answer(start: number, end: number, body = this.content.slice(start, end)): Response {
    this.sentBytes += body.length;
    return new Response(body, {
      status: 206,
      headers: {
        ...this.fields,
        etag: this.etag,
        'content-range': `bytes ${start}-${end - 1}/${this.content.length}`,
      },
    });
  }

  /** Returns an answer whose connection breaks after the first bytes. */
  broken({ range: { start, end } }: Asked, bytes: number): Response {
    const piece = this.content.slice(start, Math.min(end, start + bytes));
    this.sentBytes += piece.length;
    const body = new ReadableStream({
      type: 'bytes',
      start: (controller) => controller.enqueue(piece),
      pull: (controller) => controller.error(new TypeError('network error')),
    });
    const { headers } = this.answer(start, end, new Uint8Array(0));
    return new Response(body, { status: 206, headers });
  }
}
