/** Shared parts of our own methods: their options, and the checks of their parameters. */

import { isMillraceError } from '@millrace/shared/base/errors';
import type { Gives, Row, Rows, Taken } from '@millrace/shared/bridge/contract/row';
import { isObject, RpcError } from '@millrace/shared/bridge/rpc/json-rpc';
import type * as z from 'zod';
import type { Manager } from '../../downloads/manager.ts';
import type { ParseMetalink } from '../../downloads/metalinks.ts';
import type { Streams } from '../../downloads/streams.ts';
import type { HouseSwitch } from '../../edges/house-switch.ts';
import type { Offers } from '../../offers/offers.ts';
import type { Remote } from '../../remote/remote.ts';
import { check } from '../../settings/checks.ts';
import type { Outgoing } from '../../shares/outgoing.ts';
import type { Shares } from '../../shares/shares.ts';
import type { LocalEdge } from '../../views/app-settings.ts';
import type { DownloadLogs } from '../../views/download-logs.ts';
import type { CallContext, Method, Subscriber } from '../calls/dispatcher.ts';
import type { LiveFeed } from '../calls/live-feed.ts';
import type { Notifier } from '../calls/notifier.ts';
import { invalidParams } from '../calls/rpc-error.ts';

export interface MillraceOptions {
  readonly manager: Manager;
  readonly streams: Streams;
  readonly notifier: Notifier;
  readonly live: LiveFeed;
  readonly downloadLogs: DownloadLogs;
  readonly local: LocalEdge;
  readonly house: HouseSwitch;
  readonly offers: Offers;
  readonly shares: Shares;
  readonly outgoing: Outgoing;
  readonly remote: Remote | undefined;
  readonly version: string;
  readonly state: string;
  readonly parseMetalink: ParseMetalink;
  /** Makes an address that logs in whoever opens it, once. */
  readonly loginLink: () => string;
  /** Makes a page that opens such an address, and returns its path; only the user can read it. It offers links. */
  readonly loginPage: (offered: readonly string[]) => Promise<string>;
  readonly onShutdown: () => void;
}

/** Exactly one handler for each row of the contract, with the row's parameters and result. */
export type Handlers<R extends Rows> = {
  readonly [M in keyof R & `millrace.${string}`]: (
    params: Taken<R[M]>,
    context: CallContext,
  ) => Gives<R[M]> | Promise<Gives<R[M]>>;
};

/** Makes the methods of some rows of the contract. */
export function methodsOf<R extends Rows>(rows: R, handlers: Handlers<R>): [string, Method][] {
  return Object.entries(rows).map(([name, row]) => {
    const work = handlers[name as keyof Handlers<R>] as (
      given: unknown,
      context: CallContext,
    ) => unknown;
    return [name, checked(row, work)];
  });
}

function checked(
  { params: schema, waits }: Row,
  work: (given: unknown, context: CallContext) => unknown,
): Method {
  return (params, context) => {
    if (params.length > 1) throw invalidParams('one object is expected');
    const given = params[0] ?? {};
    if (!isObject(given)) throw invalidParams('an object is expected');
    const taken = parsed(schema, given);
    if (waits === true) context.onWaiting?.();
    return work(taken, context);
  };
}

/** Returns the client of a call. @throws RpcError for a call over HTTP */
export function subscriberOf({ subscriber }: CallContext): Subscriber {
  if (subscriber !== undefined) return subscriber;
  throw new RpcError({ code: 1, message: 'Subscriptions need a WebSocket.' });
}

function parsed<S extends z.ZodType>(schema: S, given: object): z.output<S> {
  try {
    return check(schema, given) as z.output<S>;
  } catch (error) {
    throw isMillraceError(error) ? invalidParams(error.detail) : error;
  }
}
