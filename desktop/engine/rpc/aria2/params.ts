/** Reads the parameters of aria2's methods, with its messages for missing or wrong ones. */

import { aria2Error } from '../calls/rpc-error.ts';

/** Most downloads that one call lists. */
const MAX_LISTED = 10_000;

function required(params: readonly unknown[], at: number): unknown {
  if (params[at] === undefined) {
    throw aria2Error(`The parameter at ${at} is required but missing.`);
  }
  return params[at];
}

function wrongType(at: number): never {
  throw aria2Error(`The parameter at ${at} has wrong type.`);
}

export function text(params: readonly unknown[], at: number): string {
  const value = required(params, at);
  return typeof value === 'string' ? value : wrongType(at);
}

export function integer(params: readonly unknown[], at: number): number {
  const value = required(params, at);
  return Number.isSafeInteger(value) ? (value as number) : wrongType(at);
}

export function amount(params: readonly unknown[], at: number): number {
  const value = integer(params, at);
  return value < 0 ? wrongType(at) : Math.min(MAX_LISTED, value);
}

export function list(params: readonly unknown[], at: number, type: 'string'): unknown[] {
  const value = required(params, at);
  if (!Array.isArray(value) || value.some((item) => typeof item !== type)) wrongType(at);
  return value as unknown[];
}

export function keysIn(params: readonly unknown[], at: number): string[] | undefined {
  return params[at] === undefined ? undefined : (list(params, at, 'string') as string[]);
}

export function position(params: readonly unknown[], at: number): { position?: number } {
  if (params[at] === undefined) return {};
  const value = integer(params, at);
  return value < 0 ? wrongType(at) : { position: value };
}
