/** Options about traces of requests (W3C Trace Context). */

import * as z from 'zod';

export const TRACE_SETTINGS = {
  traces: {
    argument: '<how>',
    help: "off, read (the log names the trace of clients' requests, and other nodes are told), or make (the same, and a new trace where a request has none)",
    schema: z.enum(['off', 'read', 'make'], 'must be off, read or make'),
    default: 'read',
  },
  'trace-origins': {
    argument: '<whether>',
    help: 'yes to tell origins the trace of the request that they are asked for (traceparent), or no',
    schema: z.enum(['yes', 'no'], 'must be yes or no'),
    default: 'no',
  },
} as const;
