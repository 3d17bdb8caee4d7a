/**
 * Traces of requests: each request of a trace is a span of it at this node, and the node tells it to
 * other nodes and, if an option says so, to origins. Nothing is decided by a trace: anybody can name
 * any.
 */

import { randomBytes } from 'node:crypto';
import { type Headers, singleField } from '@millrace/shared/http/fields/headers';
import {
  formatTraceparent,
  parseTraceparent,
  type Trace,
} from '@millrace/shared/http/fields/traceparent';

/** A request's place in a trace. */
export interface Span extends Trace {
  /** The span that has sent the request; undefined if this node has begun the trace. */
  readonly parentSpanId: string | undefined;
  /** The field for requests that follow from this one. */
  readonly onward: string;
}

/**
 * Begins a span.
 *
 * @param how `off`, `read`, or `make` to begin a trace where the request has none
 */
export function beginSpan(headers: Headers, how: 'off' | 'read' | 'make'): Span | undefined {
  const given = how === 'off' ? undefined : parseTraceparent(singleField(headers, 'traceparent'));
  if (given === undefined && how !== 'make') return undefined;
  const traceId = given?.traceId ?? id(16);
  const trace = { traceId, spanId: id(8), flags: given?.flags ?? '00' };
  return { ...trace, parentSpanId: given?.spanId, onward: formatTraceparent(trace) };
}

/** Fields of a log line about a request of a trace. */
export function spanFields(span: Span | undefined): Record<string, string> {
  if (span === undefined) return {};
  const { traceId, spanId, parentSpanId } = span;
  return { traceId, spanId, ...(parentSpanId === undefined ? {} : { parentSpanId }) };
}

function id(bytes: number): string {
  // Zeros alone mean that there is none.
  for (;;) {
    const text = randomBytes(bytes).toString('hex');
    if (!/^0+$/.test(text)) return text;
  }
}
