/** The `traceparent` field (W3C Trace Context 3.2): which trace a request belongs to. */

export interface Trace {
  /** 32 hexadecimal digits, not all of them 0. */
  readonly traceId: string;
  /** The span that has sent the request: 16 hexadecimal digits, not all of them 0. */
  readonly spanId: string;
  /** 2 hexadecimal digits; the last bit says that the caller records the trace. */
  readonly flags: string;
}

const FIELD = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** Longest field of a later version that is read. */
const MAX_CHARS = 512;
const ZEROS = /^0+$/;

/**
 * Reads the field strictly. Of later versions, the parts of this version count (3.2.4).
 *
 * @returns undefined for a field that is to be ignored
 */
export function parseTraceparent(value: string | undefined): Trace | undefined {
  if (value === undefined || value.length > MAX_CHARS) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', more] = FIELD.exec(value) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) {
    return undefined;
  }
  if (ZEROS.test(traceId) || ZEROS.test(spanId)) return undefined;
  // Of the flags of a later version only one has a known meaning (3.2.4).
  return { traceId, spanId, flags: version === '00' ? flags : sampled(flags) };
}

/** Writes the field. */
export function formatTraceparent({ traceId, spanId, flags }: Trace): string {
  return `00-${traceId}-${spanId}-${flags}`;
}

function sampled(flags: string): string {
  return Number.parseInt(flags, 16) % 2 === 1 ? '01' : '00';
}
