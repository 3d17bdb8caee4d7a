/** The contract as an OpenRPC 1.3 document (https://spec.open-rpc.org). */

import { z } from 'zod';
import type { Row, Rows } from './row.ts';

interface Descriptor {
  readonly name: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: object;
}

interface Reference {
  readonly $ref: string;
}

export interface OpenRpcMethod {
  readonly name: string;
  readonly summary: string;
  /** Parameters in words, where the engine judges them and the schema says little. */
  readonly description?: string;
  readonly paramStructure: 'by-name';
  readonly params: readonly Descriptor[];
  readonly result: Descriptor;
  readonly errors: readonly Reference[];
}

export interface OpenRpc {
  readonly openrpc: '1.3.2';
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly methods: readonly OpenRpcMethod[];
  readonly components: {
    readonly errors: Readonly<Record<string, { readonly code: number; readonly message: string }>>;
  };
}

const ERRORS = {
  InvalidParams: { code: -32602, message: 'Invalid params.' },
  Unauthorized: { code: 1, message: 'Unauthorized' },
  /** `data` of the error tells which. */
  Failure: { code: 1, message: 'An error of the table of errors: `data.code` has its code.' },
  NeedsSocket: { code: 1, message: 'Subscriptions need a WebSocket.' },
} as const;

/**
 * @param version of the daemon
 * @returns parameters as callers give them: what has a default is not required
 */
export function openRpcOf(rows: Rows, version: string): OpenRpc {
  return {
    openrpc: '1.3.2',
    info: {
      title: 'Millrace',
      version,
      description: 'Methods of the daemon that aria2 has no word for.',
    },
    methods: Object.entries(rows).map(([name, row]) => methodOf(name, row)),
    components: { errors: ERRORS },
  };
}

function methodOf(name: string, row: Row): OpenRpcMethod {
  const { properties = {}, required = [] } = z.toJSONSchema(row.params, {
    io: 'input',
    unrepresentable: 'any',
    // Parts of the schema are taken apart: none may point at another.
    reused: 'inline',
  });
  const errors: (keyof typeof ERRORS)[] = ['InvalidParams', 'Unauthorized', 'Failure'];
  if (row.needs === 'socket') errors.push('NeedsSocket');
  return {
    name,
    summary: row.summary,
    ...(row.asked === undefined
      ? {}
      : { description: `Parameters (${row.asked.name}): ${row.asked.description}` }),
    paramStructure: 'by-name',
    params: Object.entries(properties).map(([param, schema]) => ({
      name: param,
      required: required.includes(param),
      schema: schema as object,
    })),
    result: {
      name: row.result.name,
      schema: { title: row.result.name, description: row.result.description },
    },
    errors: errors.map((error) => ({ $ref: `#/components/errors/${error}` })),
  };
}
