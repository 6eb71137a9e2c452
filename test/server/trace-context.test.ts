import { expect, test } from 'bun:test';
import { requestFields } from '../../src/server/trace-context.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const fields = (traceparent?: string) => {
  const headers: Record<string, string> = traceparent === undefined ? {} : { traceparent };
  return requestFields({ request: new Request('http://a/', { headers }), requestId: 'r', path: '/' });
};
const named = { requestId: 'r', path: '/' };

test.each([
  `00-${TRACE}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-00`,
  `01-${TRACE}-${SPAN}-01-later`,
  `cc-${TRACE}-${SPAN}-01`,
])('traceparent %s names the trace and the span', (header) =>
  expect(fields(header)).toEqual({ ...named, traceId: TRACE, spanId: SPAN }),
);

// W3C Trace Context: an invalid header is ignored, and no part of it is used.
test.each([
  undefined,
  '',
  'text',
  `00-${TRACE}-${SPAN}`,
  `00-${TRACE}-${SPAN}-01-later`,
  `ff-${TRACE}-${SPAN}-01`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `00-${TRACE}-${SPAN}-1`,
  `01-${TRACE}-${SPAN}-01later`,
])('traceparent %j is ignored', (header) => expect(fields(header)).toEqual(named));
