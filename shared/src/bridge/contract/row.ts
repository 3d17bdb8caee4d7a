/**
 * One method of the daemon in the contract: its parameters, its result, and the access it needs.
 */

import type { z } from 'zod';
import type { Read } from '../results/named.ts';

export interface Row {
  /** One line. */
  readonly summary: string;
  /** Checks the parameters, and gives handlers their defaults. */
  readonly params: z.ZodObject;
  /** Parameters as callers give them, where `params` leaves judging them to the engine. */
  readonly asked?: z.ZodObject;
  /** An object with a name. The daemon's answers are not checked against it: tests do that. */
  readonly result: z.ZodType;
  /** The result in this method's words, where its own description is too general. */
  readonly gives?: string;
  /** socket: answered only on a WebSocket; token: only for callers that have shown the token. */
  readonly needs?: 'socket' | 'token';
}

/** Rows by the name of the method, with `millrace.` before it. */
export type Rows = Readonly<Record<`millrace.${string}`, Row>>;

/** Parameters as a client sends them. */
export type Given<R extends Row> = Read<
  z.input<R extends { readonly asked: infer A extends z.ZodObject } ? A : R['params']>
>;
/** Parameters as a handler gets them: checked, with defaults. */
export type Taken<R extends Row> = z.output<R['params']>;
/** Result as a client gets it. */
export type Gives<R extends Row> = Read<z.output<R['result']>>;
