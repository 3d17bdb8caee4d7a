/** A row of the contract: what one method of the daemon takes, gives and needs. */

import type * as z from 'zod';
import type { Read } from '../results/named.ts';

export interface Row {
  /** One line. */
  readonly summary: string;
  /** Checks the parameters and fills in their defaults. */
  readonly params: z.ZodObject;
  /** Parameters as callers give them, if `params` leaves checking them to the engine. */
  readonly asked?: z.ZodObject;
  /** A named object. Only tests check the daemon's answers against it. */
  readonly result: z.ZodType;
  /** Describes this method's result, if the description of the object does not say enough. */
  readonly gives?: string;
  /** socket: answered only on a WebSocket; token: only for callers that have shown the token. */
  readonly needs?: 'socket' | 'token';
  /**
   * True if the method waits for other machines or for programs: on a WebSocket, the calls behind it
   * are answered meanwhile.
   */
  readonly waits?: true;
}

/** Rows by the name of their method, which begins with `millrace.`. */
export type Rows = Readonly<Record<`millrace.${string}`, Row>>;

/** Parameters as a client sends them. */
export type Given<R extends Row> = Read<
  z.input<R extends { readonly asked: infer A extends z.ZodObject } ? A : R['params']>
>;
/** Parameters as a handler gets them: checked, with defaults. */
export type Taken<R extends Row> = z.output<R['params']>;
/** Result as a client gets it. */
export type Gives<R extends Row> = Read<z.output<R['result']>>;
