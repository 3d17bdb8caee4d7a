/** Writes the daemon's OpenRPC document as Markdown: a page about its own methods. */

import { CONTRACT } from '../shared/src/bridge/contract/contract.ts';
import { type OpenRpcMethod, openRpcOf } from '../shared/src/bridge/contract/open-rpc.ts';

/** Keywords of JSON Schema that the contract uses. */
interface Schema {
  readonly $ref?: string;
  readonly additionalProperties?: boolean | Schema;
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

const DOCUMENT = openRpcOf(CONTRACT, '');

/** Writes a section for each method, in the order of the contract. */
export function rpcMethods(): string {
  return DOCUMENT.methods.map(method).join('\n\n');
}

/** Writes a section for each object that methods take or return, sorted by name. */
export function rpcObjects(): string {
  const { schemas } = DOCUMENT.components;
  return Object.keys(schemas)
    .sort()
    .map((name) => object(name, schemas[name] as Schema))
    .join('\n\n');
}

function method({ name, summary, params, result, errors }: OpenRpcMethod): string {
  const socket = errors.some(({ $ref }) => $ref.endsWith('/NeedsSocket'));
  const lines = [`### ${name}`, '', `${summary}${socket ? ' On a WebSocket only.' : ''}`];
  if (params.length > 0) lines.push('', '| parameter | | |', '|---|---|---|');
  for (const { name: param, required, schema } of params) {
    lines.push(row(param, required ? ' (required)' : '', schema as Schema));
  }
  const what = result.description === undefined ? '' : `. ${result.description}`;
  lines.push('', `Result: ${typeOf(result.schema as Schema)}${what}`);
  return lines.join('\n');
}

function object(name: string, schema: Schema): string {
  const { description = '', properties = {}, required = [] } = schema;
  const lines = [`### ${name}`, '', description];
  const members = Object.entries(properties);
  if (schema.anyOf !== undefined) lines.push('', typeOf(schema));
  if (members.length > 0) lines.push('', '| member | | |', '|---|---|---|');
  for (const [member, one] of members) {
    lines.push(row(member, required.includes(member) ? '' : ' (may be absent)', one));
  }
  return lines.join('\n');
}

/** Writes a row of a table: the name, the type and the meaning of a value. */
function row(name: string, more: string, schema: Schema): string {
  const { description = '', default: value } = schema;
  const given = value === undefined ? '' : `; default ${JSON.stringify(value)}`;
  const cells = [`\`${name}\`${more}`, typeOf(schema) + given, description];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

/** Describes a schema in words. */
function typeOf(schema: Schema): string {
  const { type, items, properties, required = [] } = schema;
  const some = schema.anyOf ?? schema.oneOf;
  const { $ref, additionalProperties } = schema;
  if ($ref !== undefined) {
    const name = $ref.slice($ref.lastIndexOf('/') + 1);
    return `[${name}](#${name.toLowerCase()})`;
  }
  if (some !== undefined) return [...new Set(some.map(typeOf))].join(' or ');
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum !== undefined) return schema.enum.map((one) => `\`${one}\``).join(', ');
  if (type === 'array') {
    const most = schema.maxItems === undefined ? '' : ` of at most ${schema.maxItems}`;
    return `list${most}: ${typeOf(items ?? {})}`;
  }
  if (type === 'object' && properties !== undefined) {
    const fields = Object.entries(properties).map(
      ([name, field]) => `\`${name}\`${required.includes(name) ? '' : '?'} ${typeOf(field)}`,
    );
    return `{ ${fields.join('; ')} }`;
  }
  if (typeof additionalProperties === 'object') {
    return `object with values: ${typeOf(additionalProperties)}`;
  }
  if (type === 'integer' || type === 'number') return `${type}${rangeOf(schema)}`;
  if (type === 'string' && schema.maxLength !== undefined) {
    return `string of at most ${schema.maxLength} characters`;
  }
  return type ?? 'anything';
}

/** Describes a number's bounds, except those that are merely the limits of safe integers. */
function rangeOf({ minimum, maximum }: Schema): string {
  const least = minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER ? minimum : undefined;
  const most = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER ? maximum : undefined;
  if (least === undefined) return most === undefined ? '' : ` up to ${most}`;
  return most === undefined ? ` from ${least}` : ` from ${least} to ${most}`;
}
