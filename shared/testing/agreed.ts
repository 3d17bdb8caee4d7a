/** Checks answers of the daemon in tests against the contract: an unknown member is an error. */

import { CONTRACT, type MethodName, type ResultOf } from '../src/bridge/contract/contract.ts';

/** The type of a method's result; `unknown` for methods of others, such as aria2. */
export type Answer<M extends string> = M extends MethodName ? ResultOf<M> : unknown;

/** Checks and returns a result. @throws Error if it does not match the contract */
export function agreed<M extends string>(method: M, result: unknown): Answer<M> {
  const row = CONTRACT[method as MethodName];
  if (row === undefined) return result as Answer<M>;
  const read = row.result.safeParse(result);
  if (read.success) return result as Answer<M>;
  const [issue] = read.error.issues;
  const at = issue?.path.join('.');
  throw new Error(`${method} answers what it should not: ${at}: ${JSON.stringify(issue)}`);
}
