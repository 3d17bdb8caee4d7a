import { expect, test } from '@jest/globals';
import { formatTraceparent, parseTraceparent } from './traceparent.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

test('a field comes out as it went in', () => {
  const field = `00-${TRACE}-${SPAN}-01`;
  const trace = parseTraceparent(field);
  expect(trace).toEqual({ traceId: TRACE, spanId: SPAN, flags: '01' });
  expect(trace && formatTraceparent(trace)).toBe(field);
});

test('of a later version, the known parts count', () => {
  const trace = parseTraceparent(`cc-${TRACE}-${SPAN}-03-what-comes-later`);
  expect(trace).toEqual({ traceId: TRACE, spanId: SPAN, flags: '01' });
});

test.each([
  ['nothing', undefined],
  ['an empty field', ''],
  ['the version that is forbidden', `ff-${TRACE}-${SPAN}-01`],
  ['more than this version has', `00-${TRACE}-${SPAN}-01-more`],
  ['a trace of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
  ['a span of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['large letters', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
  ['two fields', `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
  ['a line end', `00-${TRACE}-${SPAN}-01\n`],
  ['a field without an end', `01-${TRACE}-${SPAN}-01-${'a'.repeat(1000)}`],
])('%s is ignored', (_, value) => {
  expect(parseTraceparent(value)).toBeUndefined();
});
