/** Checks answers of the daemon in tests by the contract: a member that it does not name fails. */

import { CONTRACT, type MethodName, type ResultOf } from '../src/bridge/contract/contract.ts';

/** The type of a method's result; unknown for methods that are not ours, such as aria2's. */
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
