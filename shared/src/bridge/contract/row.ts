/** One method of the daemon, as the contract has it: what it takes, what it gives, what it needs. */

import type { z } from 'zod';

/** A result that is described in words and typed, where a schema of it would be said twice. */
export interface Told<T> {
  /** Name of the type. */
  readonly name: string;
  readonly description: string;
  /** Never there: it carries the type. */
  readonly type?: T;
}

export function told<T>(name: string, description: string): Told<T> {
  return { name, description };
}

/** No parameters, or no result. */
export type Nothing = Readonly<Record<string, never>>;

export interface Row {
  /** One line. */
  readonly summary: string;
  readonly params: z.ZodObject;
  /** Type of the parameters, where the schema leaves judging them to the engine. */
  readonly asked?: Told<unknown>;
  readonly result: Told<unknown>;
  /** socket: answered only on a WebSocket; token: only for callers that have shown the token. */
  readonly needs?: 'socket' | 'token';
}

/** Rows by the name of the method, with `millrace.` before it. */
export type Rows = Readonly<Record<`millrace.${string}`, Row>>;

/** A caller's parameters are only read: their lists may be readonly. */
type Read<T> = T extends readonly (infer U)[]
  ? readonly Read<U>[]
  : T extends object
    ? { readonly [K in keyof T]: Read<T[K]> }
    : T;

/** Parameters as a client sends them. */
export type Given<R extends Row> = R extends { readonly asked: Told<infer T> }
  ? T
  : Read<z.input<R['params']>>;
/** Parameters as a handler gets them: checked, with defaults. */
export type Taken<R extends Row> = z.output<R['params']>;
/** Result as a client gets it. */
export type Gives<R extends Row> = R['result'] extends Told<infer T> ? T : never;
