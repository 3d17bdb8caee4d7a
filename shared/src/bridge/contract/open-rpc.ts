/** The contract as an OpenRPC 1.3 document (https://spec.open-rpc.org). */

import * as z from 'zod';
import { OBJECTS } from '../results/named.ts';
import type { Row, Rows } from './row.ts';

/** A JSON Schema. */
type Schema = Readonly<Record<string, unknown>>;

interface Descriptor {
  readonly name: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

interface Reference {
  readonly $ref: string;
}

export interface OpenRpcMethod {
  readonly name: string;
  readonly summary: string;
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
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly errors: Readonly<Record<string, { readonly code: number; readonly message: string }>>;
  };
}

const ERRORS = {
  InvalidParams: { code: -32602, message: 'Invalid params.' },
  Unauthorized: { code: 1, message: 'Unauthorized' },
  /** The error's `data` tells which failure it is. */
  Failure: { code: 1, message: 'An error of the table of errors: `data.code` has its code.' },
  NeedsSocket: { code: 1, message: 'Subscriptions need a WebSocket.' },
} as const;

/** Place of the named objects in the document. */
const SCHEMAS = '#/components/schemas/';

/**
 * Makes the document. It describes parameters as callers give them: those with a default are not
 * required.
 *
 * @param version of the daemon
 */
export function openRpcOf(rows: Rows, version: string): OpenRpc {
  const names = new Map<z.ZodType, string>([...OBJECTS].map(([name, object]) => [object, name]));
  for (const [name, { params, asked = params }] of Object.entries(rows)) {
    if (!names.has(asked)) names.set(asked, name);
  }
  const schemas = schemasOf(names);
  const named = [...OBJECTS].map(([name, object]) => [name, schemas.get(object)]);
  return {
    openrpc: '1.3.2',
    info: {
      title: 'Millrace',
      version,
      description: 'Methods of the daemon without a counterpart in aria2.',
    },
    methods: Object.entries(rows).map(([name, row]) => methodOf(name, row, schemas, names)),
    components: { schemas: Object.fromEntries(named), errors: ERRORS },
  };
}

/** Makes JSON Schemas in which named objects refer to each other. */
function schemasOf(names: ReadonlyMap<z.ZodType, string>): Map<z.ZodType, Schema> {
  const registry = z.registry<{ readonly id: string }>();
  for (const [schema, id] of names) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    uri: (id) => SCHEMAS + id,
    io: 'input',
    unrepresentable: 'any',
    // The schemas of parameters are taken apart, so no part may refer to another.
    reused: 'inline',
  });
  return new Map(
    [...names].map(([schema, id]) => {
      const { $schema: _dialect, $id: _id, id: _name, ...rest } = schemas[id] as Schema;
      return [schema, rest];
    }),
  );
}

function methodOf(
  name: string,
  { summary, params, asked = params, result, gives, needs }: Row,
  schemas: ReadonlyMap<z.ZodType, Schema>,
  names: ReadonlyMap<z.ZodType, string>,
): OpenRpcMethod {
  const { properties = {}, required = [] } = schemas.get(asked) as Schema;
  const errors: (keyof typeof ERRORS)[] = ['InvalidParams', 'Unauthorized', 'Failure'];
  if (needs === 'socket') errors.push('NeedsSocket');
  const id = names.get(result) as string;
  return {
    name,
    summary,
    paramStructure: 'by-name',
    params: Object.entries(properties as Record<string, Schema>).map(([param, schema]) => ({
      name: param,
      required: (required as readonly string[]).includes(param),
      schema,
    })),
    result: {
      name: id,
      ...(gives === undefined ? {} : { description: gives }),
      schema: { $ref: SCHEMAS + id },
    },
    errors: errors.map((error) => ({ $ref: `#/components/errors/${error}` })),
  };
}
