/** Answers of the daemon in tests, held to the contract: a member that it does not name fails. */

import { CONTRACT, type MethodName, type ResultOf } from '../src/bridge/contract/contract.ts';

/** The result of a method; for foreign methods, such as aria2's, it is unknown. */
export type Answer<M extends string> = M extends MethodName ? ResultOf<M> : unknown;

/** @throws Error where the result is not as the contract has it */
export function agreed<M extends string>(method: M, result: unknown): Answer<M> {
  const row = CONTRACT[method as MethodName];
  if (row === undefined) return result as Answer<M>;
  const read = row.result.safeParse(result);
  if (read.success) return result as Answer<M>;
  const [issue] = read.error.issues;
  const at = issue?.path.join('.');
  throw new Error(`${method} answers what it should not: ${at}: ${JSON.stringify(issue)}`);
}
