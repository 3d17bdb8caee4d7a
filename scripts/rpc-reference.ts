/** The daemon's own methods as a page: what its OpenRPC document says, for people. */

import { CONTRACT } from '../shared/src/bridge/contract/contract.ts';
import { type OpenRpcMethod, openRpcOf } from '../shared/src/bridge/contract/open-rpc.ts';

/** As much of a JSON Schema as the contract uses. */
interface Schema {
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

/** A section for each method, in the order of the contract. */
export function rpcMethods(): string {
  const { methods } = openRpcOf(CONTRACT, '');
  return methods.map(section).join('\n\n');
}

function section({ name, summary, description, params, result, errors }: OpenRpcMethod): string {
  const socket = errors.some(({ $ref }) => $ref.endsWith('/NeedsSocket'));
  const lines = [`### ${name}`, '', `${summary}${socket ? ' On a WebSocket only.' : ''}`];
  if (description !== undefined) lines.push('', description);
  if (params.length > 0) lines.push('', '| parameter | | |', '|---|---|---|');
  for (const { name: param, required, schema } of params) {
    const { description: meaning = '', default: value } = schema as Schema;
    const given = value === undefined ? '' : `; default ${JSON.stringify(value)}`;
    const cells = [`\`${param}\`${required ? ' (required)' : ''}`, typeOf(schema) + given, meaning];
    lines.push(`| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`);
  }
  const { description: what = '' } = result.schema as Schema;
  lines.push('', `Result (${result.name}): ${what}`);
  return lines.join('\n');
}

/** A schema in words. */
function typeOf(schema: Schema): string {
  const { type, items, properties, required = [] } = schema;
  const some = schema.anyOf ?? schema.oneOf;
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
  if (type === 'integer' || type === 'number') return `${type}${rangeOf(schema)}`;
  if (type === 'string' && schema.maxLength !== undefined) {
    return `string of at most ${schema.maxLength} characters`;
  }
  return type ?? 'anything';
}

/** Bounds that only say how far numbers go are not worth a word. */
function rangeOf({ minimum, maximum }: Schema): string {
  const least = minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER ? minimum : undefined;
  const most = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER ? maximum : undefined;
  if (least === undefined) return most === undefined ? '' : ` up to ${most}`;
  return most === undefined ? ` from ${least}` : ` from ${least} to ${most}`;
}
